/**
 * Operation tables of both generations and bindings.
 * JSON-RPC: spec 0.3.0 §3.5.6 and §7, 1.0.1 §9.4. HTTP+JSON: spec 0.3.0 §3.5.6, 1.0.1 §5.3 and the proto's HTTP rules.
 */
import type { Version } from './versions.js'

/**
 * Operations by their 1.0 names, whatever the generation of the client. `Other` is a method that no table has; `Extension` is a route that
 * an extension adds.
 */
export type Operation =
  | 'SendMessage'
  | 'SendStreamingMessage'
  | 'GetTask'
  | 'ListTasks'
  | 'CancelTask'
  | 'SubscribeToTask'
  | 'CreateTaskPushNotificationConfig'
  | 'GetTaskPushNotificationConfig'
  | 'ListTaskPushNotificationConfigs'
  | 'DeleteTaskPushNotificationConfig'
  | 'GetExtendedAgentCard'
  | 'Other'
  | 'Extension'

const METHODS_1_0: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ['SendMessage', 'SendMessage'],
  ['SendStreamingMessage', 'SendStreamingMessage'],
  ['GetTask', 'GetTask'],
  ['ListTasks', 'ListTasks'],
  ['CancelTask', 'CancelTask'],
  ['SubscribeToTask', 'SubscribeToTask'],
  ['CreateTaskPushNotificationConfig', 'CreateTaskPushNotificationConfig'],
  ['GetTaskPushNotificationConfig', 'GetTaskPushNotificationConfig'],
  ['ListTaskPushNotificationConfigs', 'ListTaskPushNotificationConfigs'],
  ['DeleteTaskPushNotificationConfig', 'DeleteTaskPushNotificationConfig'],
  ['GetExtendedAgentCard', 'GetExtendedAgentCard']
])

const METHODS_0_3: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ['message/send', 'SendMessage'],
  ['message/stream', 'SendStreamingMessage'],
  ['tasks/get', 'GetTask'],
  ['tasks/list', 'ListTasks'],
  ['tasks/cancel', 'CancelTask'],
  ['tasks/resubscribe', 'SubscribeToTask'],
  ['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig'],
  ['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig'],
  ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs'],
  ['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig'],
  ['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard']
])

/** @returns the operation of a JSON-RPC method in that version's grammar, or null when the version has no such method */
export function operationOfMethod (method: string, version: Version): Operation | null {
  return (version === '1.0' ? METHODS_1_0 : METHODS_0_3).get(method) ?? null
}

/** @returns the JSON-RPC method of an operation in that version's grammar; undefined for `Other` and `Extension` */
export function methodOfOperation (operation: Operation, version: Version): string | undefined {
  for (const [method, candidate] of version === '1.0' ? METHODS_1_0 : METHODS_0_3) if (candidate === operation) return method
  return undefined
}

/** True for the operations that carry a client's message. */
export function carriesMessage (operation: Operation): boolean {
  return operation === 'SendMessage' || operation === 'SendStreamingMessage'
}

const STREAMS: ReadonlySet<string> = new Set<Operation>(['SendStreamingMessage', 'SubscribeToTask'])

/** Decides by the operation, which is known before the agent is called. The agent's response may be of another kind. */
export function isStreaming (operation: string): boolean {
  return STREAMS.has(operation)
}

/**
 * True for the operations that `enforceOn: messages` covers. These include methods that no table has and routes of extensions, because they
 * may carry a message.
 */
export function inMessageScope (operation: Operation): boolean {
  return carriesMessage(operation) || operation === 'Other' || operation === 'Extension'
}

/**
 * True for the operations on which required extensions are checked. `all` leaves out the extended card: a client learns there what the
 * agent requires, so the card cannot require it of its readers.
 */
export function inRequirementScope (scope: 'messages' | 'all', operation: Operation): boolean {
  return scope === 'messages' ? inMessageScope(operation) : operation !== 'GetExtendedAgentCard'
}

const RESPONDED: ReadonlySet<Operation> = new Set<Operation>([
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'Other'
])

/**
 * True for operations whose responses contain messages and tasks. Methods that no table knows are included: their responses are read when
 * they look like messages or tasks.
 */
export function hasResults (operation: Operation): boolean {
  return RESPONDED.has(operation)
}

export interface RestMatch {
  readonly operation: Operation
  /** Tenant of the path prefix (1.0 only), percent-encoded as the client sent it, or null. */
  readonly tenant: string | null
}

/** The path is known, but not with this verb. */
export interface RestVerbMismatch { readonly allow: string }

/** The path has two readings: an operation of a task, and an operation of the tenant `tasks` or an action. */
export interface RestAmbiguity { readonly ambiguous: true }

const AMBIGUOUS: RestAmbiguity = { ambiguous: true }
/** Never a tenant, in any encoding: the card and other well-known resources lie below it. */
const WELL_KNOWN = '.well-known'

const ENCODED_SEND = /(\/message)%3[Aa](send|stream)$/
const ENCODED_TASK_ACTION = /(\/tasks\/[^/]+)%3[Aa](cancel|subscribe)$/
const ENCODED_SUBSCRIBE = /%3[Aa]subscribe$/

