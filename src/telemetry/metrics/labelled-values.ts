/**
 * Accumulates numbers between two scrapes: one cell per label combination, found through nested maps.
 *
 * prom-client's bound children rebuild and hash the label string on every call (counter 0.55 µs, histogram 0.65 µs measured on Node 20.20).
 * A lookup in the maps and an addition take a tenth of that. prom-client gets the values at each scrape.
 */

/** Longest label value, in UTF-16 code units. */
const LABEL_LENGTH = 200

export type Labels = Readonly<Record<string, string>>

type Branch<T> = Map<string, Branch<T> | T>

/** The label value as exposed: cut at {@link LABEL_LENGTH}. */
export function clipLabel (value: string): string {
  return value.length > LABEL_LENGTH ? value.slice(0, LABEL_LENGTH) : value
}

/** What bounds the values of the second label, for each value of the first. */
export interface LabelBound { readonly label: (first: string, second: string) => string }

/** All cells of one metric. */
export class LabelledValues<T> {
  /** Every cell made so far, in order of creation. */
  readonly cells: T[] = []
  readonly #names: readonly string[]
  readonly #depth: number
  readonly #make: (labels: Labels) => T
  readonly #bound: LabelBound | null
  #root: Branch<T> | T | undefined

  /** @param names at most six */
  constructor (names: readonly string[], make: (labels: Labels) => T, bound: LabelBound | null = null) {
    this.#names = names
    this.#depth = names.length
    this.#make = make
    this.#bound = bound
    this.#root = this.#depth === 0 ? undefined : new Map()
  }

  /**
   * Returns the cell of these label values, given in the order of the metric's label names. One parameter per label: a rest parameter makes
   * an array for each count.
   */
  // eslint-disable-next-line max-params
  at (a = '', b = '', c = '', d = '', e = '', f = ''): T {
    const depth = this.#depth
    const second = this.#bound === null ? b : this.#bound.label(a, b)
    let node = this.#root
    if (depth > 0) node = (node as Branch<T>).get(clipLabel(a))
    if (depth > 1 && node !== undefined) node = (node as Branch<T>).get(clipLabel(second))
    if (depth > 2 && node !== undefined) node = (node as Branch<T>).get(clipLabel(c))
    if (depth > 3 && node !== undefined) node = (node as Branch<T>).get(clipLabel(d))
    if (depth > 4 && node !== undefined) node = (node as Branch<T>).get(clipLabel(e))
    if (depth > 5 && node !== undefined) node = (node as Branch<T>).get(clipLabel(f))
    return node === undefined ? this.#add([a, second, c, d, e, f]) : node as T
  }

  #add (values: readonly string[]): T {
    const labels = Object.fromEntries(this.#names.map((name, i) => [name, clipLabel(values[i] ?? '')]))
    const cell = this.#make(labels)
    this.cells.push(cell)
    const path = Object.values(labels)
    const last = path.pop()
    if (last === undefined) {
      this.#root = cell
      return cell
    }
    let branch = this.#root as Branch<T>
    for (const value of path) {
      let next = branch.get(value) as Branch<T> | undefined
      if (next === undefined) {
        next = new Map()
        branch.set(value, next)
      }
      branch = next
    }
    branch.set(last, cell)
    return cell
  }
}

/** A number and its labels. */
export class NumberCell {
  readonly labels: Labels
  value: number

  constructor (labels: Labels) {
    this.labels = labels
    this.value = 0
  }
}
