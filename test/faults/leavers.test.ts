/**
 * Clients that disconnect at each point of a call, for each setting of `responses`: the gateway closes the agent's connection, the metric
 * names the side that disconnected, and no resources stay in use.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { open, until, untilAtMost, untilSame } from '../helpers/http.js'
import { REMEMBER, review, reviewed } from '../helpers/evaluated-exchange.js'
import { fakeAgent } from '../helpers/raw.js'
import { ask, callOf, faultsConfig, FORMS, isOwn, outcome, RESPONSES } from './calls.js'
import type { Form } from './calls.js'
import { chunk, faultyAgent, headOf } from './faulty-agent.js'
import type { FaultyAgent } from './faulty-agent.js'

/** Sends so much of a request, from a bare socket. */
function sendRaw (gateway: TestGateway, form: Form, share: 'head' | 'half' | 'whole'): Socket {
  const { path, options } = callOf(form)
  const names = options.headers ?? []
  const lines = names.flatMap((name, i) => i % 2 === 0 ? [`${name}: ${names[i + 1] as string}`] : [])
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\n${lines.join('\r\n')}\r\ncontent-length: ${options.body.length}\r\n\r\n`
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  socket.on('error', () => {})
  const { length } = options.body
  socket.write(head + options.body.slice(0, share === 'head' ? 0 : share === 'half' ? length / 2 : length))
  return socket
}

const aborted = (gateway: TestGateway): Promise<number> => gateway.metric('a2a_gateway_requests_total{outcome="client_aborted",front="http"}')

interface Scene { readonly t: Test, readonly gateway: TestGateway, readonly agent: FaultyAgent, readonly form: Form }

/** Each leaves, and returns when it has left; the agent has been dialled or not. */
const POINTS: Readonly<Record<string, (scene: Scene) => Promise<{ readonly dialled: boolean }>>> = {
  'before a byte of the body': async ({ gateway, form }) => {
    const socket = sendRaw(gateway, form, 'head')
    await once(socket, 'connect')
    await new Promise(resolve => { setTimeout(resolve, 30) })
    socket.resetAndDestroy()
    return { dialled: false }
  },
  'within the body': async ({ gateway, form }) => {
    const socket = sendRaw(gateway, form, 'half')
    await once(socket, 'connect')
    await new Promise(resolve => { setTimeout(resolve, 30) })
    socket.destroy()
    return { dialled: false }
  },
  'before the head of the answer': async ({ gateway, agent, form }) => {
    agent.fault = { act: () => {} }
    const before = agent.calls()
    const socket = sendRaw(gateway, form, 'whole')
    await until(() => agent.calls() === before + 1, 'the call to reach the agent')
    socket.resetAndDestroy()
    return { dialled: true }
  },
  'within the answer': async ({ gateway, agent, form }) => {
    agent.fault = {
      act: ({ socket, good, streams }) => {
        const [first = ''] = good.pieces
        socket.write(
          streams
            ? `${headOf(good.type)}transfer-encoding: chunked\r\n\r\n${chunk(first)}`
            : `${headOf(good.type)}content-length: ${first.length}\r\n\r\n${first.slice(0, 20)}`
        )
      }
    }
    const before = agent.calls()
    const { path, options } = callOf(form)
    const outgoing = open(`${gateway.url}${path}`, options)
    outgoing.on('error', () => {})
    let seen = 0
    outgoing.once('response', (incoming: IncomingMessage) => { incoming.on('error', () => {}).on('data', () => { seen++ }) })
    outgoing.end(options.body)
    await until(() => agent.calls() === before + 1, 'the call to reach the agent')
    if (form.startsWith('SSE')) await until(() => seen > 0, 'the first event')
    outgoing.destroy()
    return { dialled: true }
  }
}

t.jobs = RESPONSES.length
for (const responses of RESPONSES) {
  t.test(`responses: ${responses}`, { buffered: true }, async t => {
    const agent = await faultyAgent(t)
    const gateway = await gatewayFor(t, {
      yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 1h}\n${faultsConfig(agent.url, responses, ', connections: 2')}`
    })
    for (const [point, leave] of Object.entries(POINTS)) {
      for (const form of FORMS) {
        const what = `${point}, ${form}`
        const [before, calls, sockets] = [await aborted(gateway), agent.calls(), new Set(agent.sockets)]
        const { dialled } = await leave({ t, gateway, agent, form })
        await until(async () => await aborted(gateway) === before + 1, `${what}: client_aborted`)
        t.equal(agent.calls() - calls, dialled ? 1 : 0, `${what}: ${dialled ? 'called once' : 'dialled for nobody'}`)
        if (dialled) {
          await until(
            () => [...sockets].some(socket => !agent.sockets.has(socket)) || agent.sockets.size === 0,
            `${what}: the agent to be let go`
          )
        }
        agent.fault = null
        isOwn(t, await ask(gateway, form), form, `${what}: the next call`)
        t.equal(await outcome(gateway, form, 'upstream_error'), 0, `${what}: nobody else's fault`)
        t.equal(await outcome(gateway, form, 'gateway_error'), 0)
      }
    }
    t.equal(await gateway.metric('a2a_gateway_streams_active{agent="agent"}'), 0)
    await untilAtMost(t, () => agent.sockets.size, 2, 'no connection beyond the pool')
    await gateway.close() // which waits for an hour where a call is left
    await until(() => agent.sockets.size === 0, 'no connection at all')
  })
}

