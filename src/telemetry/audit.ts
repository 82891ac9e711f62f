import type { AuditLine } from './audit-fields.js'
import type { LineFormat } from './logging.js'
import { Repeats } from './repeats.js'
import type { LineSink } from './standard-output.js'
import { TaskStates } from './task-states.js'

/** One violation of a rule. `message` and `path` describe the problem and its place, never the value that was found. */
export interface AuditViolation {
  readonly reason: string
  readonly extension: string | null
  readonly rule: string | null
  /** Path in the request or response, in the field names of the sender. */
  readonly path: string | null
  readonly message: string
}

/** One answer of a policy server. */
export interface ExternalAnswer {
  /** Id of the entry in `external`, or `policy/rule`. */
  readonly rule: string
  readonly phase: 'request' | 'response'
  readonly mode: 'enforce' | 'observe'
  /** As in `external_decisions_total`. */
  readonly outcome: string
  readonly failure?: string
  readonly cached?: boolean
  /** The server's id of the decision, and its reason for administrators. */
  readonly id?: string
  readonly reason?: string
  /** The obligation that the gateway cannot fulfil. */
  readonly refused?: string
}

/** A request or response with violations, a forwarded call, or a change of a task's state, under the names of the audit line. */
export interface AuditEntry {
  /** request, response = the evaluated message (each event of a stream is evaluated by itself); call = the whole call; task = its task. */
  readonly phase: 'request' | 'response' | 'call' | 'task'
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  /**
   * rejected = the request or response was rejected; edited = forwarded with changes; observed = forwarded unchanged, despite violations;
   * forwarded = of the phase call; changed = of the phase task; notified = a policy server asks to notify somebody.
   */
  readonly decision: 'rejected' | 'edited' | 'observed' | 'forwarded' | 'changed' | 'notified'
  /** Reason of the violation that decided; null without violations. */
  readonly reason: string | null
  readonly extension: string | null
  readonly rule: string | null
  /** `policy/rule` of each change, never the changed data. */
  readonly edited: readonly string[]
  readonly violations: readonly AuditViolation[]
  /** Number of lines that were not written: of a response with more lines than one response may have, or of a rule in one second. */
  readonly lines_omitted?: number
  /** Phase call: the outcome, as in `requests_total`, the HTTP status, the status of gRPC, and the URIs of the active extensions. */
  readonly outcome?: string
  readonly status?: number
  readonly grpc_status?: string
  readonly extensions?: readonly string[]
  /** `ext_authz` or `ext_proc`, when a proxy of a mesh asked. */
  readonly front?: string
  /** Phase task: the state, and the state that this process saw before, or null. */
  readonly task_state?: string
  readonly previous_state?: string | null
  readonly task_id: string | null
  readonly context_id: string | null
  readonly trace_id: string | null
  readonly span_id?: string
  /** The client's address. */
  readonly client: string | null
  /** The authenticated caller, and the kind of its credential. */
  readonly caller?: object
  readonly credential?: string
  /** Id of the limit that rejected the request. */
  readonly limit?: string
  /** Result of the check of owners (`access.tasks`). */
  readonly owner?: string
  /** The entry of `access` that decided, or `none`. */
  readonly access_rule?: string
  /** The answers of policy servers so far, and the messages that they ask to send. */
  readonly external?: readonly ExternalAnswer[]
  readonly notices?: readonly object[]
  /** Result of the exchange of the caller's token for one of the agent: cached, new, or rejected. */
  readonly exchange?: string
  readonly request_id: string | null
}

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
    task_id: clip(entry.task_id),
    context_id: clip(entry.context_id),
    trace_id: entry.trace_id,
    span_id: entry.span_id,
    client: clip(entry.client),
    caller: entry.caller,
    credential: entry.credential,
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
