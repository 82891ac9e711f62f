/**
 * Agents for tests, made with the official SDKs. One behaviour drives both generations. The agent records every request as it arrived on
 * the wire.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { Express, Request } from 'express'
import { AgentCard, Role, TaskState } from '@a2a-js/sdk'
import type { Artifact, Message, Part } from '@a2a-js/sdk'
import { duplicateInterfacesForLegacy } from '@a2a-js/sdk/compat/v0_3'
import * as v1 from '@a2a-js/sdk/server'
import * as v1Express from '@a2a-js/sdk/server/express'
import type * as legacy from 'a2a-sdk-03'
import * as v03 from 'a2a-sdk-03/server'
import * as v03Express from 'a2a-sdk-03/server/express'

/** v1: SDK 1.3.0, 1.0 only · dual: SDK 1.3.0 with its compatibility layer, 1.0 and 0.3 · v03: SDK 0.3.14, 0.3 only. */
export type AgentKind = 'v1' | 'dual' | 'v03'

export interface CardOptions {
  readonly name?: string
  readonly extensions?: ReadonlyArray<{ uri: string, description?: string, required?: boolean, params?: Record<string, unknown> }>
  /** The root key of object-schemas. */
  readonly schemas?: Record<string, unknown>
  readonly streaming?: boolean
  readonly pushNotifications?: boolean
  /** Offers an extended card: callers with an Authorization header get one more skill. */
  readonly extendedCard?: boolean
  readonly inputModes?: readonly string[]
  /** Any other root keys, spread over the served card. */
  readonly extra?: Record<string, unknown>
}

export interface AgentOptions {
  readonly kind: AgentKind
  readonly card?: CardOptions
  readonly behaviour?: Behaviour
  /** Which of the requested extensions the agent reports as activated. Default: all. */
  readonly activate?: 'all' | 'none'
  /** The agent reports these extensions as activated too, even when no client requested them. SDK 0.3.14 never reports any activation. */
  readonly activates?: readonly string[]
  readonly port?: number
  readonly host?: string
  /** Gets each response before the SDK writes to it. */
  readonly tamper?: (response: ServerResponse) => void
  /** Gets the SDK's request handler and returns its replacement. The replacement sees the values that the SDK parsed from the wire. */
  readonly wrap?: <T extends object>(requestHandler: T) => T
}

export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  /** The bytes that have arrived so far. The body is complete once the agent has responded. */
  body: Buffer
  /** Body of the response so far, as the SDK writes it. */
  answer: Buffer
  /** True when the connection was closed before the response was complete. */
  aborted: boolean
}

export interface TestAgent {
  readonly kind: AgentKind
  readonly url: string
  readonly cardUrl: string
  /** Every request, including card fetches, oldest first. */
  readonly received: ReceivedRequest[]
  /** The requests without card fetches. */
  calls (): ReceivedRequest[]
  close (): Promise<void>
}

export type State = 'submitted' | 'working' | 'completed' | 'failed' | 'canceled' | 'input-required'
export type TestPart = { readonly metadata?: Record<string, unknown> } &
  ({ readonly text: string } | { readonly data: Record<string, unknown>, readonly mediaType?: string })

/** The additions of extensions to a message, a task or an artifact. */
export interface Added {
  readonly metadata?: Record<string, unknown>
  readonly extensions?: readonly string[]
}

/** Also the additions to the update that carries the message or artifact. */
export interface AddedToUpdate extends Added {
  readonly event?: Record<string, unknown>
}

export interface Turn {
  readonly text: string
  /** The parts as this generation's SDK passes them on. */
  readonly parts: readonly unknown[]
  readonly data: Record<string, unknown> | null
  /** True on a later turn of an existing task. */
  readonly continued: boolean
  readonly extensions: readonly string[]
  /** Aborts when the client cancels the task or the agent closes. */
  readonly cancelled: AbortSignal
  message(...parts: TestPart[]): void
  messageWith(added: Added, ...parts: TestPart[]): void
  task(state: State, added?: Added & { readonly artifacts?: Readonly<Record<string, readonly TestPart[]>> }): void
  status(state: State, text?: string, added?: AddedToUpdate & { readonly parts?: readonly TestPart[] }): void
  artifact(
    id: string,
    parts: readonly TestPart[],
    options?: AddedToUpdate & { readonly append?: boolean; readonly lastChunk?: boolean }
  ): void
}

