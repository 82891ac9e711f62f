/**
 * Reads an agent's response, in both generations and bindings: envelope, error, results. Shapes: spec 0.3.0 §7, A2A 1.0.1 §9.4 and §11,
 * proto 1.0.1 SendMessageResponse and StreamResponse.
 */
import type { FieldProblem } from '../fields.js'
import { Fields, isSameField } from '../fields.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import { membersOf, RPC_RESPONSE } from '../members.js'
import type { Operation } from '../operations.js'
import { isBareKind, isBareTask, isResult, readResult, readTask } from './result-shapes.js'
import type { Place, Style } from './result-shapes.js'
import type { ResponseView, ResultView } from './result.js'

export interface ResponseOptions extends Style {
  readonly operation: Operation
  /** JSON-RPC id of the request as a value; null when the request has none: then every id of the response is accepted. */
  readonly id: string | number | null
  /** True for an event of a stream, which may be an update of a task. */
  readonly stream: boolean
}

type Fault = { readonly path: string, readonly message: string }

/**
 * Reads the body of a response, or the data of one event. Never throws. Responses of the operations for push notification configurations
 * and of GetExtendedAgentCard have no results. Responses of unknown methods and of extensions' routes have results when they look like
 * results.
 * @param value JSON, parsed strictly
 */
export function viewResponse (value: unknown, options: ResponseOptions): ResponseView {
  return options.binding === 'JSONRPC' ? viewRpc(value, options) : viewRest(value, options)
}

function viewRpc (value: unknown, options: ResponseOptions): ResponseView {
  if (!isObject(value)) return faulty('', 'is not a JSON-RPC 2.0 object')
  const problems: FieldProblem[] = []
  Fields.read(value, RPC_RESPONSE, '', problems)
  if (own(value, 'jsonrpc') !== '2.0') return faulty('jsonrpc', 'must be the string "2.0"', problems)
  // Serialisers that write every member write null for the unused one of `result` and `error`.
  const error = own(value, 'error')
  const isError = error !== undefined && error !== null
  const result = own(value, 'result')
  if (isError && result !== undefined && result !== null) {
    return faulty('error', 'occurs together with "result"; a response has exactly one of them', problems)
  }
  if (!isError && !Object.hasOwn(value, 'result')) return faulty('', 'has neither "result" nor "error"', problems)
  const id = own(value, 'id') ?? null
  // JSON-RPC 2.0 §5: the id is null when an error prevented the agent from reading the id.
  if (options.id !== null && id !== options.id && !(isError && id === null)) return faulty('id', 'is not the id of the request', problems)
  if (isError) return errorView(problems)
  return viewResults({ value: result, path: 'result', steps: RESULT }, options, problems)
}

function viewRest (value: unknown, options: ResponseOptions): ResponseView {
  const problems: FieldProblem[] = []
  if (isObject(value) && isRestError(value) && !holdsResult(value)) return errorView(problems)
  return viewResults({ value, path: '', steps: ROOT }, options, problems)
}

/**
 * True for an error body. 1.0.1 §11.6 and events named `error`: `{error}`. The 0.3 specification does not define the shape of errors; its
 * SDKs write `{code, message}`.
 */
function isRestError (body: JsonObject): boolean {
  const error = own(body, 'error')
  if (error !== undefined && error !== null) return true
  return typeof own(body, 'code') === 'number' && typeof own(body, 'message') === 'string'
}

const RESULTS = [
  'task',
  'message',
  'msg',
  'statusUpdate',
  'artifactUpdate',
  'tasks',
  'status',
  'artifact',
  'artifacts',
  'history',
  'parts',
  'content',
  'metadata'
]

/** True when a client might read a member of the body as a result: clients of successful calls do not look for errors. */
function holdsResult (body: JsonObject): boolean {
  return Object.keys(body).some(key => typeof body[key] === 'object' && body[key] !== null && RESULTS.some(name => isSameField(key, name)))
}

function viewResults (place: Place, options: ResponseOptions, problems: FieldProblem[]): ResponseView {
  switch (options.operation) {
    case 'SendMessage':
      return wrapped(place, options, options.stream, problems)
    case 'SendStreamingMessage':
    case 'SubscribeToTask':
      return wrapped(place, options, true, problems)
    case 'GetTask':
    case 'CancelTask': {
      const task = isObject(place.value) ? readTask(place.value, place, options, problems) : null
      return task === null ? faulty(place.path, 'is not a Task', problems) : read([task], problems)
    }
    case 'ListTasks':
      return viewTasks(place, options, problems)
    case 'Other':
      return { ...viewUnknown(place, options, problems), methodResult: place }
    case 'Extension':
      return viewUnknown(place, options, problems)
    default:
      return read(NONE, problems)
  }
}

