/**
 * Accumulates numbers between two scrapes: one cell per label combination, found through nested maps.
 *
 * prom-client's bound children rebuild and hash the label string on every call (counter 0.55 µs, histogram 0.65 µs measured on Node 20.20).
 * A lookup in the maps and an addition take a tenth of that. prom-client gets the values when it collects.
 */

/** Longest label value, in UTF-16 code units. */
const LABEL_LENGTH = 200

export type Labels = Readonly<Record<string, string>>

type Branch<T> = Map<string, Branch<T> | T>

/** The label value as exposed: cut at {@link LABEL_LENGTH}. */
export function clipLabel (value: string): string {
  return value.length > LABEL_LENGTH ? value.slice(0, LABEL_LENGTH) : value
}

/** All cells of one metric. */
export class LabelledValues<T> {
  /** Every cell made so far, in order of creation. */
  readonly cells: T[]
  private readonly names: readonly string[]
  private readonly make: (labels: Labels) => T
  private readonly root: Branch<T>

  constructor (names: readonly string[], make: (labels: Labels) => T) {
    this.cells = []
    this.names = names
    this.make = make
    this.root = new Map()
  }

  /** Returns the cell of these label values, given in the order of the metric's label names. */
  at (...values: string[]): T {
    const last = this.names.length - 1
    let branch = this.root
    for (let i = 0; i < last; i++) {
      const value = clipLabel(values[i] as string)
      let next = branch.get(value) as Branch<T> | undefined
      if (next === undefined) {
        next = new Map()
        branch.set(value, next)
      }
      branch = next
    }
    const value = clipLabel(values[last] as string)
    const cell = branch.get(value) as T | undefined
    return cell === undefined ? this.add(branch, value, values) : cell
  }

  private add (branch: Branch<T>, value: string, values: readonly string[]): T {
    const labels: Record<string, string> = {}
    for (let i = 0; i < this.names.length; i++) {
      labels[this.names[i] as string] = clipLabel(values[i] as string)
    }
    const cell = this.make(labels)
    branch.set(value, cell)
    this.cells.push(cell)
    return cell
  }
}

/** A number and its labels. The cell of a counter holds the increase since the last scrape; the cell of a gauge holds the value itself. */
export class NumberCell {
  readonly labels: Labels
  value: number

  constructor (labels: Labels) {
    this.labels = labels
    this.value = 0
  }
}
