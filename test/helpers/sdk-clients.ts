/** The official clients behind one small interface, so that one list of operations can drive both generations. */
import { randomUUID } from 'node:crypto'
import { Role, TaskState } from '@a2a-js/sdk'
import type { AgentCard, Message, Part, StreamResponse, Task } from '@a2a-js/sdk'
import * as v1 from '@a2a-js/sdk/client'
import type * as legacy from 'a2a-sdk-03'
import * as v03 from 'a2a-sdk-03/client'

/** v1: SDK 1.3.0 with 1.0 · v1-as-03: SDK 1.3.0 with 0.3 · v03: SDK 0.3.14. */
export type ClientKind = 'v1' | 'v1-as-03' | 'v03'
export type Transport = 'JSONRPC' | 'HTTP+JSON'

export interface ClientOptions {
  readonly client: ClientKind
  /** URL of the card: the agent's own or the gateway's. */
  readonly cardUrl: string
  readonly transport: Transport | 'GRPC'
  /** Activated on every call. */
  readonly extensions?: readonly string[]
  readonly authorization?: string
  /** Further headers, or metadata of gRPC. Generation 1.0 only. */
  readonly headers?: Readonly<Record<string, string>>
  readonly fetch?: typeof fetch
}

export interface SendOptions {
  readonly taskId?: string
  /** A DataPart after the text, with the tag of the generation: `mediaType` in 1.0, `metadata.mimeType` in 0.3. */
  readonly data?: Record<string, unknown>
  readonly mediaType?: string
  /** Metadata of that DataPart; SDK 1.3.0 with 1.0 only. */
  readonly partMetadata?: Record<string, unknown>
  readonly metadata?: Record<string, unknown>
  /** Members of the message. */
  readonly message?: { readonly metadata?: Record<string, unknown>, readonly extensions?: readonly string[] }
  /** Stops the wait for the response, or the read of the response. */
  readonly signal?: AbortSignal
  /** Returns at once, not when the task stops. */
  readonly nonBlocking?: boolean
}

export interface AgentClient {
  send (text: string, options?: SendOptions): Promise<unknown>
  stream (text: string, options?: SendOptions): AsyncIterable<unknown>
  /** @param historyLength agents of SDK 0.3.14 send no history without this parameter */
  getTask (id: string, historyLength?: number): Promise<unknown>
  listTasks (contextId: string): Promise<unknown>
  cancelTask (id: string): Promise<unknown>
  subscribe (id: string): AsyncIterable<unknown>
  createPush (taskId: string, id: string, url: string): Promise<unknown>
  getPush (taskId: string, id: string): Promise<unknown>
  listPush (taskId: string): Promise<unknown>
  deletePush (taskId: string, id: string): Promise<unknown>
  extendedCard (): Promise<unknown>
}

export function connect (options: ClientOptions): Promise<AgentClient> {
  return options.client === 'v03' ? connectV03(options) : connectV1(options)
}

/** Id of the task in a send result or a stream event of either generation. */
export function taskIdOf (value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  if ('payload' in value) return taskIdOf((value.payload as { value: unknown }).value)
  if ('taskId' in value && typeof value.taskId === 'string' && value.taskId !== '') return value.taskId
  return 'id' in value && typeof value.id === 'string' ? value.id : null
}

function headers ({ authorization, headers = {} }: ClientOptions): Record<string, string> {
  return { ...headers, ...authorization === undefined ? {} : { Authorization: authorization } }
}

function signalOf (options: SendOptions | undefined): { signal?: AbortSignal } {
  return options?.signal === undefined ? {} : { signal: options.signal }
}

// ---- 1.3.0 ----

/**
 * The SDK's own hook for the choice of a generation. The SDK always prefers 1.0, so this class shows a 0.3 client only the 0.3 interfaces.
 */
class LegacyOnlyResolver extends v1.DefaultAgentCardResolver {
  override normalizeAgentCard (raw: unknown): AgentCard {
    const card = super.normalizeAgentCard(raw)
    return {
      ...card,
      supportedInterfaces: (card.supportedInterfaces ?? []).filter(({ protocolVersion }) => protocolVersion.startsWith('0.3'))
    }
  }
}

type HttpOptions = NonNullable<ConstructorParameters<typeof v1.JsonRpcTransportFactory>[0]>

/** The gRPC transports are imported on demand: grpc-js costs 0.2 s at the start of a process. */
async function v1Transport (transport: Transport | 'GRPC', http: HttpOptions): Promise<v1.TransportFactory> {
  if (transport === 'JSONRPC') return new v1.JsonRpcTransportFactory(http)
  if (transport === 'HTTP+JSON') return new v1.RestTransportFactory(http)
  const { GrpcTransportFactory } = await import('@a2a-js/sdk/client/grpc')
  return new GrpcTransportFactory(http.legacyCompat === undefined ? {} : { legacyCompat: http.legacyCompat })
}

