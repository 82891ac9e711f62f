/** Every member of the table in `src/a2a/members.ts` with every JSON type, in requests and responses of both versions and bindings. */
import type { FieldSet, Member } from '#a2a/fields.js'
import { BOOLEAN, DIGITS, INTEGER, LIST, OBJECT, OBJECTS, STRING, STRINGS } from '#a2a/json-types.js'
import type { Members } from '#a2a/members.js'
import { membersOf, RPC_REQUEST, RPC_RESPONSE } from '#a2a/members.js'
import type { Operation } from '#a2a/operations.js'
import { methodOfOperation } from '#a2a/operations.js'
import type { Form } from '../security/kit.js'

/** JSON values, one of each kind that some reader handles in its own way. */
export const SAMPLES = {
  text: 'x',
  digits: '7',
  integer: 7,
  fraction: 1.5,
  flag: true,
  object: { a: 1 },
  arrayLike: { 0: { kind: 'text', text: 'x' }, length: 1 },
  emptyList: [],
  texts: ['x'],
  objects: [{ a: 1 }],
  mixed: ['x', { a: 1 }],
  nulls: [null]
} as const

export type SampleName = keyof typeof SAMPLES

const SAMPLE_NAMES = Object.keys(SAMPLES) as SampleName[]

/** The accepted samples of each type, written out here so that the test does not check the table against itself. */
const ALLOWED: ReadonlyMap<number, readonly SampleName[]> = new Map<number, readonly SampleName[]>([
  [STRING, ['text', 'digits']],
  [BOOLEAN, ['flag']],
  [INTEGER, ['integer']],
  [DIGITS, ['digits']],
  [OBJECT, ['object', 'arrayLike']],
  [STRINGS, ['emptyList', 'texts']],
  [OBJECTS, ['emptyList', 'objects']],
  [LIST, ['emptyList', 'texts', 'objects', 'mixed', 'nulls']]
])

export type Value = { readonly [key: string]: Value } | readonly Value[] | string | number | boolean | null

export interface MemberCase {
  /** Such as `message.parts`. */
  readonly name: string
  readonly form: Form
  readonly operation: Operation
  readonly stream: boolean
  /** Path of the member from the root of the body. */
  readonly path: string
  readonly right: readonly SampleName[]
  readonly wrong: readonly SampleName[]
  /** The whole body with this value; undefined leaves the member out. */
  body (value: unknown): Value
}

type Steps = readonly (string | number)[]
type Json = Record<string, unknown>

/** The place of the objects of a kind: a healthy body, and the steps to the object. */
interface Place {
  readonly body: Json
  readonly steps: Steps
  readonly operation: Operation
  readonly stream?: boolean
}

const isOld = ({ version }: Form): boolean => version === '0.3'
const isRpc = ({ binding }: Form): boolean => binding === 'JSONRPC'
/** True for 0.3 over JSON-RPC. */
const isKind = (form: Form): boolean => isOld(form) && isRpc(form)
const isProto03 = (form: Form): boolean => isOld(form) && !isRpc(form)
const kind = (form: Form, name: string): Json => isKind(form) ? { kind: name } : {}
const list = (form: Form): string => isProto03(form) ? 'content' : 'parts'

function message (form: Form, role: 'user' | 'agent', parts: readonly unknown[]): Json {
  return { ...kind(form, 'message'), messageId: 'm', role: isKind(form) ? role : `ROLE_${role.toUpperCase()}`, [list(form)]: parts }
}

const text = (form: Form): Json => ({ ...kind(form, 'text'), text: 'hello' })
const file = (form: Form): Json => ({ ...kind(form, 'file'), file: {} })
const state = (form: Form): string => isKind(form) ? 'working' : 'TASK_STATE_WORKING'

/** Members of which a part has exactly one. Each replaces the text. */
const CONTENTS = new Set(['text', 'raw', 'url', 'data', 'file'])

function partFor (form: Form, { field }: Member): Json {
  if (!CONTENTS.has(field)) return text(form)
  return field === 'text' || field === 'data' || field === 'file' ? kind(form, field) : {}
}

