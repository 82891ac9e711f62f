/**
 * Evaluation of event streams: unchanged bytes, at most one event held, rejection with an event of the caller's binding, and never a clean
 * end for a broken stream.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import type { Test } from 'tap'
import type { ResponseEvaluator, ResponseDecision } from '#policy/response/evaluator.js'
import { call, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import type { Reviewed, ReviewedOptions } from '../helpers/evaluated-exchange.js'
import { broken, FORWARD, REMEMBER, review, reviewed } from '../helpers/evaluated-exchange.js'
import { checkAsync } from '../helpers/seed.js'
import { whole } from '#wire/chunked-buffer.js'

const SSE = { 'content-type': 'text/event-stream' }
const EVENTS = 'a2a_gateway_stream_events_total{agent="other"}'
const ACTIVE = 'a2a_gateway_streams_active{agent="other"}'
const TOO_LARGE = 'a2a_gateway_answers_unread_total{agent="other",reason="too_large"}'
const outcome = (name: string): string =>
  `a2a_gateway_requests_total{agent="other",operation="SendStreamingMessage",binding="JSONRPC",version="1.0",outcome="${name}"}`
const make = {
  held: review,
  observed: (more: Parameters<typeof review>[0] = {}): ResponseEvaluator => review({ buffersBody: false, enforces: false, ...more })
}

/** An agent that leaves its stream to the test, and a gateway in front of it. */
async function streaming (
  t: Test,
  options: Omit<ReviewedOptions, 'agent'>
): Promise<{ gateway: Reviewed; next: () => Promise<ServerResponse> }> {
  const opened: ServerResponse[] = []
  let taken = 0
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, SSE).flushHeaders()
      opened.push(response)
    }
  })
  return {
    gateway: await reviewed(t, { ...options, agent: agent.url }),
    next: async () => {
      await until(() => opened.length > taken)
      return opened[taken++] as ServerResponse
    }
  }
}

interface Client { readonly incoming: IncomingMessage, text (): string, stop (): void, readonly closed: Promise<void> }

async function listen (gateway: Reviewed): Promise<Client> {
  const outgoing = request(gateway.url, { agent: false })
  outgoing.on('error', () => {})
  outgoing.end()
  const [incoming] = await once(outgoing, 'response') as [IncomingMessage]
  let text = ''
  incoming.on('data', (chunk: Buffer) => { text += chunk.toString('latin1') })
  incoming.on('error', () => {})
  return {
    incoming,
    text: () => text,
    stop: () => {
      outgoing.destroy()
    },
    closed: new Promise(resolve => {
      incoming.once('close', () => {
        resolve()
      })
    })
  }
}

const tick = (): Promise<void> => new Promise(resolve => { setImmediate(resolve) })

t.test('valid streams: the same bytes, cut anywhere, held or not; every event is evaluated and counted once', async t => {
  const bytes = Buffer.from(
    '\ufeffdata: 0\n\n: hello\n\nevent: x\r\ndata: {"a":"😀"}\r\n\r\n:\r\rdata: b\rdata:c\r\rid: 1\nretry: 5\nfoo\n\ndata\n\n\n\n: ping\n\ndata: \u2028 last\n\ndata: open'
  )
  let cuts: readonly number[] = []
  const agent = await fakeAgent(t, {
    answer: async (_request, response) => {
      response.writeHead(200, SSE)
      let at = 0
      for (const cut of [...cuts, bytes.length]) {
        response.write(bytes.subarray(at, cut))
        at = cut
        await tick()
      }
      response.end()
    }
  })
  for (const kind of ['held', 'observed'] as const) {
    const seen: string[] = []
    const gateway = await reviewed(t, { agent: agent.url, review: () => make[kind]({ seen }) })
    const everywhere = Array.from({ length: bytes.length - 1 }, (_, i) => i + 1)
    let runs = 0
    await checkAsync(
      'gateway/responses-stream/cut-anywhere',
      fc.asyncProperty(
        fc.oneof(
          { weight: 1, arbitrary: fc.constant(everywhere) },
          { weight: 5, arbitrary: fc.subarray(everywhere, { minLength: 0, maxLength: 12 }) }
        ),
        async some => {
          cuts = some
          seen.length = 0
          runs++
          const got = await call(gateway.url)
          // What is only observed is judged once it has gone out.
          await tick()
          return got.bytes.equals(bytes) && seen.join('|') === '0|{"a":"😀"}|b\nc||\u2028 last|open'
        }
      ),
      { numRuns: 15 }
    )
    t.equal(await gateway.metric(EVENTS), 5 * runs, kind)
  }
})

