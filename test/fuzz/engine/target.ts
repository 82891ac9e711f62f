/** What is fuzzed: one promise of the code, put to any bytes. */
export interface Target {
  readonly name: string
  /** Inputs to begin with. */
  readonly seeds: readonly (string | Buffer)[]
  /** Pieces that mutations put into inputs. */
  readonly dictionary: readonly string[]
  /** Longest input, bytes. */
  readonly maxBytes: number
  /** Throws where the code under test breaks its promise. Bytes that say nothing to it are fine. */
  check (bytes: Buffer): void
}

/** An input that broke a promise. */
export interface Finding {
  readonly bytes: Buffer
  /** Of what was thrown, or that it did not end. */
  readonly message: string
}
