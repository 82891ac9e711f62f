/**
 * The gateway reads the wire responses of the official SDK agents without a fault or a problem, for every operation, version and binding
 * that they support.
 */
import t from 'tap'
import type { Test } from 'tap'
import type { Operation } from '#a2a/operations.js'
import { methodOfOperation } from '#a2a/operations.js'
import { normaliseResult } from '#a2a/message/normalise-result.js'
import { viewResponse } from '#a2a/message/read-result.js'
import type { ResponseView, ResultView } from '#a2a/message/result.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { AgentKind, TestAgent } from '../helpers/agents.js'
import { quietSdk, startAgent } from '../helpers/agents.js'

quietSdk()

const SPOKEN: readonly (readonly [AgentKind, Version])[] = [['v1', '1.0'], ['dual', '1.0'], ['dual', '0.3'], ['v03', '0.3']]

for (const [kind, version] of SPOKEN) {
  for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
    t.test(`${kind}, ${version}, ${binding}`, t => talk(t, kind, version, binding))
  }
}

async function talk (t: Test, kind: AgentKind, version: Version, binding: Binding): Promise<void> {
  const agent = await startAgent({ kind })
  t.teardown(() => agent.close())
  const peer = new Peer(t, agent, version, binding)

  const streamed = await collect(peer.stream('SendStreamingMessage', peer.message('hello')))
  t.same(
    streamed.map(({ kind, state, append, artifacts }) => [
      kind,
      state,
      append,
      artifacts.map(one => one.parts.map(part => (part.isData ? part.data : part.fields.get('text'))))
    ]),
    [
      ['task', 'submitted', false, []],
      ['statusUpdate', 'working', false, []],
      ['artifactUpdate', null, false, [['echo: ']]],
      ['artifactUpdate', null, true, [['hello']]],
      ['artifactUpdate', null, false, [[{ a: 1 }]]],
      ['statusUpdate', 'completed', false, []]
    ]
  )
  const [first] = streamed
  t.ok(first?.taskId)
  for (const one of streamed) t.match(one, { taskId: first?.taskId, contextId: first?.contextId })

  const message = await peer.one('SendMessage', peer.message('message'))
  t.match(message, { kind: 'message', taskId: null, state: null, status: null, artifacts: [] })
  t.ok(message.contextId)
  t.match(normaliseResult(message), {
    type: 'message',
    message: { role: 'agent', metadata: { seen: [] }, parts: [{ text: 'echo: message' }] }
  })

  const sent = await peer.one('SendMessage', peer.message('hello'))
  const id = sent.taskId ?? ''
  const got = await peer.one('GetTask', { id })
  for (const task of [sent, got]) {
    t.match(task, { kind: 'task', taskId: id, contextId: sent.contextId, state: 'completed', status: null, message: null })
    t.match(normaliseResult(task), {
      type: 'task',
      state: 'completed',
      artifacts: [
        { artifactId: 'echo', parts: [{ text: 'echo: ' }, { text: 'hello' }] },
        { artifactId: 'data', parts: [{ data: { a: 1 } }] }
      ]
    })
    t.same(task.artifacts.flatMap(one => one.parts.map(part => part.ambiguity)), [null, null, null])
  }
  t.same(sent.history.map(one => one.parts.map(part => part.isData ? part.data : part.fields.get('text'))), [['hello', { a: 1 }]])

  const paused = await peer.one('SendMessage', peer.message('pause'))
  t.match(normaliseResult(paused), {
    type: 'task',
    state: 'input-required',
    status: { message: { role: 'agent', taskId: paused.taskId, parts: [{ text: 'say more' }] } }
  })
  t.match(await peer.one('CancelTask', { id: paused.taskId }), { kind: 'task', taskId: paused.taskId, state: 'canceled' })

  const list = await peer.call('ListTasks', {})
  // 0.3 has no such operation. SDK 1.3.0 takes the path /v1/tasks for the list of a tenant "v1".
  const lists = version === '1.0' || (kind === 'dual' && binding === 'HTTP+JSON')
  t.equal(list.isError, !lists)
  t.same(
    list.results.map(({ kind, taskId }) => [kind, taskId]).sort(),
    version === '1.0'
      ? [
          ['task', first?.taskId],
          ['task', id],
          ['task', paused.taskId]
        ].sort()
      : []
  )

  const running = peer.stream('SendStreamingMessage', peer.message('long'))
  const { value: started } = await running.next() as { value: ResultView }
  const subscribed = peer.stream('SubscribeToTask', { id: started.taskId })
  const { value: joined } = await subscribed.next() as { value: ResultView }
  t.match(joined, { kind: 'task', taskId: started.taskId })
  t.match(await peer.one('CancelTask', { id: started.taskId }), { kind: 'task', state: 'canceled' })
  t.match((await collect(running)).at(-1), { kind: 'statusUpdate', state: 'canceled', taskId: started.taskId })
  t.match((await collect(subscribed)).at(-1), { kind: 'statusUpdate', state: 'canceled', taskId: started.taskId })

  t.equal((await peer.call('GetTask', { id: 'nobody' })).isError, true)
  const refused = []
  for await (const view of peer.views('SubscribeToTask', { id: 'nobody' })) refused.push(view)
  t.same(
    refused.map(({ isError, results, fault, problems }) => ({ isError, results, fault, problems })),
    [{ isError: true, results: [], fault: null, problems: [] }]
  )
}

