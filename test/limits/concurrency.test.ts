/**
 * The number of calls and streams in flight to an agent: calls up to the limit pass, further calls get a response that asks them to wait,
 * and no call is lost or counted twice.
 */
import t from 'tap'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, until, V1 } from '../helpers/http.js'
import { rawAgent } from '../helpers/http.js'
import { active, begin, FORMS, holdingAgent, refusals, refusedForNow, send } from './kit.js'

const LIMITED = 'concurrency: {requests: 2, streams: 1}'
const STREAMS = (gateway: { adminUrl: string }): Promise<number> =>
  fetch(`${gateway.adminUrl}/agents`).then(
    async answer => ((await answer.json()) as { load: { streams: number } }[])[0]?.load.streams ?? -1
  )

t.test('two calls and a stream pass, a third call and a second stream are rejected, in every binding and version', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [LIMITED]) })
  for (const form of FORMS) begin(gateway, form === FORMS[3], form).once('response', () => {})
  await until(() => agent.received.length === 3, 'two calls and a stream')
  t.equal(await active(gateway), 2)
  t.equal(await STREAMS(gateway), 1)
  const before = await refusals(gateway, 'gateway/too-many-requests')
  for (const form of FORMS) refusedForNow(t, await send(gateway, form), form, 'too-many-requests', '7')
  for (const form of FORMS) refusedForNow(t, await send(gateway, form, true), form, 'too-many-streams', '7')
  t.equal(await refusals(gateway, 'gateway/too-many-requests'), before + 4)
  t.equal(await refusals(gateway, 'gateway/too-many-streams'), 4)
  t.equal(agent.received.length, 3, 'the agent was not asked')

  while (agent.held.length > 0) agent.release()
  await until(async () => await active(gateway) === 0 && await STREAMS(gateway) === 0, 'nothing under way')
  begin(gateway)
  begin(gateway, true)
  await until(() => agent.held.length === 2, 'room again')
})

t.test('a call frees its place, however it ends', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [LIMITED]) })
  const ends: Record<string, (client: ReturnType<typeof begin>) => void> = {
    'it is answered': () => { agent.release() },
    'the client leaves': client => { client.destroy() },
    'the agent breaks off': () => { agent.held[0]?.destroy() }
  }
  for (const [name, end] of Object.entries(ends)) {
    for (const stream of [false, true]) {
      const client = begin(gateway, stream)
      await until(() => agent.held.length === 1, `${name}: begun`)
      t.same([await active(gateway), await STREAMS(gateway)], stream ? [0, 1] : [1, 0], name)
      end(client)
      await until(async () => await active(gateway) === 0 && await STREAMS(gateway) === 0 && agent.held.length === 0, `${name}: over`)
    }
  }
  t.equal((await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: '{' })).json().error?.code as unknown, -32700)
  t.equal(await active(gateway), 0, 'what is refused never counted')
})

t.test('an unreachable agent holds no place', async t => {
  const agent = await rawAgent(t, socket => { socket.resetAndDestroy() })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['concurrency: {requests: 1, streams: 1}']) })
  for (let i = 0; i < 5; i++) t.equal((await send(gateway)).status, 502)
  t.equal(await active(gateway), 0)
})

t.test('passthrough requests count', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['concurrency: {requests: 1, streams: 1}', 'passthrough: [/files]']) })
  const first = call(`${gateway.url}/files/a`)
  await until(() => agent.held.length === 1)
  t.equal(await active(gateway), 1)
  const second = await call(`${gateway.url}/files/b`, { body: 'x'.repeat(100) })
  t.match(second, { status: 503, headers: { 'retry-after': '5', 'gateway-decision': 'reject;rule="gateway/too-many-requests"' } })
  t.equal((await send(gateway)).status, 503)
  agent.release()
  await first
  await until(async () => await active(gateway) === 0)
})

t.test('an agent that replaces another keeps its counts, under its own limits', async t => {
  const agent = await holdingAgent(t)
  const yaml = (requests: number, more = ''): string => oneAgent(agent.url, [`concurrency: {requests: ${requests}, streams: 1}`, more])
  const gateway = await gatewayFor(t, { yaml: yaml(2) })
  begin(gateway)
  begin(gateway)
  await until(() => agent.held.length === 2)
  t.match(await gateway.reload(configOf({ yaml: yaml(2, 'mode: observe') })), { ok: true, agents: { changed: ['agent'] } })
  t.equal(await active(gateway), 2)
  t.equal((await send(gateway)).status, 503, 'still full')
  t.match(await gateway.reload(configOf({ yaml: yaml(3) })), { ok: true, agents: { changed: ['agent'] }, needsRestart: [] })
  begin(gateway)
  await until(() => agent.held.length === 3, 'the new limit')
  t.equal(await active(gateway), 3)
  agent.release()
  agent.release()
  agent.release()
  await until(async () => await active(gateway) === 0, 'nothing lost, nothing counted twice')
})

t.test('Retry-After comes from the configuration', async t => {
  const agent = await holdingAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(agent.url, ['concurrency: {requests: 1, streams: 1}'], ['shedding: {retryAfter: 1500ms}'])
  })
  begin(gateway)
  await until(() => agent.held.length === 1)
  t.equal((await send(gateway)).headers['retry-after'], '2')
})
