import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, readName, skipSpace, skipString, skipValue } from './bytes.js'

export type JsonPath = readonly (string | number)[]

/**
 * One change of a document: removes the value at `path` (`value` null), or sets the value to these JSON bytes. Steps are member names,
 * compared after decoding escapes, and indexes of elements. All indexes refer to the document before the edits.
 */
export interface JsonEdit { readonly path: JsonPath, readonly value: Buffer | null }

/**
 * Edits a document in place: every byte outside the edits stays the same, including white space, digits, escapes and order.
 *
 * The order of the edits does not matter, with one exception: of two values set at the same path, the later one wins. Removals come first:
 * a value that is set at or below a removed member replaces that member. A set member that is missing is appended. Objects on its path that
 * are missing or null are created. An edit does nothing when its path leads nowhere: through a scalar, to a missing element, into a removed
 * element, or into a value that is set itself. The whole document can be set but not removed.
 * @param bytes valid JSON without duplicate members, as `parseStrict` accepts it
 * @returns the same buffer when nothing changes
 */
export function editJson (bytes: Buffer, edits: readonly JsonEdit[]): Buffer {
  const root = EditTarget.of(edits)
  if (root.value !== null) return root.value
  const editor = new Editor(bytes)
  editor.visit(skipSpace(bytes, 0), root)
  return editor.result()
}

/** The edits of one value and of the values inside it. */
export class EditTarget {
  value: Buffer | null = null
  removed = false
  readonly inner = new Map<string | number, EditTarget>()

  static of (edits: readonly JsonEdit[]): EditTarget {
    const root = new EditTarget()
    for (const { path, value } of edits) root.add(path, value)
    return root
  }

  add (path: JsonPath, value: Buffer | null): void {
    let target: EditTarget = this
    for (const step of path) {
      let next = target.inner.get(step)
      if (next === undefined) target.inner.set(step, next = new EditTarget())
      target = next
    }
    if (value === null) target.removed = true
    else target.value = value
  }

  /** Text of the value when the document has none yet: the value set here, or an object of the values set below. Null for neither. */
  made (): Buffer | null {
    if (this.value !== null) return this.value
    const members = madeMembers(this.inner)
    return members === null ? null : Buffer.concat([Buffer.from('{'), members, Buffer.from('}')])
  }
}

/** Members separated by commas, or null for none. */
function madeMembers (targets: ReadonlyMap<string | number, EditTarget>): Buffer | null {
  const pieces: Buffer[] = []
  for (const [name, target] of targets) {
    const value = typeof name === 'string' ? target.made() : null
    if (value !== null) pieces.push(Buffer.from(`${pieces.length === 0 ? '' : ','}${JSON.stringify(name)}:`), value)
  }
  return pieces.length === 0 ? null : Buffer.concat(pieces)
}

/** Steps over the document once and collects the bytes to keep, in pieces. */
class Editor {
  readonly #bytes: Buffer
  readonly #pieces: Buffer[] = []
  /** Offset after the last byte that was kept or removed. */
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
  visit (start: number, target: EditTarget): number {
    if (target.inner.size > 0) {
      switch (this.#bytes[start]) {
        case OPEN_OBJECT: return this.#visitItems(start, target, CLOSE_OBJECT)
        case OPEN_ARRAY: return this.#visitItems(start, target, CLOSE_ARRAY)
        case LETTER_N: {
          const buffer = target.made()
          if (buffer !== null) this.#replace(start, start + 4, buffer)
        }
      }
    }
    return skipValue(this.#bytes, start)
  }

  /**
   * Visits the members of an object or the elements of an array. A run of removed items goes with the comma before it. At the front, the
   * run goes with the comma after it.
   */
  #visitItems (open: number, { inner }: EditTarget, closer: number): number {
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
