/**
 * Large bodies of many callers at once, in chunks of any size, changed or not, aborted or not: each body reaches the agent as its caller
 * sent it, without bytes of another body.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { random } from '../helpers/seed.js'

const URI = 'https://x.test/ext/v1'
const KIB = 1_024
const SIZES = [
  500,
  4_096,
  16 * KIB,
  64 * KIB,
  128 * KIB,
  256 * KIB,
  300_000,
  512 * KIB,
  KIB * KIB,
  2 * KIB * KIB,
  4 * KIB * KIB,
  5 * KIB * KIB
]
const LETTERS = 'abcdefg'
/** Characters: more than are read at once, and no more than a pattern may take. */
const TEXT = 6_000

/** The rule reads each body's long text: it refuses one that is not of one letter, as mixed ones would be. */
const POLICY = [
  'extensions:',
  '  ext:',
  `    uri: ${URI}`,
  '    owns: {metadata: [x]}',
  '    inactive: {request: strip}',
  '    request:',
  '      - id: own',
  '        select: {metadata: {key: $uri}}',
  `        schema: {type: object, required: [text], properties: {text: {anyOf: [${[...LETTERS].map(letter => `{pattern: "^${letter}+$"}`).join(', ')}]}}}`,
  'limits: {body: 16MiB}'
]

interface Sent { readonly name: string, readonly body: Buffer, readonly expected: Buffer, readonly asks: boolean }

let serial = 0

