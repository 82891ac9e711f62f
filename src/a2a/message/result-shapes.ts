/**
 * Reads messages, tasks and their updates as agents of both generations and bindings write them: bare, by `kind`, or wrapped in a member
 * with their name.
 */
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { FieldProblem } from '../fields.js'
import type { FieldSet } from '../fields.js'
import { addProblem, addUnknownMembers, Fields, isSameField, memberPath, snakeCase } from '../fields.js'
import type { Members } from '../members.js'
import { membersOf } from '../members.js'
import type { ContentView } from './message.js'
import { viewContent } from './message.js'
import type { ResultKind, ResultView } from './result.js'
import type { TaskState } from '../task-state.js'
import { isStateName, taskStateOf } from '../task-state.js'
import type { Binding, Version } from '../versions.js'

/** A value of the response and its place. */
export interface Place {
  readonly value: unknown
  readonly path: string
  readonly steps: JsonPath
}

interface ObjectPlace extends Place { readonly value: JsonObject }

export interface Style { readonly binding: Binding, readonly version: Version }

/** Key in `Members` for each kind of result. */
const FIELDS = { task: 'task', message: 'message', statusUpdate: 'update', artifactUpdate: 'update' } as const

/** Kinds of 0.3, from types.ts 0.3.0. */
const KINDS: ReadonlyMap<unknown, ResultKind> = new Map([
  ['task', 'task'],
  ['message', 'message'],
  ['status-update', 'statusUpdate'],
  ['artifact-update', 'artifactUpdate']
])

/** Names of the types, for messages. */
const NAMES: Readonly<Record<ResultKind, string>> = {
  task: 'Task',
  message: 'Message',
  statusUpdate: 'TaskStatusUpdateEvent',
  artifactUpdate: 'TaskArtifactUpdateEvent'
}

type Member = readonly [name: string, kind: ResultKind]

const MEMBERS_1_0: readonly Member[] = [
  ['task', 'task'],
  ['message', 'message'],
  ['statusUpdate', 'statusUpdate'],
  ['artifactUpdate', 'artifactUpdate']
]
/** proto 0.3.0 names the message `msg`, with json_name `message`. */
const MEMBERS_0_3: readonly Member[] = [...MEMBERS_1_0, ['msg', 'message']]

/**
 * Reads a Message, a Task or an update: wrapped as in proto 1.0.1 StreamResponse and proto 0.3.0, or bare as in 0.3. Some agents write bare
 * results in 1.0 too (A2X), and their clients read them.
 * @param updates true when updates of tasks count as results
 * @returns several results when the object holds several, which is a problem; none when the object is no result
 */
export function readResult (object: JsonObject, place: Place, style: Style, updates: boolean, problems: FieldProblem[]): ResultView[] {
  const old = style.version === '0.3'
  const named = old ? own(object, 'kind') : undefined
  const kind = KINDS.get(named)
  const results: ResultView[] = []
  const take = (kind: ResultKind, at: ObjectPlace): void => {
    if (updates || kind === 'task' || kind === 'message') results.push(view(kind, at, style, problems))
  }
  const here = { value: object, path: place.path, steps: place.steps }
  // An object with an unknown kind is no result to any client.
  if (typeof named === 'string' && kind === undefined) return results
  if (kind !== undefined) take(kind, here)
  if (kind !== undefined && style.binding === 'JSONRPC') return results

  const fields = Fields.read(object, membersOf(style.version, style.binding).wrapper, place.path, problems)
  let first = kind === undefined ? null : 'kind'
  for (const [name, kind] of old ? MEMBERS_0_3 : MEMBERS_1_0) {
    const value = fields.get(name)
    if (value === undefined || value === null) continue
    if (first !== null) addProblem(problems, fields.pathOf(name), `occurs together with "${first}"; a response has exactly one of them`)
    first ??= name
    const key = fields.key(name)
    if (isObject(value) && key !== null) take(kind, { value, path: fields.pathOf(name), steps: [...place.steps, key] })
  }
  if (first === null) {
    const bare = bareKind(object, place.path, old, problems)
    if (bare !== null) take(bare, here)
  } else if (!old) {
    const bare = bareKind(object, place.path, old, [])
    if (bare !== null) {
      addProblem(problems, fields.pathOf(first), `is in an object that looks like a ${NAMES[bare]} itself; send the wrapped object only`)
    }
  }
  return results
}

/** True when an object states its kind by a name of 0.3, and no reader of 1.0 finds a wrapped result in it. */
export function isBareKind (object: JsonObject): boolean {
  return KINDS.has(own(object, 'kind')) && !Object.keys(object).some(key => MEMBERS_1_0.some(([name]) => isSameField(key, name)))
}

