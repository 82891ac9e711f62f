/** Every member of an audit line. docs/logs.md is written from it; a member without an entry does not compile. */
import type { AuditEntry, AuditViolation } from './audit.js'
import type { Described } from './described.js'

type Member = keyof AuditEntry | 'audit' | 'time' | 'violations_omitted'

export const AUDIT_FIELDS: Readonly<Record<Member, Described>> = {
  audit: { type: 'boolean', meaning: 'always true: tells the line from the log' },
  time: { type: 'string', meaning: 'ISO 8601, UTC' },
  phase: { type: 'string', meaning: 'what was judged: `request` or `response`' },
  agent: { type: 'string', meaning: 'its name in the configuration' },
  operation: { type: 'string', meaning: 'as the [metrics](metrics.md) label it' },
  binding: { type: 'string', meaning: '`JSONRPC` or `HTTP+JSON`' },
  version: { type: 'string', meaning: 'of A2A' },
  decision: { type: 'string', meaning: '`rejected`: refused; `edited`: something was removed; `observed`: let through' },
  reason: { type: 'string', meaning: '[reason](refusals.md#reasons) of the violation that decided' },
  extension: { type: 'string or null', meaning: 'the policy\'s name, or the URI where there is none' },
  rule: { type: 'string or null', meaning: 'id of the rule' },
  edited: { type: 'list', when: 'something was removed', meaning: '`policy/rule` of it, never what it was' },
  violations: { type: 'list', meaning: 'all broken rules, 20 at most, see below' },
  violations_omitted: { type: 'number', when: 'there are more than 20', meaning: 'how many more' },
  lines_omitted: { type: 'number', when: 'a stream has more than 20 lines, in the last', meaning: 'of how many events the lines were left out' },
  trace_id: { type: 'string or null', meaning: 'of the trace, the gateway\'s or else the client\'s' },
  client: { type: 'string or null', meaning: 'address that the connection came from' },
  request_id: { type: 'string or null', meaning: 'as in the log' }
}

/** Of each of `violations`. */
export const VIOLATION_FIELDS: Readonly<Record<keyof AuditViolation, Described>> = {
  reason: { type: 'string', meaning: '[reason](refusals.md#reasons)' },
  extension: { type: 'string or null', meaning: 'the policy\'s name, or the URI' },
  rule: { type: 'string or null', meaning: 'id of the rule' },
  path: { type: 'string or null', meaning: 'where in request or answer' },
  message: { type: 'string', meaning: 'what is wrong, without the value that was found' }
}

/** Of a line of its own, written when a slow reader can be written to again. */
export const DROPPED_FIELDS: Readonly<Record<'audit' | 'time' | 'dropped', Described>> = {
  audit: AUDIT_FIELDS.audit,
  time: AUDIT_FIELDS.time,
  dropped: { type: 'number', meaning: 'lines that were lost since the last one, because more than 4 MiB waited for the reader. Calls do not wait for it' }
}

/** A line as it is written: what is undefined is left out. */
export type AuditLine = Readonly<Record<Member, unknown>>