/** A client that shows the wire. */
class Peer {
  private readonly t: Test
  private readonly agent: TestAgent
  private readonly version: Version
  private readonly binding: Binding

  constructor (t: Test, agent: TestAgent, version: Version, binding: Binding) {
    this.t = t
    this.agent = agent
    this.version = version
    this.binding = binding
  }

  message (text: string): object {
    const messageId = `m-${text}`
    if (this.version === '1.0') return { message: { messageId, role: 'ROLE_USER', parts: [{ text }, { data: { a: 1 } }] } }
    if (this.binding === 'HTTP+JSON') {
      return { message: { messageId, role: 'ROLE_USER', content: [{ text }, { data: { data: { a: 1 } } }] } }
    }
    return { message: { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }, { kind: 'data', data: { a: 1 } }] } }
  }

  async one (operation: Operation, params: object): Promise<ResultView> {
    const view = await this.call(operation, params)
    this.t.equal(view.isError, false)
    this.t.equal(view.results.length, 1, operation)
    this.checkRegular(view)
    return view.results[0] as ResultView
  }

  /** Official agents wrap results as A2A says, and write no role, state or member that A2A does not define. */
  private checkRegular (view: ResponseView): void {
    this.t.equal(view.unwrapped, null)
    for (const result of view.results) this.t.strictSame(result.unknown, [])
  }

  /** A plain answer. */
  async call (operation: Operation, params: object): Promise<ResponseView> {
    const answer = await this.request(operation, params)
    const text = await answer.text()
    // The SDK of 0.3 has no route for lists and answers with a page of Express.
    if (!(answer.headers.get('content-type') ?? '').includes('json')) {
      return { results: [], isError: answer.status >= 400, fault: null, problems: [], unwrapped: null }
    }
    return this.view(operation, text, false)
  }

  /** Results of a stream, as they come. */
  async * stream (operation: Operation, params: object): AsyncGenerator<ResultView> {
    for await (const view of this.views(operation, params)) {
      this.t.equal(view.results.length, 1, `${operation}: one result each`)
      this.checkRegular(view)
      yield view.results[0] as ResultView
    }
  }

  async * views (operation: Operation, params: object): AsyncGenerator<ResponseView> {
    const answer = await this.request(operation, params)
    if (!(answer.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
      yield this.view(operation, await answer.text(), false)
      return
    }
    let text = ''
    for await (const chunk of (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      text += chunk as string
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const data = text.slice(0, end).split('\n').filter(line => line.startsWith('data:')).map(line => line.slice(5)).join('\n')
        text = text.slice(end + 2)
        if (data !== '') yield this.view(operation, data, true)
      }
    }
  }

  private view (operation: Operation, text: string, stream: boolean): ResponseView {
    const view = viewResponse(JSON.parse(text), {
      binding: this.binding,
      version: this.version,
      operation,
      id: this.binding === 'JSONRPC' ? 7 : null,
      stream
    })
    this.t.same({ fault: view.fault, problems: view.problems }, { fault: null, problems: [] }, `${operation}: ${text}`)
    return view
  }

  private async request (operation: Operation, params: { id?: string }): Promise<Response> {
    const { agent, version, binding } = this
    const headers = { 'content-type': 'application/json', ...(version === '1.0' ? { 'a2a-version': '1.0' } : {}) }
    if (binding === 'JSONRPC') {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: methodOfOperation(operation, version), params })
      return await fetch(`${agent.url}/a2a/jsonrpc`, { method: 'POST', headers, body })
    }
    const [verb, path] = routes(params.id ?? '')[operation] ?? ['GET', '/']
    return await fetch(`${agent.url}/a2a/rest${version === '1.0' ? '' : '/v1'}${path}`, {
      method: verb,
      headers,
      ...(operation.startsWith('Send') ? { body: JSON.stringify(params) } : {})
    })
  }
}

function routes (id: string): Partial<Record<Operation, readonly [string, string]>> {
  return {
    SendMessage: ['POST', '/message:send'],
    SendStreamingMessage: ['POST', '/message:stream'],
    GetTask: ['GET', `/tasks/${id}`],
    ListTasks: ['GET', '/tasks'],
    CancelTask: ['POST', `/tasks/${id}:cancel`],
    SubscribeToTask: ['POST', `/tasks/${id}:subscribe`]
  }
}

async function collect<T> (stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of stream) all.push(one)
  return all
}
