/**
 * `push.perTask`: which configurations of which task a request sets or deletes, and the consequence of counting them. The front counts,
 * because the engine never waits.
 */
import { createHash } from 'node:crypto'
import { Fields, FieldSet } from '#a2a/fields.js'
import { ANY } from '#a2a/json-types.js'
import type { Call } from '#a2a/message/call.js'
import { idsOf } from '#a2a/request-ids.js'
import { isObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { Decision } from '../request/decision.js'
import type { Violation } from '../violation.js'
import { GATEWAY, rejectionOf, violation } from '../violation.js'
import type { CompiledPush } from './check.js'
import type { PushConfigFields } from './configs.js'
import { pushConfigsOf } from './configs.js'

/** The configurations of one task that a request sets or deletes. */
export interface PushCount {
  readonly kind: 'create' | 'send' | 'delete'
  readonly taskId: string
  /** Digests of their ids, each once. */
  readonly entries: readonly string[]
}

/** Maximum number of tasks to look for. A request may name one. */
const MAX_TASKS = 100
/** Characters of a digest: 132 bits of SHA-256. */
const DIGEST = 22
const RULE = 'push-per-task'
const REQUEST = new FieldSet({ id: ANY, configId: ANY, pushNotificationConfigId: ANY, name: ANY })
const NAME = /^tasks\/[^/]+\/pushNotificationConfigs\/([^/]+)$/

/**
 * Returns null when the request changes no configuration of an existing task, or a violation when it names several tasks.
 * @param path of the HTTP+JSON request, percent-encoded, without query; null for JSON-RPC
 * @param unique differs for each request: a configuration without an id may be another one each time
 */
export function pushCountOf (push: CompiledPush, call: Call, path: string | null, unique: string): PushCount | Violation | null {
  if (push.perTask === null) return null
  const { operation } = call
  if (operation === 'DeleteTaskPushNotificationConfig') {
    const [task, another] = tasksOf(call, path)
    const entry = another === undefined ? deletedEntry(call, path) : null
    return task === undefined || entry === null ? null : { kind: 'delete', taskId: task, entries: [entry] }
  }
  const configs = pushConfigsOf(call)
  if (configs === null || configs.length === 0) return null
  const tasks = call.view === null ? tasksOf(call, path) : tasksOfMessage(call, configs)
  const [taskId] = tasks
  if (taskId === undefined) return null
  if (tasks.length > 1) {
    const message = 'names several tasks; set a push notification configuration for one task'
    return found(push, 'INVALID_PARAMS', configs[0]?.path ?? '', message)
  }
  const entries = configs.map((config, i) => {
    const ids = idsOfConfig(call, config)
    // Some agents choose an id then (a2a-js 1.3.0: a random one), others take that of the task (a2a-python 1.3.0).
    return ids.length === 0 ? digest([unique, i]) : pushEntryOf(ids)
  })
  return { kind: call.view === null ? 'create' : 'send', taskId, entries: [...new Set(entries)] }
}

/** @param ids several ids of one configuration are an id of their own: agents differ in which of them counts */
export function pushEntryOf (ids: readonly string[]): string {
  return digest([...new Set(ids)].sort())
}

function digest (value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, DIGEST)
}

function tasksOf (call: Call, path: string | null): readonly string[] {
  const ids = idsOf(call, path === null ? null : { path, query: '' }, MAX_TASKS)
  return ids.filter(({ kind }) => kind === 'task').map(({ id }) => id)
}

/** `referenceTaskIds` names tasks that a message does not change. */
function tasksOfMessage (call: Call, configs: readonly PushConfigFields[]): readonly string[] {
  const ids = [call.view?.message?.fields.get('taskId'), ...configs.map(config => config.get('taskId'))]
  return [...new Set(ids.filter(isId))]
}

function idsOfConfig (call: Call, config: PushConfigFields): readonly string[] {
  const request = call.view === null && call.request !== null ? Fields.read(call.request.object, REQUEST, call.request.path, []) : null
  const isRequest = request !== null && config.path === call.request?.path
  // 0.3: `id` of the request is the id of the task.
  const own = isRequest && call.version === '0.3' ? null : config.get('id')
  const names = [config.get('name'), request?.get('name')].map(nameId)
  return [own, config.get('configId'), request?.get('configId'), ...names].filter(isId)
}

