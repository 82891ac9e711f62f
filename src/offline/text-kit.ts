/** Lines that explanations of requests and of answers are made of. */
import type { RejectionShown } from './explain/explanation.js'

const WIDTH = 10

/** How a header or body that goes out differs from what came in. */
export const MARKS = { same: ' ', changed: '~', added: '+' }

export function field (name: string, text: string): string {
  return `${name.padEnd(WIDTH)} ${text}`
}

export function bytes (count: number): string {
  return `${count} ${count === 1 ? 'byte' : 'bytes'}`
}

/** A line for each of the URIs, or a dash. */
export function set (name: string, uris: readonly string[]): string[] {
  return uris.length === 0 ? [`  ${field(name, '-')}`] : uris.map((uri, i) => `  ${field(i === 0 ? name : '', uri)}`)
}

export function brokenOr (decision: 'broken' | 'observed'): string {
  return decision === 'observed' ? 'broken, observed only' : 'broken'
}

export function valuesText (values: number): string {
  return `passed (${values === 0 ? 'nothing to look at' : `${values} ${values === 1 ? 'value' : 'values'}`})`
}

export function rejection ({ status, phrase, headers, body }: RejectionShown): string[] {
  return [
    '',
    'what the client gets',
    `  HTTP/1.1 ${status} ${phrase}`,
    ...headers.map(({ name, value }) => `  ${name}: ${value}`),
    '',
    ...bodyLines(body)
  ]
}

export function bodyLines (body: string): string[] {
  return body === '' ? [] : body.trimEnd().split('\n').map(line => `  ${line}`)
}
