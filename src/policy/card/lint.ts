/** Compares cards and policies, and reports what one declares and the other does not know. */
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import type { CardFinding } from '#a2a/card/lint.js'
import { lintCard, lintTwins, MAX_QUOTED_CHARS, unknownRootKeys } from '#a2a/card/lint.js'
import { quoted } from '#a2a/fields.js'
import type { Version } from '#a2a/versions.js'
import type { PolicyConfig } from '#config/model/model.js'
import { nearest } from '#wire/nearest.js'
import { claimedUris, identitiesOf } from '../compile/identity.js'
import { lintNamedSchemas, templatesOf } from './schema-names.js'

export interface LintOptions {
  readonly cards: Readonly<Record<Version, AgentCard>>
  /** Policies in force for the agent, by name. */
  readonly inForce: Readonly<Record<string, PolicyConfig>>
  /** Policies in force by default, without an operator's choice. An undeclared extension of such a policy is not reported. */
  readonly byDefault: readonly string[]
  /** Policies that the agent's list leaves out of the default: `loweredRequirements` reports those. */
  readonly leftOut?: readonly string[]
  /** All policies that could be in force: those of the file and of the catalogue. */
  readonly known: Readonly<Record<string, PolicyConfig>>
}

/** Reports facts about an agent's cards that an operator should know before the cards meet traffic. */
export function lintCards (options: LintOptions): CardFinding[] {
  const { cards, inForce, byDefault } = options
  const variants = [...new Map([cards['1.0'], cards['0.3']].map(card => [card.raw, card])).values()]
  const declared = new Map(variants.flatMap(card => card.extensions).toReversed().map(extension => [extension.uri, extension]))
  const required = new Set(variants.flatMap(card => card.extensions).filter(extension => extension.required).map(({ uri }) => uri))
  const claimed = claimedUris(Object.values(inForce))
  return unique([
    ...variants.flatMap(lintCard),
    ...lintTwins(cards),
    ...variants.flatMap(card => lintRootKeys(card, Object.values(inForce))),
    ...Object.entries(inForce).flatMap(([name, policy]) => byDefault.includes(name) ? [] : lintUndeclared(name, policy, declared, claimed)),
    ...[...declared.values()].flatMap(extension => lintExtension(extension, required.has(extension.uri), options)),
    ...[...new Set([...Object.values(inForce), ...idlePolicies(declared, options)])].flatMap(policy => lintNamedSchemas(policy, variants))
  ])
}

/** The search for "did you mean" compares the URIs of a card in full, up to this length. */
const LONGEST_URI = 300

function lintUndeclared (
  name: string,
  policy: PolicyConfig,
  declared: ReadonlyMap<string, CardExtension>,
  claimed: ReadonlySet<string>
): CardFinding[] {
  const identities = identitiesOf(policy, declared, claimed)
  if (policy.uriPattern !== undefined) {
    return identities.length > 0
      ? []
      : [
          {
            message: `policy ${quoted(name, MAX_QUOTED_CHARS)} applies to ${quoted(policy.uriPattern, MAX_QUOTED_CHARS)}, and the card ` +
              'declares no such extension',
            hint: all(declared)
          }
        ]
  }
  return identities.filter(({ extension }) => extension === null).map(({ uri, satisfying }) => {
    const alias = satisfying.find(other => declared.has(other))
    const near = nearest(uri, [...declared.keys()], LONGEST_URI)
    return {
      message: `policy ${quoted(name, MAX_QUOTED_CHARS)} applies to ${quoted(uri, MAX_QUOTED_CHARS)}, which the card does not declare`,
      hint: alias !== undefined
        ? `it declares ${quoted(alias, MAX_QUOTED_CHARS)}, an alias that satisfies the requirement; another policy applies to the alias`
        : near === null ? all(declared) : `did you mean ${quoted(near, MAX_QUOTED_CHARS)}? If both are the same, name it in aliases`
    }
  })
}

