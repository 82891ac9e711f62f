/**
 * Evaluation of JSON responses: unchanged bytes, edits, reports and rejections, and unreadable responses. The gateway sends nothing to the
 * client before it has stored the task.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import type { ResponseEvaluator } from '#policy/response/evaluator.js'
import { call, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { broken, FORWARD, REMEMBER, review, reviewed } from '../helpers/evaluated-exchange.js'
import { checkAsync } from '../helpers/seed.js'

const JSON_HEADERS = { 'content-type': 'application/json', etag: '"agent"', digest: 'x' }
const BODY = '{"jsonrpc":"2.0","id":7, "result":{"task":{"id":"t","metadata":{"secret":1,"n":1.0}}}}\n'
const outcome = (name: string): string =>
  `a2a_gateway_requests_total{agent="other",operation="SendStreamingMessage",binding="JSONRPC",version="1.0",outcome="${name}"}`
const unread = (reason: string): string => `a2a_gateway_answers_unread_total{agent="other",reason="${reason}"}`
const observed = (more: Partial<ResponseEvaluator> = {}): ResponseEvaluator => review({ buffersBody: false, enforces: false, ...more })

t.test('valid responses: the same bytes and headers, however they are cut, held or not', async t => {
  let chunks: readonly Buffer[] = []
  const agent = await fakeAgent(t, {
    answer: async (_request, response) => {
      response.writeHead(200, JSON_HEADERS)
      for (const chunk of chunks) {
        response.write(chunk)
        await new Promise(resolve => setImmediate(resolve))
      }
      response.end()
    }
  })
  for (const [name, make] of [['held', review], ['observed', observed]] as const) {
    const seen: string[] = []
    const gateway = await reviewed(t, { agent: agent.url, review: () => make({ seen } as never) })
    await checkAsync(
      'gateway/responses-json/pieces',
      fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 50 }), { minLength: 1, maxLength: 20 }), async arrays => {
        chunks = arrays.map(one => Buffer.from(one))
        seen.length = 0
        const got = await call(gateway.url)
        // An observed response is evaluated after the client has it.
        await until(() => seen.length > 0, 'the evaluation')
        return (
          got.status === 200 &&
          got.bytes.equals(Buffer.concat(chunks)) &&
          got.headers.etag === '"agent"' &&
          seen[0] === Buffer.concat(chunks).toString()
        )
      }),
      { numRuns: 15 }
    )
    t.equal(seen.length, 1, name)
  }
})

t.test('edits change the body and its length; digests of the agent\'s bytes are removed', async t => {
  const agent = await fakeAgent(t, { answer: (_request, response) => { response.writeHead(200, JSON_HEADERS).end(BODY) } })
  const gateway = await reviewed(t, {
    agent: agent.url,
    review: () =>
      review({
        evaluate: () =>
          broken('observe', { edits: [{ path: ['result', 'task', 'metadata', 'secret'], value: null }], edited: ['policy/rule'] })
      })
  })
  const got = await call(gateway.url)
  t.equal(got.text, BODY.replace('"secret":1,', ''))
  t.equal(got.headers['content-length'], String(BODY.length - 11))
  t.equal(got.headers.etag, undefined)
  t.equal(got.headers.digest, undefined)
  t.match(gateway.audits(), [{ phase: 'response', decision: 'edited', edited: ['policy/rule'], rule: 'rule', extension: 'policy' }])
  t.equal(
    await gateway.metric('a2a_gateway_violations_total{agent="other",extension="policy",rule="rule",phase="response",mode="observe"}'),
    1
  )
})

t.test('a violated rule rejects the response in the caller\'s binding, and none of the response reaches the client', async t => {
  const agent = await fakeAgent(t, { answer: (_request, response) => { response.writeHead(200, JSON_HEADERS).end(BODY) } })
  for (const [binding, version] of [['JSONRPC', '1.0'], ['HTTP+JSON', '1.0'], ['HTTP+JSON', '0.3']] as const) {
    const gateway = await reviewed(t, { agent: agent.url, binding, version, review: () => review({ evaluate: () => broken('enforce') }) })
    const got = await call(gateway.url)
    t.equal(got.status, binding === 'JSONRPC' ? 200 : 500)
    t.equal(got.headers['gateway-decision'], 'reject;rule="policy/rule"')
    t.notMatch(got.text, 'secret')
    if (binding === 'JSONRPC') t.match(got.json(), { id: 7, error: { code: -32006 } })
    else if (version === '1.0') { t.match(got.json(), { error: { code: 500, status: 'INTERNAL', details: [{ reason: 'INVALID_AGENT_RESPONSE' }] } }) } else t.match(got.json(), { code: -32006, type: 'InvalidAgentResponseError' })
    t.match(gateway.audits(), [{ phase: 'response', decision: 'rejected' }])
    await until(async () => (await gateway.metrics.text()).includes('outcome="rejected"'))
  }
})

t.test('annotations are in a header, each rule once', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, { ...JSON_HEADERS, 'gateway-decision': 'forged' }).end(BODY)
    }
  })
  const gateway = await reviewed(t, {
    agent: agent.url,
    review: () => review({ evaluate: () => ({ ...FORWARD, annotations: ['policy/a', 'policy/b c'] }) })
  })
  const got = await call(gateway.url)
  t.equal(got.text, BODY)
  t.equal(got.headers['gateway-decision'], 'warn;rule="policy/a", warn;rule="policy/b%20c"')
})

t.test('observed responses do not wait: their first bytes arrive before their end', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, JSON_HEADERS).write('{"a":')
      setTimeout(() => { response.end('1}') }, 300)
    }
  })
  const seen: string[] = []
  const gateway = await reviewed(t, {
    agent: agent.url,
    review: () =>
      observed({
        evaluate: bytes => {
          seen.push(bytes.toString())
          return broken('observe')
        }
      })
  })
  const outgoing = request(gateway.url).end()
  const [incoming] = await once(outgoing, 'response') as [IncomingMessage]
  const [first] = await once(incoming, 'data') as [Buffer]
  t.equal(first.toString(), '{"a":')
  t.same(seen, [])
  incoming.resume()
  await once(incoming, 'end')
  t.same(seen, ['{"a":1}'])
  t.match(gateway.audits(), [{ phase: 'response', decision: 'observed' }])
})

const CANNOT: readonly { name: string; reason: string; rule: string; headers: Record<string, string>; body: Buffer; response?: number }[] =
  [
    {
      name: 'too long by its header',
      reason: 'too_large',
      rule: 'response-size',
      headers: { ...JSON_HEADERS, 'content-length': '101' },
      body: Buffer.alloc(101, ' '),
      response: 100
    },
    {
      name: 'too long by its bytes',
      reason: 'too_large',
      rule: 'response-size',
      headers: JSON_HEADERS,
      body: Buffer.alloc(300_000, ' '),
      response: 100
    },
    {
      name: 'encoded',
      reason: 'encoding',
      rule: 'response-encoding',
      headers: { ...JSON_HEADERS, 'content-encoding': 'gzip' },
      body: Buffer.from('xyz')
    },
    {
      name: 'an encoded stream',
      reason: 'encoding',
      rule: 'response-encoding',
      headers: { 'content-type': 'text/event-stream', 'content-encoding': 'br' },
      body: Buffer.from('data: 1\n\n')
    },
    {
      name: 'no JSON',
      reason: 'content_type',
      rule: 'response-type',
      headers: { 'content-type': 'text/plain' },
      body: Buffer.from('hello')
    },
    { name: 'of no type', reason: 'content_type', rule: 'response-type', headers: {}, body: Buffer.from('{}') }
  ]

t.test('an unreadable response is rejected if enforced, and forwarded unread otherwise', async t => {
  let row = CANNOT[0] as typeof CANNOT[number]
  const agent = await fakeAgent(t, { answer: (_request, response) => { response.writeHead(200, row.headers).end(row.body) } })
  for (row of CANNOT) {
    for (const enforces of [true, false]) {
      for (const holds of enforces ? [true] : [true, false]) {
        const gateway = await reviewed(t, {
          agent: agent.url,
          review: () =>
            review({
              buffersBody: holds,
              enforces,
              evaluate: () => {
                throw new Error('judged')
              }
            }),
          ...(row.response === undefined ? {} : { response: row.response })
        })
        const got = await call(gateway.url)
        if (enforces) {
          t.match(got.json(), { id: 7, error: { code: -32006 } }, row.name)
          t.equal(got.headers['gateway-decision'], `reject;rule="gateway/${row.rule}"`)
          t.match(gateway.audits(), [{ phase: 'response', decision: 'rejected', rule: row.rule }])
        } else t.ok(got.bytes.equals(row.body), row.name)
        t.equal(await gateway.metric(unread(row.reason)), 1, row.name)
        await until(async () => await gateway.metric(outcome(enforces ? 'rejected' : 'forwarded')) === 1)
      }
    }
  }
})

t.test('a response of exactly the limit is evaluated', async t => {
  const body = `{"a":"${'x'.repeat(92)}"}`
  const agent = await fakeAgent(t, { answer: (_request, response) => { response.writeHead(200, JSON_HEADERS).end(body) } })
  for (const make of [review, observed]) {
    const seen: string[] = []
    const gateway = await reviewed(t, { agent: agent.url, response: 100, review: () => make({ seen } as never) })
    t.equal((await call(gateway.url)).text, body)
    t.same(seen, [body])
  }
})

t.test('errors, empty responses and responses without relevant bodies are not read', async t => {
  let status = 500
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(status, status === 204 ? {} : JSON_HEADERS).end(status === 204 ? undefined : BODY)
    }
  })
  const judge = (): never => { throw new Error('judged') }
  const gateway = await reviewed(t, { agent: agent.url, review: () => review({ evaluate: judge, readsBody: status !== 200 }) })
  for (status of [500, 404, 204, 200]) {
    const got = await call(gateway.url)
    t.equal(got.status, status)
    t.equal(got.text, status === 204 ? '' : BODY)
  }
})

t.test('the client sees nothing before the task is remembered', async t => {
  let written: () => void = () => {}
  const agent = await fakeAgent(t, { answer: (_request, response) => { response.writeHead(200, JSON_HEADERS).end(BODY) } })
  const order: string[] = []
  const gateway = await reviewed(t, {
    agent: agent.url,
    review: () => review({ evaluate: () => REMEMBER }),
    remember: (taskId, fields) => {
      order.push(`write ${taskId} ${fields.get('state') ?? ''}`)
      return new Promise<void>(resolve => { written = resolve })
    }
  })
  const answer = call(gateway.url).then(got => { order.push('answered'); return got })
  await until(() => order.length === 1)
  await sleep(100)
  t.same(order, ['write t working'])
  written()
  t.equal((await answer).text, BODY)
  t.same(order, ['write t working', 'answered'])

  // A client that leaves meanwhile is nobody's trouble.
  const outgoing = request(gateway.url).end()
  outgoing.on('error', () => {})
  await until(() => order.length === 3)
  outgoing.destroy()
  await until(async () => await gateway.metric(outcome('client_aborted')) === 1)
  written()
  await sleep(20)
  t.equal(gateway.live.size, 0)
})

t.test(
  'a client that disconnects while its response is collected aborts the call to the agent; if the agent dies then, the client gets an error',
  async t => {
    const opened: ServerResponse[] = []
    const agent = await fakeAgent(t, {
      answer: (_request, response) => {
        response.writeHead(200, JSON_HEADERS).write('{"a":')
        opened.push(response)
      }
    })
    const gateway = await reviewed(t, { agent: agent.url, review: () => review() })
    const outgoing = request(gateway.url).end()
    outgoing.on('error', () => {})
    await until(() => opened.length === 1)
    const closed = once(opened[0] as ServerResponse, 'close')
    outgoing.destroy()
    await closed
    await until(async () => (await gateway.metric(outcome('client_aborted'))) === 1)

    const answer = call(gateway.url)
    await until(() => opened.length === 2)
    await sleep(20)
    opened[1]?.socket?.resetAndDestroy()
    const got = await answer
    t.equal(got.status, 502)
    t.equal(got.headers['gateway-decision'], 'reject;rule="gateway/upstream-reset"')
    await until(async () => (await gateway.metric(outcome('upstream_error'))) === 1)
  }
)

t.test('the echo is the result of the evaluation; requested extensions are counted once by their activation', async t => {
  const agent = await fakeAgent(t, {
    answer: (_request, response) => {
      response.writeHead(200, { ...JSON_HEADERS, 'A2A-Extensions': 'urn:a, urn:b', 'X-A2A-Extensions': 'urn:c' }).end(BODY)
    }
  })
  const echoed: string[][] = []
  let judged = false
  const gateway = await reviewed(t, {
    agent: agent.url,
    review: () => review({
      echoed: uris => { echoed.push([...uris]) },
      evaluate: () => { judged = true; return FORWARD },
      shown: () => judged ? ['urn:a', 'urn:proven'] : [],
      activationReport: () => ({ confirmed: ['urn:a', 'urn:proven'], absent: ['urn:x'], unexpected: ['urn:b'] })
    })
  })
  const got = await call(gateway.url)
  t.same(echoed, [['urn:a', 'urn:b', 'urn:c']])
  t.equal(got.headers['a2a-extensions'], 'urn:a,urn:proven')
  t.equal(got.headers['x-a2a-extensions'], undefined)
  await until(async () => await gateway.metric(outcome('forwarded')) === 1)
  for (const [echo, count] of [['confirmed', 2], ['absent', 1], ['unexpected', 1]] as const) {
    t.equal(
      await gateway.metric(`a2a_gateway_activations_total{agent="other",extension="other",source="client",echo="${echo}"}`),
      count,
      echo
    )
  }
})

t.test('a failed evaluation rejects enforced responses, and forwards all others', async t => {
  const agent = await fakeAgent(t, { answer: (_request, response) => { response.writeHead(200, JSON_HEADERS).end(BODY) } })
  const judge = (): never => { throw new Error('a fault') }
  const enforcing = await reviewed(t, { agent: agent.url, review: () => review({ evaluate: judge }) })
  t.equal((await call(enforcing.url)).status, 500)
  await until(async () => await enforcing.metric(outcome('gateway_error')) === 1)
  for (const holds of [true, false]) {
    const observed = { evaluate: judge, enforces: false, buffersBody: holds }
    const observing = await reviewed(t, { agent: agent.url, review: () => review(observed) })
    t.equal((await call(observing.url)).text, BODY)
  }
})
