import fc from 'fast-check'
import { deepStrictEqual as same } from 'node:assert'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { formatList, readList } from '#wire/header-list.js'
import { HOP_BY_HOP, connectionTokens, copyRequestHeaders, copyResponseHeaders, duplicatedHeader } from '#wire/headers.js'
import { check, checkAsync } from '../helpers/seed.js'

const NONE: ReadonlySet<string> = new Set()

function copied (raw: string[], drop: ReadonlySet<string> = NONE): string[] {
  const out: string[] = []
  copyRequestHeaders(raw, drop, out)
  return out
}

function returned (raw: string[], drop: ReadonlySet<string> = NONE): string[] {
  const out: string[] = []
  copyResponseHeaders(raw.map((part) => Buffer.from(part, 'latin1')), drop, out)
  const again: string[] = []
  copyResponseHeaders(raw, drop, again)
  same(again, out)
  return out
}

t.test('Connection is read as a list of lower-case tokens', async (t) => {
  t.same(connectionTokens(undefined), [])
  t.same(connectionTokens(''), [])
  t.same(connectionTokens('keep-alive'), ['keep-alive'])
  t.same(connectionTokens(' Close ,,\tX-Secret,'), ['close', 'x-secret'])
})

t.test('a header that affects the decision may occur once', async (t) => {
  for (const name of ['Host', 'Content-Type', 'CONTENT-LENGTH', 'authorization', 'A2A-Version', 'Transfer-Encoding', 'traceparent']) {
    const lower = name.toLowerCase()
    t.equal(duplicatedHeader([name, 'a', 'X', 'y', lower, 'a']), lower)
    t.equal(duplicatedHeader([name, lower, 'x', name]), null, 'values do not count')
  }
  t.equal(duplicatedHeader([]), null)
  t.equal(duplicatedHeader(['A2A-Extensions', 'a', 'a2a-extensions', 'b', 'Accept', 'a', 'Accept', 'b']), null)
  t.equal(duplicatedHeader(['Host', 'a', 'Authorization', 'b', 'authorization', 'c', 'host', 'd']), 'authorization')
})

t.test('end-to-end headers are copied, in lower case and in order', async (t) => {
  t.same(copied(['X-B', '1', 'Accept', '*/*', 'x-b', '2', 'Empty', '']), ['x-b', '1', 'accept', '*/*', 'x-b', '2', 'empty', ''])
  t.same(copied(['Host', 'a', 'Content-Length', '3', 'X', 'y'], new Set(['host', 'content-length'])), ['x', 'y'])
  t.same(copied([':authority', 'a', 'X', 'y']), ['x', 'y'])
  t.same(returned(['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Content-Type', 'text/html']), [
    'set-cookie',
    'a=1',
    'set-cookie',
    'b=2',
    'content-type',
    'text/html'
  ])
})

t.test('headers of one connection are dropped', async (t) => {
  for (const name of HOP_BY_HOP) {
    t.same(copied([name.toUpperCase(), 'x']), [], name)
    t.same(returned([name.toUpperCase(), 'x']), [], name)
  }
  for (const name of [
    'connection',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'keep-alive',
    'proxy-authorization',
    'expect',
    'alt-svc'
  ]) { t.ok(HOP_BY_HOP.has(name), name) }
})

t.test('a client cannot set the origin of a request by copying', async (t) => {
  t.same(copied(['X-Forwarded-For', '1', 'x-forwarded-anything', '2', 'Forwarded', 'for=1', 'X-Real-IP', '1', 'X', 'y']), ['x', 'y'])
})

t.test('Connection removes the headers that it names, in any of its lines', async (t) => {
  t.same(copied(['X-Secret', '1', 'Connection', 'keep-alive, X-Secret', 'connection', 'Other', 'OTHER', '2', 'Kept', '3']), ['kept', '3'])
})

t.test('reply-from c815dc4: Connection cannot remove headers that agents and policies need', async (t) => {
  for (const name of [
    'authorization',
    'content-type',
    'content-length',
    'host',
    'cookie',
    'a2a-version',
    'a2a-extensions',
    'x-a2a-extensions',
    'traceparent',
    'tracestate'
  ]) {
    t.same(copied([name, 'v', 'Connection', `close, ${name.toUpperCase()}`]), [name, 'v'], name)
  }
})

