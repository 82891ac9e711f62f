/** Messages of ext_authz: `envoy.service.auth.v3.Authorization`. */
import { integer, readFields, run } from './fields.js'
import type { HeaderChanges } from './headers.js'
import { textIn } from './metadata.js'
import { METADATA } from './processing.js'
import { readHeaderMap, writeLines } from './headers.js'

export const CHECK = '/envoy.service.auth.v3.Authorization/Check'

/** A request of a client, as Envoy describes it in `CheckRequest`. */
export interface CheckedRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly host: string
  readonly scheme: string
  /** Flat list of names in lower case and values. Envoy joins lines of one name unless `encode_raw_headers` is set. */
  readonly headers: string[]
  readonly body: Buffer
  /** The body is in a field of text, in which bytes that are not UTF-8 cannot be. */
  readonly isText: boolean
  /** Bytes of the whole body; -1 where the proxy does not know. */
  readonly size: number
  /** `context_extensions` of the route. */
  readonly context: ReadonlyMap<string, string>
  /** The name of the agent that metadata of the request or of the route has. */
  readonly agent: string | undefined
  /** `Metadata` of the request, which filters of Envoy have written; null without. Never that of the route. */
  readonly metadata: Buffer | null
}

/** @throws EnvoyFault */
export function readCheck (message: Buffer): CheckedRequest {
  const context = new Map<string, string>()
  const texts = { method: '', path: '', host: '', scheme: '' }
  const joined: string[] = []
  let lines: string[] = []
  let body: Buffer = NO_BYTES
  let isText = false
  let agent: string | undefined
  let ofRoute: string | undefined
  let metadata: Buffer | null = null
  let size = 0
  within(message, 1, attributes => {
    readFields(attributes, ({ number, bytes }) => {
      if (number === 4) within(bytes, 2, http)
      else if (number === 11) {
        agent = textIn(bytes, 1, METADATA.namespace, METADATA.key)
        metadata = bytes
      } else if (number === 13) ofRoute = textIn(bytes, 1, METADATA.namespace, METADATA.key)
      else if (number === 10) entry(bytes, (name, value) => { context.set(name, value) })
    })
  })
  function http (bytes: Buffer): void {
    readFields(bytes, ({ number, bytes, value }) => {
      switch (number) {
        case 2: texts.method = bytes.toString(); break
        case 3: entry(bytes, (name, value) => { joined.push(name.toLowerCase(), value) }); break
        case 4: texts.path = bytes.toString('latin1'); break
        case 5: texts.host = bytes.toString('latin1'); break
        case 6: texts.scheme = bytes.toString(); break
        // Negative numbers have the highest bit of 64.
        case 9: size = value < 2 ** 53 ? value : -1; break
        // `body` and `raw_body`: Envoy sets one of them.
        case 11: case 12:
          if (bytes.length === 0) break
          body = bytes
          isText = number === 11
          break
        case 13: lines = readHeaderMap(bytes); break
      }
    })
  }
  return { ...texts, headers: lines.length > 0 ? lines : joined, body, isText, size, context, agent: agent ?? ofRoute, metadata }
}

/**
 * Reads the head of a request from the first bytes of a message that is too long to read. Envoy writes method and path before the body, and
 * the lines of headers behind it.
 * @throws EnvoyFault
 */
export function readCheckStart (start: Buffer): Pick<CheckedRequest, 'method' | 'path' | 'host' | 'scheme'> {
  const texts = { method: '', path: '', host: '', scheme: '' }
  const inside = (bytes: Buffer, field: number): Buffer => {
    let bodyBytes: Buffer = NO_BYTES
    readFields(bytes, ({ number, bytes }) => { if (number === field) bodyBytes = bytes }, true)
    return bodyBytes
  }
  readFields(inside(inside(inside(start, 1), 4), 2), ({ number, bytes }) => {
    if (number === 2) texts.method = bytes.toString()
    else if (number === 4) texts.path = bytes.toString('latin1')
    else if (number === 5) texts.host = bytes.toString('latin1')
    else if (number === 6) texts.scheme = bytes.toString()
  }, true)
  return texts
}

/** Calls `take` with each message in a field. */
function within (message: Buffer, field: number, take: (bytes: Buffer) => void): void {
  readFields(message, ({ number, bytes }) => { if (number === field) take(bytes) })
}

/** Reads an entry of a map of texts. */
function entry (bytes: Buffer, take: (name: string, value: string) => void): void {
  let name = ''
  let value = ''
  readFields(bytes, ({ number, bytes }) => {
    if (number === 1) name = bytes.toString('latin1')
    else if (number === 2) value = bytes.toString('latin1')
  })
  take(name, value)
}

const NO_BYTES = Buffer.alloc(0)
/** Codes of `google.rpc.Status`. */
const OK = 0
const PERMISSION_DENIED = 7

/** `CheckResponse` that lets Envoy forward the request. */
export function writeAllowed ({ set, remove }: HeaderChanges): Buffer {
  return Buffer.concat([
    run(1, integer(1, OK)),
    run(3, ...writeLines(2, set, 'value'), ...remove.map(name => run(5, name)))
  ])
}

/** `CheckResponse` with a response to the client. @param headers flat list */
export function writeDenied (status: number, headers: readonly string[], body: Buffer): Buffer {
  return Buffer.concat([
    run(1, integer(1, PERMISSION_DENIED)),
    run(2, run(1, integer(1, status)), ...writeLines(2, headers, 'value'), run(3, body))
  ])
}
