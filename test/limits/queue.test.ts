/** Calls that wait for a connection to the agent: in order, for a limited time, and without leftovers after the gateway gives them up. */
import t from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, rawAgent, until } from '../helpers/http.js'
import { active, begin, FORMS, holdingAgent, rawClient, refusals, refusedForNow, send } from './kit.js'

const narrow = (url: string, queue: string, more = ''): string =>
  `agents: [{name: agent, upstream: {url: "${url}", connections: 2, timeouts: {queue: ${queue}${more}}}, passthrough: [/files]}]`
const failures = (gateway: TestGateway, kind: string): Promise<number> =>
  gateway.metric(`a2a_gateway_upstream_errors_total{agent="agent",kind="${kind}"}`)

t.test('a call beyond the connections is rejected when none becomes free in time', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: narrow(agent.url, '300ms') })
  begin(gateway, true)
  begin(gateway, true)
  await until(() => agent.held.length === 2, 'two streams hold the connections')
  for (const form of FORMS) refusedForNow(t, await send(gateway, form), form, 'upstream-queue-timeout', '7')
  const upload = await rawClient(
    t,
    gateway.url,
    `POST /files/a HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(200_000)}GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n`
  )
  await until(() => upload.text().includes('HTTP/1.1 404 '), 'the next request on the connection of an upload that was refused')
  t.match(upload.text(), /^HTTP\/1\.1 503 /)
  t.equal(await failures(gateway, 'queue_timeout'), 5)
  t.equal(await refusals(gateway, 'gateway/upstream-queue-timeout'), 5)
  t.equal(await active(gateway), 0)
  agent.release()
  agent.release()
  const done = send(gateway)
  await until(() => agent.held.length === 1, 'the next call')
  t.equal(agent.received.length, 3, 'what was given up is never sent')
  agent.release()
  t.equal((await done).status, 200)
})

t.test('a freed connection goes to the waiting calls in their order; disconnected clients are skipped', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: narrow(agent.url, '1m') })
  begin(gateway, true)
  begin(gateway, true)
  await until(() => agent.held.length === 2)
  const waiting: Promise<number>[] = []
  for (let i = 0; i < 4; i++) {
    if (i === 1) {
      const leaves = begin(gateway)
      await until(async () => await active(gateway) === i + 1)
      leaves.destroy()
      await until(async () => await active(gateway) === i)
    }
    waiting.push(call(`${gateway.url}/rest/tasks/${i}`, { headers: ['a2a-version', '1.0'] }).then(answer => answer.status))
    await until(async () => await active(gateway) === i + 1)
  }
  t.equal(agent.received.length, 2)
  for (let i = 0; i < 6; i++) {
    await until(() => agent.held.length > 0)
    agent.release()
  }
  t.same(await Promise.all(waiting), [200, 200, 200, 200])
  t.same(agent.received.slice(2).map(({ url }) => url), [0, 1, 2, 3].map(i => `/rest/tasks/${i}`))
  t.equal(await failures(gateway, 'queue_timeout'), 0)
})

t.test('broken and refused connections free their place too', async t => {
  let calls = 0
  const agent = await rawAgent(t, socket => {
    if (++calls % 2 === 0) socket.resetAndDestroy()
    else socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
  })
  const gateway = await gatewayFor(t, { yaml: narrow(agent.url, '1m') })
  const answers = await Promise.all(Array.from({ length: 60 }, () => send(gateway)))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200, 502]))
  t.equal(await failures(gateway, 'queue_timeout'), 0)

  const nowhere = await gatewayFor(
    t,
    {
      yaml: 'agents: [{name: agent, upstream: {url: "http://127.0.0.1:1", connections: 1, timeouts: {queue: 1m}}, card: {onUnavailable: forward}}]'
    },
    false
  )
  const refused = await Promise.all(Array.from({ length: 20 }, () => send(nowhere)))
  t.same(new Set(refused.map(({ status }) => status)), new Set([502]))
})

t.test('the card is refreshed while calls hold all connections', async t => {
  const agent = await holdingAgent(t)
  let cards = 0
  agent.server.prependListener('request', ({ url }) => { if (url?.includes('/.well-known/') === true) cards++ })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}", connections: 1}, card: {refresh: 50ms}}]`
  })
  begin(gateway, true)
  await until(() => agent.held.length === 1)
  const before = cards
  await until(() => cards > before + 2, 'the card to be asked for')
  t.equal(agent.held.length, 1, 'while the call holds the connection')
})

t.test('the whole exchange has a timeout: waiting, response and stream', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: narrow(agent.url, '1m', ', total: 700ms') })
  const late = await send(gateway)
  t.match(late, { status: 504, headers: { 'gateway-decision': 'reject;rule="gateway/upstream-total-timeout"' } })
  t.match(late.text, /"id":7,"error":\{"code":-32603,/)
  await t.rejects(send(gateway, ['JSONRPC', '1.0'], true), 'a stream that has begun is broken off')
  begin(gateway, true)
  begin(gateway, true)
  await until(() => agent.held.length === 2)
  const [waited] = await Promise.all([send(gateway), until(() => agent.held.length === 0, 'the agent to be told')])
  t.equal(waited.status, 504, 'waiting counts')
  await until(async () => await failures(gateway, 'total_timeout') === 5, 'five of them')
  t.equal(await failures(gateway, 'queue_timeout'), 0)

  const answered = send(gateway)
  await until(() => agent.held.length === 1)
  agent.release()
  t.equal((await answered).status, 200, 'in time')
})