export type Behaviour = (turn: Turn) => void | Promise<void>

/** message: a Message · long: runs until cancelled · pause: requires input · anything else: a Task that echoes text and data. */
export const echo: Behaviour = async (turn) => {
  if (turn.text === 'message') {
    turn.message({ text: `echo: ${turn.text}` })
    return
  }
  turn.task(turn.continued ? 'working' : 'submitted')
  if (turn.text === 'pause') {
    turn.status('input-required', 'say more')
    return
  }
  turn.status('working')
  if (turn.text === 'long') {
    if (!turn.cancelled.aborted) await once(turn.cancelled, 'abort')
    return
  }
  turn.artifact('echo', [{ text: 'echo: ' }])
  turn.artifact('echo', [{ text: turn.text }], { append: true, lastChunk: true })
  if (turn.data !== null) turn.artifact('data', [{ data: turn.data, mediaType: 'application/json' }], { lastChunk: true })
  turn.status('completed')
}

/**
 * Silences the console. The SDKs print a stack trace for every rejection that they send. A test that causes rejections calls this function
 * first.
 */
export function quietSdk (): void {
  console.error = console.warn = console.info = () => {}
}

export async function startAgent (options: AgentOptions): Promise<TestAgent> {
  const host = options.host ?? '127.0.0.1'
  const received: ReceivedRequest[] = []
  const running = new Map<string, AbortController>()
  const server = createServer()
  server.listen(options.port ?? 0, host)
  await once(server, 'listening')
  const url = `http://${host}:${(server.address() as AddressInfo).port}`

  const app = express().disable('x-powered-by')
  if (options.kind === 'v03') mountV03(app, url, options, running)
  else mountV1(app, url, options, running)
  server.on('request', (req, res) => {
    options.tamper?.(res)
    received.push(record(req, res))
    app(req, res)
  })

  return {
    kind: options.kind,
    url,
    cardUrl: `${url}/.well-known/agent-card.json`,
    received,
    calls: () => received.filter(({ url }) => !url.startsWith('/.well-known/')),
    async close () {
      for (const controller of running.values()) controller.abort()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}

/**
 * Records a request and its response. The function reads the bytes at `push`, because a `data` listener would start the stream before the
 * SDK reads it.
 */
function record (req: IncomingMessage, res: ServerResponse): ReceivedRequest {
  const entry: ReceivedRequest = {
    method: req.method ?? '',
    url: req.url ?? '',
    headers: req.headers,
    rawHeaders: req.rawHeaders,
    body: Buffer.alloc(0),
    answer: Buffer.alloc(0),
    aborted: false
  }
  const push = req.push.bind(req)
  req.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (Buffer.isBuffer(chunk)) entry.body = Buffer.concat([entry.body, chunk])
    return push(chunk, encoding)
  }
  const [write, end] = [res.write.bind(res), res.end.bind(res)] as [
    (...given: unknown[]) => boolean,
    (...given: unknown[]) => ServerResponse
  ]
  const keep = (chunk: unknown): void => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) entry.answer = Buffer.concat([entry.answer, Buffer.from(chunk as string)])
  }
  res.write = (...given: unknown[]) => {
    keep(given[0])
    return write(...given)
  }
  res.end = ((...given: unknown[]) => {
    keep(given[0])
    return end(...given)
  }) as typeof res.end
  res.once('close', () => { entry.aborted = !res.writableFinished })
  return entry
}

function controllerOf (running: Map<string, AbortController>, taskId: string): AbortController {
  const controller = new AbortController()
  running.set(taskId, controller)
  return controller
}

const userBuilder = async (req: Request) => {
  const { authorization } = req.headers
  return { isAuthenticated: authorization !== undefined, userName: authorization ?? '' }
}