/** A body of about so many bytes, a text of one letter and a file; `edited`: with a member that the gateway takes out. */
function bodyOf (size: number, edited: boolean): Sent {
  const name = `call-${++serial}`
  const letter = LETTERS[serial % LETTERS.length] as string
  const text = letter.repeat(Math.min(TEXT, Math.max(1, size >> 1)))
  const noise = createHash('sha512').update(name).digest('hex')
  const file = noise.repeat(Math.ceil(size / noise.length)).slice(0, Math.max(1, size - text.length - 330))
  const written = (x: string): Buffer =>
    Buffer.from(
      `{"jsonrpc":"2.0","method":"SendMessage","params":{"message":{"messageId":"${name}","role":"ROLE_USER","metadata":{"${URI}":{"text":"${text}"}${x}},"parts":[{"raw":"${file}"},{"text":"é\\n${name}"}]}},"id":"${name}"}`
    )
  return edited
    ? { name, body: written(',"x":1'), expected: written(''), asks: false }
    : { name, body: written(''), expected: written(''), asks: true }
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Sends it in pieces of any size, as the gateway reads them. @returns the answer's body; null where the client leaves midway */
async function send (url: string, { name, body, asks }: Sent, leaves = false): Promise<string | null> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  // Of each body its own: what others draw depends on which of them is first.
  const chance = random(`gateway/bodies-apart ${name}`)
  const chunked = chance.chance(2)
  const answer: Buffer[] = []
  socket.on('data', chunk => answer.push(chunk))
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.write(
    `POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\nconnection: close\r\n${asks ? `a2a-extensions: ${URI}\r\n` : ''}${chunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`}\r\n\r\n`
  )
  const end = leaves ? chance.below(body.length) : body.length
  const piece = chance.pick([1 + chance.below(3_000), 65_536, 65_537, 200_000, body.length])
  for (let at = 0; at < end; at += piece) {
    const some = body.subarray(at, Math.min(end, at + piece))
    if (chunked) socket.write(`${some.length.toString(16)}\r\n`)
    if (!socket.write(some) && !socket.destroyed) await Promise.race([once(socket, 'drain'), closed])
    if (chunked) socket.write('\r\n')
    if (chance.chance(4)) await turn()
  }
  if (leaves) {
    await sleep(chance.below(10))
    socket.resetAndDestroy()
    return null
  }
  if (chunked) socket.write('0\r\n\r\n')
  await closed
  return Buffer.concat(answer).toString()
}

/** Says whose body came, and which bytes. */
const witness = (body: Buffer): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: /"id":"(call-\d+)"\}$/.exec(body.toString('latin1'))?.[1],
    result: { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: digest(body) }] } }
  })

t.test('hundreds of bodies at once are not mixed up', async t => {
  const arrived = new Set<string>()
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: URI }] } }),
    answer: ({ body }, response) => {
      arrived.add(digest(body))
      response.setHeader('content-type', 'application/json')
      response.end(witness(body))
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [ext]'], POLICY) })
  const sent = new Set<string>()
  const work = SIZES.flatMap(size => [-1, 0, 1].flatMap(more => Array.from({ length: size > KIB * KIB ? 2 : 8 }, () => size + more)))
  const chance = random('gateway/bodies-apart')
  const next = chance.shuffled(work).map(size => ({ body: bodyOf(size, chance.chance(3)), leaves: chance.chance(4) }))
  let wrong = ''
  await Promise.all(Array.from({ length: 16 }, async () => {
    for (let one = next.pop(); one !== undefined; one = next.pop()) {
      const { body, leaves } = one
      sent.add(digest(body.expected))
      const answer = await send(gateway.url, body, leaves)
      agent.received.length = 0
      const id = `"id":"${/"id":"(.+)"\}$/.exec(body.body.toString('latin1'))?.[1]}"`
      if (answer === null || (answer.startsWith('HTTP/1.1 200') && answer.includes(digest(body.expected)) && answer.includes(id))) continue
      wrong ||= `${body.body.length} bytes, ${id}: ${answer.slice(0, 600)}`
    }
  }))
  t.equal(wrong, '')
  t.same([...arrived].filter(one => !sent.has(one)), [], 'the agent met nothing that nobody sent')
})

t.test('an agent that reads slowly gets every byte, and one that responds early ends no other call', async t => {
  let early = 0
  const chance = random('gateway/bodies-apart slow')
  const slow = async (incoming: IncomingMessage): Promise<Buffer> => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) {
      chunks.push(chunk as Buffer)
      if (chance.chance(8)) await sleep(2)
    }
    return Buffer.concat(chunks)
  }
  const agent = await fakeAgent(t)
  agent.server.removeAllListeners('request')
  agent.server.on('request', (incoming: IncomingMessage, response) => {
    response.setHeader('content-type', 'application/json')
    if (incoming.url?.includes('/.well-known/') === true) return response.end(JSON.stringify(plainCard(agent.url)))
    if (incoming.headers['x-early'] !== undefined) {
      early++
      incoming.pause()
      return response.end(`{"early":"${String(incoming.headers['x-early'])}"}`)
    }
    slow(incoming).then(body => response.end(witness(body)), () => {})
  })
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(agent.url, [], ['limits: {body: 16MiB}']).replace('{url:', '{connections: 4, url:')
  })
  const bodies = Array.from({ length: 24 }, (_none, i) => bodyOf([70_000, 300_000, 2_000_000, 9_000_000][i % 4] as number, false))
  const answers = await Promise.all(bodies.map(async ({ body }, i) => {
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    if (i % 3 === 0) {
      return await (await fetch(`${gateway.url}/rpc`, { method: 'POST', headers: { ...headers, 'x-early': String(i) }, body })).text()
    }
    return await (await fetch(`${gateway.url}/rpc`, { method: 'POST', headers, body })).text()
  }))
  t.same(answers, bodies.map(({ expected }, i) => i % 3 === 0 ? `{"early":"${i}"}` : witness(expected)))
  t.equal(early, 8, 'none is sent twice')
  await until(async () => await gateway.metric('a2a_gateway_held_bytes') === 0, 'nothing is held any more')
})

t.test('an agent that disconnects in the middle of a body is reported', async t => {
  const agent = await fakeAgent(t)
  agent.server.removeAllListeners('request')
  agent.server.on('request', (incoming: IncomingMessage, response) => {
    if (incoming.url?.includes('/.well-known/') === true) {
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(plainCard(agent.url)))
    }
    incoming.once('data', () => { incoming.socket.resetAndDestroy() })
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['limits: {body: 16MiB}']) })
  for (const size of [70_000, 9_000_000]) {
    const answer = await send(gateway.url, bodyOf(size, false), false)
    t.match(answer, /^HTTP\/1\.1 502 /)
    t.match(answer, new RegExp(`"id":"call-${serial}"`))
  }
})
