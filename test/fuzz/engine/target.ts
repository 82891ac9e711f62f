/** Inputs of a format. */
export interface Inputs {
  readonly name: string
  /** Initial inputs. */
  readonly seeds: readonly (string | Buffer)[]
  /** Pieces that mutations insert into inputs. */
  readonly dictionary: readonly string[]
  /** Length of the longest input, in bytes. */
  readonly maxBytes: number
}

/** A subject of fuzzing: one promise of the code, checked with any bytes. */
export interface Target extends Inputs {
  /** Throws when the code under test breaks its promise. Bytes without a meaning for the target are valid inputs. */
  check (bytes: Buffer): void
}

/** A subject of the comparison of Node's versions: test/runtimes/readers.ts. */
export interface Reader extends Inputs {
  /** Returns everything that the code under test reads from any bytes, or throws its error. */
  read (bytes: Buffer): unknown
  /** Ends what `read` has started. */
  close? (): Promise<void>
}

/** An input that broke a promise. */
export interface Finding {
  readonly bytes: Buffer
  /** Message of the thrown error, or the text that the input did not end. */
  readonly message: string
}
