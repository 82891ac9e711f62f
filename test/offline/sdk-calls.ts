/** Calls of the official clients, and the same calls as a test writes them. */
import t from 'tap'
import type { RequestSpec } from '#offline/policy-test/test-model.js'
import type { AgentClient } from '../helpers/sdk-clients.js'

export const URIS = ['https://e.test/a', 'https://e.test/b']
const TEXT_AND_DATA: RequestSpec = {
  extensions: URIS,
  message: { role: 'user', taskId: 't 1', parts: [{ text: 'hi' }, { data: { a: [1, null] }, mediaType: 'application/json;schema=f' }] },
  metadata: { m: 1 }
}

/** What the clients of both generations can be made to send, and the same as a test writes it. */
export const CALLS: readonly {
  readonly name: string
  readonly call: (client: AgentClient) => Promise<unknown>
  readonly spec: (version: string) => RequestSpec
  readonly only?: '1.0'
}[] = [
  {
    name: 'text and data',
    call: client =>
      client.send('hi', { data: { a: [1, null] }, mediaType: 'application/json;schema=f', taskId: 't 1', metadata: { m: 1 } }),
    spec: () => TEXT_AND_DATA
  },
  {
    name: 'a stream',
    call: async client => {
      for await (const event of client.stream('hi')) t.comment(event)
    },
    spec: () => ({ operation: 'SendStreamingMessage', extensions: URIS, message: { role: 'user', parts: [{ text: 'hi' }] } })
  },
  {
    name: 'GetTask',
    call: client => client.getTask('t 1'),
    spec: () => ({ operation: 'GetTask', extensions: URIS, params: { id: 't 1' } })
  },
  {
    name: 'ListTasks',
    only: '1.0',
    call: client => client.listTasks('c'),
    spec: () => ({ operation: 'ListTasks', extensions: URIS, params: { contextId: 'c', includeArtifacts: true } })
  },
  {
    name: 'CancelTask',
    call: client => client.cancelTask('t 1'),
    spec: () => ({ operation: 'CancelTask', extensions: URIS, params: { id: 't 1' } })
  },
  {
    name: 'SubscribeToTask',
    call: async client => {
      for await (const event of client.subscribe('t1')) t.comment(event)
    },
    spec: () => ({ operation: 'SubscribeToTask', extensions: URIS, params: { id: 't1' } })
  },
  {
    name: 'GetTaskPushNotificationConfig',
    call: client => client.getPush('t1', 'p1'),
    spec: version => ({
      operation: 'GetTaskPushNotificationConfig',
      extensions: URIS,
      params: version === '1.0' ? { taskId: 't1', id: 'p1' } : { id: 't1', pushNotificationConfigId: 'p1' }
    })
  },
  {
    name: 'ListTaskPushNotificationConfigs',
    call: client => client.listPush('t1'),
    spec: version => ({
      operation: 'ListTaskPushNotificationConfigs',
      extensions: URIS,
      params: version === '1.0' ? { taskId: 't1' } : { id: 't1' }
    })
  },
  {
    name: 'DeleteTaskPushNotificationConfig',
    call: client => client.deletePush('t1', 'p1'),
    spec: version => ({
      operation: 'DeleteTaskPushNotificationConfig',
      extensions: URIS,
      params: version === '1.0' ? { taskId: 't1', id: 'p1' } : { id: 't1', pushNotificationConfigId: 'p1' }
    })
  }
]

/** 0.3 as ProtoJSON or protobuf: the SDK drops the metadata of a part, where a test's media type has to stand. */
export function withoutPartMetadata (body: Record<string, unknown>): void {
  const { content = [] } = body.message as { content?: { metadata?: unknown }[] }
  for (const part of content) delete part.metadata
}
