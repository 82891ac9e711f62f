/** Loads an agent's cards once, with the gateway's own loader. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { AgentConfig } from '#config/model/model.js'
import { loadCardsOnce } from '#agents/card/card-once.js'
import { readTlsFiles } from '#upstream/tls.js'
import { startAgent } from '../helpers/agents.js'
import { configOf, oneAgent } from '../helpers/gateway.js'
import { inTests } from '../helpers/paths.js'

const LIMITS = { card: 100_000, jsonDepth: 64, jsonMembers: 10_000 }
const FIXTURES = inTests('fixtures/tls')

const agentAt = (url: string, ...extra: string[]): AgentConfig =>
  configOf({ yaml: oneAgent(url, extra), baseDir: inTests('upstream') }).agents[0] as AgentConfig
const read = (agent: AgentConfig, timeout?: number) => loadCardsOnce(agent, LIMITS, readTlsFiles(agent.upstream.tls), {}, timeout)

async function serve (t: Test, server: Server): Promise<{ port: number, sockets: Set<Socket> }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => { sockets.delete(socket) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

t.test('both cards of an agent are read', async t => {
  const agent = await startAgent({ kind: 'dual', card: { name: 'Twofold' } })
  t.teardown(() => agent.close())
  const result = await read(agentAt(agent.url))
  if (!result.ok) throw new Error(result.problem)
  const { byVersion, origin } = result.cards
  t.equal(origin, agent.cardUrl)
  t.match([byVersion['0.3'].card.name, byVersion['1.0'].card.name], ['Twofold', 'Twofold'])
  t.match(byVersion['0.3'].card.raw, { protocolVersion: /^0\.3/ })
  t.notOk(byVersion['1.0'].card.raw.url, 'the card for 1.0 is its own')
  t.same(agent.received.map(one => one.headers['a2a-version']).toSorted(), ['1.0', undefined])
})

t.test('no connection stays open in any case', async t => {
  const answers: RequestListener = (req, res) => {
    if (req.url?.startsWith('/slow') === true) return
    if (req.url?.startsWith('/no') === true) res.writeHead(503).end()
    else res.end('{"name": "a", "url": "http://agent.test/"}')
  }
  const { port, sockets } = await serve(t, createServer(answers))
  t.match(await read(agentAt(`http://127.0.0.1:${port}`)), { ok: true })
  t.same(await read(agentAt(`http://127.0.0.1:${port}/no`)), {
    ok: false,
    problem: `http://127.0.0.1:${port}/no/.well-known/agent-card.json responded with 503`
  })
  const before = Date.now()
  t.same(await read(agentAt(`http://127.0.0.1:${port}/slow`), 100), {
    ok: false,
    problem: `http://127.0.0.1:${port}/slow/.well-known/agent-card.json did not deliver the card within 100 ms`
  })
  t.ok(Date.now() - before < 5_000)
  for (const end = Date.now() + 2_000; sockets.size > 0 && Date.now() < end;) await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(sockets.size, 0)
})

t.test('an unreachable agent, and a card in a file', async t => {
  t.match(await read(agentAt('http://127.0.0.1:1')), {
    ok: false,
    problem: 'http://127.0.0.1:1/.well-known/agent-card.json cannot be reached: connection refused (ECONNREFUSED)'
  })
  const directory = t.testdir({ 'card.json': '{"name": "from disk", "url": "http://agent.test/"}', 'bad.json': '{"name": 1, "name": 2}' })
  const file = join(directory, 'card.json')
  const result = await read(agentAt('http://127.0.0.1:1', `card: {file: ${JSON.stringify(file)}}`))
  t.match(result, { ok: true, cards: { origin: file } })
  t.match(await read(agentAt('http://127.0.0.1:1', `card: {file: ${JSON.stringify(join(directory, 'bad.json'))}}`)), {
    ok: false,
    problem: /bad\.json does not contain a card: /
  })
})

t.test('certificates are verified against the authority of the agent', async t => {
  const [cert, key] = ['right.pem', 'right.key.pem'].map(name => readFileSync(join(FIXTURES, name)))
  const { port } = await serve(
    t,
    createTlsServer({ cert, key }, (_req, res) => {
      res.end('{"name": "safe", "url": "https://agent.test/"}')
    })
  )
  t.match(await read(agentAt(`https://127.0.0.1:${port}`)), { ok: false, problem: /cannot be reached: .*(SELF_SIGNED|UNABLE_TO)/ })
  const trusting = configOf({
    yaml: `agents: [{name: agent, upstream: {url: "https://127.0.0.1:${port}", tls: {ca: ca.pem}}}]`,
    baseDir: FIXTURES
  }).agents[0] as AgentConfig
  t.match(await read(trusting), { ok: true })
})