t.test('an event is sent as soon as it is evaluated, and all other bytes at once', async t => {
  for (const kind of ['held', 'observed'] as const) {
    const { gateway, next } = await streaming(t, { review: () => make[kind]() })
    const client = await listen(gateway)
    const agent = await next()
    t.equal(client.incoming.headers['x-accel-buffering'], 'no')
    agent.write(': heartbeat\n')
    await until(() => client.text() === ': heartbeat\n', 'a heartbeat')
    agent.write('data: 1\n')
    if (kind === 'held') {
      await sleep(50)
      t.equal(client.text(), ': heartbeat\n', 'half an event waits')
      agent.write(': within\n')
      await sleep(50)
      t.equal(client.text(), ': heartbeat\n', 'and so does what is within it')
    } else {
      agent.write(': within\n')
      await until(() => client.text().endsWith(': within\n'))
    }
    agent.write('\n')
    await until(() => client.text() === ': heartbeat\ndata: 1\n: within\n\n')
    agent.end()
    await client.closed
    t.ok(client.incoming.complete)
  }
})

t.test(
  "a rejected event is replaced with an error of the caller's binding, which ends the stream regularly; the call to the agent is aborted",
  async t => {
    for (const [binding, version] of [
      ['JSONRPC', '1.0'],
      ['HTTP+JSON', '1.0'],
      ['HTTP+JSON', '0.3']
    ] as const) {
      const { gateway, next } = await streaming(t, {
        binding,
        version,
        review: () => review({ evaluate: bytes => (whole(bytes).includes('bad') ? broken('enforce') : FORWARD) })
      })
      const client = await listen(gateway)
      const agent = await next()
      const gone = once(agent, 'close')
      agent.write('data: good\n\ndata: bad\n\ndata: never\n\n')
      await client.closed
      await gone
      t.ok(client.incoming.complete, 'a clean end')
      const [good, error, ...rest] = client.text().split('\n\n')
      t.equal(good, 'data: good')
      t.same(rest, [''])
      const json = JSON.parse(/^data: (.*)$/m.exec(error ?? '')?.[1] ?? 'null') as unknown
      t.equal((error ?? '').startsWith('event: error\n'), binding === 'HTTP+JSON')
      if (binding === 'JSONRPC') t.match(json, { jsonrpc: '2.0', id: 7, error: { code: -32006 } })
      else t.match(json, version === '1.0' ? { error: { code: 500, details: [{ reason: 'INVALID_AGENT_RESPONSE' }] } } : { code: -32006 })
      await until(async () => (await gateway.metrics.text()).includes('outcome="rejected"'))
      t.equal(await gateway.metric(EVENTS), 1, "the gateway's own event is none of the agent's")
      t.equal(await gateway.metric(ACTIVE), 0)
      t.match(gateway.audits(), [{ phase: 'response', decision: 'rejected' }])
    }
  }
)