const same = <T>(one: T): T => one

const skill = (id: string) => ({ id, name: id, description: `Does ${id}.`, tags: ['test'] })

// ---- 1.0 ----

function mountV1 (app: Express, url: string, options: AgentOptions, running: Map<string, AbortController>): void {
  const dual = options.kind === 'dual'
  const { schemas, extra } = options.card ?? {}
  const root = { ...(schemas === undefined ? {} : { schemas }), ...extra }
  const card = v1Card(url, options.card ?? {}, dual)
  const extended = AgentCard.fromJSON({ ...AgentCard.toJSON(card) as object, skills: [skill('echo'), skill('secret')] })
  const { wrap = same } = options
  const requestHandler = wrap(new v1.DefaultRequestHandler(
    card, new v1.InMemoryTaskStore(), v1Executor(options, running), undefined, undefined, undefined, extended))
  const handlers = { requestHandler, userBuilder, legacyCompat: { enabled: dual } }

  if (dual && Object.keys(root).length > 0) {
    // The SDK's 0.3 card knows no further root keys, so the agent itself serves one card for both generations.
    const body = { ...legacyFields(url), ...AgentCard.toJSON(card) as object, ...root }
    app.get('/.well-known/agent-card.json', (_req, res) => { res.json(body) })
  } else {
    app.use('/.well-known/agent-card.json', v1Express.agentCardHandler({
      agentCardProvider: async () => ({ ...card, ...root }),
      legacyCompat: { enabled: dual }
    }))
  }
  app.use('/a2a/jsonrpc', v1Express.jsonRpcHandler(handlers))
  app.use('/a2a/rest', v1Express.restHandler(handlers))
}