// ---- Requests ----

const LISTING = new Set(['contextId', 'status', 'pageSize', 'pageToken', 'statusTimestampAfter', 'includeArtifacts'])
const ASKING = new Set(['id', 'historyLength', 'tenant', 'metadata'])

/** The operation for a body with this field. Over HTTP+JSON only some operations have a body. */
function taskOperation (form: Form, field: string): Operation {
  if (ASKING.has(field)) return isRpc(form) && field === 'historyLength' ? 'GetTask' : 'CancelTask'
  return LISTING.has(field) && isRpc(form) ? 'ListTasks' : 'CreateTaskPushNotificationConfig'
}

function request (form: Form, operation: Operation, params: Json, steps: Steps): Place {
  if (!isRpc(form)) return { body: params, steps, operation }
  return {
    body: { jsonrpc: '2.0', id: 1, method: methodOfOperation(operation, form.version) ?? 'extension/own', params },
    steps: ['params', ...steps],
    operation
  }
}

const whole = (form: Form): Json => ({ message: message(form, 'user', [text(form)]) })

function send (form: Form, part: Json, steps: Steps): Place {
  return request(form, 'SendMessage', { message: message(form, 'user', [part]) }, ['message', ...steps])
}

type Placing = (form: Form, member: Member) => Place | null

const REQUESTS: Readonly<Partial<Record<keyof Members, Placing>>> = {
  sendRequest: (form, { field }) => request(form, 'SendMessage', field === 'request' ? {} : whole(form), []),
  // The extension, not A2A, defines these members, so no type is required.
  extensionRequest: form => request(form, 'Extension', whole(form), []),
  taskRequest: (form, { field }) => request(form, taskOperation(form, field), isRpc(form) && field !== 'id' ? { id: 't' } : {}, []),
  message: form => send(form, text(form), []),
  part: (form, member) => send(form, partFor(form, member), [list(form), 0]),
  partMetadata: form => send(form, { ...text(form), metadata: {} }, [list(form), 0, 'metadata']),
  file: form => send(form, file(form), [list(form), 0, 'file']),
  dataPart: form => isProto03(form) ? send(form, { data: { data: {} } }, ['content', 0, 'data']) : null
}

// ---- Responses ----

function answer (form: Form, operation: Operation, result: Json, steps: Steps): Place {
  const stream = operation === 'SendStreamingMessage'
  if (!isRpc(form)) return { body: result, steps, operation, stream }
  return { body: { jsonrpc: '2.0', id: 1, result }, steps: ['result', ...steps], operation, stream }
}

/** @param member member name in the wrapper, which 0.3 over JSON-RPC does not have */
function wrapped (form: Form, member: string, object: Json, steps: Steps): Place {
  const operation = member.endsWith('Update') ? 'SendStreamingMessage' : 'SendMessage'
  return isKind(form) ? answer(form, operation, object, steps) : answer(form, operation, { [member]: object }, [member, ...steps])
}

const said = (form: Form, part: Json, steps: Steps): Place => wrapped(form, 'message', message(form, 'agent', [part]), steps)
const task = (form: Form, more: Json): Json => ({ ...kind(form, 'task'), id: 't', contextId: 'c', status: { state: state(form) }, ...more })

const OF_ARTIFACT = new Set(['artifact', 'append', 'lastChunk'])

function artifactUpdate (form: Form): Json {
  return { ...kind(form, 'artifact-update'), taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [text(form)] } }
}

function statusUpdate (form: Form): Json {
  return { ...kind(form, 'status-update'), taskId: 't', contextId: 'c', status: { state: state(form) } }
}

