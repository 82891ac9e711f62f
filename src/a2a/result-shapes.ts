/** Messages, tasks and their updates as agents of both generations and bindings write them: bare, by `kind`, or wrapped in a member of their name. */
import type { JsonPath } from '../wire/json-edit.js'
import type { FieldProblem, JsonObject } from './fields.js'
import { addProblem, Fields, FieldSet, isObject, memberPath, mustBeObject, mustBeTexts, own, snakeCase } from './fields.js'
import type { ContentView } from './message.js'
import { MESSAGE_FIELDS, viewContent } from './message.js'
import type { ResultKind, ResultView } from './result.js'
import type { TaskState } from './task-state.js'
import { taskStateOf } from './task-state.js'
import type { Binding, Version } from './versions.js'

/** A value of the answer and where it is. */
export interface Place {
  readonly value: unknown
  readonly path: string
  readonly steps: JsonPath
}

export interface Style { readonly binding: Binding, readonly version: Version }

const TASK = new FieldSet(['id', 'contextId', 'status', 'artifacts', 'history', 'metadata', 'kind'])
const STATUS = new FieldSet(['state', 'message', 'timestamp'])
/** proto 0.3.0 names the message `update`, with json_name `message`: ProtoJSON parsers read both. */
const STATUS_PROTO = new FieldSet(['state', 'message', 'update', 'timestamp'])
const UPDATE = new FieldSet(['taskId', 'contextId', 'status', 'artifact', 'append', 'lastChunk', 'final', 'metadata', 'kind'])
const ARTIFACT = new FieldSet(['artifactId', 'name', 'description', 'parts', 'extensions', 'metadata'])

const TASK_IDS = ['id', 'contextId'] as const
const UPDATE_IDS = ['taskId', 'contextId'] as const
const ARTIFACT_TEXTS = ['artifactId', 'name'] as const

const FIELDS: Readonly<Record<ResultKind, FieldSet>> = { task: TASK, message: MESSAGE_FIELDS, statusUpdate: UPDATE, artifactUpdate: UPDATE }

/** 0.3: types.ts 0.3.0. */
const KINDS: ReadonlyMap<unknown, ResultKind> = new Map([['task', 'task'], ['message', 'message'], ['status-update', 'statusUpdate'], ['artifact-update', 'artifactUpdate']])

type Member = readonly [name: string, kind: ResultKind]

const MEMBERS_1_0: readonly Member[] = [['task', 'task'], ['message', 'message'], ['statusUpdate', 'statusUpdate'], ['artifactUpdate', 'artifactUpdate']]
/** proto 0.3.0 names the message `msg`, with json_name `message`. */
const MEMBERS_0_3: readonly Member[] = [...MEMBERS_1_0, ['msg', 'message']]
const WRAPPER_1_0 = new FieldSet(MEMBERS_1_0.map(([name]) => name))
const WRAPPER_0_3 = new FieldSet(MEMBERS_0_3.map(([name]) => name))

/**
 * Reads a Message, a Task or an update, wrapped as proto 1.0.1 StreamResponse and proto 0.3.0 have it, or by itself as 0.3 has it.
 * @param updates whether updates of tasks are results here
 * @returns several where it holds several, which is a problem; none where it is no result
 */
export function readResult (object: JsonObject, place: Place, style: Style, updates: boolean, problems: FieldProblem[]): ResultView[] {
  const old = style.version === '0.3'
  const named = old ? own(object, 'kind') : undefined
  const kind = KINDS.get(named)
  const found: ResultView[] = []
  const take = (kind: ResultKind, value: JsonObject, path: string, steps: JsonPath): void => {
    if (updates || kind === 'task' || kind === 'message') found.push(view(kind, value, path, steps, style, problems))
  }
  // A kind that no client knows makes it nothing to them all.
  if (typeof named === 'string' && kind === undefined) return found
  if (kind !== undefined) take(kind, object, place.path, place.steps)
  if (kind !== undefined && style.binding === 'JSONRPC') return found

  const fields = Fields.read(object, old ? WRAPPER_0_3 : WRAPPER_1_0, place.path, problems)
  let first = kind === undefined ? null : 'kind'
  for (const [name, kind] of old ? MEMBERS_0_3 : MEMBERS_1_0) {
    const value = fields.get(name)
    if (value === undefined || value === null) continue
    if (first !== null) addProblem(problems, fields.pathOf(name), `stands beside "${first}"; an answer has exactly one of them`)
    first ??= name
    const key = fields.key(name)
    if (isObject(value) && key !== null) take(kind, value, fields.pathOf(name), [...place.steps, key])
  }
  const bare = first === null && old ? bareKind(object, place.path, problems) : null
  if (bare !== null) take(bare, object, place.path, place.steps)
  return found
}

