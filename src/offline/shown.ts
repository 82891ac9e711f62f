/** What of a request may be printed: explanations are pasted into tickets. */
import type { ForwardedShown } from './explain/explanation.js'

/** Headers of HTTP, A2A and tracing that hold nothing of a client's own. The values of all others are masked. */
const SHOWN = /^(?:a2a-version|(?:x-)?a2a-extensions|accept(?:-charset|-encoding|-language)?|cache-control|connection|content-(?:encoding|language|length|type)|date|expect|host|keep-alive|pragma|te|traceparent|transfer-encoding|upgrade|user-agent|via|x-accel-buffering|x-forwarded-(?:for|host|port|proto))$/

export const MASK = '***'

function shownValue (name: string, value: string): string {
  return SHOWN.test(name.toLowerCase()) ? value : MASK
}

/** The path, and the names of the query's parameters. */
export function shownTarget (target: string): string {
  const mark = target.indexOf('?')
  if (mark === -1) return target
  return target.slice(0, mark + 1) + target.slice(mark + 1).split('&').map(pair => pair.includes('=') ? `${pair.slice(0, pair.indexOf('='))}=${MASK}` : MASK).join('&')
}

/**
 * The headers that go out beside those that came in.
 * @param sent of the recorded request or answer; flat list, as the other
 * @param own names of those that are the gateway's own
 */
export function compareHeaders (sent: readonly string[], out: readonly string[], own: readonly string[] = []): Pick<ForwardedShown, 'headers' | 'dropped'> {
  const before = byName(sent)
  const after = byName(out)
  const headers: ForwardedShown['headers'][number][] = []
  for (let i = 0; i < out.length; i += 2) {
    const name = out[i] ?? ''
    const [was, is] = [before.get(name.toLowerCase()), after.get(name.toLowerCase())]
    headers.push({ name, value: own.includes(name) ? out[i + 1] ?? '' : shownValue(name, out[i + 1] ?? ''), change: was === undefined ? 'added' : was.join('\n') === is?.join('\n') ? 'same' : 'changed' })
  }
  return { headers, dropped: [...before.keys()].filter(name => !after.has(name)) }
}

function byName (headers: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] ?? '').toLowerCase()
    const values = found.get(name)
    if (values === undefined) found.set(name, [headers[i + 1] ?? ''])
    else values.push(headers[i + 1] ?? '')
  }
  return found
}
