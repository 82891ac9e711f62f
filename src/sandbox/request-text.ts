/** Writes a request as an `.http` file, or as captured JSON where an `.http` file cannot hold the request. */
import type { KeptRequest } from '#console/playground/request-log.js'
import { parseJson } from '#wire/json/parse-json.js'

export interface WrittenRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  readonly body: Uint8Array
}

/** Headers that depend on the connection or the length of the body. */
const OMITTED: ReadonlySet<string> = new Set(['host', 'content-length', 'connection', 'accept-encoding', 'user-agent', 'transfer-encoding'])

/** Headers that a captured call of gRPC has by itself, and the compression that the kept message no longer has. */
const OF_GRPC: ReadonlySet<string> = new Set(['content-type', 'te', 'grpc-encoding'])

export function keptText ({ binding, received: { method, target, headers, body } }: KeptRequest): string {
  return requestText({ method, target, headers, body: body ?? new Uint8Array() }, binding === 'GRPC')
}

export function requestText ({ method, target, headers, body }: WrittenRequest, grpc = false): string {
  const rows: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2)
    if (!OMITTED.has(name.toLowerCase()) && !(grpc && OF_GRPC.has(name.toLowerCase()))) rows.push([name, value])
  }
  const bytes = Buffer.from(body)
  if (grpc) return `${JSON.stringify({ rpc: target.slice(1), metadata: rows, bodyBase64: framed(bytes).toString('base64') }, null, 2)}\n`
  const text = bytes.toString()
  if (!Buffer.from(text).equals(bytes)) return captured({ method, path: target, headers: rows, bodyBase64: bytes.toString('base64') })
  const shown = indented(text)
  if (special(shown) || rows.some(line => line.some(special))) return captured({ method, path: target, headers: rows, body: text })
  return `${[`${method} ${target}`, ...rows.map(([name, value]) => `${name}: ${value}`)].join('\n')}\n${shown === '' ? '' : `\n${shown}\n`}`
}

function captured (request: object): string {
  return `${JSON.stringify(request, null, 2)}\n`
}

/** A message of gRPC with its prefix: not compressed, and its length. */
function framed (message: Buffer): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

/** Indents compact JSON. Any other text stays as it is: the gateway may read it in another way. */
function indented (text: string): string {
  try {
    const value: unknown = parseJson(text)
    return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}

/** True for a text that `.http` files change: variables, comments, includes, and blank lines at the end. */
function special (text: string): boolean {
  return text.includes('{{') || /^\s*(?:#|\/\/|<|>)/m.test(text) || /\s$/.test(text) || text.includes('\r')
}
