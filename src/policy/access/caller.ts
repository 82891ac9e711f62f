/** Conditions on the caller (`caller`), compiled. */
import type { CallerConfig, ClaimValue } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { compileGlob } from '#wire/glob.js'
import type { JsonObject } from '#wire/json/object.js'
import { parsePointer, resolveSteps } from '#wire/json/pointer.js'

/** @param caller null for a request without a caller */
export type CallerCondition = (caller: Principal | null) => boolean

/**
 * The caller as `match` sees it: `{source, sources, subject, client, spiffe, scopes, groups, tenant, claims}`.
 * Members that are null are absent.
 */
export type CallerShape = JsonObject

/** Compiles `match`. A schema has the step budget of the policy or of the agent that it belongs to. */
export type CallerMatcher = (schema: NonNullable<CallerConfig['match']>) => (caller: CallerShape) => boolean

type Check = (caller: Principal) => boolean

/**
 * Compiles a condition on the caller. All keys must hold. Without `anonymous: true`, a request without a caller never meets the condition.
 * @throws {Error} from `matcher`, for a schema that does not compile
 */
export function compileCaller (config: CallerConfig, matcher: CallerMatcher): CallerCondition {
  const checks = checksOf(config, matcher)
  if (config.anonymous === true) return caller => caller === null && checks.length === 0
  return caller => caller !== null && checks.every(check => check(caller))
}

export function callerShape ({ source, sources, subject, client, spiffe, scopes, groups, tenant, claims }: Principal): CallerShape {
  return {
    source,
    sources,
    subject,
    ...(client === null ? {} : { client }),
    ...(spiffe === null ? {} : { spiffe }),
    scopes,
    groups,
    ...(tenant === null ? {} : { tenant }),
    claims
  }
}

function checksOf (config: CallerConfig, matcher: CallerMatcher): Check[] {
  const { source, subject, client, spiffe, scopes, groups, tenant, claims, match } = config
  const checks: Check[] = []
  if (source !== undefined) checks.push(caller => caller.sources.some(name => source.includes(name)))
  const texts: readonly (readonly [readonly string[] | undefined, (caller: Principal) => string | null])[] = [
    [subject, caller => caller.subject],
    [client, caller => caller.client],
    [spiffe, caller => caller.spiffe],
    [tenant, caller => caller.tenant]
  ]
  for (const [patterns, textOf] of texts) {
    if (patterns === undefined) continue
    const globs = patterns.map(compileGlob)
    checks.push(caller => {
      const text = textOf(caller)
      return text !== null && globs.some(glob => glob.test(text))
    })
  }
  if (scopes !== undefined) checks.push(caller => scopes.every(scope => caller.scopes.includes(scope)))
  if (groups !== undefined) checks.push(caller => groups.some(group => caller.groups.includes(group)))
  for (const [pointer, expected] of Object.entries(claims ?? {})) checks.push(claimCheck(pointer, expected))
  if (match !== undefined) {
    const matches = matcher(match)
    checks.push(caller => matches(callerShape(caller)))
  }
  return checks
}

/** A claim that is a list has the value when the list contains it, as `aud` and `groups` of tokens do. */
function claimCheck (pointer: string, expected: ClaimValue | readonly ClaimValue[]): Check {
  const steps = parsePointer(pointer)
  const accepted: readonly unknown[] = Array.isArray(expected) ? expected : [expected]
  return ({ claims }) => {
    const value = resolveSteps(claims, steps)
    return Array.isArray(value) ? value.some(element => accepted.includes(element)) : accepted.includes(value)
  }
}