/** Finds the policy of an extension: a policy that is for the extension itself, or else one with an alias that the extension satisfies. */
export function policyFor (
  extension: CardExtension,
  policies: Readonly<Record<string, PolicyConfig>>
): [name: string, policy: PolicyConfig] | undefined {
  const declared = new Map([[extension.uri, extension]])
  const declaredPolicies = Object.entries(policies).filter(([, policy]) => identitiesOf(
    policy, declared
  ).some(identity => identity.extension !== null))
  return declaredPolicies.find(([, policy]) => policy.uriPattern !== undefined ||
    claimedUris([policy]).has(extension.uri)) ?? declaredPolicies[0]
}

function all (declared: ReadonlyMap<string, CardExtension>): string {
  return declared.size === 0
    ? 'it declares none'
    : `it declares ${[...declared.keys()]
        .slice(0, 10)
        .map(uri => quoted(uri, MAX_QUOTED_CHARS))
        .join(', ')}`
}

function lintExtension (extension: CardExtension, required: boolean, { inForce, known: table, leftOut = [] }: LintOptions): CardFinding[] {
  const { uri, pointer } = extension
  const mine = policyFor(extension, inForce)
  const [name, policy] = mine ?? policyFor(extension, table) ?? []
  if (name === undefined || policy === undefined) {
    return !required
      ? []
      : [{
          message: `${pointer} requires ${quoted(uri, MAX_QUOTED_CHARS)}, and no policy is for it: the gateway rejects clients that do ` +
            'not request it, and validates no data of it',
          hint: 'write a policy for its data; if it only adds data to the card, write required: false in the card'
        }]
  }
  const findings: CardFinding[] = []
  if (mine === undefined && !leftOut.includes(name)) {
    findings.push({
      message: `${pointer} declares ${quoted(uri, MAX_QUOTED_CHARS)}; the agent does not use the policy ` +
        `${quoted(name, MAX_QUOTED_CHARS)} for it`,
      hint: 'name it in extensions of the agent'
    })
  }
  const asksNothing = isDataOnly(policy)
  const excused = mine !== undefined && (policy.activation?.required === 'never' || policy.mode === 'off')
  if (required && asksNothing && !excused) {
    findings.push({
      message: `${pointer} requires ${quoted(uri, MAX_QUOTED_CHARS)}, which only adds data to the card: the gateway rejects clients that ` +
        'do not request it, without a benefit',
      hint:
        policy.activation?.required === 'never'
          ? `add the policy ${quoted(name, MAX_QUOTED_CHARS)} to extensions of the agent`
          : 'activation.required: never in its policy, or required: false in the card'
    })
  }
  return findings
}

/** Policies for extensions of the card that are not in force. Names of schemas mean the same without them. */
function idlePolicies (declared: ReadonlyMap<string, CardExtension>, { inForce, known: table }: LintOptions): PolicyConfig[] {
  return [...declared.values()]
    .filter(extension => policyFor(extension, inForce) === undefined)
    .flatMap(extension => policyFor(extension, table)?.[1] ?? [])
}

/** True for a policy that requires nothing of clients. */
function isDataOnly ({ request = [], methods, owns, activation }: PolicyConfig): boolean {
  return (
    activation?.required === 'never' ||
    (request.length === 0 && methods === undefined && owns === undefined && activation?.signals === undefined)
  )
}

function lintRootKeys (card: AgentCard, policies: readonly PolicyConfig[]): CardFinding[] {
  const places = policies.flatMap(policy => templatesOf(policy, card))
  return unknownRootKeys(card).map(key => {
    const used = places.filter(({ templates }) => templates.some(template => template.startsWith(`/${key}/`)))
    const instead = used.flatMap(({ templates }) => templates.filter(template => template.startsWith('/capabilities/extensions/')))[0]
    const better =
      instead?.replace(/\/\{[^}]*\}.*$/, '') ?? `params of its extension: /capabilities/extensions/${card.extensions[0]?.index ?? 0}/params`
    return {
      message: `the key ${quoted(key, MAX_QUOTED_CHARS)} at the root of the card is not a field of AgentCard: typed parsers drop it`,
      hint: `it could be in ${better}`
    }
  })
}

function unique (findings: readonly CardFinding[]): CardFinding[] {
  return [...new Map(findings.map(finding => [finding.message, finding])).values()]
}