/** Reads a bare Task: the response of GetTask and CancelTask, and the element of lists. @returns null when the object is not a Task */
export function readTask (object: JsonObject, { path, steps }: Place, style: Style, problems: FieldProblem[]): ResultView | null {
  const kind = style.version === '0.3' ? own(object, 'kind') : undefined
  if (typeof kind === 'string' ? kind !== 'task' : typeof own(object, 'id') !== 'string' && !isObject(own(object, 'status'))) return null
  return view('task', { value: object, path, steps }, style, problems)
}

/** True when the object is certainly a result in some generation: an object of another origin is unlikely to look like one. */
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
    // Objects and lists both count: a member with the other container is a result of the wrong type, not an unrelated object.
    case 'task': return isBareTask(object) || (has('id') !== undefined && isContainer(has('status')) && isContainer(has('artifacts')))
    case 'message': return has('messageId') !== undefined && (isContainer(has('parts')) || isContainer(has('content')))
    case 'statusUpdate': return has('taskId') !== undefined && isContainer(has('status'))
    case 'artifactUpdate': return has('taskId') !== undefined && isContainer(has('artifact'))
    default: return false
  }
}

function isContainer (value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/**
 * Returns the kind of an object without `kind`. Some readers accept such objects by shape: Python's model of 0.3 sets `kind` by default,
 * and chooses the shape that fits most members.
 */
function bareKind (object: JsonObject, path: string, old: boolean, problems: FieldProblem[]): ResultKind | null {
  const kinds: ResultKind[] = []
  if (isContainer(own(object, 'status'))) {
    if (Object.hasOwn(object, 'id')) kinds.push('task')
    if (looksLike(object, 'statusUpdate')) kinds.push('statusUpdate')
  }
  if (looksLike(object, 'artifactUpdate')) kinds.push('artifactUpdate')
  if (isContainer(own(object, 'parts')) || (old && isContainer(own(object, 'content')))) kinds.push('message')
  if (kinds.length > 1) {
    const missing = 'and the other members do not determine the kind of result'
    if (old) addProblem(problems, memberPath(path, 'kind'), `is missing, ${missing}; add it`)
    else addProblem(problems, path, `is not wrapped, ${missing}; wrap it in the member with its name`)
  }
  return kinds[0] ?? null
}

function view (kind: ResultKind, { value, path, steps }: ObjectPlace, style: Style, problems: FieldProblem[]): ResultView {
  const members = membersOf(style.version, style.binding)
  return new Result(kind, Fields.read(value, members[FIELDS[kind]], path, problems), steps, style, problems)
}

const NO_VALUES: readonly never[] = []

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
  readonly artifacts: readonly ContentView[] = NO_VALUES
  readonly append: boolean
  readonly pastProblems: FieldProblem[] = []
  private readonly version: Version
  private readonly members: Members
  private readonly proto: boolean
  /** The status, and its message whatever its role. */
  private readonly statusFields: Fields | null = null
  private statusMessageFields: Fields | null = null
  private strange: readonly FieldProblem[] | null = null
  private all: readonly ContentView[] | null = null
  private agents: readonly ContentView[] | null = null

  constructor (kind: ResultKind, fields: Fields, steps: JsonPath, { version, binding }: Style, problems: FieldProblem[]) {
    this.kind = kind
    this.fields = fields
    this.path = fields.path
    this.steps = steps
    this.version = version
    this.members = membersOf(version, binding)
    this.proto = version === '0.3' && binding !== 'JSONRPC'
    this.taskId = idOf(fields, kind === 'task' ? 'id' : 'taskId')
    this.contextId = idOf(fields, 'contextId')
    this.append = kind === 'artifactUpdate' && fields.get('append') === true
    // The role of the message does not matter: only the agent sends responses.
    if (kind === 'message') this.message = this.content(fields, steps, problems)
    if (kind === 'task' || kind === 'statusUpdate') {
      const status = this.child(fields, 'status', this.members.status, problems)
      this.statusFields = status
      if (status !== null) {
        this.state = taskStateOf(status.get('state'))
        this.status = this.statusMessage(status, [...steps, fields.key('status') ?? 'status'], problems)
      }
    }
    if (kind === 'task') this.artifacts = this.list('artifacts', this.members.artifact, problems)
    if (kind === 'artifactUpdate') {
      const artifact = this.child(fields, 'artifact', this.members.artifact, problems)
      if (artifact !== null) this.artifacts = [this.content(artifact, [...steps, fields.key('artifact') ?? 'artifact'], problems)]
    }
  }

  /**
   * Messages of the history, read on demand: only redaction needs them. The client may have written the faults in the history, so they are
   * no problem of a response that is only evaluated.
   */
  get history (): readonly ContentView[] {
    this.all ??= this.kind === 'task' ? this.list('history', this.members.message, this.pastProblems) : NO_VALUES
    return this.all
  }

  get past (): readonly ContentView[] {
    this.agents ??= this.history.filter(({ fields }) => !this.isClients(fields))
    return this.agents
  }

  get unknown (): readonly FieldProblem[] {
    if (this.strange !== null) return this.strange
    const { kind, fields, members, statusFields } = this
    const fieldProblems: FieldProblem[] = []
    addUnknownMembers(fields, members[FIELDS[kind]], NAMES[kind], fieldProblems)
    if (kind === 'message') this.addUnknownRole(fields, fieldProblems)
    if (statusFields !== null) {
      addUnknownMembers(statusFields, members.status, 'TaskStatus', fieldProblems)
      const state = statusFields.get('state')
      const { proto, plain } = this.spelling
      if (isStated(state) && !isStateName(state, proto, plain)) {
        addProblem(fieldProblems, statusFields.pathOf('state'), `is not a state that A2A ${this.version} defines`)
      }
    }
    if (this.statusMessageFields !== null) {
      addUnknownMembers(this.statusMessageFields, members.message, 'Message', fieldProblems)
      this.addUnknownRole(this.statusMessageFields, fieldProblems)
    }
    for (const artifact of this.artifacts) addUnknownMembers(artifact.fields, members.artifact, 'Artifact', fieldProblems)
    this.strange = fieldProblems
    return fieldProblems
  }

  private addUnknownRole (message: Fields, fieldProblems: FieldProblem[]): void {
    const role = message.get('role')
    const { proto, plain } = this.spelling
    if (!isStated(role) || (proto && PROTO_ROLES.has(role)) || (plain && PLAIN_ROLES.has(role))) return
    addProblem(fieldProblems, message.pathOf('role'), `is not a role that A2A ${this.version} defines`)
  }

  /** Spellings of enums. Agents of 0.3 write both over HTTP+JSON. */
  private get spelling (): { readonly proto: boolean, readonly plain: boolean } {
    return { proto: this.version === '1.0' || this.proto, plain: this.version === '0.3' }
  }

  private statusMessage (status: Fields, steps: JsonPath, problems: FieldProblem[]): ContentView | null {
    let field = 'message'
    if (this.proto && isObject(status.get('update'))) {
      if (status.get('message') !== undefined) {
        addProblem(
          problems,
          status.pathOf('update'),
          'occurs together with "message", another spelling of the same field; send only "message"'
        )
      } else field = 'update'
    }
    const message = this.child(status, field, this.members.message, problems)
    this.statusMessageFields = message
    return message === null ? null : this.authored(message, [...steps, status.key(field) ?? field], problems)
  }

  /**
   * Reads a status message. Null for a message of the client: some agents begin a task with a status that repeats the client's message
   * (adk-python).
   */
  private authored (message: Fields, steps: JsonPath, problems: FieldProblem[]): ContentView | null {
    return this.isClients(message) ? null : this.content(message, steps, problems)
  }

  /**
   * True when the role is the client's, as its generation and binding write it. In another spelling, readers do not take the role for the
   * client's.
   */
  private isClients (message: Fields): boolean {
    const role = message.get('role')
    if (this.version === '0.3' && role === 'user') return true
    return (this.version === '1.0' || this.proto) && (role === 'ROLE_USER' || role === 1)
  }

  private content (fields: Fields, steps: JsonPath, problems: FieldProblem[]): ContentView {
    return viewContent(fields, steps, this.members, problems, this.proto)
  }

  private child (fields: Fields, field: string, set: FieldSet, problems: FieldProblem[]): Fields | null {
    const value = fields.get(field)
    return isObject(value) ? Fields.read(value, set, fields.pathOf(field), problems) : null
  }

  private list (field: string, set: FieldSet, problems: FieldProblem[]): readonly ContentView[] {
    const values = this.fields.get(field)
    if (!Array.isArray(values) || values.length === 0) return NO_VALUES
    const path = this.fields.pathOf(field)
    const key = this.fields.key(field) ?? field
    const contents: ContentView[] = []
    for (let i = 0; i < values.length; i++) {
      const value: unknown = values[i]
      if (isObject(value)) {
        contents.push(this.content(
          Fields.read(value, set, `${path}[${i}]`, problems), [...this.steps, key, i], problems
        ))
      }
    }
    return contents
  }
}

const PROTO_ROLES: ReadonlySet<unknown> = new Set(['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT', 0, 1, 2])
const PLAIN_ROLES: ReadonlySet<unknown> = new Set(['user', 'agent'])

/** True for a string or a number, which may be the value of an enum. Other types are problems of the object. */
function isStated (value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number'
}

/** Returns an id. ProtoJSON treats null and the empty string as absent. */
function idOf (fields: Fields, field: string): string | null {
  const value = fields.get(field)
  return typeof value === 'string' && value !== '' ? value : null
}
