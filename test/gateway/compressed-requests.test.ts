/** Requests with Content-Encoding: rules read the content, and the agent gets the bytes as sent. */
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { Answer } from '../helpers/http.js'
import { call, JSON_TYPE, MESSAGE, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { random } from '../helpers/seed.js'

const URI = 'https://x.test/ext/v1'
const MIB = 1_048_576
const POLICY = ['extensions:', '  x:', `    uri: "${URI}"`, '    request: [{id: short, select: {metadata: {in: [message], key: n}}, schema: {maximum: 5}}]']
const bodyWith = (metadata: object, text = 'hello'): string =>
  rpcBody('SendMessage', { message: { ...MESSAGE, parts: [{ text }], metadata, extensions: [URI] } }, '12345678901234567890')
const send = (url: string, encoding: string, body: Buffer | string): Promise<Answer> =>
  call(`${url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'a2a-extensions', URI, 'content-encoding', encoding], body })
const card = (url: string): object => plainCard(url, { capabilities: { extensions: [{ uri: URI }] } })

t.test('gzip is evaluated decompressed, and forwarded as sent', async t => {
  const agent = await fakeAgent(t, { card })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [x]'], POLICY) })
  const good = gzipSync(bodyWith({ n: 1 }))
  for (const coding of ['gzip', 'GZIP', 'x-gzip']) {
    t.equal((await send(gateway.url, coding, good)).status, 200, coding)
    const arrived = agent.received.at(-1)
    t.ok(arrived?.body.equals(good), 'byte for byte')
    t.equal(arrived?.headers['content-encoding'], coding)
    t.equal(arrived?.headers['content-length'], String(good.length))
  }
  const bad = await send(gateway.url, 'gzip', gzipSync(bodyWith({ n: 7 })))
  t.match(bad.text, /"id":12345678901234567890/)
  t.match(bad.headers['gateway-decision'], 'x/short')
  t.equal(agent.received.length, 3)
})

t.test('an edited body is forwarded without its coding', async t => {
  const agent = await fakeAgent(t, { card })
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(agent.url, ['extensions: [x]'], ['extensions:', '  x:', `    uri: "${URI}"`, '    owns: {metadata: [n]}', '    inactive: {request: strip}'])
  })
  const got = await call(`${gateway.url}/rpc`, {
    headers: [...JSON_TYPE, ...V1, 'content-encoding', 'gzip'],
    body: gzipSync(rpcBody('SendMessage', { message: { ...MESSAGE, metadata: { n: 1, m: 2 } } }))
  })
  t.equal(got.status, 200)
  const arrived = agent.received.at(-1)
  if (arrived?.headers['content-encoding'] === undefined) t.notMatch(arrived?.body.toString(), '"n":1')
  else t.fail(`still compressed: ${gunzipSync(arrived.body).toString()}`)
})

t.test('other codings get 415 with Accept-Encoding, what is not gzip a parse error', async t => {
  const agent = await fakeAgent(t, { card })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [x]'], POLICY) })
  const text = bodyWith({ n: 1 })
  const gzip = gzipSync(text)
  for (const [coding, body] of [
    ['br', brotliCompressSync(text)],
    ['gzip, gzip', gzipSync(gzip)],
    ['identity, gzip', gzip],
    ['gzip,', gzip],
    ['deflate', text],
    ['', text]
  ] as const) {
    const got = await send(gateway.url, coding, body)
    t.equal(got.status, 415, coding)
    t.equal(got.headers['accept-encoding'], 'gzip', coding)
  }
  for (const [name, body] of [
    ['plain', text],
    ['two members', Buffer.concat([gzip, gzip])],
    ['gzip in gzip', gzipSync(gzip)],
    ['another size', Buffer.concat([gzip.subarray(0, -4), Buffer.from([1, 0, 0, 0])])]
  ] as const) t.match((await send(gateway.url, 'gzip', body)).json(), { error: { code: -32700 } }, name)
  // The last four bytes, which state the size, are any bytes.
  t.match((await send(gateway.url, 'gzip', gzip.subarray(0, -3))).headers['gateway-decision'], /^reject/, 'cut off')
  t.equal(agent.received.length, 0)
})

t.test('bombs: content beyond limits.body, or a hundred times its size, is rejected before it is decompressed', async t => {
  const agent = await fakeAgent(t, { card })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [x]'], ['limits: {body: 3MiB, memory: 8MiB}', ...POLICY]) })
  const file = random('gateway/compressed-requests').bytes(1_200_000).toString('base64')
  const large = await send(gateway.url, 'gzip', gzipSync(bodyWith({ n: 1 }, 'x'.repeat(3 * MIB))))
  t.equal(large.status, 413)
  t.equal(large.headers['gateway-decision'], 'reject;rule="gateway/body-size"')
  const dense = await send(gateway.url, 'gzip', gzipSync(bodyWith({ n: 1 }, 'x'.repeat(2 * MIB))))
  t.equal(dense.status, 413)
  t.equal(dense.headers['gateway-decision'], 'reject;rule="gateway/body-ratio"')
  t.equal((await send(gateway.url, 'gzip', gzipSync(bodyWith({ n: 1 }, 'x'.repeat(900_000))))).status, 200, 'a small one may have any ratio')
  t.equal((await send(gateway.url, 'gzip', gzipSync(bodyWith({ n: 1 }, file)))).status, 200, 'and a large one a usual ratio')
})

t.test('a file of 15 MB passes with the defaults', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const raw = Buffer.alloc(15_000_000, 'file').toString('base64')
  const message = { ...MESSAGE, parts: [{ raw, filename: 'x.bin', mediaType: 'application/octet-stream' }] }
  const body = rpcBody('SendMessage', { message })
  t.equal((await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body })).status, 200)
  t.equal(agent.received.at(-1)?.body.length, body.length)
})
