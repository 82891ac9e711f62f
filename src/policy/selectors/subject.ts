/** The data that the rules of a policy evaluate: a request, or one result of a response. Read once. */
import type { Call } from '#a2a/message/call.js'
import type { ContentView, MessageView } from '#a2a/message/message.js'
import { normalise } from '#a2a/message/normalise.js'
import type { Operation } from '#a2a/operations.js'
import type { TaskState } from '#a2a/task-state.js'
import type { ContentPlace, MetadataPlace } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { JsonObject } from '#wire/json/object.js'
import { plainHeaderName } from '#wire/header-names.js'
import { namedByConnection } from '#wire/headers.js'
import { callerShape } from '../access/caller.js'
import type { Holder } from '../request/metadata.js'
import { requestHolders } from '../request/metadata.js'
import type { Forbidden } from '../access/forbidden.js'

export interface Subject {
  readonly operation: Operation
  /** `present` when the message names a task or a context. In a response: when the result names it. */
  readonly taskId: 'present' | 'absent'
  readonly contextId: 'present' | 'absent'
  /** Extensions that the message lists. In a response: all extensions that its contents list. */
  readonly listed: readonly string[]
  /** Extensions that are active in the request, as the card spells them. */
  readonly active: readonly string[]
  /** State of the task; null when it is unknown. */
  readonly taskState: TaskState | null
  /** `policy/rule` of the request rules that found something and accepted it; empty for a request. */
  readonly matched: ReadonlySet<string>
  /** The caller of the request, or null. */
  readonly caller: Principal | null
  /** The same shape for both generations and bindings. Created when it is first needed. */
  readonly normalised: JsonObject
  /** `normalised` with the caller, for `match` of conditions. */
  readonly shape: JsonObject
  /** Objects with parts, at these places. */
  contents (places: readonly ContentPlace[]): readonly ContentView[]
  /** Objects that may carry metadata, at these places. */
  holders (places: readonly MetadataPlace[]): readonly Holder[]
}

/** `shape` of a subject. */
export function shapeOf ({ normalised, caller }: Pick<Subject, 'normalised' | 'caller'>): JsonObject {
  return caller === null ? normalised : { ...normalised, caller: callerShape(caller) }
}

/** Who calls, and the extensions that this caller may not use. */
export interface Calling { readonly caller: Principal | null, readonly forbidden: Forbidden | null }

const NOBODY: Calling = { caller: null, forbidden: null }

export class RequestSubject implements Subject {
  readonly call: Call
  readonly message: MessageView | null
  /** Node's flat list: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  readonly taskState: TaskState | null
  readonly caller: Principal | null
  /** Null: the caller may use every extension. */
  readonly forbidden: Forbidden | null
  readonly matched: ReadonlySet<string> = NONE
  /** Without the extensions that the caller may not use. */
  readonly listed: readonly string[]
  /** Set once, before any rule runs: the activity follows from the data of the request. */
  active: readonly string[] = NO_VALUES
  private envelope: JsonObject | null = null
  private whole: JsonObject | null = null

  /** @param taskState the last known state of the task that the message names */
  constructor (call: Call, rawHeaders: readonly string[], taskState: TaskState | null = null, { caller, forbidden }: Calling = NOBODY) {
    this.call = call
    this.message = call.view?.message ?? null
    this.rawHeaders = rawHeaders
    this.taskState = taskState
    this.caller = caller
    this.forbidden = forbidden
    const listed = this.message?.listed ?? NO_VALUES
    this.listed = forbidden === null ? listed : forbidden.without(listed)
  }

  get operation (): Operation {
    return this.call.operation
  }

  get taskId (): 'present' | 'absent' {
    return this.message?.taskId ?? 'absent'
  }

  get contextId (): 'present' | 'absent' {
    return this.message?.contextId ?? 'absent'
  }

  get normalised (): JsonObject {
    this.envelope ??= normalise(this.call)
    return this.envelope
  }

  get shape (): JsonObject {
    this.whole ??= shapeOf(this)
    return this.whole
  }

  contents (places: readonly ContentPlace[]): readonly ContentView[] {
    return this.message !== null && places.includes('message') ? [this.message] : NO_VALUES
  }

  holders (places: readonly MetadataPlace[]): readonly Holder[] {
    return requestHolders(this.call, this.message, places)
  }

  /**
   * Positions in `rawHeaders` of a header's lines. Each line is a value, because readers differ: some use the first line, some the last,
   * some all of them joined. A line whose name has `_` or `.` instead of `-` counts too: a CGI-like agent does not distinguish them.
   * Lines that the header Connection removes do not count.
   * @param name in lower case
   * @param plain the same, as `plainHeaderName` returns it
   */
  lines (name: string, plain: string): number[] {
    const lineNumbers: number[] = []
    for (let i = 0; i < this.rawHeaders.length; i += 2) {
      const sent = this.rawHeaders[i]?.toLowerCase() ?? ''
      if (sent === name || (sent.length === plain.length && plainHeaderName(sent) === plain)) lineNumbers.push(i)
    }
    if (lineNumbers.length === 0) return lineNumbers
    const named = namedByConnection(this.rawHeaders)
    return named === null ? lineNumbers : lineNumbers.filter(line => !named.has(this.rawHeaders[line]?.toLowerCase() ?? ''))
  }
}

const NONE: ReadonlySet<string> = new Set()
const NO_VALUES: readonly never[] = []
