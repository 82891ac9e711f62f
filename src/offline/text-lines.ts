/** Builds the text lines of explanations of requests and responses. */
import type { RejectionShown } from './explain/explanation.js'

const WIDTH = 10

/** Marks that show how an outgoing header or body differs from the incoming one. */
export const MARKS = { same: ' ', changed: '~', added: '+' }

export function field (name: string, text: string): string {
  return `${name.padEnd(WIDTH)} ${text}`
}

export function bytes (count: number): string {
  return `${count} ${count === 1 ? 'byte' : 'bytes'}`
}

/** Returns one line per URI, or a dash when there is none. */
export function set (name: string, uris: readonly string[]): string[] {
  return uris.length === 0 ? [`  ${field(name, '-')}`] : uris.map((uri, i) => `  ${field(i === 0 ? name : '', uri)}`)
}

export function brokenOr (decision: 'broken' | 'observed'): string {
  return decision === 'observed' ? 'violated, observed only' : 'violated'
}

export function valuesText (values: number): string {
  return `passed (${values === 0 ? 'no values to check' : `${values} ${values === 1 ? 'value' : 'values'}`})`
}

export function rejection ({ status, phrase, headers, body, grpc }: RejectionShown): string[] {
  if (grpc !== undefined) return ['', 'the response to the client', ...grpcStatusLines(grpc, headers)]
  return [
    '',
    'the response to the client',
    `  HTTP/1.1 ${status} ${phrase}`,
    ...headers.map(({ name, value }) => `  ${name}: ${value}`),
    '',
    ...bodyLines(body)
  ]
}

/** The status as clients read it; the encoded details and message are left out of the trailers. */
export function grpcStatusLines (
  { code, name, message, details }: NonNullable<RejectionShown['grpc']>,
  trailers: RejectionShown['headers']
): string[] {
  return [
    `  grpc-status ${code} ${name}`,
    `  ${message}`,
    ...trailers.filter(trailer => !/^(?:grpc-(?:status|message|status-details-bin)|content-type|content-length)$/.test(trailer.name))
      .map(trailer => `  ${trailer.name}: ${trailer.value}`),
    ...(details.length === 0 ? [] : ['', '  details']),
    ...details.map(({ '@type': type, ...rest }) => `    ${String(type).replace('type.googleapis.com/', '')} ${JSON.stringify(rest)}`)
  ]
}

export function bodyLines (body: string): string[] {
  return body === '' ? [] : body.trimEnd().split('\n').map(line => `  ${line}`)
}
