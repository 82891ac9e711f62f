/** HTTP+JSON: a query that names another task, context or URL than the path and the body. */
import t from 'tap'
import { unclearName } from '#a2a/message/named.js'
import { readCall } from '#a2a/message/call.js'
import type { Operation } from '#a2a/operations.js'
import type { Version } from '#a2a/versions.js'

const MESSAGE = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }
const BODIES: Readonly<Partial<Record<Operation, object>>> = {
  SendMessage: MESSAGE,
  SendStreamingMessage: MESSAGE,
  CreateTaskPushNotificationConfig: { url: 'https://hooks.test/' },
  CancelTask: {}
}
const PATHS: readonly (readonly [Operation, string])[] = [
  ['SendMessage', '/message:send'], ['SendStreamingMessage', '/message:stream'], ['GetTask', '/tasks/own'], ['CancelTask', '/tasks/own:cancel'],
  ['SubscribeToTask', '/tasks/own:subscribe'], ['ListTasks', '/tasks'], ['CreateTaskPushNotificationConfig', '/tasks/own/pushNotificationConfigs'],
  ['GetTaskPushNotificationConfig', '/tasks/own/pushNotificationConfigs/c'], ['ListTaskPushNotificationConfigs', '/tasks/own/pushNotificationConfigs'],
  ['DeleteTaskPushNotificationConfig', '/tasks/own/pushNotificationConfigs/c'], ['GetExtendedAgentCard', '/extendedAgentCard']
]

function problemOf (operation: Operation, path: string, query: string, version: Version = '1.0'): string | null {
  const body = BODIES[operation]
  const call = readCall({
    bytes: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
    binding: 'HTTP+JSON',
    version,
    contentType: 'application/json',
    restOperation: operation,
    limits: { depth: 64, members: 1_000 }
  })
  return unclearName(call, 'HTTP+JSON', { path: `/rest${path}`, tenant: null, query })?.path ?? null
}

const STRAY = [
  'id=other', 'taskId=other', 'task_id=other', 'TASK_ID=other', 'taskid=other', 'name=tasks/other', 'name=tasks%2Fother', 'parent=tasks/other', '%69d=other',
  'configuration.taskPushNotificationConfig.url=http://169.254.169.254/', 'configuration.push_notification_config.url=x', 'configuration[pushNotificationConfig][url]=x',
  'url=http://169.254.169.254/', 'message.taskId=other', 'message.context_id=other', 'message.referenceTaskIds=other', 'config.name=tasks/other',
  'pushNotificationConfig={}', 'push_notification_config.id=other', 'taskPushNotificationConfig.url=x', 'pageSize=1&id=other', 'id=own&id=other'
]
const HARMLESS = ['pageSize=3', 'page_size=3', 'pageToken=abc', 'historyLength=2', 'history_length=2', 'status=TASK_STATE_WORKING', 'includeArtifacts=true', 'lastUpdatedAfter=2026', 'id=', 'key=id', 'A2A-Version=1.0', 'video=1']

t.test('another name in the query is a problem of every operation', async t => {
  for (const version of ['1.0', '0.3'] as const) {
    for (const [operation, path] of PATHS) {
      for (const query of STRAY) t.match(problemOf(operation, path, `?${query}`, version), /^query /, `${version} ${operation} ?${query}`)
      for (const query of HARMLESS) t.equal(problemOf(operation, path, `?${query}`, version), null, `${version} ${operation} ?${query}`)
      if (operation !== 'ListTasks') t.equal(problemOf(operation, path, '?contextId=other', version), 'query contextId', operation)
    }
  }
})

t.test('a query that repeats the path, and lists of a context', async t => {
  for (const [operation, path] of PATHS.filter(([, path]) => path.includes('/own/') || path.endsWith('/own'))) {
    for (const query of ['id=own', 'taskId=own', 'name=tasks/own', 'task_id=own']) t.equal(problemOf(operation, path, `?${query}`), null, `${operation} ?${query}`)
  }
  t.equal(problemOf('GetTaskPushNotificationConfig', '/tasks/own/pushNotificationConfigs/c', '?id=c&name=tasks/own/pushNotificationConfigs/c'), null)
  for (const query of ['contextId=c', 'context_id=c&pageSize=3', 'contextId=a&contextId=b']) t.equal(problemOf('ListTasks', '/tasks', `?${query}`), null, query)
  t.equal(problemOf('ListTasks', '/tasks', '?message.contextId=c'), 'query contextId')
})
