/** The output of a command. Each text ends its own line. */
export interface Output {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** `format` of the output of `--json`. A later number means that members have changed. */
export const JSON_FORMAT = 1
