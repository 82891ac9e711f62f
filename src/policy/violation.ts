/** Violations of a request, and the single rejection that is made from all of them. */
import type { FieldViolation, Reason, Rejection } from '#a2a/errors.js'
import type { CallProblem } from '#a2a/message/call.js'
import type { Mode } from '#config/model/model.js'

export interface Violation {
  readonly mode: Mode
  readonly reason: Reason
  /** `ErrorInfo.reason` when a policy names its own. */
  readonly customReason: string | null
  /** Policy name or URI; `gateway` for the gateway's own checks. */
  readonly extension: string
  readonly rule: string
  /** Path from the root of the request, or `header <name>`. */
  readonly path: string
  /** The problem and how to fix it, as a predicate of the path. Never contains values of the client's data. */
  readonly message: string
  /** URI of the extension, or null. */
  readonly uri: string | null
  /** True when `message` is a complete sentence and not a predicate of the path: problems of the call, and a policy's own text. */
  readonly isStandalone: boolean
  readonly metadata: Readonly<Record<string, string>> | null
  /**
   * True when the caller lacks a permission. A rejection then shows only such violations: it gives no hints about data that the caller may
   * not send.
   */
  readonly isAccess: boolean
  /** URI that the request must name in the extension header to fix the violation, or null. */
  readonly missing: string | null
}

/** Replaces the extension when a check is the gateway's own. */
export const GATEWAY = 'gateway'

/** Maximum violations that the gateway records and returns for one request: this many enforced ones, and as many observed ones. */
export const MAX_VIOLATIONS = 20

/** True when the list is full for this mode. Each mode has its own bound, so observed violations never crowd out enforced ones. */
export function isFull (violations: readonly Violation[], mode: Mode): boolean {
  if (violations.length < MAX_VIOLATIONS) return false
  let count = 0
  for (const item of violations) if ((item.mode === 'enforce') === (mode === 'enforce')) count++
  return count >= MAX_VIOLATIONS
}

/** Adds a violation, within the bound. */
export function addViolation (violations: Violation[], violation: Violation): void {
  if (!isFull(violations, violation.mode)) violations.push(violation)
}

type Optional = 'uri' | 'customReason' | 'isStandalone' | 'missing' | 'isAccess'

export function violation (input: Omit<Violation, 'metadata' | Optional> & Partial<Pick<Violation, Optional>>): Violation {
  const { mode, reason, customReason = null, extension, rule, path, message, uri = null } = input
  const { isStandalone = false, missing = null, isAccess = false } = input
  return { mode, reason, customReason, extension, rule, path, message, uri, isStandalone, metadata: null, missing, isAccess }
}

/** Violation for a problem of the call itself, found before any extension was evaluated. */
export function callViolation (mode: Mode, problem: CallProblem): Violation {
  const { reason, rule, path, message } = problem
  return {
    mode,
    reason,
    customReason: null,
    extension: GATEWAY,
    rule,
    path,
    message,
    uri: null,
    isStandalone: true,
    metadata: problem.metadata ?? null,
    missing: null,
    isAccess: false
  }
}

/** @returns null when nothing is enforced: the violations were only observed */
export function rejectionOf (violations: readonly Violation[]): Rejection | null {
  const all = violations.filter(violation => violation.mode === 'enforce')
  const enforced = all.some(violation => violation.isAccess) ? all.filter(violation => violation.isAccess) : all
  const first = enforced[0]
  if (first === undefined) return null
  const same = enforced.filter(({ reason, extension, rule }) =>
    reason === first.reason && extension === first.extension && rule === first.rule)
  const shown = enforced.slice(0, MAX_VIOLATIONS)
  const fields: FieldViolation[] = shown.map(violation => ({ field: violation.path, description: violation.message }))
  const metadata: Record<string, string> = { ...first.metadata, rule: first.rule }
  if (first.extension !== GATEWAY) metadata.extension = first.uri ?? first.extension
  const absent = enforced.filter(violation => missingUri(violation) !== null)
  if (absent.length > 0) metadata.missingExtensions = urisOf(absent).join(',')
  return {
    reason: first.reason,
    ...(first.customReason === null ? {} : { customReason: first.customReason }),
    message:
      first.isStandalone && first.extension === GATEWAY
        ? first.message
        : missingUri(first) === null
          ? dataMessage(same, enforced.length)
          : missingMessage(first, absent, enforced.length),
    rule: `${first.extension}/${first.rule}`,
    metadata,
    fields,
    ...(first.uri === null ? {} : { helpUri: first.uri })
  }
}

const HEADER = 'header '

const EXTENSION_HEADER = /^header (?:x-)?a2a-extensions$/i

/**
 * URI that is missing in the extension header. A rule may use the same reason for data too, but naming the extension in the header fixes
 * only a problem of that header.
 */
function missingUri ({ missing, reason, path, uri }: Violation): string | null {
  return missing ?? (reason === 'EXTENSION_SUPPORT_REQUIRED' && EXTENSION_HEADER.test(path) ? uri : null)
}

/** The missing URIs, each once. */
function urisOf (absent: readonly Violation[]): readonly string[] {
  return [...new Set(absent.map(missingUri).filter(uri => uri !== null))]
}

function missingMessage (first: Violation, absent: readonly Violation[], total: number): string {
  const uris = urisOf(absent)
  const header = first.path.slice(HEADER.length)
  const others = total - absent.length
  const more = others > 0 ? ` ${others} more ${others === 1 ? 'problem' : 'problems'} in the details.` : ''
  if (first.reason === 'EXTENSION_DEPENDENCY_MISSING') {
    return `${first.path} must also name ${absent.filter(isDependency).map(required).join('; ')}.${more}`
  }
  const described = uris.map(uri => {
    const demanded = absent.some(violation => !isDependency(violation) && missingUri(violation) === uri)
    const by = demanded ? undefined : absent.find(violation => violation.missing === uri)?.uri
    return by === undefined ? uri : `${uri} (which ${by} requires)`
  })
  return (
    `This agent requires ${uris.length === 1 ? 'an extension' : 'extensions'} that the request does not activate: ` +
    `${described.join(', ')}. ` +
    `Send the header "${header}: ${uris.join(',')}" with the request.${more}`
  )
}

/** Ends a message of a policy, which may be a sentence. An ellipsis stays. */
const FULL_STOP = /(?<!\.)\.\s*$/
const ENDS = /[.!?…]$/

function isDependency ({ reason }: Violation): boolean {
  return reason === 'EXTENSION_DEPENDENCY_MISSING'
}

function required ({ missing, uri }: Violation): string {
  return `${missing ?? ''}, which the extension ${uri ?? ''} requires`
}

function dataMessage (same: readonly Violation[], total: number): string {
  const shown = same.slice(0, 3).map(violation => `${violation.path}${violation.isStandalone ? ':' : ''} ${violation.message.replace(FULL_STOP, '')}`)
  const rest = total - shown.length
  const text = shown.join('; ')
  return `${text}${ENDS.test(text) ? '' : '.'}${rest > 0 ? ` ${rest} more ${rest === 1 ? 'problem' : 'problems'} in the details.` : ''}`
}
