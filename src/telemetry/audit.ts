import type { AuditEntry, AuditLine } from './audit-fields.js'
import type { LineFormat } from './logging.js'
import type { LineSink } from './standard-output.js'

export interface Audit {
  /** True when forwarded calls and changes of task states have lines. */
  readonly forwarded: boolean
  /** Notices changes, where `forwarded` is true. */
  readonly states: TaskStates
  /** Writes the entry as one line. Never throws: an audit that cannot be written does not stop a call. */
  record (entry: AuditEntry): void
  /** Writes the counts of omitted lines. */
  close (): void
}

export interface AuditOptions {
  readonly enabled: boolean
  readonly forwarded?: boolean
  /** Lines a second for each rule in observe mode; the rest is counted. Default: no limit. */
  readonly observedLines?: number
  /** Destination of the lines: stdout in production. */
  readonly lines: LineSink
  /** Converts each line, for people at a terminal. Null: JSON. */
  readonly format?: LineFormat | null
  /** Called with each line, also with those that the destination does not accept. */
  readonly onLine?: (line: string) => void
  /** Called when a line was dropped. */
  readonly onLost?: () => void
}

const VIOLATIONS = 20
const EXTENSIONS = 64
const TEXT_LENGTH = 512

/**
 * Creates the audit trail: one JSON line for each request or response that was rejected, would have been rejected, or had something
 * removed; with `forwarded`, also for each forwarded call and each change of a task's state.
 */
export function createAudit (options: AuditOptions): Audit {
  return options.enabled ? new AuditTrail(options) : { forwarded: false, states: new TaskStates(), record () {}, close () {} }
}

class AuditTrail implements Audit {
  readonly forwarded: boolean
  readonly states = new TaskStates()
  private readonly repeats: Repeats
  private readonly lines: LineSink
  private readonly format: LineFormat | null
  private readonly onLine: (line: string) => void
  private readonly onLost: () => void
  private dropped: number

  constructor ({ lines, format = null, forwarded = false, observedLines = Infinity, onLine = () => {}, onLost = () => {} }: AuditOptions) {
    this.forwarded = forwarded
    this.repeats = new Repeats(observedLines, entry => { this.write(entry) })
    this.lines = lines
    this.format = format
    this.onLine = onLine
    this.onLost = onLost
    this.dropped = 0
  }

  record (entry: AuditEntry): void {
    if (entry.decision !== 'observed' || this.repeats.admits(entry)) this.write(entry)
  }

  close (): void {
    this.repeats.flush()
  }

  private write (entry: AuditEntry): void {
    try {
      const time = new Date().toISOString()
      const line = formatLine(entry, time)
      this.onLine(line)
      if (this.dropped > 0 && this.put(`{"audit":true,"time":"${time}","dropped":${this.dropped}}\n`)) this.dropped = 0
      if (!this.put(line)) this.drop()
    } catch {
      this.drop()
    }
  }

  private put (line: string): boolean {
    return this.lines.put(this.format === null ? line : this.format(line))
  }

  private drop (): void {
    this.dropped++
    this.onLost()
  }
}

function formatLine (entry: AuditEntry, time: string): string {
  const shown = entry.violations.slice(0, VIOLATIONS)
  const omitted = entry.violations.length - shown.length
  const line: AuditLine = {
    audit: true,
    time,
    phase: entry.phase,
    agent: clip(entry.agent),
    operation: clip(entry.operation),
    binding: clip(entry.binding),
    version: clip(entry.version),
    front: entry.front,
    decision: entry.decision,
    reason: clip(entry.reason),
    extension: clip(entry.extension),
    rule: clip(entry.rule),
    edited: entry.edited.length > 0 ? entry.edited.map(name => clip(name)) : undefined,
    paused_rules: entry.paused_rules?.map(rule => clip(rule)),
    violations: shown.map(violation => ({
      reason: clip(violation.reason),
      extension: clip(violation.extension),
      rule: clip(violation.rule),
      path: clip(violation.path),
      message: clip(violation.message)
    })),
    violations_omitted: omitted > 0 ? omitted : undefined,
    lines_omitted: entry.lines_omitted,
    outcome: entry.outcome,
    status: entry.status,
    grpc_status: entry.grpc_status,
    extensions: entry.extensions?.slice(0, EXTENSIONS).map(uri => clip(uri)),
    task_state: entry.task_state,
    previous_state: entry.previous_state,
    card_digest: entry.card_digest,
    lowers: entry.lowers?.slice(0, VIOLATIONS).map(path => clip(path)),
    task_id: clip(entry.task_id),
    context_id: clip(entry.context_id),
    trace_id: entry.trace_id,
    span_id: entry.span_id,
    client: clip(entry.client),
    caller: entry.caller,
    credential: entry.credential,
    delegation: entry.delegation,
    external: entry.external,
    notices: entry.notices,
    limit: entry.limit,
    owner: entry.owner,
    access_rule: entry.access_rule,
    exchange: entry.exchange,
    request_id: clip(entry.request_id)
  }
  return JSON.stringify(line) + '\n'
}

function clip (value: string): string
function clip (value: string | null): string | null
function clip (value: string | null): string | null {
  return value === null || value.length <= TEXT_LENGTH ? value : value.slice(0, TEXT_LENGTH)
}

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
class Repeats {
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
    let tally = this.rules.get(key)
    if (tally === undefined) this.rules.set(key, tally = { lines: 0, omitted: 0, last: null })
    this.timer ??= setTimeout(() => { this.flush() }, WINDOW).unref()
    if (tally.lines < this.limit) {
      tally.lines++
      return true
    }
    // The last line of a long stream stands for the lines that it counts.
    tally.omitted += entry.lines_omitted ?? 1
    tally.last = entry
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

/** Tasks whose last state is kept; the least recently changed is forgotten first. */
const TASKS = 10_000

/** Notices when tasks change their state, for the audit log of one process. */
export class TaskStates {
  private readonly states = new Map<string, string>()

  /**
   * Keeps the state of a task.
   * @returns the state before, null when none is known, or undefined when the task was in this state already
   */
  change (agent: string, taskId: string, state: string): string | null | undefined {
    const key = `${agent}\n${taskId}`
    const before = this.states.get(key)
    if (before === state) return undefined
    this.states.delete(key)
    this.states.set(key, state)
    if (this.states.size > TASKS) this.states.delete(this.states.keys().next().value as string)
    return before ?? null
  }
}