/** A Task by itself: what GetTask and CancelTask answer with, and what lists hold. @returns null for what is none */
export function readTask (object: JsonObject, { path, steps }: Place, style: Style, problems: FieldProblem[]): ResultView | null {
  const kind = style.version === '0.3' ? own(object, 'kind') : undefined
  if (typeof kind === 'string' ? kind !== 'task' : typeof own(object, 'id') !== 'string' && !isObject(own(object, 'status'))) return null
  return view('task', object, path, steps, style, problems)
}

/** Whether it is a result in some generation beyond doubt: an object of another origin hardly looks like it. */
export function isResult (object: JsonObject): boolean {
  if (looksLike(object, KINDS.get(own(object, 'kind'))) || isBareTask(object)) return true
  return MEMBERS_0_3.some(([name, kind]) => {
    const value = own(object, name) ?? own(object, snakeCase(name))
    return isObject(value) && looksLike(value, kind)
  })
}

export function isBareTask (object: JsonObject): boolean {
  const status = own(object, 'status')
  return typeof own(object, 'id') === 'string' && isObject(status) && taskStateOf(own(status, 'state')) !== null
}

function looksLike (object: JsonObject, kind: ResultKind | undefined): boolean {
  const has = (name: string): unknown => own(object, name) ?? own(object, snakeCase(name))
  switch (kind) {
    case 'task': return isBareTask(object)
    case 'message': return has('messageId') !== undefined && (Array.isArray(has('parts')) || Array.isArray(has('content')))
    case 'statusUpdate': return typeof has('taskId') === 'string' && isObject(has('status'))
    case 'artifactUpdate': return typeof has('taskId') === 'string' && isObject(has('artifact'))
    default: return false
  }
}

/** 0.3 objects without `kind`, which readers that go by shape take: Python's model has it by default, and takes the shape that most members fit. */
function bareKind (object: JsonObject, path: string, problems: FieldProblem[]): ResultKind | null {
  const kinds: ResultKind[] = []
  if (isObject(own(object, 'status'))) {
    if (Object.hasOwn(object, 'id')) kinds.push('task')
    if (looksLike(object, 'statusUpdate')) kinds.push('statusUpdate')
  }
  if (looksLike(object, 'artifactUpdate')) kinds.push('artifactUpdate')
  if (Array.isArray(own(object, 'parts')) || Array.isArray(own(object, 'content'))) kinds.push('message')
  if (kinds.length > 1) addProblem(problems, memberPath(path, 'kind'), 'is missing where the other members do not tell what it is; say what it is')
  return kinds[0] ?? null
}

function view (kind: ResultKind, object: JsonObject, path: string, steps: JsonPath, style: Style, problems: FieldProblem[]): ResultView {
  return new Result(kind, Fields.read(object, FIELDS[kind], path, problems), steps, style, problems)
}

const NOTHING: readonly never[] = []

class Result implements ResultView {
  readonly kind: ResultKind
  readonly fields: Fields
  readonly path: string
  readonly steps: JsonPath
  readonly taskId: string | null
  readonly contextId: string | null
  readonly state: TaskState | null = null
  readonly message: ContentView | null = null
  readonly status: ContentView | null = null
  readonly artifacts: readonly ContentView[] = NOTHING
  readonly append: boolean
  private readonly version: Version
  private readonly proto: boolean
  private all: readonly ContentView[] | null = null
  private agents: readonly ContentView[] | null = null
  private odd: FieldProblem[] = []