/**
 * Returns the form of a path below an interface in which routes are compared and forwarded: without a final slash, and with a literal colon
 * before an action. Some agents decode the path before they compare, others do not (Express), and some accept a final slash. All of them
 * read this form alike. No operation but an action has these paths with this verb, so that the form has the same meaning.
 */
export function plainRest (verb: string, rest: string): string {
  const path = rest.length > 1 && rest.endsWith('/') ? rest.slice(0, -1) : rest
  if (!path.includes('%')) return path
  const sent = path.replace(ENCODED_SEND, '$1:$2')
  return verb === 'POST' ? sent.replace(ENCODED_TASK_ACTION, '$1:$2') : sent
}

/**
 * Matches the rest of a request path below the base of an HTTP+JSON interface. The path is not decoded: `:` is literal, and `%3A` is not
 * `:`.
 * @param rest path below the interface's base, beginning with `/`, in the form of `plainRest`
 * @param basePath the interface's base path. A 0.3 base that ends in `/v1` may already hold the prefix (types.ts 0.3.0 example), or another
 *   prefix may follow (the SDKs always append it). Both forms are accepted, and the path is forwarded unchanged.
 * @returns the match, the verbs that would match, or null when no route of that version has this path
 */
export function matchRest (
  verb: string,
  rest: string,
  version: Version,
  basePath: string
): RestMatch | RestVerbMismatch | RestAmbiguity | null {
  if (rest.length < 2 || rest.charCodeAt(0) !== 0x2f) return null
  // Agents that decode the path read the action, others read the id of a task.
  if (verb === 'GET' && ENCODED_SUBSCRIBE.test(rest)) return AMBIGUOUS
  const segments = rest.slice(1).split('/')
  if (version === '0.3') {
    if (segments[0] === 'v1') segments.shift()
    else if (!basePath.endsWith('/v1')) return null
    return match(verb, segments, '0.3', null)
  }
  const direct = match(verb, segments, '1.0', null)
  const tenant = segments[0]
  if (tenant === undefined || tenant === '' || segments.length < 2 || decode(tenant) === WELL_KNOWN) return direct
  const ofTenant = match(verb, segments.slice(1), '1.0', tenant)
  if (direct === null || ofTenant === null) return direct ?? ofTenant
  // The order of an agent's routes decides: the JavaScript SDK reads `GET /tasks/extendedAgentCard` as the card of the tenant `tasks`.
  if ('operation' in direct && 'operation' in ofTenant) return AMBIGUOUS
  return 'operation' in ofTenant ? ofTenant : direct
}

function decode (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const WORDS: ReadonlyMap<string, string> = new Map(['extendedAgentCard', 'pushNotificationConfigs'].map(word => [word.toLowerCase(), word]))

/** True when a path below an HTTP+JSON interface's base, in the form of `loosePath`, is an operation with any verb. */
export function isLenientRest (rest: string, version: Version, basePath: string): boolean {
  return matchRest('POST', rest.split('/').map(segment => WORDS.get(segment) ?? segment).join('/'), version, basePath) !== null
}

function match (verb: string, segments: readonly string[], version: Version, tenant: string | null): RestMatch | RestVerbMismatch | null {
  const [first, id, third, fourth] = segments
  switch (segments.length) {
    case 1:
      if (first === 'message:send') return on(verb, 'POST', 'SendMessage', tenant)
      if (first === 'message:stream') return on(verb, 'POST', 'SendStreamingMessage', tenant)
      if (first === 'tasks') return on(verb, 'GET', 'ListTasks', tenant)
      if (first === (version === '0.3' ? 'card' : 'extendedAgentCard')) return on(verb, 'GET', 'GetExtendedAgentCard', tenant)
      return null
    case 2: {
      if (first !== 'tasks' || id === undefined || id === '') return null
      const colon = id.lastIndexOf(':')
      const action = colon < 1 ? '' : id.slice(colon + 1)
      if (action === 'cancel') return on(verb, 'POST', 'CancelTask', tenant)
      // The verb of subscribe is disputed (A2A#1574, #2063): both verbs are legal.
      if (action === 'subscribe') {
        return verb === 'POST' ? on(verb, 'POST', 'SubscribeToTask', tenant) : on(verb, 'GET', 'SubscribeToTask', tenant, 'GET, POST')
      }
      // Express routes ignore letter case, so Express does not read `t:SUBSCRIBE` as a task.
      if (/^(?:cancel|subscribe)$/i.test(action)) return null
      return on(verb, 'GET', 'GetTask', tenant)
    }
    case 3:
      if (first !== 'tasks' || id === '' || third !== 'pushNotificationConfigs') return null
      if (verb === 'POST') return { operation: 'CreateTaskPushNotificationConfig', tenant }
      return on(verb, 'GET', 'ListTaskPushNotificationConfigs', tenant, 'GET, POST')
    case 4:
      if (first !== 'tasks' || id === '' || third !== 'pushNotificationConfigs' || fourth === undefined || fourth === '') return null
      if (verb === 'DELETE') return { operation: 'DeleteTaskPushNotificationConfig', tenant }
      return on(verb, 'GET', 'GetTaskPushNotificationConfig', tenant, 'GET, DELETE')
    default:
      return null
  }
}

function on (verb: string, expected: string, operation: Operation, tenant: string | null, allow = expected): RestMatch | RestVerbMismatch {
  return verb === expected ? { operation, tenant } : { allow }
}
