import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, readName, skipSpace, skipString, skipValue } from './bytes.js'

export type JsonPath = readonly (string | number)[]

/**
 * One change of a document: the value at `path` is removed (`value` null) or set to these JSON bytes. Steps are member names, compared
 * after escapes, and indexes of elements; all indexes are those of the document as it was.
 */
export interface JsonEdit { readonly path: JsonPath, readonly value: Buffer | null }

/**
 * Changes a document at the spot: every byte that is not part of an edit stays, white space, digits, escapes and order included.
 *
 * The order of the edits does not matter, except that of two values set at one path the later counts. Removals come first: what is set at or below a
 * removed member stands in its place. A set member that is missing is appended, and objects on the way to it that are missing or null
 * are made. Nothing happens where a path leads nowhere: through a scalar, to an element that is not there, into an element that is removed
 * or a value that is itself set. The whole document can be set but not removed.
 * @param bytes valid JSON without duplicate members, as `parseStrict` accepts it
 * @returns the same buffer when nothing changes
 */
export function editJson (bytes: Buffer, edits: readonly JsonEdit[]): Buffer {
  const root = new Target()
  for (const { path, value } of edits) root.add(path, value)
  if (root.value !== null) return root.value
  const editor = new Editor(bytes)
  editor.visit(skipSpace(bytes, 0), root)
  return editor.result()
}

/** What is to become of one value and of what is in it. */
class Target {
  value: Buffer | null = null
  removed = false
  readonly inner = new Map<string | number, Target>()

  add (path: JsonPath, value: Buffer | null): void {
    let target: Target = this
    for (const step of path) {
      let next = target.inner.get(step)
      if (next === undefined) target.inner.set(step, next = new Target())
      target = next
    }
    if (value === null) target.removed = true
    else target.value = value
  }

  /** Text of the value where there is none yet: what is set at it, or an object of what is set below it. Null for neither. */
  made (): Buffer | null {
    if (this.value !== null) return this.value
    const members = madeMembers(this.inner)
    return members === null ? null : Buffer.concat([Buffer.from('{'), members, Buffer.from('}')])
  }
}

/** Members separated by commas, or null for none. */
function madeMembers (targets: ReadonlyMap<string | number, Target>): Buffer | null {
  const pieces: Buffer[] = []
  for (const [name, target] of targets) {
    const value = typeof name === 'string' ? target.made() : null
    if (value !== null) pieces.push(Buffer.from(`${pieces.length === 0 ? '' : ','}${JSON.stringify(name)}:`), value)
  }
  return pieces.length === 0 ? null : Buffer.concat(pieces)
}

/** Steps over the document once and keeps what stays, in pieces. */
class Editor {
  readonly #bytes: Buffer
  readonly #pieces: Buffer[] = []
  /** Offset after the last byte that was kept or left out. */
  #at = 0

  constructor (bytes: Buffer) {
    this.#bytes = bytes
  }

  result (): Buffer {
    return this.#pieces.length === 0 ? this.#bytes : Buffer.concat([...this.#pieces, this.#bytes.subarray(this.#at)])
  }

  #replace (start: number, end: number, by: Buffer | null): void {
    this.#pieces.push(this.#bytes.subarray(this.#at, start))
    if (by !== null) this.#pieces.push(by)
    this.#at = end
  }

  /** @returns the offset after the value that starts at `start` */
  visit (start: number, target: Target): number {
    if (target.inner.size > 0) {
      switch (this.#bytes[start]) {
        case OPEN_OBJECT: return this.#visitItems(start, target, CLOSE_OBJECT)
        case OPEN_ARRAY: return this.#visitItems(start, target, CLOSE_ARRAY)
        case LETTER_N: {
          const made = target.made()
          if (made !== null) this.#replace(start, start + 4, made)
        }
      }
    }
    return skipValue(this.#bytes, start)
  }

  /** Members of an object, or elements of an array. A run of removed ones goes with the comma before it; at the front, with the one after it. */
  #visitItems (open: number, { inner }: Target, closer: number): number {
    const bytes = this.#bytes
    const absent = new Map(inner)
    let keptEnd = -1
    let cutStart = -1
    let cutEnd = -1
    let comma = -1
    let index = 0
    let at = skipSpace(bytes, open + 1)
    while (at < bytes.length && bytes[at] !== closer) {
      const itemStart = at
      let step: string | number = index++
      if (closer === CLOSE_OBJECT) {
        const nameEnd = skipString(bytes, at)
        step = readName(bytes, at, nameEnd)
        at = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1)
      }
      const target = inner.get(step)
      absent.delete(step)
      const by = target === undefined ? null : target.value ?? (target.removed && closer === CLOSE_OBJECT ? target.made() : null)
      if (target?.removed === true && target.value === null && by === null) {
        if (cutStart === -1) cutStart = keptEnd === -1 ? itemStart : comma
        at = cutEnd = skipValue(bytes, at)
      } else {
        if (cutStart !== -1) this.#replace(cutStart, keptEnd === -1 ? itemStart : cutEnd, null)
        cutStart = -1
        const end: number = by !== null || target === undefined ? skipValue(bytes, at) : this.visit(at, target)
        if (by !== null) this.#replace(at, end, by)
        at = keptEnd = end
      }
      at = skipSpace(bytes, at)
      if (bytes[at] !== COMMA) break
      comma = at
      at = skipSpace(bytes, at + 1)
    }
    const added = closer === CLOSE_OBJECT ? madeMembers(absent) : null
    const insert = added === null || keptEnd === -1 ? added : Buffer.concat([Buffer.from(','), added])
    if (cutStart !== -1) this.#replace(cutStart, cutEnd, insert)
    else if (insert !== null) this.#replace(keptEnd === -1 ? open + 1 : keptEnd, keptEnd === -1 ? open + 1 : keptEnd, insert)
    return at + 1
  }
}

const LETTER_N = 0x6e