/** @returns null when the request names no configuration, or several: agents differ in which of them they delete */
function deletedEntry (call: Call, path: string | null): string | null {
  const ids: unknown[] = [path === null ? null : lastSegment(path)]
  if (call.request !== null) {
    const fields = Fields.read(call.request.object, REQUEST, call.request.path, [])
    ids.push(fields.get('pushNotificationConfigId'), fields.get('configId'), nameId(fields.get('name')))
    if (call.version === '1.0') ids.push(fields.get('id'))
  }
  const [id, another] = new Set(ids.filter(isId))
  return id === undefined || another !== undefined ? null : pushEntryOf([id])
}

function lastSegment (path: string): string | null {
  try {
    return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1))
  } catch {
    return null
  }
}

function nameId (name: unknown): string | null {
  return typeof name === 'string' ? NAME.exec(name)?.[1] ?? null : null
}

/** ProtoJSON treats null and the empty string as absent. */
function isId (value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Adds what the front has found out to a decision. @param unavailable true: the store cannot tell, so that a retry may succeed */
export function settlePush (decision: Decision, added: readonly Violation[], unavailable = false): Decision {
  if (added.length === 0) return decision
  const violations = [...decision.violations, ...added]
  const rejection = rejectionOf(violations)
  return { ...decision, violations, rejection: rejection !== null && unavailable ? { ...rejection, retryAfter: 1 } : rejection }
}

export function tooManyConfigs (push: CompiledPush): Violation {
  const message =
    `The task has the maximum number of push notification configurations (${push.perTask ?? 0}). Delete one, or ` +
    'replace one by its id.'
  return { ...found(push, 'PUSH_CONFIGS_EXHAUSTED', '', message), isStandalone: true }
}

/** @returns null when the configuration forwards such requests */
export function uncounted (push: CompiledPush): Violation | null {
  if (push.onUnknown === 'allow') return null
  const message = 'The gateway cannot count the push notification configurations of the task; try again later.'
  return { ...found(push, 'STATE_UNAVAILABLE', '', message), isStandalone: true }
}

function found (push: CompiledPush, reason: Violation['reason'], path: string, message: string): Violation {
  return violation({ mode: push.mode, reason, extension: GATEWAY, rule: RULE, path, message })
}

/** The response to a request that sets or deletes a configuration. */
export interface PushResponse {
  /** Null: the response does not tell. */
  readonly succeeded: boolean | null
  /** The id that the agent gave the configuration; null when the response names none. */
  readonly id: string | null
}

const CONFIG = new FieldSet({ id: ANY, pushNotificationConfig: ANY, name: ANY })
const UNKNOWN: PushResponse = { succeeded: null, id: null }
const FAILED: PushResponse = { succeeded: false, id: null }

/** @param body null: too long to read */
export function readPushResponse (rpc: boolean, status: number, body: Buffer | null): PushResponse {
  if (status >= 400) return status < 500 ? FAILED : UNKNOWN
  if (status < 200 || status >= 300) return UNKNOWN
  const value = body === null || body.length === 0 ? undefined : parsed(body)
  if (!rpc) return { succeeded: true, id: isObject(value) ? idOf(value) : null }
  if (!isObject(value)) return UNKNOWN
  if (isObject(value.error)) return FAILED
  return 'result' in value ? { succeeded: true, id: isObject(value.result) ? idOf(value.result) : null } : UNKNOWN
}

function parsed (body: Buffer): unknown {
  try {
    return parseJson(body)
  } catch {
    return undefined
  }
}

function idOf (result: Parameters<typeof Fields.read>[0]): string | null {
  const fields = Fields.read(result, CONFIG, '', [])
  const inner = fields.get('pushNotificationConfig')
  const ids = [isObject(inner) ? Fields.read(inner, CONFIG, '', []).get('id') : null, fields.get('id'), nameId(fields.get('name'))]
  return ids.find(isId) ?? null
}