const RESPONSES: Readonly<Partial<Record<keyof Members, Placing>>> = {
  wrapper: (form, { field }) => answer(form, field.endsWith('Update') ? 'SendStreamingMessage' : 'SendMessage', {}, []),
  taskList: form => answer(form, 'ListTasks', {}, []),
  task: form => wrapped(form, 'task', task(form, {}), []),
  status: form => wrapped(form, 'task', task(form, {}), ['status']),
  update: (form, { field }) => OF_ARTIFACT.has(field)
    ? wrapped(form, 'artifactUpdate', artifactUpdate(form), [])
    : wrapped(form, 'statusUpdate', statusUpdate(form), []),
  artifact: form => wrapped(form, 'artifactUpdate', artifactUpdate(form), ['artifact']),
  message: form => said(form, text(form), []),
  part: (form, member) => said(form, partFor(form, member), [list(form), 0]),
  partMetadata: form => said(form, { ...text(form), metadata: {} }, [list(form), 0, 'metadata']),
  file: form => said(form, file(form), [list(form), 0, 'file']),
  dataPart: form => isProto03(form) ? said(form, { data: { data: {} } }, ['content', 0, 'data']) : null
}

// ---- Cases ----

export function requestCases (form: Form): MemberCase[] {
  const envelope: Place = { ...request(form, 'SendMessage', whole(form), []), steps: [] }
  return [...(isRpc(form) ? casesOf(form, 'envelope', RPC_REQUEST, () => envelope) : []), ...all(form, REQUESTS)]
}

export function responseCases (form: Form): MemberCase[] {
  const envelope = ({ field }: Member): Place => {
    const body = field === 'error' ? { jsonrpc: '2.0', id: 1 } : answer(form, 'SendMessage', task(form, {}), []).body
    return { body, steps: [], operation: 'SendMessage' }
  }
  return [...(isRpc(form) ? casesOf(form, 'envelope', RPC_RESPONSE, envelope) : []), ...all(form, RESPONSES)]
}

/** Kinds of objects that have a place neither in requests nor in responses. The list must be empty. */
export function unplaced (form: Form): string[] {
  const names = Object.keys(membersOf(form.version, form.binding))
  return names.filter(name => name !== 'version' && !(name in REQUESTS) && !(name in RESPONSES))
}

function all (form: Form, places: Readonly<Partial<Record<keyof Members, Placing>>>): MemberCase[] {
  const members = membersOf(form.version, form.binding)
  return (Object.keys(places) as (keyof Members)[]).flatMap(name => {
    const place = places[name]
    return place === undefined || name === 'version' ? [] : casesOf(form, name, members[name], of => place(form, of))
  })
}

/**
 * The cases of a kind of object. Nested objects that the gateway validates together with their parent are created where they are missing.
 */
function casesOf (form: Form, name: string, set: FieldSet, placing: (member: Member) => Place | null): MemberCase[] {
  return set.members.flatMap(member => {
    const place = placing(member)
    if (place === null) return []
    const { field, within } = member
    const here = caseOf(form, name, member, place)
    if (within === null) return [here]
    const steps = [...place.steps, field]
    const inner = { ...place, body: withValue(place.body, steps, {}) as Json, steps }
    return [here, ...casesOf(form, `${name}.${field}`, within, () => inner)]
  })
}

function caseOf (form: Form, name: string, { field, types }: Member, { body, steps, operation, stream = false }: Place): MemberCase {
  // The gateway compares the value of `jsonrpc`, so every type counts as wrong.
  const right =
    name === 'envelope' && field === 'jsonrpc'
      ? []
      : types === 0
        ? SAMPLE_NAMES
        : [...ALLOWED].flatMap(([bit, samples]) => ((types & bit) === 0 ? [] : samples))
  const at = [...steps, field]
  return {
    name: `${name}.${field}`,
    form,
    operation,
    stream,
    path: at.map(step => typeof step === 'number' ? `[${step}]` : `.${step}`).join('').slice(1),
    right,
    wrong: SAMPLE_NAMES.filter(sample => !right.includes(sample)),
    body: value => withValue(body, at, value) as Value
  }
}

function withValue (object: unknown, steps: Steps, value: unknown): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return value
  if (Array.isArray(object)) return object.map((one: unknown, i) => i === step ? withValue(one, rest, value) : one)
  const { [step]: old, ...others } = (object ?? {}) as Json
  const now = withValue(old, rest, value)
  return now === undefined ? others : { ...others, [step]: now }
}
