/** Rejects or removes what uses an extension that the caller may not use (`activation.callers`). */
import type { Restrictions } from '../access/guard.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { Violation } from '../violation.js'
import { addViolation, violation } from '../violation.js'
import type { DecisionRequest } from './decision.js'
import type { Edits } from './edits.js'
import { conflict, removeOwned } from './edits.js'
import { covers, resembles } from '../access/forbidden.js'
import type { CompiledGuard, GuardedData } from '../access/forbidden.js'

/** Name of the rule under which uses of forbidden extensions are recorded. */
export const CALLERS = 'callers'
/** Name of the rule under which other spellings of forbidden extensions are recorded. */
const EQUIVALENT = 'equivalent'

/** Tells the client what it can do. */
const REMEDY = 'leave it out, or call with credentials of a caller who may'

/** Findings for one request. */
interface CallerFindings {
  readonly violations: Violation[]
  /** Null when no policy can change the request. */
  readonly edits: Edits | null
}

/** Records every use of an extension that the caller may not use, and removes what is to be removed. */
export function checkCallers (
  request: DecisionRequest,
  subject: RequestSubject,
  { guards }: Restrictions,
  findings: CallerFindings
): void {
  for (const guard of guards) {
    const check = new GuardCheck(guard, findings)
    check.header(request)
    check.listed(subject)
    for (const data of guard.data) check.data(data, subject)
    check.addition(request)
  }
}

/** Violation for an extension that the request needs and the caller may not use. @param message as a predicate of the path */
export function denied ({ name, uri, mode }: CompiledGuard, path: string, message: string): Violation {
  return violation({ mode, reason: 'EXTENSION_NOT_ALLOWED', extension: name, uri, rule: CALLERS, path, message, isAccess: true })
}

class GuardCheck {
  private readonly guard: CompiledGuard
  private readonly violations: Violation[]
  private readonly edits: Edits | null

  constructor (guard: CompiledGuard, { violations, edits }: CallerFindings) {
    this.guard = guard
    this.violations = violations
    this.edits = edits
  }

  header ({ requested, headerName }: DecisionRequest): void {
    spendBudget(requested.length / 10)
    if (requested.some(uri => resembles(this.guard, uri))) this.resembling(`header ${headerName}`)
    if (!requested.some(uri => covers(this.guard, uri))) return
    this.use(`header ${headerName}`, `names the extension ${this.guard.label}`, this.guard.strips, null)
  }

  listed ({ message }: RequestSubject): void {
    if (message === null || message.listed.length === 0) return
    const list = message.fields.get('extensions')
    if (!Array.isArray(list)) return
    spendBudget(list.length / 10)
    const path = message.fields.pathOf('extensions')
    const steps = [...message.steps, message.fields.key('extensions') ?? 'extensions']
    const indexes = list.flatMap((uri, i) => typeof uri === 'string' && covers(this.guard, uri) ? [i] : [])
    const other = list.findIndex(uri => typeof uri === 'string' && resembles(this.guard, uri))
    if (other >= 0) this.resembling(`${path}[${other}]`)
    const [first] = indexes
    if (first === undefined) return
    this.use(`${path}[${first}]`, `names the extension ${this.guard.label}`, this.guard.strips, edits => {
      for (const i of indexes) edits.remove([...steps, i], this.by)
    })
  }

  data ({ owned, ownedHeaders, strips }: GuardedData, subject: RequestSubject): void {
    for (const selector of owned) {
      const evidence = selector.select(subject)[0]
      if (evidence === undefined) continue
      return this.use(evidence.typePath ?? evidence.path, `belongs to the extension ${this.guard.label}`, strips, edits => {
        removeOwned({ owned, ownedHeaders }, subject, edits, this.by)
      })
    }
  }

  addition ({ call, extensionRoute }: DecisionRequest): void {
    const { methods, routes, label } = this.guard
    if (call.method !== null && methods.has(call.method)) this.use('method', `belongs to the extension ${label}`, false, null)
    if (extensionRoute !== null && routes.has(extensionRoute)) this.use('path', `belongs to the extension ${label}`, false, null)
  }

  /** Records a name that only lenient agents read as the extension's URI. */
  private resembling (path: string): void {
    const { name, uri, mode, label, rejectsSpellings } = this.guard
    addViolation(this.violations, violation({
      mode: rejectsSpellings ? mode : 'observe',
      reason: 'EXTENSION_NOT_ALLOWED',
      extension: name,
      uri,
      rule: EQUIVALENT,
      path,
      message: `names the extension ${label} in another spelling, which this caller may not use; ${REMEDY}`,
      isAccess: true
    }))
  }

  private get by (): { policy: { name: string; uri: string | null }; rule: string } {
    const { name, uri } = this.guard
    return { policy: { name, uri }, rule: CALLERS }
  }

  /** @param strip removes the data from the request; null where another module removes it */
  private use (path: string, message: string, strips: boolean, strip: ((edits: Edits) => void) | null): void {
    const { guard, edits, violations } = this
    const enforces = guard.mode === 'enforce'
    if (!strips) return addViolation(violations, denied(guard, path, `${message}, which this caller may not use; ${REMEDY}`))
    if (enforces && edits !== null && edits.verbatim !== null) return conflict(edits.verbatim, this.by, path, violations)
    const outcome = enforces ? 'is removed' : 'is to be removed'
    addViolation(violations, { ...denied(guard, path, `${message}, which this caller may not use, and ${outcome}`), mode: 'observe' })
    if (enforces && edits !== null) strip?.(edits)
  }
}
