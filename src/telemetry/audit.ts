import type { Writable } from 'node:stream'

/** One broken rule. `message` and `path` say what is wrong and where; never the value that was found. */
export interface AuditViolation {
  readonly reason: string
  readonly extension: string | null
  readonly rule: string | null
  /** Where in the request or answer, in the field names of who wrote it. */
  readonly path: string | null
  readonly message: string
}

/** One request or answer with violations, under the names of the audit line. */
export interface AuditEntry {
  /** What was judged. Of a stream, each event is by itself. */
  readonly phase: 'request' | 'response'
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  /** rejected = the client was refused; edited = forwarded with changes; observed = let through. */
  readonly decision: 'rejected' | 'edited' | 'observed'
  /** Of the violation that decided. */
  readonly reason: string
  readonly extension: string | null
  readonly rule: string | null
  /** `policy/rule` of what was changed, never what. */
  readonly edited: readonly string[]
  readonly violations: readonly AuditViolation[]
  /** At the end of an answer with more lines than are written for one: how many were not. */
  readonly lines_omitted?: number
  readonly trace_id: string | null
  /** The client's address. */
  readonly client: string | null
  readonly request_id: string | null
}

export interface Audit {
  /** Writes the entry as one line. Never throws: an audit that cannot be written does not stop a call. */
  record (entry: AuditEntry): void
}

export interface AuditOptions {
  readonly enabled: boolean
  /** Where the lines go: stdout in production. */
  readonly stream: Writable
  /** A line was dropped. */
  readonly onLost?: () => void
}

const VIOLATIONS = 20
const TEXT_LENGTH = 512
/** Bytes that may wait for a slow reader before lines are dropped (and counted). */
const BACKLOG = 4 * 1024 * 1024

/** The audit trail: one JSON line per request or answer that was refused, or would have been, or had something removed. */
export function createAudit (options: AuditOptions): Audit {
  return options.enabled ? new AuditTrail(options) : { record () {} }
}

class AuditTrail implements Audit {
  private readonly stream: Writable
  private readonly onLost: () => void
  private dropped: number

  constructor ({ stream, onLost = () => {} }: AuditOptions) {
    this.stream = stream
    this.onLost = onLost
    this.dropped = 0
    // A reader that went away (EPIPE) is no reason to stop serving; without a listener it would end the process.
    if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore)
  }

  record (entry: AuditEntry): void {
    try {
      if (!this.stream.writable) return this.onLost()
      if (this.stream.writableLength > BACKLOG) return this.drop()
      const time = new Date().toISOString()
      if (this.dropped > 0) {
        this.stream.write(`{"audit":true,"time":"${time}","dropped":${this.dropped}}\n`)
        this.dropped = 0
      }
      this.stream.write(formatLine(entry, time))
    } catch {
      this.drop()
    }
  }

  private drop (): void {
    this.dropped++
    this.onLost()
  }
}

function ignore (): void {}

function formatLine (entry: AuditEntry, time: string): string {
  const shown = entry.violations.slice(0, VIOLATIONS)
  const omitted = entry.violations.length - shown.length
  return JSON.stringify({
    audit: true,
    time,
    phase: entry.phase,
    agent: clip(entry.agent),
    operation: clip(entry.operation),
    binding: clip(entry.binding),
    version: clip(entry.version),
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
    trace_id: entry.trace_id,
    client: clip(entry.client),
    request_id: clip(entry.request_id)
  }) + '\n'
}

function clip (value: string): string
function clip (value: string | null): string | null
function clip (value: string | null): string | null {
  return value === null || value.length <= TEXT_LENGTH ? value : value.slice(0, TEXT_LENGTH)
}