function wrapped (place: Place, options: ResponseOptions, updates: boolean, problems: FieldProblem[]): ResponseView {
  const results = isObject(place.value) ? readResult(place.value, place, wrappedStyle(place.value, options), updates, problems) : NONE
  const [first] = results
  if (first !== undefined) return read(results, problems, options.version === '1.0' && first.path === place.path ? unwrapped(first) : null)
  const words = updates ? 'is not a Task, a Message or an update of a Task' : 'is neither a Task nor a Message'
  return faulty(
    place.path,
    options.version === '1.0'
      ? `${words}: it has none of ${updates ? '"task", "message", "statusUpdate" and "artifactUpdate"' : '"task" and "message"'}`
      : words,
    problems
  )
}

function viewTasks (place: Place, options: ResponseOptions, problems: FieldProblem[]): ResponseView {
  if (!isObject(place.value)) return faulty(place.path, 'is not a list of Tasks', problems)
  const fields = Fields.read(place.value, membersOf(options.version, options.binding).taskList, place.path, problems)
  const tasks = fields.get('tasks')
  // ProtoJSON omits empty lists.
  if (tasks === undefined || tasks === null) return read(NONE, problems)
  const path = fields.pathOf('tasks')
  if (!Array.isArray(tasks)) return faulty(path, 'is not a list of Tasks', problems)
  const results: ResultView[] = []
  for (let i = 0; i < tasks.length; i++) {
    const entry: unknown = tasks[i]
    const at: Place = { value: entry, path: `${path}[${i}]`, steps: [...place.steps, fields.key('tasks') ?? 'tasks', i] }
    const task = isObject(entry) ? readTask(entry, at, options, problems) : null
    if (task === null) return faulty(at.path, 'is not a Task', problems)
    results.push(task)
  }
  return read(results, problems)
}

/**
 * Reads the response of an unknown method or an extension's route. Its members may belong to any specification. Only an unambiguous result
 * is read, and no other member can be a problem.
 */
function viewUnknown (place: Place, options: ResponseOptions, problems: FieldProblem[]): ResponseView {
  const { value } = place
  if (!isObject(value)) return read(NONE, problems)
  if (isBareTask(value)) return read(someOf(readTask(value, place, options, problems)), problems)
  if (isResult(value)) return read(readResult(value, place, styleOf(value, options), true, problems), problems)
  const tasks = own(value, 'tasks')
  const isList = Array.isArray(tasks) && tasks.length > 0 && tasks.every(task => isObject(task) && isBareTask(task))
  return isList ? viewTasks(place, options, problems) : read(NONE, problems)
}

function someOf<T> (value: T | null): readonly T[] {
  return value === null ? NONE : [value]
}

/** Returns the style of a result that should be wrapped. In 1.0, a bare object that states its `kind` is an object of 0.3. */
function wrappedStyle (value: JsonObject, options: ResponseOptions): Style {
  return isBareKind(value) ? styleOf(value, options) : options
}

function unwrapped ({ kind, path }: ResultView): FieldProblem {
  return { path, message: `is not wrapped in the member "${kind}", as A2A 1.0 requires; official clients do not find it` }
}

/** Returns the style of a value. An object that states its `kind` is an object of 0.3, whatever the version of the request. */
function styleOf (value: JsonObject, { binding, version }: ResponseOptions): Style {
  return { binding, version: typeof own(value, 'kind') === 'string' ? '0.3' : version }
}

const NONE: readonly never[] = []
const ROOT = [] as const
const RESULT = ['result'] as const

function read (
  results: readonly ResultView[],
  problems: readonly FieldProblem[],
  unwrapped: FieldProblem | null = null
): ResponseView {
  return { results, isError: false, fault: null, problems, unwrapped }
}

function errorView (problems: readonly FieldProblem[]): ResponseView {
  return { results: NONE, isError: true, fault: null, problems, unwrapped: null }
}

function faulty (path: string, message: string, problems: readonly FieldProblem[] = NONE): ResponseView {
  const fault: Fault = { path, message }
  return { results: NONE, isError: false, fault, problems, unwrapped: null }
}
