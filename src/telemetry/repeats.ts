import type { AuditEntry } from './audit.js'

/** Milliseconds for which lines of a rule are counted together. */
const WINDOW = 1_000

interface Repeated {
  lines: number
  omitted: number
  /** The last omitted entry. */
  last: AuditEntry | null
}

/**
 * Limits the lines of rules in observe mode. A rule that every call breaks would otherwise fill the log. The window begins with the first
 * line; at its end, one line for each rule has the number of omitted lines.
 */
export class Repeats {
  private readonly limit: number
  private readonly write: (entry: AuditEntry) => void
  /** Lines of the current window by agent, phase and rule. */
  private readonly rules = new Map<string, Repeated>()
  private timer: NodeJS.Timeout | null = null

  /** @param limit lines of each rule in one window; Infinity for no limit */
  constructor (limit: number, write: (entry: AuditEntry) => void) {
    this.limit = limit
    this.write = write
  }

  /** @returns false when the line is only counted */
  admits (entry: AuditEntry): boolean {
    if (this.limit === Infinity) return true
    const key = `${entry.agent}\n${entry.phase}\n${entry.extension ?? ''}\n${entry.rule ?? ''}`
    let seen = this.rules.get(key)
    if (seen === undefined) this.rules.set(key, seen = { lines: 0, omitted: 0, last: null })
    this.timer ??= setTimeout(() => { this.flush() }, WINDOW).unref()
    if (seen.lines < this.limit) {
      seen.lines++
      return true
    }
    // The last line of a long stream stands for the lines that it counts.
    seen.omitted += entry.lines_omitted ?? 1
    seen.last = entry
    return false
  }

  /** Writes the counts, and begins a new window. */
  flush (): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    const ended = [...this.rules.values()]
    this.rules.clear()
    for (const { last, omitted } of ended) {
      if (last !== null) this.write({ ...last, edited: [], violations: [], lines_omitted: omitted })
    }
  }
}
