/** Where a command prints; each text ends its own line. */
export interface Output {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}
