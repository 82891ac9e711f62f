import type { Writable } from 'node:stream'
import type { AuditLine } from './audit-fields.js'

/** One violation of a rule. `message` and `path` describe the problem and its place, never the value that was found. */
export interface AuditViolation {
  readonly reason: string
  readonly extension: string | null
  readonly rule: string | null
  /** Path in the request or response, in the field names of the sender. */
  readonly path: string | null
  readonly message: string
}

/** One request or response with violations, under the names of the audit line. */
export interface AuditEntry {
  /** The evaluated message. Each event of a stream is evaluated by itself. */
  readonly phase: 'request' | 'response'
  readonly agent: string
  readonly operation: string
  readonly binding: string
  readonly version: string
  /** rejected = the request or response was rejected; edited = forwarded with changes; observed = forwarded unchanged. */
  readonly decision: 'rejected' | 'edited' | 'observed'
  /** Reason of the violation that decided. */
  readonly reason: string
  readonly extension: string | null
  readonly rule: string | null
  /** `policy/rule` of each change, never the changed data. */
  readonly edited: readonly string[]
  readonly violations: readonly AuditViolation[]
  /** At the end of a response with more lines than one response may have: the number of lines that were not written. */
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
  /** Destination of the lines: stdout in production. */
  readonly stream: Writable
  /** Called when a line was dropped. */
  readonly onLost?: () => void
}

const VIOLATIONS = 20
const TEXT_LENGTH = 512
/** Bytes that may wait for a slow reader before lines are dropped and counted. */
const BACKLOG = 4 * 1024 * 1024

/**
 * Creates the audit trail: one JSON line for each request or response that was rejected, would have been rejected, or had something
 * removed.
 */
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
    // A reader that disconnects (EPIPE) must not stop the gateway. Without a listener, the error would end the process.
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
  const line: AuditLine = {
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
  }
  return JSON.stringify(line) + '\n'
}

function clip (value: string): string
function clip (value: string | null): string | null
function clip (value: string | null): string | null {
  return value === null || value.length <= TEXT_LENGTH ? value : value.slice(0, TEXT_LENGTH)
}
