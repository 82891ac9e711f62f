/** Reads the text of `/metrics`. A name, a label or a value that the gateway never exposes is an error, and not a sample of 0. */
import { METRICS } from '#telemetry/metrics/definitions.js'
import type { MetricDefinition } from '#telemetry/metrics/definitions.js'
import { PREFIX } from '#telemetry/metrics/registry.js'
import { readings } from './http.js'

const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"(?:,|$)/y
const OF_HISTOGRAM = /_(?:bucket|count|sum)$/

/**
 * Returns the sum of the samples that have at least the labels of the selector, like a selector in PromQL; 0 without such a sample.
 * @param selector `name` or `name{label="value"}`, with the suffix `_bucket`, `_count` or `_sum` for a histogram
 * @throws {Error} if the text has no such metric, or if the metric never has such a label or such a value of the label
 */
export function sampleIn (text: string, selector: string): number {
  const [name, labels] = parsed(selector)
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, family = '', type]) => [family, type]))
  const family = types.get(name) === undefined && OF_HISTOGRAM.test(name) ? name.replace(OF_HISTOGRAM, '') : name
  const type = types.get(family)
  if (type === undefined || (type === 'histogram') !== (family !== name)) {
    throw new Error(`/metrics has no samples named ${name}; it has ${[...types.keys()].join(' ')}`)
  }
  const samples = text.split('\n').filter(line => line.startsWith(name) && /^[{ ]/.test(line.slice(name.length))).map(line => {
    const end = line.lastIndexOf(' ')
    return { labels: parsed(line.slice(0, end))[1], value: Number(line.slice(end + 1)) }
  })
  for (const [label, value] of labels) checkLabel(family, label, value, name.endsWith('_bucket'))
  const matching = samples.filter(one => [...labels].every(([label, value]) => one.labels.get(label) === value))
  const sum = matching.reduce((sum, one) => sum + one.value, 0)
  readings.set(selector, sum)
  return sum
}

function checkLabel (family: string, label: string, value: string, isBucket: boolean): void {
  if (label === 'le' && isBucket) return
  const definition = (METRICS as Readonly<Record<string, MetricDefinition>>)[family.slice(PREFIX.length)]
  // The metrics of Node's process have no definition of ours.
  if (!family.startsWith(PREFIX) || definition === undefined) return
  const names = definition.labels.map(([name]) => name)
  const values = definition.labels.find(([name]) => name === label)?.[1]
  if (values === undefined) throw new Error(`${family} has no label ${label}, only ${names.join(', ')}`)
  if (typeof values !== 'string' && !values.includes(value)) throw new Error(`${label} of ${family} is never "${value}", only ${values.join(', ')}`)
}

function parsed (sample: string): [name: string, labels: Map<string, string>] {
  const [, name = '', , text = ''] = /^([A-Za-z_]\w*)(\{(.*)\})?$/.exec(sample) ?? []
  const labels = new Map<string, string>()
  LABEL.lastIndex = 0
  for (let end = 0; end < text.length; end = LABEL.lastIndex) {
    const [, label, value] = LABEL.exec(text) ?? []
    if (label === undefined || value === undefined) throw new Error(`not a selector of samples: ${sample}`)
    labels.set(label, value)
  }
  if (name === '') throw new Error(`not a selector of samples: ${sample}`)
  return [name, labels]
}
