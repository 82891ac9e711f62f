/** The result of a run: `bench/results.json`. Every page is generated from this file alone. */

/** Figures of one round, by name. The name contains the unit. */
export interface Sample {
  readonly [measure: string]: number
}

export interface Row {
  /** Name of the party, or of the gateway's configuration. */
  readonly party: string
  /** One sample for each round. Samples of the same round in different rows of a table belong together. */
  readonly samples: readonly Sample[]
  /** Set when a response was wrong. The figures of this row are then meaningless. */
  readonly broken?: string
}

/** A table. */
export interface Measured {
  /** Name of the case, as `--only` takes it. */
  readonly case: string
  /** Describes in words what the case measures. */
  readonly about: string
  /** The work of the case, such as `400 B`. */
  readonly work: string
  readonly rows: readonly Row[]
}

export interface PartyInfo {
  readonly name: string
  readonly title: string
  /** `null`: the party is not installed. */
  readonly version: string | null
}

export interface Conditions {
  /** Commit of the gateway; `+` follows when the working tree has changes. */
  readonly commit: string
  readonly at: string
  /** Version that the parties on Node use. */
  readonly node: string
  /** Version of the rows with the oldest supported one; absent in results of version 3. */
  readonly oldest?: string
  readonly kernel: string
  readonly cpu: string
  readonly cores: number
  /** The pinned cores in the format of taskset; `null`: not pinned. */
  readonly pinned: { readonly proxy: string, readonly load: string } | null
  /** Cores in use before the run. More than about 0.5 means that other processes used the machine. */
  readonly loadBefore: number
  /** Cores in use by others during the run, in the mean; absent in results of version 1. */
  readonly loadDuring?: number
  readonly tool: string
  readonly rounds: number
  readonly seconds: number
  readonly took: number
}

/** Version of the set of cases and works. Results of an earlier version do not have the figures of all goals. */
export const VERSION = 4

export interface Results {
  readonly version: number
  readonly conditions: Conditions
  readonly parties: readonly PartyInfo[]
  readonly measured: readonly Measured[]
}

export function rowOf (results: Results, name: string, work: string, party: string): Row | null {
  const table = results.measured.find(one => one.case === name && one.work === work)
  const row = table?.rows.find(one => one.party === party)
  return row === undefined || row.broken !== undefined || row.samples.length === 0 ? null : row
}

/** @returns the measure of every round that has this measure */
export function figures (row: Row, measure: string): number[] {
  return row.samples.flatMap(sample => sample[measure] === undefined ? [] : [sample[measure]])
}
