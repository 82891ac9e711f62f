/** The output of a command. Each text ends its own line. */
export interface Output {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}