t.test('a client that closes its half of the connection counts as disconnected', async t => {
  const agent = await faultyAgent(t)
  const gateway = await gatewayFor(t, { yaml: faultsConfig(agent.url, 'enforce') })
  agent.fault = { act: () => {} }
  for (const [i, form] of FORMS.entries()) {
    const socket = sendRaw(gateway, form, 'whole')
    await until(() => agent.calls() === i + 1, 'the call to reach the agent')
    socket.resume().end()
    await once(socket, 'close')
    await untilSame(t, () => aborted(gateway), i + 1, form)
  }
  await untilAtMost(t, () => agent.sockets.size, 1, 'the agent is let go')
})

for (const kind of ['whole answer', 'event'] as const) {
  t.test(`a client that disconnects while ${kind === 'event' ? 'an event' : 'a complete response'} waits for the task record`, async t => {
    const stream = kind === 'event'
    let gone = false
    const agent = await fakeAgent(t, {
      answer: (_request, response) => {
        response.once('close', () => { gone = !response.writableFinished })
        response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
        if (stream) response.write('data: {"held":1}\n\n')
        else response.end('{"held":1}')
      }
    })
    const keep: Array<() => void> = []
    const at = await reviewed(t, {
      agent: agent.url,
      review: () => review({ evaluate: () => REMEMBER }),
      remember: () =>
        new Promise<void>(resolve => {
          keep.push(resolve)
        })
    })
    const outgoing = open(at.url, { method: 'POST' })
    outgoing.on('error', () => {})
    outgoing.end()
    await until(() => keep.length === 1, 'it to be held')
    outgoing.destroy()
    await until(() => at.live.size === 0, 'no exchange to be left')
    if (stream) await until(() => gone, 'the agent to be let go')
    keep[0]?.() // what comes back for nobody hurts nobody
    await new Promise(resolve => { setTimeout(resolve, 20) })
    t.equal(
      await at.metric(
        'a2a_gateway_requests_total{agent="other",operation="SendStreamingMessage",binding="JSONRPC",version="1.0",outcome="client_aborted"}'
      ),
      1
    )
    t.equal(
      await at.metric(
        'a2a_gateway_requests_total{agent="other",operation="SendStreamingMessage",binding="JSONRPC",version="1.0",outcome="gateway_error"}'
      ),
      0
    )
  })
}