  constructor (kind: ResultKind, fields: Fields, steps: JsonPath, { version, binding }: Style, problems: FieldProblem[]) {
    this.kind = kind
    this.fields = fields
    this.path = fields.path
    this.steps = steps
    this.version = version
    this.proto = version === '0.3' && binding === 'HTTP+JSON'
    this.taskId = idOf(fields, kind === 'task' ? 'id' : 'taskId')
    this.contextId = idOf(fields, 'contextId')
    this.append = kind === 'artifactUpdate' && isAppended(fields, problems)
    // Whatever role it says: nobody but the agent answers.
    if (kind === 'message') this.message = this.content(fields, steps, problems)
    else {
      // Readers made by ts-proto take a list for metadata, and `String(5)` for an id.
      mustBeObject(fields, 'metadata', problems)
      mustBeTexts(fields, kind === 'task' ? TASK_IDS : UPDATE_IDS, problems)
    }
    if (kind === 'task' || kind === 'statusUpdate') {
      const status = this.child(fields, 'status', this.proto ? STATUS_PROTO : STATUS, problems)
      if (status !== null) {
        this.state = stateOf(status, problems)
        this.status = this.statusMessage(status, [...steps, fields.key('status') ?? 'status'], problems)
      }
    }
    if (kind === 'task') this.artifacts = this.list('artifacts', ARTIFACT, problems, ARTIFACT_TEXTS)
    if (kind === 'artifactUpdate') {
      const artifact = this.child(fields, 'artifact', ARTIFACT, problems)
      if (artifact !== null) this.artifacts = [this.content(artifact, [...steps, fields.key('artifact') ?? 'artifact'], problems, ARTIFACT_TEXTS)]
    }
  }

  /** Read when first asked for: only redaction asks. What is odd there the client may have written, so it is no problem of an answer that is only judged. */
  get history (): readonly ContentView[] {
    this.all ??= this.kind === 'task' ? this.list('history', MESSAGE_FIELDS, this.odd) : NOTHING
    return this.all
  }

  get past (): readonly ContentView[] {
    this.agents ??= this.history.filter(({ fields }) => !this.isClients(fields))
    return this.agents
  }

  get pastProblems (): readonly FieldProblem[] {
    return this.odd
  }

  private statusMessage (status: Fields, steps: JsonPath, problems: FieldProblem[]): ContentView | null {
    let field = 'message'
    if (this.proto && isObject(status.get('update'))) {
      if (status.get('message') !== undefined) addProblem(problems, status.pathOf('update'), 'stands beside "message", another spelling of the same field; send only "message"')
      else field = 'update'
    }
    const message = this.child(status, field, MESSAGE_FIELDS, problems)
    return message === null ? null : this.authored(message, [...steps, status.key(field) ?? field], problems)
  }

  /** Null for what the client wrote: some agents begin a task with a status that repeats its message (adk-python). */
  private authored (message: Fields, steps: JsonPath, problems: FieldProblem[]): ContentView | null {
    return this.isClients(message) ? null : this.content(message, steps, problems)
  }

  /** By the role as its generation and binding write it: in another spelling it is no role of the client to whoever reads it. */
  private isClients (message: Fields): boolean {
    const role = message.get('role')
    if (this.version === '0.3' && role === 'user') return true
    return (this.version === '1.0' || this.proto) && (role === 'ROLE_USER' || role === 1)
  }

  private content (fields: Fields, steps: JsonPath, problems: FieldProblem[], texts: readonly string[] = UPDATE_IDS): ContentView {
    mustBeTexts(fields, texts, problems)
    return viewContent(fields, steps, this.version, problems, this.proto)
  }

  private child (fields: Fields, field: string, set: FieldSet, problems: FieldProblem[]): Fields | null {
    const value = fields.get(field)
    return isObject(value) ? Fields.read(value, set, fields.pathOf(field), problems) : null
  }

  private list (field: string, set: FieldSet, problems: FieldProblem[], texts?: readonly string[]): readonly ContentView[] {
    const values = this.fields.get(field)
    if (!Array.isArray(values) || values.length === 0) return NOTHING
    const path = this.fields.pathOf(field)
    const key = this.fields.key(field) ?? field
    const found: ContentView[] = []
    for (let i = 0; i < values.length; i++) {
      const value: unknown = values[i]
      if (isObject(value)) found.push(this.content(Fields.read(value, set, `${path}[${i}]`, problems), [...this.steps, key, i], problems, texts))
    }
    return found
  }
}

/** `["completed"]` is `completed` to readers that look it up in a table of texts. */
function stateOf (status: Fields, problems: FieldProblem[]): TaskState | null {
  const value = status.get('state')
  if (value !== undefined && value !== null && typeof value !== 'string' && typeof value !== 'number') addProblem(problems, status.pathOf('state'), 'must be a string')
  return taskStateOf(value)
}

/** `"false"` and 1 are true to readers made by ts-proto. */
function isAppended (update: Fields, problems: FieldProblem[]): boolean {
  const value = update.get('append')
  if (value !== undefined && value !== null && typeof value !== 'boolean') addProblem(problems, update.pathOf('append'), 'must be true or false')
  return value === true
}

/** Null and the empty string are ProtoJSON's absent. */
function idOf (fields: Fields, field: string): string | null {
  const value = fields.get(field)
  return typeof value === 'string' && value !== '' ? value : null
}
