/**
 * `access`: entries that allow and deny what callers do with an agent, compiled. An entry of `deny` wins; with `allow`, an entry of it must
 * match. What cannot be decided counts as true in `deny` and as false in `allow`.
 */
import type { AccessCondition, AccessConfig, AccessEntry, CallerConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { withBudget, unevaluated, withSteps } from '#jsonschema/evaluation.js'
import type { RequestSubject } from '../selectors/subject.js'
import type { CallerCondition } from './caller.js'
import { compileCaller } from './caller.js'
import type { Target, TargetTest } from './target.js'
import { compileTarget, slotOf } from './target.js'

export interface AccessRequest {
  readonly caller: Principal | null
  readonly target: Target
  /** Tenants that the request names. `complete` is false while the body may name another one, or is ambiguous. */
  readonly tenants: { readonly named: readonly string[], readonly complete: boolean }
  /** Null when the body is not read, or cannot be read without doubt. */
  readonly subject: RequestSubject | null
}

/** Scopes of an entry of `allow` that matches but for them. */
export interface MissingScopes { readonly required: readonly string[], readonly missing: readonly string[] }

export interface AccessDecision {
  /** `open`: what is known of the request does not decide. */
  readonly decision: 'allow' | 'deny' | 'open'
  /** Id of the entry that decides, or `NO_RULE`. */
  readonly rule: string
  /** Set when only scopes are missing. */
  readonly scopes: MissingScopes | null
}

/** Stands for the id of an entry when none decides: there is no `allow`, or no entry of it matches. */
const NO_RULE = 'none'

/** Compiles `match`. The result is null when it cannot be decided. */
export type AccessMatcher = (schema: Readonly<Record<string, unknown>> | boolean) => (value: unknown) => boolean | null

type Ternary = boolean | null
type RequestTest = (request: AccessRequest) => Ternary

interface CompiledEntry {
  readonly id: string
  readonly target: TargetTest
  /** All of `caller` but `scopes`. */
  readonly caller: (caller: Principal | null) => Ternary
  readonly scopes: readonly string[]
  /** `tenant`, `when` and `unless`; in the order of their cost. */
  readonly tests: readonly RequestTest[]
}

/** An entry that may match requests of one caller for the targets of one slot. */
interface Candidate {
  readonly entry: CompiledEntry
  /** Null: it cannot be decided whether `caller` matches. */
  readonly caller: true | null
}

interface Candidates {
  readonly deny: readonly Candidate[]
  /** Null without `allow`. */
  readonly allow: readonly Candidate[] | null
  /** Entries of `allow` for which the caller lacks only scopes. */
  readonly lacking: readonly Candidate[]
}

/** Steps of all conditions on one request: a fifth of what its rules may take. */
const STEPS = 20_000

/** The access lists of one agent. Immutable, but for what it remembers about callers. */
export class Access {
  readonly mode: AccessConfig['mode']
  private readonly allow: readonly CompiledEntry[] | null
  private readonly deny: readonly CompiledEntry[]
  /** A caller is the same object in all requests with the same credential, so most requests only look at the entries that concern them. */
  private readonly ofCallers = new WeakMap<Principal, Map<string, Candidates>>()
  private readonly anonymous = new Map<string, Candidates>()

  constructor ({ mode, allow, deny }: AccessConfig, matcher: AccessMatcher) {
    this.mode = mode
    this.allow = allow?.map(entry => compileEntry(entry, matcher)) ?? null
    this.deny = deny.map(entry => compileEntry(entry, matcher))
  }

  decide (request: AccessRequest): AccessDecision {
    return withBudget(request.subject?.call.inexact ?? null, () => withSteps(STEPS, () => this.decided(request)))
  }

  private decided (request: AccessRequest): AccessDecision {
    const { deny, allow, lacking } = this.candidates(request)
    let doubt: string | null = null
    for (const candidate of deny) {
      const denied = holds(candidate, request)
      if (denied === true) return { decision: 'deny', rule: candidate.entry.id, scopes: null }
      if (denied === null) doubt ??= candidate.entry.id
    }
    let allowed: Ternary = allow === null
    let rule = NO_RULE
    for (const candidate of allow ?? []) {
      const outcome = holds(candidate, request)
      if (outcome === true) rule = candidate.entry.id
      if (outcome !== false) allowed = outcome
      if (outcome === true) break
    }
    if (allowed === false) return { decision: 'deny', rule: NO_RULE, scopes: missingScopes(lacking, request) }
    if (doubt !== null) return { decision: 'open', rule: doubt, scopes: null }
    return allowed === null
      ? { decision: 'open', rule: NO_RULE, scopes: missingScopes(lacking, request) }
      : { decision: 'allow', rule, scopes: null }
  }

  private candidates ({ caller, target }: AccessRequest): Candidates {
    let slots = caller === null ? this.anonymous : this.ofCallers.get(caller)
    if (slots === undefined) this.ofCallers.set(caller as Principal, slots = new Map())
    const slot = slotOf(target)
    let results = slots.get(slot)
    if (results === undefined) slots.set(slot, results = this.find(caller, target))
    return results
  }

  private find (caller: Principal | null, target: Target): Candidates {
    const concerned = (entries: readonly CompiledEntry[]): { held: Candidate[], lacking: Candidate[] } => {
      const held: Candidate[] = []
      const lacking: Candidate[] = []
      for (const entry of entries) {
        if (!namesTargets(target) && entry.target(target) === false) continue
        const matches = entry.caller(caller)
        if (matches === false) continue
        const list = entry.scopes.every(scope => caller?.scopes.includes(scope) === true) ? held : lacking
        list.push({ entry, caller: matches })
      }
      return { held, lacking }
    }
    const allow = this.allow === null ? null : concerned(this.allow)
    return { deny: concerned(this.deny).held, allow: allow?.held ?? null, lacking: allow?.lacking ?? [] }
  }
}

/** True when the names of methods and routes decide: targets of one slot then differ. */
function namesTargets ({ kind }: Target): boolean {
  return kind === 'extension' || kind === 'method'
}

/** @returns null for lists that allow everything */
export function compileAccess (config: AccessConfig, matcher: AccessMatcher): Access | null {
  return config.allow === null && config.deny.length === 0 ? null : new Access(config, matcher)
}

function compileEntry (entry: AccessEntry, matcher: AccessMatcher): CompiledEntry {
  const { scopes = [], ...rest }: CallerConfig = entry.caller ?? {}
  const { when, unless } = entry
  const tests: RequestTest[] = []
  if (entry.tenant === 'own') tests.push(ownTenant)
  if (when !== undefined) tests.push(compileCondition(when, matcher))
  if (unless !== undefined) {
    const excepted = compileCondition(unless, matcher)
    tests.push(request => not(excepted(request)))
  }
  const caller = entry.caller === undefined ? (): true => true : callerTest(rest, matcher)
  return { id: entry.id, target: compileTarget(entry), caller, scopes, tests }
}

/** Thrown by `match` of a caller that cannot be decided: conditions on callers know only true and false. */
class Undecidable extends Error {}

function callerTest (config: CallerConfig, matcher: AccessMatcher): (caller: Principal | null) => Ternary {
  const condition: CallerCondition = compileCaller(config, schema => {
    const matches = matcher(schema)
    return shape => {
      const isMatch = matches(shape)
      if (isMatch === null) throw new Undecidable()
      return isMatch
    }
  })
  return caller => {
    try {
      return condition(caller)
    } catch (error) {
      if (error instanceof Undecidable || unevaluated(error) !== null) return null
      throw error
    }
  }
}

function ownTenant ({ caller, tenants: { named, complete } }: AccessRequest): Ternary {
  const own = caller?.tenant ?? null
  if (own === null || named.some(tenant => tenant !== own)) return false
  return complete ? named.length > 0 : null
}

function compileCondition ({ taskId, contextId, match }: AccessCondition, matcher: AccessMatcher): RequestTest {
  const matches = match === undefined ? null : matcher(match)
  return ({ subject }) => {
    if (subject === null) return null
    if (taskId !== undefined && taskId !== subject.taskId) return false
    if (contextId !== undefined && contextId !== subject.contextId) return false
    return matches === null ? true : matches(subject.normalised)
  }
}

function not (value: Ternary): Ternary {
  return value === null ? null : !value
}

/** True when all keys of the entry match; null when none of them fails and one cannot be decided. */
function holds ({ entry, caller }: Candidate, request: AccessRequest): Ternary {
  const target = entry.target(request.target)
  if (target === false) return false
  let result: true | null = caller === null || target === null ? null : true
  for (const test of entry.tests) {
    const outcome = tried(test, request)
    if (outcome === false) return false
    if (outcome === null) result = null
  }
  return result
}

function tried (test: RequestTest, request: AccessRequest): Ternary {
  try {
    return test(request)
  } catch (error) {
    if (unevaluated(error) === null) throw error
    return null
  }
}

/** While the operation is not known, the scopes are named only if all entries that might match require the same. */
function missingScopes (lacking: readonly Candidate[], request: AccessRequest): MissingScopes | null {
  let possible: CompiledEntry | null = null
  let several = false
  for (const candidate of lacking) {
    const matches = holds(candidate, request)
    if (matches === true) return scopesOf(candidate.entry, request)
    if (matches === false) continue
    several ||= possible !== null && String(possible.scopes) !== String(candidate.entry.scopes)
    possible ??= candidate.entry
  }
  return possible === null || several ? null : scopesOf(possible, request)
}

function scopesOf ({ scopes }: CompiledEntry, { caller }: AccessRequest): MissingScopes {
  return { required: scopes, missing: scopes.filter(scope => caller?.scopes.includes(scope) !== true) }
}