async function connectV1 (options: ClientOptions): Promise<AgentClient> {
  const legacyCompat = { enabled: options.client === 'v1-as-03' }
  const http = options.fetch === undefined ? { legacyCompat } : { fetchImpl: options.fetch, legacyCompat }
  const factory = new v1.ClientFactory({
    transports: [await v1Transport(options.transport, http)],
    cardResolver: legacyCompat.enabled ? new LegacyOnlyResolver(http) : new v1.DefaultAgentCardResolver(http)
  })
  const client = await factory.createFromUrl(options.cardUrl, '')
  const request: v1.RequestOptions = {
    serviceParameters: v1.ServiceParameters.createFrom(
      headers(options),
      ...(options.extensions === undefined ? [] : [v1.withA2AExtensions(...options.extensions)])
    )
  }
  const params = (
    text: string,
    { taskId = '', data, mediaType = '', partMetadata, metadata, message: added = {}, nonBlocking = false }: SendOptions = {}
  ) => {
    const parts: Part[] = [{ content: { $case: 'text', value: text }, mediaType: '', filename: '', metadata: undefined }]
    if (data !== undefined) {
      parts.push({
        content: { $case: 'data', value: data },
        mediaType,
        filename: '',
        // The compatibility layer drops `mediaType` of a DataPart, so a 0.3 caller has to write the 0.3 tag.
        metadata: legacyCompat.enabled && mediaType !== '' ? { mimeType: mediaType } : partMetadata
      })
    }
    const message: Message = {
      messageId: randomUUID(),
      contextId: '',
      taskId,
      role: Role.ROLE_USER,
      parts,
      metadata: added.metadata,
      extensions: [...(added.extensions ?? [])],
      referenceTaskIds: []
    }
    return {
      tenant: '',
      message,
      configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: nonBlocking },
      metadata
    }
  }
  const tenant = ''
  return {
    send: (text, send): Promise<Message | Task> => client.sendMessage(params(text, send), { ...request, ...signalOf(send) }),
    stream: (text, send): AsyncIterable<StreamResponse> => client.sendMessageStream(params(text, send), { ...request, ...signalOf(send) }),
    getTask: (id, historyLength) => client.getTask({ tenant, id, ...(historyLength === undefined ? {} : { historyLength }) }, request),
    listTasks: (contextId) => client.listTasks({
      tenant, contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '', statusTimestampAfter: undefined, includeArtifacts: true
    }, request),
    cancelTask: (id) => client.cancelTask({ tenant, id, metadata: undefined }, request),
    subscribe: (id) => client.resubscribeTask({ tenant, id }, request),
    createPush: (taskId, id, url) => client.createTaskPushNotificationConfig(
      { tenant, id, taskId, url, token: 'token', authentication: undefined }, request),
    getPush: (taskId, id) => client.getTaskPushNotificationConfig({ tenant, id, taskId }, request),
    listPush: (taskId) => client.listTaskPushNotificationConfig({ tenant, taskId, pageSize: 0, pageToken: '' }, request),
    deletePush: (taskId, id) => client.deleteTaskPushNotificationConfig({ tenant, id, taskId }, request),
    extendedCard: () => client.getAgentCard(request)
  }
}

// ---- 0.3.14 ----

async function v03Transport (transport: Transport | 'GRPC', http: { fetchImpl?: typeof fetch }): Promise<v03.TransportFactory> {
  if (transport === 'JSONRPC') return new v03.JsonRpcTransportFactory(http)
  if (transport === 'HTTP+JSON') return new v03.RestTransportFactory(http)
  const { GrpcTransportFactory } = await import('a2a-sdk-03/client/grpc')
  return new GrpcTransportFactory()
}

async function connectV03 (options: ClientOptions): Promise<AgentClient> {
  const http = options.fetch === undefined ? {} : { fetchImpl: options.fetch }
  const factory = new v03.ClientFactory({
    transports: [await v03Transport(options.transport, http)],
    cardResolver: new v03.DefaultAgentCardResolver(http)
  })
  const client = await factory.createFromUrl(options.cardUrl, '')
  const request: v03.RequestOptions = {
    serviceParameters: v03.ServiceParameters.createFrom(
      headers(options),
      ...(options.extensions === undefined ? [] : [v03.withA2AExtensions(...options.extensions)])
    )
  }
  const params = (
    text: string,
    { taskId, data, mediaType, metadata, message: added = {}, nonBlocking = false }: SendOptions = {}
  ): legacy.MessageSendParams => {
    const parts: legacy.Part[] = [{ kind: 'text', text }]
    if (data !== undefined) {
      parts.push({ kind: 'data', data, ...(mediaType === undefined ? {} : { metadata: { mimeType: mediaType } }) })
    }
    return {
      message: {
        kind: 'message',
        messageId: randomUUID(),
        role: 'user',
        parts,
        ...(taskId === undefined ? {} : { taskId }),
        ...(added.metadata === undefined ? {} : { metadata: added.metadata }),
        ...(added.extensions === undefined ? {} : { extensions: [...added.extensions] })
      },
      configuration: { blocking: !nonBlocking },
      ...(metadata === undefined ? {} : { metadata })
    }
  }
  return {
    send: (text, send) => client.sendMessage(params(text, send), { ...request, ...signalOf(send) }),
    stream: (text, send) => client.sendMessageStream(params(text, send), { ...request, ...signalOf(send) }),
    getTask: (id, historyLength) => client.getTask({ id, ...(historyLength === undefined ? {} : { historyLength }) }, request),
    listTasks: async () => { throw new Error('The 0.3.14 client has no listTasks.') },
    cancelTask: (id) => client.cancelTask({ id }, request),
    subscribe: (id) => client.resubscribeTask({ id }, request),
    createPush: (taskId, id, url) => client.setTaskPushNotificationConfig(
      { taskId, pushNotificationConfig: { id, url, token: 'token' } }, request),
    getPush: (taskId, id) => {
      // The client's type lacks the field that its transport sends.
      const params: legacy.TaskIdParams & { pushNotificationConfigId: string } = { id: taskId, pushNotificationConfigId: id }
      return client.getTaskPushNotificationConfig(params, request)
    },
    listPush: (taskId) => client.listTaskPushNotificationConfig({ id: taskId }, request),
    deletePush: (taskId, id) => client.deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id }, request),
    extendedCard: () => client.getAgentCard(request)
  }
}
