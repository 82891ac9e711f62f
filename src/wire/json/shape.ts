/** Shapes of JSON objects: the text around the values, which objects in a row have in common. */
import type { ObjectMaker } from './object-maker.js'
import { objectMaker } from './object-maker.js'

/** Twice the number of objects with other shapes, in a row, that one place may have. */
const MISSES = 8

/** A place in the text where objects of one shape may follow each other. */
export class Slot {
  shape: Shape | null = null
  /** The last string of more than a few characters, and its offset. */
  text = ''
  from = 0
  /** The elements, when the values at this place are arrays. */
  elements: Slot | null = null
  private misses = 0

  hit (): void {
    if (this.misses > 0) this.misses--
  }

  /** @returns false when most objects have another shape than their predecessor */
  miss (): boolean {
    this.misses += 2
    return this.misses < MISSES
  }
}

/** The offset of a text, and its length. */
export interface Range { readonly from: number, readonly length: number }

/** Objects of a shape before `objectMaker` is asked for a function that makes them. */
const FEW = 8

export class Shape {
  readonly names: readonly string[]
  /** The text before each value, from the end of the one before: `{"sku":`, `,"quantity":`. */
  readonly before: readonly Range[]
  /** The text after the last value: `}`. */
  readonly after: Range
  /** The places of the values. */
  readonly slots: readonly Slot[]
  /** The values of the object that is read. */
  readonly values: unknown[]
  private maker: ObjectMaker | null = null
  private count = 0

  constructor (names: readonly string[], { before, slots }: Learnt, after: Range) {
    this.names = names
    this.before = before
    this.after = after
    this.slots = slots
    this.values = names.map(() => null)
  }

  /** @returns an object of `values` */
  object (): object {
    if (this.maker !== null) return this.maker(this.values)
    if (++this.count === FEW) this.maker = objectMaker(this.names)
    const { names, values } = this
    const found: Record<string, unknown> = {}
    for (let k = 0; k < names.length; k++) found[names[k] as string] = values[k]
    return found
  }
}

export interface Learnt { readonly names: string[], readonly before: Range[], readonly slots: Slot[] }

/**
 * @param keys names as V8 holds the names of properties: a store by another copy of a name would search for this one
 * @returns null for an object without members, and for names that are numbers, which an object lists in another order
 */
export function shapeOf (learnt: Learnt, keys: readonly string[], after: Range): Shape | null {
  const { names } = learnt
  return names.length > 0 && names.every((name, k) => name === keys[k]) ? new Shape(keys, learnt, after) : null
}
