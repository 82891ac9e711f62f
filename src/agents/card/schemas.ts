/** The schemas of an agent's cards: compiled before a card is used, if they are too large to be compiled between two requests. */
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import type { SchemaToWrite } from '#jsonschema/code.js'
import { costOf } from '#jsonschema/lint.js'
import { COMPILED_HERE } from '#pipeline/agent-snapshot.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import type { KnownSchema } from '#policy/compile/schema-source.js'
import type { WrittenSchemas } from './compiler.js'
import { cardCompiler, readySchemas } from './compiler.js'

/** Schemas that were compiled for cards before the cards are used. */
export interface CompiledSchemas {
  readonly cards: LoadedCards
  readonly written: WrittenSchemas
  readonly ready: ReadonlyMap<string, KnownSchema>
}

const NOTHING_WRITTEN: WrittenSchemas = new Map()

export class CardSchemas {
  /** True when other processes use the card too: they get the compiled schemas. */
  private readonly shared: boolean
  private compiled: CompiledSchemas | null = null
  private kept: WrittenSchemas = NOTHING_WRITTEN

  constructor (shared: boolean) {
    this.shared = shared
  }

  /** Compiled schemas of the card in use, for other processes. */
  get written (): WrittenSchemas {
    return this.kept
  }

  /**
   * Compiles schemas of cards. Null when there is nothing to wait for.
   * @param elsewhere schemas of the same cards that another process has compiled
   */
  prepare (
    cards: LoadedCards,
    schemas: ReadonlyMap<string, SchemaToWrite>,
    signal: AbortSignal,
    elsewhere = NOTHING_WRITTEN
  ): Promise<void> | null {
    let cost = 0
    for (const schema of schemas.values()) cost += costOf(schema, COMPILED_HERE + 1)
    return cost <= COMPILED_HERE ? null : this.compile(cards, schemas, signal, elsewhere)
  }

  private async compile (
    cards: LoadedCards,
    schemas: ReadonlyMap<string, SchemaToWrite>,
    signal: AbortSignal,
    elsewhere: WrittenSchemas
  ): Promise<void> {
    const missing = new Map([...schemas].filter(([key]) => !elsewhere.has(key)))
    const written = new Map([...elsewhere, ...(await cardCompiler.write(missing, signal))])
    this.compiled = { cards, written, ready: await readySchemas(written) }
  }

  /** Keeps what the predecessor of the agent has kept, for the card that the agent inherits. */
  inherit (predecessor: CardSchemas): void {
    if (this.shared) this.kept = new Map([...predecessor.kept, ...(this.compiled?.written ?? [])])
  }

  /** @returns what was compiled for these cards, once; null when nothing was */
  take (cards: LoadedCards): CompiledSchemas | null {
    const compiled = this.compiled?.cards === cards ? this.compiled : null
    this.compiled = null
    return compiled
  }

  /** A worker that starts later has compiled nothing. Earlier compiled schemas are therefore kept as long as the card contains them. */
  keep ({ cache }: AgentState, compiled: CompiledSchemas | null): void {
    if (!this.shared) return
    const written = new Map([...this.kept, ...(compiled?.written ?? [])])
    this.kept = written.size === 0 ? NOTHING_WRITTEN : new Map([...written].filter(([key]) => cache.has(key)))
  }
}
