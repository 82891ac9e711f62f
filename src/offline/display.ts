/** Selects the data of a request that may be printed. Explanations are pasted into tickets, so private data is masked. */
import type { ForwardedShown } from './explain/explanation.js'

/** Headers of HTTP, A2A and tracing that contain no private data of a client. The values of all other headers are masked. */
const PRINTABLE_HEADERS =
  /^(?:a2a-version|(?:x-)?a2a-extensions|accept(?:-charset|-encoding|-language)?|cache-control|connection|content-(?:encoding|language|length|type)|date|expect|host|keep-alive|pragma|te|traceparent|transfer-encoding|upgrade|user-agent|via|x-accel-buffering|x-forwarded-(?:for|host|port|proto))$/

const MASK = '***'

function shownValue (name: string, value: string): string {
  return PRINTABLE_HEADERS.test(name.toLowerCase()) ? value : MASK
}

/** Returns the path and the names of the query's parameters. Parameter values are masked. */
export function shownTarget (target: string): string {
  const mark = target.indexOf('?')
  if (mark === -1) return target
  return (
    target.slice(0, mark + 1) +
    target
      .slice(mark + 1)
      .split('&')
      .map(pair => (pair.includes('=') ? `${pair.slice(0, pair.indexOf('='))}=${MASK}` : MASK))
      .join('&')
  )
}

/**
 * Compares the outgoing headers with the incoming headers.
 * @param sent headers of the recorded request or response; flat list
 * @param out outgoing headers; flat list
 * @param own names of headers that the gateway itself sets
 */
export function compareHeaders (
  sent: readonly string[],
  out: readonly string[],
  own: readonly string[] = []
): Pick<ForwardedShown, 'headers' | 'dropped'> {
  const before = byName(sent)
  const after = byName(out)
  const headers: ForwardedShown['headers'][number][] = []
  for (let i = 0; i < out.length; i += 2) {
    const name = out[i] ?? ''
    const [was, is] = [before.get(name.toLowerCase()), after.get(name.toLowerCase())]
    headers.push({
      name,
      value: own.includes(name) ? (out[i + 1] ?? '') : shownValue(name, out[i + 1] ?? ''),
      change: was === undefined ? 'added' : was.join('\n') === is?.join('\n') ? 'same' : 'changed'
    })
  }
  return { headers, dropped: [...before.keys()].filter(name => !after.has(name)) }
}

function byName (headers: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] ?? '').toLowerCase()
    const values = groups.get(name)
    if (values === undefined) groups.set(name, [headers[i + 1] ?? ''])
    else values.push(headers[i + 1] ?? '')
  }
  return groups
}