function v1Card (url: string, options: CardOptions, dual: boolean): AgentCard {
  const interfaces = [
    { url: `${url}/a2a/jsonrpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
    { url: `${url}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' }
  ]
  return AgentCard.fromJSON({
    name: options.name ?? 'Echo',
    description: 'Says what it hears.',
    version: '1.0.0',
    supportedInterfaces: dual ? duplicateInterfacesForLegacy(interfaces, ['JSONRPC', 'HTTP+JSON']) : interfaces,
    capabilities: {
      streaming: options.streaming ?? true,
      pushNotifications: options.pushNotifications ?? true,
      extendedAgentCard: options.extendedCard ?? true,
      extensions: options.extensions ?? []
    },
    defaultInputModes: options.inputModes ?? ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [skill('echo')]
  })
}

const v1States: Record<State, TaskState> = {
  submitted: TaskState.TASK_STATE_SUBMITTED,
  working: TaskState.TASK_STATE_WORKING,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  canceled: TaskState.TASK_STATE_CANCELED,
  'input-required': TaskState.TASK_STATE_INPUT_REQUIRED
}

function v1Part (part: TestPart): Part {
  return 'text' in part
    ? { content: { $case: 'text', value: part.text }, mediaType: '', filename: '', metadata: part.metadata }
    : {
        content: { $case: 'data', value: part.data },
        mediaType: part.mediaType ?? '',
        filename: '',
        metadata: part.mediaType === undefined ? part.metadata : { mimeType: part.mediaType, ...part.metadata }
      }
}

function v1Artifact (artifactId: string, parts: readonly TestPart[], { metadata, extensions = [] }: Added = {}): Artifact {
  return { artifactId, name: '', description: '', parts: parts.map(v1Part), metadata, extensions: [...extensions] }
}

function v1Executor (options: AgentOptions, running: Map<string, AbortController>): v1.AgentExecutor {
  const contexts = new Map<string, string>()
  const v1Status = (state: State, message?: Message) => ({
    state: v1States[state], message, timestamp: new Date().toISOString()
  })
  return {
    async execute ({ userMessage, taskId, contextId, task, context }, bus) {
      const extensions = context.requestedExtensions ?? []
      if (options.activate !== 'none') for (const uri of extensions) context.addActivatedExtension(uri)
      for (const uri of options.activates ?? []) context.addActivatedExtension(uri)
      contexts.set(taskId, contextId)
      const message = (parts: readonly TestPart[], ofTask: boolean, added: Added = {}): Message => ({
        messageId: randomUUID(),
        contextId,
        taskId: ofTask ? taskId : '',
        role: Role.ROLE_AGENT,
        parts: parts.map(v1Part),
        metadata: { seen: extensions, ...added.metadata },
        extensions: [...added.extensions ?? []],
        referenceTaskIds: []
      })
      const data = userMessage.parts.find((part) => part.content?.$case === 'data')?.content
      await (options.behaviour ?? echo)({
        text: userMessage.parts.flatMap(part => (part.content?.$case === 'text' ? [part.content.value] : [])).join(''),
        parts: userMessage.parts,
        data: data?.$case === 'data' ? (data.value as Record<string, unknown>) : null,
        continued: task !== undefined,
        extensions,
        cancelled: controllerOf(running, taskId).signal,
        message: (...parts) => bus.publish(v1.AgentEvent.message(message(parts, false))),
        messageWith: (added, ...parts) => bus.publish(v1.AgentEvent.message(message(parts, false, added))),
        task: (state, { metadata, artifacts = {} } = {}) =>
          bus.publish(
            v1.AgentEvent.task({
              id: taskId,
              contextId,
              status: v1Status(state),
              artifacts: Object.entries(artifacts).map(([id, parts]) => v1Artifact(id, parts)),
              history: task?.history ?? [userMessage],
              metadata
            })
          ),
        status: (state, text, { event, parts = [], ...added } = {}) =>
          bus.publish(
            v1.AgentEvent.statusUpdate({
              taskId,
              contextId,
              status: v1Status(state, text === undefined ? undefined : message([{ text }, ...parts], true, added)),
              metadata: event
            })
          ),
        artifact: (artifactId, parts, { append = false, lastChunk = false, event, ...added } = {}) =>
          bus.publish(
            v1.AgentEvent.artifactUpdate({
              taskId,
              contextId,
              artifact: v1Artifact(artifactId, parts, added),
              append,
              lastChunk,
              metadata: event
            })
          )
      })
    },
    async cancelTask (taskId, bus) {
      bus.publish(v1.AgentEvent.statusUpdate({
        taskId, contextId: contexts.get(taskId) ?? '', status: v1Status('canceled'), metadata: undefined
      }))
      running.get(taskId)?.abort()
    }
  }
}

// ---- 0.3 ----

const legacyFields = (url: string) => ({
  protocolVersion: '0.3.0',
  url: `${url}/a2a/jsonrpc`,
  preferredTransport: 'JSONRPC',
  additionalInterfaces: [{ url: `${url}/a2a/jsonrpc`, transport: 'JSONRPC' }, { url: `${url}/a2a/rest`, transport: 'HTTP+JSON' }]
})

function mountV03 (app: Express, url: string, options: AgentOptions, running: Map<string, AbortController>): void {
  const card = v03Card(url, options.card ?? {})
  const extended: legacy.AgentCard = { ...card, skills: [skill('echo'), skill('secret')] }
  const { wrap = same } = options
  const requestHandler = wrap(new v03.DefaultRequestHandler(
    card, new v03.InMemoryTaskStore(), v03Executor(options, running), undefined, undefined, undefined, extended))
  const handlers = { requestHandler, userBuilder }
  app.use('/.well-known/agent-card.json', v03Express.agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/a2a/jsonrpc', v03Express.jsonRpcHandler(handlers))
  app.use('/a2a/rest', v03Express.restHandler(handlers))
}

function v03Card (url: string, options: CardOptions): legacy.AgentCard {
  const { schemas, extra } = options
  return {
    ...legacyFields(url),
    name: options.name ?? 'Echo',
    description: 'Says what it hears.',
    version: '1.0.0',
    capabilities: {
      streaming: options.streaming ?? true,
      pushNotifications: options.pushNotifications ?? true,
      extensions: [...options.extensions ?? []]
    },
    supportsAuthenticatedExtendedCard: options.extendedCard ?? true,
    defaultInputModes: [...options.inputModes ?? ['text/plain', 'application/json']],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [skill('echo')],
    ...(schemas === undefined ? {} : { schemas }),
    ...extra
  }
}

function v03Part (part: TestPart): legacy.Part {
  return 'text' in part
    ? { kind: 'text', text: part.text, ...withMetadata(part.metadata) }
    : {
        kind: 'data',
        data: part.data,
        ...withMetadata(part.mediaType === undefined ? part.metadata : { mimeType: part.mediaType, ...part.metadata })
      }
}

function withMetadata (metadata: Record<string, unknown> | undefined): { metadata?: Record<string, unknown> } {
  return metadata === undefined ? {} : { metadata }
}

function v03Artifact (artifactId: string, parts: readonly TestPart[], { metadata, extensions }: Added = {}): legacy.Artifact {
  return {
    artifactId,
    parts: parts.map(v03Part),
    ...withMetadata(metadata),
    ...(extensions === undefined ? {} : { extensions: [...extensions] })
  }
}

function v03Executor (options: AgentOptions, running: Map<string, AbortController>): v03.AgentExecutor {
  const contexts = new Map<string, string>()
  const final = new Set<State>(['completed', 'failed', 'canceled', 'input-required'])
  const update = (
    taskId: string,
    contextId: string,
    state: State,
    message?: legacy.Message,
    metadata?: Record<string, unknown>
  ): legacy.TaskStatusUpdateEvent => ({
    kind: 'status-update',
    taskId,
    contextId,
    status: { state, timestamp: new Date().toISOString(), ...(message === undefined ? {} : { message }) },
    final: final.has(state),
    ...withMetadata(metadata)
  })
  return {
    async execute ({ userMessage, taskId, contextId, task, context }, bus) {
      const extensions = context?.requestedExtensions ?? []
      if (options.activate !== 'none') for (const uri of extensions) context?.addActivatedExtension(uri)
      for (const uri of options.activates ?? []) context?.addActivatedExtension(uri)
      contexts.set(taskId, contextId)
      const message = (parts: readonly TestPart[], ofTask: boolean, added: Added = {}): legacy.Message => ({
        kind: 'message',
        messageId: randomUUID(),
        contextId,
        ...(ofTask ? { taskId } : {}),
        role: 'agent',
        parts: parts.map(v03Part),
        metadata: { seen: extensions, ...added.metadata },
        ...(added.extensions === undefined ? {} : { extensions: [...added.extensions] })
      })
      const data = userMessage.parts.find((part) => part.kind === 'data')
      await (options.behaviour ?? echo)({
        text: userMessage.parts.flatMap(part => (part.kind === 'text' ? [part.text] : [])).join(''),
        parts: userMessage.parts,
        data: data === undefined ? null : data.data,
        continued: task !== undefined,
        extensions,
        cancelled: controllerOf(running, taskId).signal,
        message: (...parts) => bus.publish(message(parts, false)),
        messageWith: (added, ...parts) => bus.publish(message(parts, false, added)),
        task: (state, { metadata, artifacts = {} } = {}) =>
          bus.publish({
            kind: 'task',
            id: taskId,
            contextId,
            status: { state, timestamp: new Date().toISOString() },
            history: task?.history ?? [userMessage],
            artifacts: Object.entries(artifacts).map(([id, parts]) => v03Artifact(id, parts)),
            ...withMetadata(metadata)
          }),
        status: (state, text, { event, parts = [], ...added } = {}) =>
          bus.publish(update(taskId, contextId, state, text === undefined ? undefined : message([{ text }, ...parts], true, added), event)),
        artifact: (artifactId, parts, { append = false, lastChunk = false, event, ...added } = {}) =>
          bus.publish({
            kind: 'artifact-update',
            taskId,
            contextId,
            artifact: v03Artifact(artifactId, parts, added),
            append,
            lastChunk,
            ...withMetadata(event)
          })
      })
      bus.finished()
    },
    async cancelTask (taskId, bus) {
      bus.publish(update(taskId, contexts.get(taskId) ?? '', 'canceled'))
      running.get(taskId)?.abort()
    }
  }
}
