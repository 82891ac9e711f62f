/** Collects the changes to one request during the evaluation, and settles them at the end, before the request goes to the agent. */
import type { MessageView } from '#a2a/message/message.js'
import { plainHeaderName } from '#wire/header-names.js'
import type { JsonEdit, JsonPath } from '#wire/json/edit.js'
import type { CompiledActivation, CompiledPolicy } from '../compile/compiled.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { Violation } from '../violation.js'
import { isFull, addViolation, violation } from '../violation.js'

/** Origin of a change: a policy and the name of its rule. */
export interface Editor {
  readonly policy: Pick<CompiledPolicy, 'name'> & { readonly uri: string | null }
  readonly rule: string
}

interface Change extends JsonEdit { readonly by: Editor }

export interface Settled {
  readonly edits: readonly JsonEdit[]
  /** The client's headers without the removed ones, as Node lists them. Null: unchanged. */
  readonly headers: readonly string[] | null
  /** `policy/rule` of every change, each once. */
  readonly edited: readonly string[]
}

export const UNCHANGED: Settled = { edits: [], headers: null, edited: [] }

/** Headers that describe the body as the client sent it (RFC 9530, RFC 3230, RFC 1864). */
const DIGESTS: ReadonlySet<string> = new Set(['content-digest', 'repr-digest', 'digest', 'content-md5'])

/** Steps of a change, including the cost to apply it, and of a header. */
const EDIT = 2
const LINE = 0.2

export class Edits {
  /** The extension that requires the request to arrive exactly as sent, or null. */
  readonly verbatim: CompiledPolicy | null
  private readonly changes: Change[] = []
  private readonly lines = new Map<number, Editor>()

  constructor (verbatim: CompiledPolicy | null) {
    this.verbatim = verbatim
  }

  remove (path: JsonPath, by: Editor): void {
    this.changes.push({ path, value: null, by })
  }

  set (path: JsonPath, value: Buffer, by: Editor): void {
    this.changes.push({ path, value, by })
  }

  /** @param line position in the list of headers */
  removeLine (line: number, by: Editor): void {
    this.lines.set(line, by)
  }

  /** @param violations receives a violation when no part would be left */
  settle (message: MessageView | null, rawHeaders: readonly string[], violations: Violation[]): Settled {
    const edits = this.changes
    spendBudget(edits.length * EDIT + rawHeaders.length * LINE)
    if (edits.length > 0) rejectEmpty(edits, message, violations)
    if (edits.length === 0 && this.lines.size === 0) return UNCHANGED
    const stale = edits.length > 0
    const headers = rawHeaders.filter((_, i) => {
      const line = i - i % 2
      return !this.lines.has(line) && !(stale && DIGESTS.has(plainHeaderName(rawHeaders[line] ?? '')))
    })
    const by = [...edits.map(change => change.by), ...this.lines.values()]
    return {
      edits,
      headers: headers.length === rawHeaders.length ? null : headers,
      edited: [...new Set(by.map(({ policy, rule }) => `${policy.name}/${rule}`))]
    }
  }
}

/** Removes the data that belongs to an extension. */
export function removeOwned (
  { owned, ownedHeaders }: Pick<CompiledActivation, 'owned' | 'ownedHeaders'>,
  subject: RequestSubject,
  edits: Edits,
  by: Editor
): void {
  for (const selector of owned) {
    for (const { at } of selector.select(subject)) {
      if (ownedHeaders.has(selector)) edits.removeLine(at[0] as number, by)
      else edits.remove(at, by)
    }
  }
}

/** A message has at least one part. The gateway rejects a request if its message would lose all parts. */
function rejectEmpty (changes: readonly Change[], message: MessageView | null, violations: Violation[]): void {
  if (message === null || message.list === null || message.list.length === 0) return
  const list: JsonPath = [...message.steps, message.list.key]
  const removed = new Map<number, Editor>()
  for (const { path, by } of changes) {
    const index = path[list.length]
    if (path.length === list.length + 1 && typeof index === 'number' && list.every((step, i) => path[i] === step)) removed.set(index, by)
  }
  if (removed.size < message.list.length) return
  for (const [index, { policy, rule }] of removed) {
    // A search for the path of each part took 1 s when thirty thousand parts were removed.
    if (isFull(violations, 'enforce')) return
    const path = message.parts.find(part => part.index === index)?.path ?? message.path
    addViolation(violations, violation({
      mode: 'enforce',
      reason: 'EXTENSION_DATA_INVALID',
      extension: policy.name,
      uri: policy.uri,
      rule,
      path,
      message: 'must be removed, and no part of the message would remain; send a part that is allowed'
    }))
  }
}

/** Rejects a request that an enforced policy would have to change, but that must arrive exactly as sent. */
export function conflict (verbatim: CompiledPolicy, { policy, rule }: Editor, path: string, violations: Violation[]): void {
  addViolation(
    violations,
    violation({
      mode: 'enforce',
      reason: 'EXTENSION_CONFLICT',
      extension: policy.name,
      uri: policy.uri,
      rule,
      path,
      message: `would be removed, but the extension ${verbatim.uri} requires that the request is forwarded unchanged; leave it out, or ` +
        'do not request that extension'
    })
  )
}