t.test('CVE-2026-71849: headers that a response names in Connection do not leak to the client', async (t) => {
  t.same(returned(['X-Internal', '1', 'Connection', 'x-internal, Content-Type', 'Content-Type', 'a/b']), ['content-type', 'a/b'])
})

t.test('a response header that Node would throw on is removed', async (t) => {
  for (const value of ['a\r\nset-cookie: x', 'a\n', 'a\0', '\x7f', '\x1b[31m']) {
    t.same(returned(['x-bad', value, 'x', 'y']), ['x', 'y'], JSON.stringify(value))
  }
  for (const name of ['', 'a b', 'a:', ':status', 'ä', 'a\r\n']) t.same(returned([name, '1', 'x', 'y']), ['x', 'y'], JSON.stringify(name))
  t.same(returned(['x', '\t\xe4\xff~']), ['x', '\t\xe4\xff~'], 'latin1 is fine')
  const out: string[] = []
  copyResponseHeaders(['x', '\u20ac'], NONE, out)
  t.same(out, [], 'beyond latin1 is not')
})

t.test('Node can send every copied header', async (t) => {
  let raw: string[] = []
  const server = createServer((_, reply) => {
    const out: string[] = []
    copyResponseHeaders(raw, new Set(['content-length']), out)
    reply.writeHead(200, out).end()
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const port = (server.address() as AddressInfo).port
  const status = async () => await new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', agent: false }, reply => {
      reply.resume().on('end', () => {
        resolve(reply.statusCode)
      })
    })
      .on('error', reject)
      .end()
  })
  const part = fc.string({ unit: fc.nat(0x120).map((code) => String.fromCharCode(code)), maxLength: 6 })
  t.ok(await checkAsync('wire/headers/copied', fc.asyncProperty(fc.array(fc.tuple(part, part), { maxLength: 8 }), async (pairs) => {
    raw = pairs.flatMap(([name, value]) => [`x${name}`, value])
    same(await status(), 200)
  }), { numRuns: 50 }) > 0, 'inputs')
})

t.test('list headers: lines, commas, spaces, duplicates and both spellings make one list', async (t) => {
  const names = ['a2a-extensions', 'x-a2a-extensions']
  t.same(readList([], names), { values: [], seen: [] })
  t.same(readList(['Accept', 'a, b'], names), { values: [], seen: [] })
  t.same(readList(['A2A-Extensions', ''], names), { values: [], seen: ['a2a-extensions'] })
  t.same(readList(['X-A2A-Extensions', ' u1 ,\tu2,,u1', 'Accept', 'z', 'A2A-Extensions', 'u3', 'a2a-extensions', 'u2,U1'], names),
    { values: ['u1', 'u2', 'u3', 'U1'], seen: ['x-a2a-extensions', 'a2a-extensions'] })
  t.same(readList(['A2A-Extensions', '\u00a0u1'], names).values, ['\u00a0u1'], 'only blank and tab are white space')
})

t.test('any mix of lines, commas and spaces is the same list', async t => {
  const value = fc.stringMatching(/^[!-+\--~]([ -+\--~]*[!-+\--~])?$/)
  const glue = fc.constantFrom(',', ', ', ' ,', '\t,\t', ',,', ' , ,', '\n')
  const ends = fc.constantFrom('', ' ', ',', ', ', '\t')
  t.ok(check(
    'wire/headers/lists',
    fc.property(fc.array(value, { maxLength: 40 }), fc.infiniteStream(glue), ends, ends, (values, glues, head, tail) => {
      let text = head
      for (const each of values) text += each + String(glues.next().value)
      const lines = (text + tail).split('\n')
      const raw = lines.flatMap((line, i) => [i % 2 === 0 ? 'A2A-Extensions' : 'x-a2a-extensions', line, 'Accept', 'other'])
      const list = readList(raw, ['a2a-extensions', 'x-a2a-extensions'])
      same(list.values, [...new Set(values)])
      for (const form of ['joined', 'repeated'] as const) {
        same(
          readList(
            formatList(list.values, form).flatMap(line => ['a2a-extensions', line]),
            ['a2a-extensions']
          ).values,
          list.values
        )
      }
    })
  ) > 0, 'inputs')
})

t.test('list headers are written as one line or one line each', async (t) => {
  t.same(formatList(['u1', 'u2'], 'joined'), ['u1,u2'])
  t.same(formatList(['u1', 'u2'], 'repeated'), ['u1', 'u2'])
  t.same(formatList([], 'joined'), [])
  t.same(formatList([], 'repeated'), [])
})
