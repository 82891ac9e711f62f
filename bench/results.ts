/** What a run found: `bench/results.json`. Every page is made from it, and nothing else. */

/** Figures of one round, by name; the unit is in the name. */
export interface Sample {
  readonly [measure: string]: number
}

export interface Row {
  /** Name of the party, or of the gateway's configuration. */
  readonly party: string
  /** One per round; rounds of rows of one table belong together. */
  readonly samples: readonly Sample[]
  /** Set where an answer was wrong: figures of this row mean nothing. */
  readonly broken?: string
}

/** A table. */
export interface Measured {
  /** Which case it is of, as `--only` names it. */
  readonly case: string
  /** What the case measures, in words. */
  readonly about: string
  /** Which work of that case, as `400 B`. */
  readonly work: string
  readonly rows: readonly Row[]
}

export interface PartyInfo {
  readonly name: string
  readonly title: string
  /** `null`: not installed. */
  readonly version: string | null
}

export interface Conditions {
  /** Of the gateway; `+` follows where the working tree has changes. */
  readonly commit: string
  readonly at: string
  readonly node: string
  readonly kernel: string
  readonly cpu: string
  readonly cores: number
  /** Which cores, as taskset writes them; `null`: not pinned. */
  readonly pinned: { readonly proxy: string, readonly load: string } | null
  /** Cores in use before the run. More than 0.5 or so: others used the machine. */
  readonly loadBefore: number
  readonly tool: string
  readonly rounds: number
  readonly seconds: number
  readonly took: number
}

export interface Results {
  readonly version: 1
  readonly conditions: Conditions
  readonly parties: readonly PartyInfo[]
  readonly measured: readonly Measured[]
}

export function rowOf (results: Results, name: string, work: string, party: string): Row | null {
  const table = results.measured.find(one => one.case === name && one.work === work)
  const row = table?.rows.find(one => one.party === party)
  return row === undefined || row.broken !== undefined || row.samples.length === 0 ? null : row
}

/** @returns the measure of every round that has it */
export function figures (row: Row, measure: string): number[] {
  return row.samples.flatMap(sample => sample[measure] === undefined ? [] : [sample[measure]])
}
