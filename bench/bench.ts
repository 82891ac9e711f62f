/** Common parts of all cases: the setup of the machine, and rounds in which each party goes first equally often. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tool } from './load/closed.js'
import type { NodePrograms } from './nodes.js'
import { THIS_NODE } from './nodes.js'
import type { Party, Place } from './parties/party.js'
import { built, listening, pinSelf, splitCores, start, stop } from './processes.js'
import type { Measured, Row, Sample } from './results.js'

export interface Bench {
  readonly place: Place
  readonly tool: Tool
  readonly rounds: number
  /** Duration of one measurement. */
  readonly seconds: number
  /** Fewer bodies and fewer streams. */
  readonly quick: boolean
  /**
   * True if the run measures a work of a case: `--only` can choose works, and `--quick` measures only the main ones.
   * @param main true for a work that carries a goal
   */
  wants (name: string, work: string, main: boolean): boolean
  /** @returns the usual parties of a case that not all parties take part in; all running parties if the user has chosen them */
  mostly (parties: readonly Party[], usual: ReadonlySet<string>): readonly Party[]
  /** Calls per second for cases with a fixed rate. When unset, each case uses its own rate. */
  readonly rate?: number | undefined
  /** Reports the current step. */
  say (line: string): void
}

/** The result of a case for one work. */
export type Table = Pick<Measured, 'work' | 'rows'>

/** A case, with the name that `--only` takes. */
export interface Case {
  readonly name: string
  readonly about: string
  /** The works that the case can measure; `--only=CASE:TEXT` chooses those that contain the text. */
  readonly works: readonly string[]
  /** @param parties the installed and requested parties, running */
  run (bench: Bench, parties: readonly Party[]): Promise<Table[]>
}

/** Thrown when a response is not the expected one. */
export class WrongAnswer extends Error {}

/**
 * Starts the agent and the sink on the cores for load, and moves this process there. Without `pin`, the system chooses the cores of all
 * processes.
 * @param nodes programs for the parties that run on Node. Default: that of this process
 */
export async function setUp (
  { pin = true, nodes = THIS_NODE }: { readonly pin?: boolean, readonly nodes?: NodePrograms } = {}
): Promise<{ readonly place: Place, tearDown: () => Promise<void> }> {
  const cores = pin ? splitCores() : null
  const directory = mkdtempSync(join(tmpdir(), 'a2a-bench-'))
  const children: ChildProcess[] = []
  const tearDown = async (): Promise<void> => {
    await Promise.all(children.map(stop))
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    if (cores !== null) pinSelf(cores.load)
    const urls: string[] = []
    for (const program of ['bench/agent/main.js', 'bench/otlp-sink.js']) {
      const child = start(process.execPath, [built(program)], { cores: cores?.load })
      children.push(child)
      urls.push((await listening(child, program)).url)
    }
    const [agent = '', sink = ''] = urls
    return { place: { agent, sink, cores, directory, nodes }, tearDown }
  } catch (error) {
    await tearDown()
    throw error
  }
}

/** A subject of a measurement: a party, or a configuration of the gateway. */
export interface Subject<T> { readonly name: string, readonly of: T }

/**
 * Measures every subject once in each round, one after another. A subject with wrong responses is not measured again and has no figures.
 * @param measure throws WrongAnswer
 */
export async function interleave<T> (
  bench: Bench,
  title: string,
  subjects: ReadonlyArray<Subject<T>>,
  measure: (one: T) => Promise<Sample>,
  rounds = bench.rounds
): Promise<Row[]> {
  const samples = new Map<string, Sample[]>(subjects.map(({ name }) => [name, []]))
  const broken = new Map<string, string>()
  for (let round = 0; round < rounds; round++) {
    bench.say(`${title}: round ${round + 1} of ${rounds}`)
    for (let i = 0; i < subjects.length; i++) {
      const { name, of } = subjects[(round + i) % subjects.length] as Subject<T>
      if (broken.has(name)) continue
      try {
        samples.get(name)?.push(await measure(of))
      } catch (error) {
        if (!(error instanceof WrongAnswer)) throw error
        broken.set(name, error.message)
        bench.say(`${title}: ${name} is broken: ${error.message}`)
      }
    }
  }
  return subjects.map(({ name }) => {
    const reason = broken.get(name)
    return reason === undefined ? { party: name, samples: samples.get(name) ?? [] } : { party: name, samples: [], broken: reason }
  })
}

/** Returns a function that returns one party after the other, from the first one again after the last. */
export function inTurn (parties: readonly Party[]): () => Party {
  let turn = 0
  return () => parties[turn++ % parties.length] as Party
}

export const subjects = (parties: readonly Party[]): Array<Subject<Party>> => parties.map(party => ({ name: party.name, of: party }))
