/**
 * Responses that differ from A2A, over real sockets: bare results of 1.0, chunks of whole DataParts, and roles, states and members that A2A
 * does not define.
 */
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/http.js'
import { call, JSON_TYPE, MESSAGE, rpcBody, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const URI = 'https://example.com/grant/v1'
const POLICY = `extensions:
  grant:
    uri: "${URI}"
    request:
      - id: resume-with-grant
        select: {metadata: {key: grant}}
        when: {taskState: [input-required]}
        count: {min: 1}
    response:
      - id: order
        select: {part: {data: true}}
        schema: {type: object, properties: {total: {type: number}}, required: [total]}
        verdict: reject
    correlate:
      - id: granted
        remember: {on: response, select: {metadata: {in: [status], key: offers}}, pick: /*}
        check: {on: request, select: {metadata: {in: [message], key: grant}}, relation: member}`

const violation = (rule: string, extension = 'gateway'): string =>
  `a2a_gateway_violations_total{agent="agent",extension="${extension}",rule="${rule}",phase="response",mode="observe"}`
const message = (more: object = {}): object => ({ messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'which?' }], ...more })
const task = (more: object = {}): object => ({
  id: 't1',
  contextId: 'c1',
  status: { state: 'TASK_STATE_INPUT_REQUIRED', message: message({ metadata: { offers: ['read', 'write'] } }) },
  ...more
})

interface Bench { readonly gateway: TestGateway, readonly send: (path: '/rpc' | '/rest', more?: object, stream?: boolean) => Promise<Answer> }

/** The agent responds with these results: one, or the events of a stream. */
async function bench (t: Test, responses: string, results: readonly object[]): Promise<Bench> {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: URI }] } }),
    answer: (request, response) => {
      const rpc = request.url === '/rpc'
      const stream = /SendStreaming|:stream/.test(rpc ? request.body.toString() : request.url)
      const bodies = results.map(result => JSON.stringify(rpc ? { jsonrpc: '2.0', id: 1, result } : result))
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
      response.end(stream ? bodies.map(body => `data: ${body}\n\n`).join('') : bodies[0])
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [grant]', `responses: ${responses}`], [POLICY]) })
  return {
    gateway,
    send: async (path, more = {}, stream = false) => {
      const params = { message: { ...MESSAGE, ...more } }
      return await call(`${gateway.url}${path === '/rpc' ? path : `/rest/message:${stream ? 'stream' : 'send'}`}`, {
        headers: [...JSON_TYPE, ...V1, ...(stream ? ['accept', 'text/event-stream'] : [])],
        body: path === '/rpc' ? rpcBody(stream ? 'SendStreamingMessage' : 'SendMessage', params) : JSON.stringify(params)
      })
    }
  }
}

t.test('bare results of 1.0 are read: state and correlation work, and the response is noted', async t => {
  for (const responses of ['enforce', 'observe']) {
    for (const path of ['/rpc', '/rest'] as const) {
      for (const stream of [false, true]) {
        const { gateway, send } = await bench(t, responses, [task()])
        const name = `${responses} ${path} ${stream ? 'stream' : 'whole'}`
        const first = await send(path, {}, stream)
        t.match(first.text, '"offers":["read","write"]', name)
        t.equal(await gateway.metric(violation('answer-unwrapped')), 1, name)
        t.equal(await gateway.metric(violation('answer-envelope')), 0, name)
        const resume = async (metadata: object): Promise<string> => (await send(path, { taskId: 't1', metadata })).text
        t.match(await resume({}), /resume-with-grant/, 'the gateway knows the state of the task')
        t.match(await resume({ grant: 'admin' }), /granted/, 'and the values that the agent offered')
        t.match(await resume({ grant: 'read' }), '"offers"')
      }
    }
  }
})

t.test('rules apply to bare results', async t => {
  const bare = task({ artifacts: [{ artifactId: 'a', parts: [{ data: { total: 'x' } }] }] })
  for (const path of ['/rpc', '/rest'] as const) {
    const enforced = await bench(t, 'enforce', [bare])
    t.match((await enforced.send(path)).text, /grant\/order.*artifacts\[0\]\.parts\[0\]\.data\.total/)
    const observed = await bench(t, 'observe', [bare])
    t.match((await observed.send(path)).text, '"total":"x"')
    t.equal(await observed.gateway.metric(violation('order', 'grant')), 1)
  }
})

t.test('chunks of whole DataParts are evaluated, chunks of text are recorded only', async t => {
  const update = (parts: readonly object[], append: boolean): object =>
    ({ artifactUpdate: { taskId: 't1', contextId: 'c1', artifact: { artifactId: 'a', parts }, append } })
  for (const path of ['/rpc', '/rest'] as const) {
    const bad = await bench(t, 'enforce', [
      { task: task() },
      update([{ text: 'x' }], true),
      update([{ data: { total: 1 } }], true),
      update([{ data: { total: 'x' } }], true)
    ])
    const { text } = await bad.send(path, {}, true)
    t.match(text, '"total":1')
    t.notMatch(text, '"total":"x"')
    t.match(text, /grant\/order/)
    t.match(text, /artifactUpdate\.artifact\.parts\[0\]\.data\.total/)
  }
})

t.test('roles, states and members that A2A does not define are recorded, and the bytes stay', async t => {
  const odd: readonly (readonly [object, string])[] = [
    [{ task: task({ cost: 1 }) }, 'task.cost'],
    [{ task: task({ status: { state: 'TASK_STATE_PAUSED' } }) }, 'task.status.state'],
    [{ message: message({ role: 'ROLE_SYSTEM' }) }, 'message.role'],
    [{ message: message({ priority: 1 }) }, 'message.priority']
  ]
  for (const responses of ['enforce', 'observe']) {
    for (const path of ['/rpc', '/rest'] as const) {
      for (const [result, place] of odd) {
        const { gateway, send } = await bench(t, responses, [result])
        const got = await send(path)
        t.equal(got.text, JSON.stringify(path === '/rpc' ? { jsonrpc: '2.0', id: 1, result } : result), place)
        t.equal(await gateway.metric(violation('answer-unknown')), 1, place)
        t.match(JSON.stringify(gateway.audits()), `${path === '/rpc' ? 'result.' : ''}${place}`)
        t.notMatch(JSON.stringify(gateway.audits()), 'PAUSED')
      }
    }
  }
})
