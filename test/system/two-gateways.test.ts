/**
 * Two gateway processes that share one real Redis server: each process knows the state that passed through the other. Needs the Debian
 * package `redis-server`.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import type { TestAgent } from '../helpers/agents.js'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { Got, Sent } from '../helpers/approvals.js'
import { approvalPolicy, approvals, callsOf, HITL, request, send, sending } from '../helpers/approvals.js'
import { call, freePort, JSON_TYPE, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { slowedRedis, startRedis } from '../helpers/redis.js'
import type { ServedGateway } from '../helpers/serve.js'
import { serve } from '../helpers/serve.js'

const TASKS = 240
/** What the way to the server takes for the gateways, in each direction: a write that nobody waits for would come too late. ms */
const SLOW = 15

quietSdk()

interface Pair { readonly gateways: readonly [ServedGateway, ServedGateway], readonly urls: readonly [string, string] }

async function pairOf (t: Test, port: number, agents: readonly string[], path = '/a2a/jsonrpc'): Promise<Pair> {
  const yaml = (redis: number): string => [
    'agents:', ...agents,
    ...approvalPolicy('reject'),
    `state: {store: "redis://127.0.0.1:${redis}", timeout: 5s}`
  ].join('\n')
  const slow = await slowedRedis(t, port, SLOW)
  const gateways = await Promise.all([serve(t, yaml(slow)), serve(t, yaml(port))])
  for (const gateway of gateways) {
    await gateway.heard(/connected to the store/, 1)
  }
  return { gateways, urls: [gateways[0].url + path, gateways[1].url + path] }
}

const entry = (name: string, upstream: string, path = '/'): string =>
  `  - {name: ${name}, path: ${path}, upstream: {url: "${upstream}"}, responses: enforce, extensions: [hitl]}`

async function sdkPair (t: Test): Promise<Pair & { readonly agent: TestAgent }> {
  const { port } = await startRedis(t, await freePort())
  const agent = await startAgent({ kind: 'v1', behaviour: approvals, card: { extensions: [{ uri: HITL }] } })
  t.teardown(() => agent.close())
  return { agent, ...await pairOf(t, port, [entry('tools', agent.url)]) }
}

t.test('a task that pauses through one gateway continues through the other, which knows the request', async t => {
  const { agent, urls: [a, b], gateways } = await sdkPair(t)
  for (const streamed of [false, true]) {
    for (const [first, second] of [[a, b], [b, a]] as const) {
      const paused = await send(first, { text: 'tidy' }, streamed)
      t.equal(paused.state, 'INPUT_REQUIRED', paused.answer.text)
      const { taskId } = paused
      const reached = agent.calls().length
      const wrong: [string, readonly string[]][] = [
        ['another', ['tidy-1', 'other-2']],
        ['missing', ['tidy-1']],
        ['none', []],
        ['twice', ['tidy-1', 'tidy-2', 'tidy-1']],
        ['one more', ['tidy-1', 'tidy-2', 'tidy-3']]
      ]
      for (const [name, approved] of wrong) {
        for (const url of [second, first]) t.equal((await send(url, { taskId, approved }, streamed)).rule, 'hitl/every-call-once', name)
      }
      t.equal(agent.calls().length, reached, 'the agent saw none of them')
      const right = { taskId, approved: ['tidy-2', 'tidy-1'] }
      t.equal((await send(second, right, streamed)).state, 'COMPLETED', 'in any order')
      for (const url of [first, second]) t.equal((await send(url, right, streamed)).rule, 'hitl/only-while-it-waits', 'a second time')
      t.equal(agent.calls().length, reached + 1)
    }
  }
  const twice = await send(a, { text: 'one' })
  t.equal((await send(b, { text: 'again: two', taskId: twice.taskId, approved: callsOf('one') })).state, 'INPUT_REQUIRED')
  t.equal(
    (await send(a, { taskId: twice.taskId, approved: callsOf('one') })).rule,
    'hitl/every-call-once',
    'the approvals of the first pause'
  )
  t.equal((await send(a, { taskId: twice.taskId, approved: callsOf('two') }, true)).state, 'COMPLETED')
  for (const gateway of gateways) {
    t.ok(await gateway.metric('a2a_gateway_task_lookups_total{outcome="known"}') > 0)
    t.equal(await gateway.metric('a2a_gateway_task_writes_total{outcome="lost"}'), 0)
    t.equal(await gateway.metric('a2a_gateway_tasks_remembered'), 0, 'the server holds them')
  }
})

t.test(`${TASKS} tasks between two gateways, without a wrong rejection`, async t => {
  const { urls: [a, b], gateways } = await sdkPair(t)
  let next = 0
  const wrong: string[] = []
  const run = async (): Promise<void> => {
    for (let i = next++; i < TASKS; i = next++) {
      const [first, second] = i % 2 === 0 ? [a, b] : [b, a]
      const name = `n${i}`
      const steps = async (url: string, sent: Sent, expected: string): Promise<Got> => {
        const got = await send(url, sent, i % 4 < 2)
        if (got.state !== expected && got.rule !== expected) {
          wrong.push(`${i} ${JSON.stringify(sent)}: ${got.state} ${got.rule}, not ${expected}`)
        }
        return got
      }
      const { taskId } = await steps(first, { text: name }, 'INPUT_REQUIRED')
      if (i % 3 === 0) await steps(second, { taskId, approved: callsOf(`n${i + 1}`) }, 'hitl/every-call-once')
      await steps(second, { taskId, approved: callsOf(name), text: `again: ${name}b` }, 'INPUT_REQUIRED')
      await steps(first, { taskId, approved: callsOf(`${name}b`) }, 'COMPLETED')
      await steps(second, { taskId, approved: callsOf(`${name}b`) }, 'hitl/only-while-it-waits')
    }
  }
  await Promise.all(Array.from({ length: 6 }, run))
  t.same(wrong, [])
  for (const gateway of gateways) {
    t.equal(await gateway.metric('a2a_gateway_task_lookups_total{outcome="unavailable"}'), 0)
    t.equal(await gateway.metric('a2a_gateway_task_writes_total{outcome="lost"}'), 0)
  }
})