t.test('edits and annotations are in their event', async t => {
  const verdicts: ResponseDecision[] = [
    { ...FORWARD, edits: [{ path: ['a'], value: null }], edited: ['policy/a'], violations: broken('observe').violations },
    { ...FORWARD, annotations: ['policy/b'] },
    FORWARD
  ]
  const { gateway, next } = await streaming(t, { review: () => review({ evaluate: () => verdicts.shift() as ResponseDecision }) })
  const client = await listen(gateway)
  const agent = await next()
  agent.end('id: 1\r\ndata: {"a":1,"b": 2.0}\r\nfoo\r\n\r\ndata: 2\n\n')
  await client.closed
  t.equal(client.text(), 'id: 1\r\ndata: {"b": 2.0}\r\nfoo\r\n\r\n: gateway-decision: warn;rule="policy/b"\ndata: 2\n\n')
  t.match(gateway.audits(), [{ decision: 'edited', edited: ['policy/a'] }])
})

t.test('rules on the last event are evaluated at the regular end', async t => {
  for (const [end, complete] of [[broken('enforce'), true], [broken('observe'), true]] as const) {
    const { gateway, next } = await streaming(t, { review: () => review({ end: () => end }) })
    const client = await listen(gateway)
    ;(await next()).end('data: 1\n\n')
    await client.closed
    t.equal(client.incoming.complete, complete)
    if (end.rejection === null) t.equal(client.text(), 'data: 1\n\n')
    else t.match(client.text(), /^data: 1\n\ndata: \{"jsonrpc":"2.0","id":7,"error"/)
    t.equal(gateway.audits().length, 1)
  }
})

t.test('an event above the limit is rejected if enforced; otherwise it passes unread, and the next one is evaluated', async t => {
  const large = `data: ${'x'.repeat(200)}\n\n`
  const refused = await streaming(t, { event: 100, review: () => review() })
  const client = await listen(refused.gateway)
  const agent = await refused.next()
  agent.write('data: 1\n\n')
  agent.write(large)
  await client.closed
  t.ok(client.incoming.complete)
  t.match(client.text(), /^data: 1\n\ndata: .*-32006/)
  t.notMatch(client.text(), 'xxx')
  t.equal(await refused.gateway.metric(TOO_LARGE), 1)
  t.match(refused.gateway.audits(), [{ phase: 'response', decision: 'rejected', extension: 'gateway', rule: 'event-size' }])

  for (const holds of [true, false]) {
    const seen: string[] = []
    const { gateway, next } = await streaming(t, { event: 100, review: () => review({ seen, buffersBody: holds, enforces: false }) })
    const client = await listen(gateway)
    const agent = await next()
    for (const byte of Buffer.from(`data: 1\n\n${large}data: 2\n\n`)) {
      agent.write(Buffer.from([byte]))
      await tick()
    }
    agent.end(`data: 3\ndata: ${'y'.repeat(300)}\n\ndata: 4\n\n`)
    await client.closed
    await tick()
    t.equal(client.text(), `data: 1\n\n${large}data: 2\n\ndata: 3\ndata: ${'y'.repeat(300)}\n\ndata: 4\n\n`)
    t.same(seen, ['1', '2', '4'])
    t.equal(await gateway.metric(TOO_LARGE), 2)
    t.equal(await gateway.metric(EVENTS), 5)
  }
})

t.test('an event with too many lines is above the limit too', async t => {
  const { gateway, next } = await streaming(t, { review: () => review() })
  const client = await listen(gateway)
  ;(await next()).write('data\n'.repeat(10_001))
  await client.closed
  t.match(client.text(), '"rule":"event-size"')
  t.equal(await gateway.metric(outcome('rejected')), 1)
})

t.test('an agent that dies within an event: held bytes are dropped, and the connection is broken', async t => {
  for (const kind of ['held', 'observed'] as const) {
    const { gateway, next } = await streaming(t, { review: () => make[kind]() })
    const client = await listen(gateway)
    const agent = await next()
    agent.write('data: 1\n\ndata: half')
    await until(() => client.text().startsWith('data: 1\n\n'))
    await sleep(20)
    agent.socket?.resetAndDestroy()
    await client.closed
    t.notOk(client.incoming.complete)
    t.equal(client.text(), kind === 'held' ? 'data: 1\n\n' : 'data: 1\n\ndata: half')
    await until(async () => await gateway.metric(outcome('upstream_error')) === 1)
    t.equal(await gateway.metric(ACTIVE), 0)
  }
})

t.test('an event waits for the task record, and later events and heartbeats wait in order', async t => {
  const written: (() => void)[] = []
  const { gateway, next } = await streaming(t, {
    review: () => review({ enforces: false, evaluate: bytes => whole(bytes).includes('keep') ? REMEMBER : FORWARD }),
    remember: () => new Promise<void>(resolve => { written.push(resolve) })
  })
  const client = await listen(gateway)
  const agent = await next()
  agent.write('data: 1\n\ndata: keep 2\n\ndata: 3\n\n')
  await until(() => written.length === 1)
  agent.write(': heartbeat\n\ndata: keep 4\n\n')
  await sleep(50)
  t.equal(client.text(), 'data: 1\n\n')
  written[0]?.()
  await until(() => written.length === 2, 'the agent to go on')
  t.equal(client.text(), 'data: 1\n\ndata: keep 2\n\ndata: 3\n\n: heartbeat\n\n')
  agent.end()
  await sleep(50)
  t.notOk(client.incoming.complete)
  written[1]?.()
  await client.closed
  t.ok(client.incoming.complete)
  t.ok(client.text().endsWith('data: keep 4\n\n'))
  await until(async () => await gateway.metric(outcome('forwarded')) === 1)
})

t.test('while an event waits, an agent that dies breaks the stream after it, and a client that disconnects frees everything', async t => {
  const written: (() => void)[] = []
  const { gateway, next } = await streaming(t, {
    review: () => review({ evaluate: () => REMEMBER }),
    remember: () => new Promise<void>(resolve => { written.push(resolve) })
  })
  const client = await listen(gateway)
  const agent = await next()
  agent.write('data: 1\n\n')
  await until(() => written.length === 1)
  agent.socket?.resetAndDestroy()
  await sleep(30)
  written[0]?.()
  await client.closed
  t.notOk(client.incoming.complete)
  await until(async () => await gateway.metric(outcome('upstream_error')) === 1)

  const leaving = await listen(gateway)
  const left = await next()
  left.write('data: 1\n\n')
  await until(() => written.length === 2)
  const closed = once(left, 'close')
  leaving.stop()
  await closed
  written[1]?.()
  await until(async () => await gateway.metric(outcome('client_aborted')) === 1)
  t.equal(gateway.live.size, 0)
})

t.test('the header waits for the first event, with the comments and fields before it', async t => {
  let judged = false
  const { gateway, next } = await streaming(t, {
    review: () => {
      judged = false
      return review({
        enforces: false,
        buffersHead: true,
        evaluate: () => {
          judged = true
          return FORWARD
        },
        shown: () => (judged ? ['urn:proven'] : [])
      })
    }
  })
  const large = `: ${'x'.repeat(5_000)}\n\n`
  for (const [before, first, shown] of [
    ['', '\n\ndata: 1\n\n', 'urn:proven'],
    ['', ': open\n\ndata: 1\n\n', 'urn:proven'],
    [': open\n\n', 'data: 1\n\n', 'urn:proven'],
    ['id: 7\nretry: 3000\n\n: keep-alive\n\n', 'id: 8\nretry: 10\nevent: message\ndata: 1\n\n', 'urn:proven'],
    ['retry: 3000\r\n\r\n', ': x\r\ndata: 1\r\n\r\n', 'urn:proven'],
    [': open\n\n', '', undefined], ['', large, undefined], ['', '', undefined]
  ] as const) {
    const opening = listen(gateway)
    const agent = await next()
    let opened = false
    opening.then(() => { opened = true }, () => {})
    if (before !== '') agent.write(before)
    await sleep(50)
    t.notOk(opened, 'the header waits')
    if (first === '') agent.end()
    else agent.write(first)
    const client = await opening
    t.equal(client.incoming.headers['a2a-extensions'], shown)
    await until(() => client.text() === before + first)
    agent.end()
    await client.closed
    t.ok(client.incoming.complete)
  }

  // An agent that keeps the connection open with comments for long: from 10 s on, the next comment sends the header.
  const opening = listen(gateway)
  const agent = await next()
  const { now } = performance
  t.teardown(() => { performance.now = now })
  agent.write(': 1\n\n')
  await sleep(50)
  performance.now = () => now.call(performance) + 10_000
  agent.write(': 2\n\n')
  const client = await opening
  performance.now = now
  t.equal(client.incoming.headers['a2a-extensions'], undefined)
  agent.end('data: 1\n\n')
  await client.closed
  t.equal(client.text(), ': 1\n\n: 2\n\ndata: 1\n\n')

  // A refused first event has the answer to itself.
  const refusing = await streaming(t, {
    binding: 'HTTP+JSON',
    review: () => review({ buffersHead: true, evaluate: () => broken('enforce') })
  })
  const got = call(refusing.gateway.url)
  ;(await refusing.next()).write('data: 1\n\n')
  t.equal((await got).status, 500)
})

t.test('a stream of many invalid events: every event is counted, twenty have an audit line, and the others a sum', async t => {
  const { gateway, next } = await streaming(t, { review: () => make.observed({ evaluate: () => broken('observe') }) })
  const client = await listen(gateway)
  ;(await next()).end('data: 1\n\n'.repeat(50))
  await client.closed
  await until(async () => await gateway.metric(outcome('forwarded')) === 1)
  t.equal(
    await gateway.metric('a2a_gateway_violations_total{agent="other",extension="policy",rule="rule",phase="response",mode="observe"}'),
    50
  )
  const audits = gateway.audits()
  t.equal(audits.length, 21)
  t.match(audits[20], { phase: 'response', decision: 'observed', lines_omitted: 30, violations: [] })
})

t.test('a client that does not read pauses the agent; when it disconnects, the call to the agent is aborted', async t => {
  for (const kind of ['held', 'observed'] as const) {
    let written = 0
    let stopped = false
    let aborted = false
    const agent = await fakeAgent(t, {
      answer: (_request, response) => {
        response.once('close', () => { aborted = true })
        response.writeHead(200, SSE)
        const event = `data: ${'x'.repeat(64 * 1024)}\n\n`
        const pump = (): void => {
          stopped = false
          while (!response.destroyed && written < 400 * 1024 * 1024) {
            written += event.length
            if (!response.write(event)) {
              stopped = true
              response.once('drain', pump)
              return
            }
          }
        }
        pump()
      }
    })
    const gateway = await reviewed(t, { agent: agent.url, review: () => make[kind]() })
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
    let before = -1
    await until(async () => {
      if (before === written && stopped) return true
      before = written
      await sleep(300)
      return false
    }, 'the agent to stand still', 30_000)
    t.ok(written < 40 * 1024 * 1024, `${kind}: stopped after ${written} bytes`)
    const held = written
    socket.resume()
    await until(() => written > held + 8 * 1024 * 1024, 'the agent to go on', 30_000)
    socket.destroy()
    await until(() => aborted, 'the agent to be aborted')
    await until(async () => await gateway.metric(ACTIVE) === 0)
    t.equal(gateway.live.size, 0)
  }
})

t.test('a stop ends a stream between two events with a comment, also while half an event is held', async t => {
  for (const kind of ['held', 'observed'] as const) {
    const { gateway, next } = await streaming(t, { review: () => make[kind]() })
    const client = await listen(gateway)
    const agent = await next()
    agent.write('data: 1\n\ndata: half')
    await until(() => client.text().startsWith('data: 1\n\n'))
    await sleep(20)
    gateway.live.endAll()
    await client.closed
    t.equal(client.incoming.complete, kind === 'held')
    if (kind === 'held') t.equal(client.text(), 'data: 1\n\n: the gateway is shutting down\n\n')
  }
})
