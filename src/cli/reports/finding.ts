/** One problem or warning, as the machine formats of `check` and `test` show it. */
import type { Diagnostic } from '#config/diagnostics.js'

export interface Finding extends Diagnostic {
  readonly severity: 'error' | 'warning'
}

/** Warnings of the agents' cards carry their severity in the text. */
const WARNING = 'warning: '

export function findingOf (diagnostic: Diagnostic, severity: Finding['severity'] = 'error'): Finding {
  const { message } = diagnostic
  return message.startsWith(WARNING)
    ? { ...diagnostic, message: message.slice(WARNING.length), severity: 'warning' }
    : { ...diagnostic, severity }
}

/** `message (hint)`. */
export function textOf ({ message, hint }: Finding): string {
  return hint === undefined ? message : `${message} (${hint})`
}
