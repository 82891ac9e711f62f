/** Checks the agent's own card against policies: the params of each declared extension, and the card as a whole. */
import type { AgentCard } from '#a2a/card/card.js'
import { memberPath } from '#a2a/fields.js'
import type { AgentConfig, CardChecksConfig } from '#config/model/model.js'
import { claimedUris, identitiesOf, modeOf } from '../compile/identity.js'
import type { SchemaCache } from '../compile/schema-source.js'
import { compileSource } from '../compile/schema-source.js'
import { parsePointer } from '#wire/json/pointer.js'

export interface CardFinding {
  /** Name of the policy. */
  readonly policy: string
  readonly rule: 'card-params' | 'card-schema'
  readonly mode: 'enforce' | 'observe'
  /** True when the gateway must not use the card. */
  readonly rejects: boolean
  /** One sentence. */
  readonly message: string
}

/** Maximum violations of one schema in a message. */
const MAX_LISTED_VIOLATIONS = 3

/**
 * Checks the cards of an agent.
 * @param cards of the agent, each once. `params` are checked in every card that declares the extension. One card that satisfies `schema` is
 *   enough, because SDKs drop root keys from the card of the other version
 */
export function checkCards (agent: AgentConfig, cards: readonly AgentCard[], cache: SchemaCache): CardFinding[] {
  const findings: CardFinding[] = []
  const claimed = claimedUris(agent.policies.map(({ policy }) => policy))
  for (const { name, policy } of agent.policies) {
    const mode = modeOf(agent.mode, policy)
    if (policy.card === undefined || mode === 'off') continue
    const checks = policy.card
    const add = (rule: CardFinding['rule'], uri: string, problems: readonly string[]): void => {
      const rest = problems.length - MAX_LISTED_VIOLATIONS
      const message = `policy "${name}" (${uri}): in the card, ` +
        `${problems.slice(0, MAX_LISTED_VIOLATIONS).join('; ')}${rest > 0 ? `; ${rest} more` : ''}`
      if (!findings.some(finding => finding.message === message)) {
        findings.push({ policy: name, rule, mode, rejects: checks.onInvalid === 'refuse' && mode === 'enforce', message })
      }
    }
    const declaring = cards.flatMap(card =>
      identitiesOf(policy, new Map(card.extensions.map(extension => [extension.uri, extension])), claimed).flatMap(({ extension, also }) =>
        (extension === null ? [] : [extension, ...also]).map(cardExtension => ({ card, uri: cardExtension.uri, extension: cardExtension }))
      )
    )
    for (const { uri, extension } of declaring) {
      const problems = validate(checks.params, extension.params ?? {}, `${pathOf(extension.pointer)}.params`, cache)
      if (problems.length > 0) add('card-params', uri, problems)
    }
    const [first] = declaring
    if (first === undefined) continue
    const results = cards.map(card => validate(checks.schema, card.raw, '', cache))
    const [best] = results.toSorted((a, b) => a.length - b.length)
    if (best !== undefined && best.length > 0) add('card-schema', first.uri, best)
  }
  return findings
}

function validate (schema: CardChecksConfig['schema'], value: unknown, path: string, cache: SchemaCache): string[] {
  if (schema === undefined) return []
  const entry = compileSource(schema, { cards: [], cache, report: () => {} }).find(new Map())?.entry
  if (entry === undefined) return []
  if (!entry.usable) return [`cannot be validated: ${entry.pointer}: ${entry.message}`]
  return (entry.schema.validate(value) ?? []).map(problem => {
    const place = `${path}${problem.path}`.replace(/^\./, '')
    return `${place === '' ? 'the root' : place} ${problem.message}`
  })
}

/** Writes `/capabilities/extensions/0` as a readable path. */
function pathOf (pointer: string): string {
  return parsePointer(pointer).reduce((path, step) => /^\d+$/.test(step) ? `${path}[${step}]` : memberPath(path, step), '')
}