t.test('when the first byte of the pausing event arrives, the other gateway knows the pause', async t => {
  const { urls: [a, b] } = await sdkPair(t)
  for (let i = 0; i < 25; i++) {
    const { taskId, socket } = await untilPaused(a, `raw${i}`)
    // The wrong answer first: a gateway that knows of no task would say something else.
    const [wrong, right] = i % 2 === 0
      ? [await send(b, { taskId, approved: callsOf('other') }), await send(b, { taskId, approved: callsOf(`raw${i}`) })]
      : [null, await send(b, { taskId, approved: callsOf(`raw${i}`) }, true)]
    if (wrong !== null) t.equal(wrong.rule, 'hitl/every-call-once')
    t.equal(right.state, 'COMPLETED', `${i}: ${right.rule}`)
    socket.destroy()
  }
})

t.test('the same task ids of two agents, and of two tenants, are different tasks', async t => {
  const { port } = await startRedis(t, await freePort())
  const answering = (name: string) => fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: HITL }] } }),
    answer: ({ url, body }, response) => {
      const { id, params = JSON.parse(body.toString()) as object } = JSON.parse(body.toString()) as {
        id?: unknown
        params?: { tenant?: string; message?: { taskId?: string } }
      }
      const tenant = /^\/rest\/(\w+)\//.exec(url)?.[1] ?? (params as { tenant?: string }).tenant
      const finished = (params as { message?: { taskId?: string } }).message?.taskId !== undefined
      const status = finished
        ? { state: 'TASK_STATE_COMPLETED' }
        : {
            state: 'TASK_STATE_INPUT_REQUIRED',
            message: { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'may I?' }], metadata: request(`${name}${tenant ?? ''}`) }
          }
      const result = { task: { id: 't1', contextId: 'c1', status } }
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify(url.startsWith('/rest') ? result : { jsonrpc: '2.0', id, result }))
    }
  })
  const [one, two] = await Promise.all([answering('one'), answering('two')])
  const { urls: [a, b] } = await pairOf(t, port, [entry('one', one.url, '/one'), entry('two', two.url, '/two')], '')
  const places: { readonly at: string, readonly tenant?: string, readonly calls: string[] }[] = [
    { at: '/one', calls: callsOf('one') }, { at: '/two', calls: callsOf('two') },
    { at: '/one', tenant: 'x', calls: callsOf('onex') }, { at: '/one', tenant: 'y', calls: callsOf('oney') }
  ]
  const at = (url: string, place: (typeof places)[number], sent: Sent): Promise<Got> =>
    send(`${url}${place.at}/rpc`, { ...sent, ...(place.tenant === undefined ? {} : { tenant: place.tenant }) })
  for (const place of places) t.equal((await at(a, place, { text: 'go' })).state, 'INPUT_REQUIRED')
  for (const place of places) {
    for (const other of places) {
      if (other !== place) t.equal((await at(b, place, { taskId: 't1', approved: other.calls })).rule, 'hitl/every-call-once')
    }
  }
  t.equal(
    (await at(b, { at: '/two', tenant: 'x', calls: [] }, { taskId: 't1', approved: callsOf('onex') })).rule,
    'hitl/only-while-it-waits',
    'a tenant of which nothing is known'
  )
  // The same tenant in the path of the other binding.
  const rest = (approved: readonly string[]): Promise<{ status: number }> =>
    call(`${b}/one/rest/x/message:send`, {
      headers: [...JSON_TYPE, ...V1, 'a2a-extensions', HITL],
      body: JSON.stringify(sending({ taskId: 't1', approved }))
    })
  t.equal((await rest(callsOf('oney'))).status, 400)
  t.equal((await rest(callsOf('onex'))).status, 200)
  for (const place of places) {
    if (place.tenant === 'x') t.equal((await at(a, place, { taskId: 't1', approved: place.calls })).rule, 'hitl/only-while-it-waits')
    else t.equal((await at(b, place, { taskId: 't1', approved: place.calls })).state, 'COMPLETED')
  }
})

/** Streams on a bare socket, until the first bytes of the event after the one that says `working` have come. */
async function untilPaused (url: string, text: string): Promise<{ readonly taskId: string, readonly socket: Socket }> {
  const { hostname, port, pathname, host } = new URL(url)
  const body = rpcBody('SendStreamingMessage', sending({ text }))
  const socket = connect(Number(port), hostname)
  socket.setNoDelay(true)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\naccept: text/event-stream\r\na2a-version: 1.0\r\na2a-extensions: ${HITL}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
  let read = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    read += String(chunk)
    const taskId = /"taskId":"([^"]+)"/.exec(read)?.[1]
    const events = read.replace(/\r\n[0-9a-f]+\r\n/g, '').split('\n\n')
    const working = events.findIndex(event => event.includes('"TASK_STATE_WORKING"'))
    // What ends a chunk of HTTP is no event yet.
    if (taskId !== undefined && working !== -1 && events[working + 1]?.includes('data:') === true) return { taskId, socket }
  }
  throw new Error(`the stream ended too early: ${read}`)
}
