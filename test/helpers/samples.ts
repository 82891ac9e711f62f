/**
 * Returns the value of a sample in the text of /metrics; 0 when it is absent.
 * @param sample name and labels. A test of one front need not name the front
 */
export function sampleIn (text: string, sample: string): number {
  const lines = (sample.includes('front=') ? text : text.replace(/,front="\w+"\}/g, '}')).split('\n')
  const line = lines.find(one => one.startsWith(`${sample} `))
  return line === undefined ? 0 : Number(line.slice(sample.length + 1))
}
