/**
 * Headers. Lists are parsed as RFC 9110 defines them and written back unchanged. The gateway copies only permitted headers, and both HTTP
 * libraries accept them.
 */
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { forwardedHeaders } from '#wire/forwarded.js'
import { formatList, readList } from '#wire/header-list.js'
import { copyRequestHeaders, copyResponseHeaders, duplicatedHeader, HOP_BY_HOP } from '#wire/headers.js'
import type { Reader, Target } from '../engine/target.js'

const NAMES = ['a2a-extensions', 'x-a2a-extensions']
const NOTHING: ReadonlySet<string> = new Set()
/** src/wire/headers.ts explains why each of these headers may appear only once. */
const ONCE = ['host', 'content-type', 'content-length', 'authorization', 'a2a-version', 'transfer-encoding', 'traceparent']
const KEPT =
  /^(?:authorization|content-encoding|content-length|content-type|cookie|host|forwarded|x-real-ip|traceparent|tracestate|www-authenticate|a2a-.*|x-a2a-.*|x-forwarded-.*)$/s
const ABOUT_ORIGIN = /^(?:x-forwarded-.*|forwarded|x-real-ip)$/s

export const headerList: Target & Reader = {
  name: 'header-list',
  maxBytes: 1024,
  seeds: [
    'A2A-Extensions: urn:a, urn:b\nX-A2A-Extensions: urn:b,urn:c',
    'a2a-extensions:,, ,\t,urn:a\t,',
    'Connection: keep-alive, X-Secret\nX-Secret: 1\nHost: a',
    'Connection: authorization, a2a-version\nAuthorization: x\nA2A-Version: 1.0',
    'Host: a\nHost: b',
    'X-Forwarded-For: 1.2.3.4\nX_Forwarded_For: 5.6.7.8\nForwarded: for=x\nx-real-ip: y',
    'Transfer-Encoding: chunked\nTE: trailers\nUpgrade: h2c\nHTTP2-Settings: x',
    ':authority: x\n: y\nbad name: z\nok: \x01',
    `a2a-extensions: ${Array.from({ length: 40 }, (_, i) => `u${i % 20}`).join(',')}`
  ],
  dictionary: [
    'A2A-Extensions: ',
    'x-a2a-extensions: ',
    'Connection: ',
    'Host: ',
    'Content-Type: ',
    'Authorization: ',
    'Transfer-Encoding: ',
    'Content-Length: ',
    'Traceparent: ',
    'A2A-Version: ',
    'X-Forwarded-For: ',
    'X_Forwarded_For: ',
    'X.Forwarded.Proto: ',
    'Forwarded: ',
    'close',
    'keep-alive',
    ',',
    ', ',
    '\t',
    '\n',
    ':',
    'urn:a',
    '_',
    '\x01',
    '\x7f',
    'é',
    '\xa0',
    '\u017f',
    '\u212a'
  ],
  read (bytes) {
    const raw = rawOf(bytes)
    const [request, response, forwarded]: [string[], string[], string[]] = [[], [], []]
    copyRequestHeaders(raw, NOTHING, request)
    copyResponseHeaders(raw, NOTHING, response)
    forwardedHeaders(raw, { peer: '192.0.2.1', trusted: true, scheme: 'http', host: 'h' }, forwarded)
    return { list: readList(raw, NAMES), duplicate: duplicatedHeader(raw), request, response, forwarded }
  },
  check (bytes) {
    const raw = rawOf(bytes)
    lists(raw)
    copies(raw)
  }
}

function rawOf (bytes: Buffer): string[] {
  const raw: string[] = []
  for (const line of bytes.toString('latin1').split('\n')) {
    const colon = line.indexOf(':', 1)
    if (colon > 0) raw.push(line.slice(0, colon), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, ''))
  }
  return raw
}

const pairs = (raw: readonly string[]): [string, string][] =>
  Array.from({ length: raw.length / 2 }, (_, i) => [raw[2 * i] as string, raw[2 * i + 1] as string])

function lists (raw: readonly string[]): void {
  const lines = pairs(raw).filter(([name]) => NAMES.includes(name.toLowerCase()))
  const values = [
    ...new Set(
      lines.flatMap(([, value]) =>
        value
          .split(',')
          .map(one => one.replace(/^[ \t]+|[ \t]+$/g, ''))
          .filter(one => one !== '')
      )
    )
  ]
  const read = readList(raw, NAMES)
  same(read.values, values)
  same(read.seen, [...new Set(lines.map(([name]) => name.toLowerCase()))])
  for (const form of ['joined', 'repeated'] as const) {
    same(
      readList(
        formatList(values, form).flatMap(value => ['A2A-Extensions', value]),
        NAMES
      ).values,
      values,
      'what was written is read'
    )
  }
  const counts = ONCE.filter(name => pairs(raw).filter(([one]) => one.toLowerCase() === name).length > 1)
  const duplicate = duplicatedHeader(raw)
  equal(duplicate !== null, counts.length > 0)
  if (duplicate !== null) ok(counts.includes(duplicate))
}

function copies (raw: readonly string[]): void {
  const given = pairs(raw)
  const named = given
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) =>
      value
        .toLowerCase()
        .split(',')
        .map(one => one.replace(/^[ \t]+|[ \t]+$/g, ''))
    )
    .filter(name => !KEPT.test(name))
  const request: string[] = []
  copyRequestHeaders(raw, new Set(['x-dropped']), request)
  const stays = (name: string): boolean => !HOP_BY_HOP.has(name) && !named.includes(name)
  same(pairs(request), given.map(([name, value]): [string, string] => [name.toLowerCase(), value]).filter(([name]) => {
    // A CGI-like agent reads every other character as the same one.
    const dashed = Array.from(name, one => /[a-z0-9]/.test(one) ? one : '-').join('')
    return !name.startsWith(':') && stays(name) && !HOP_BY_HOP.has(dashed) && !ABOUT_ORIGIN.test(dashed) && dashed !== 'x-dropped'
  }))
  const response: string[] = []
  copyResponseHeaders(raw, NOTHING, response)
  same(
    pairs(response),
    given
      .map(([name, value]): [string, string] => [name.toLowerCase(), value])
      .filter(([name, value]) => stays(name) && nodeTakes(name, value))
  )
  const asBuffers: string[] = []
  copyResponseHeaders(raw.map(text => Buffer.from(text, 'latin1')), NOTHING, asBuffers)
  same(asBuffers, response)
  const forwarded: string[] = []
  forwardedHeaders(raw, { peer: '::ffff:192.0.2.1', trusted: false, scheme: 'http', host: 'h' }, forwarded)
  same(forwarded, ['x-forwarded-for', '192.0.2.1', 'x-forwarded-proto', 'http', 'x-forwarded-host', 'h'], 'nothing of what a stranger says')
}

function nodeTakes (name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}
