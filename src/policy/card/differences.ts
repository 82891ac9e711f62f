/** The differences between an agreed card and another card of the agent, and what they do to enforcement. */
import { isDeepStrictEqual } from 'node:util'
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import { lastingPart } from '#a2a/card/digest.js'
import { placeInterfaces, TRANSPORT_KEYS, V03_LISTS, V1_LISTS } from '#a2a/card/interfaces.js'
import { MAX_QUOTED_CHARS } from '#a2a/card/lint.js'
import type { CardDifference, CardEffect } from '#a2a/card/loaded-cards.js'
import { readSecurity, REQUIREMENT_KEYS, SCHEME_KEYS } from '#a2a/card/security.js'
import { quoted, visible } from '#a2a/fields.js'
import type { AgentConfig, PolicyConfig } from '#config/model/model.js'
import { compareSchemas } from '#jsonschema/compare.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { escapePointer } from '#wire/json/pointer.js'
import { claimedUris, identitiesOf, requirementMode } from '../compile/identity.js'

/** The policies of an agent. Null: the configuration of the agent is not known. */
type Policies = Pick<AgentConfig, 'policies' | 'mode' | 'access'> | null

const ORDER: readonly CardEffect[] = ['lowers', 'opens', 'raises', 'neutral']
/** Differences inside of one schema that a sentence names. */
const NAMED = 3

/** Members with a comparison of their own. */
const COMPARED: ReadonlySet<string> = new Set([
  'capabilities', 'extensions', 'schemas', 'skills', 'url', ...V1_LISTS, ...V03_LISTS, ...TRANSPORT_KEYS, ...SCHEME_KEYS, ...REQUIREMENT_KEYS,
  'supportsAuthenticatedExtendedCard', 'supports_authenticated_extended_card'
])

/**
 * Returns the differences, those that lower enforcement first. Freshness fields do not count.
 * @param agent for what the differences do to its policies
 */
export function cardDifferences (old: AgentCard, now: AgentCard, agent: Policies): CardDifference[] {
  const [before, after] = [lastingPart(old.raw), lastingPart(now.raw)]
  const differences = [
    ...extensionDifferences(old, now, agent),
    ...schemaDifferences(before['schemas'], after['schemas'], agent),
    ...interfaceDifferences(before, after),
    ...securityDifferences(before, after, agent),
    ...skillDifferences(before, after),
    ...capabilityDifferences(old, now),
    ...otherDifferences(before, after, agent)
  ]
  return differences.toSorted((a, b) => ORDER.indexOf(a.effect) - ORDER.indexOf(b.effect))
}

function difference (kind: string, effect: CardEffect, path: string, message: string): CardDifference {
  return { kind, effect, path, message }
}

function extensionDifferences (old: AgentCard, now: AgentCard, agent: Policies): CardDifference[] {
  const [before, after] = [byUri(old), byUri(now)]
  const gone = [...before.values()].filter(({ uri }) => !after.has(uri)).map(({ uri, required, pointer }) => {
    const name = quoted(uri, MAX_QUOTED_CHARS)
    if (required) return lost(uri, pointer, `the card no longer declares ${name}, which it required`, { agent, declared: before })
    const policies = policiesFor(uri, agent, before)
    return policies.length === 0
      ? difference('extension-removed', 'neutral', pointer, `the card no longer declares ${name}`)
      : difference('extension-removed', 'lowers', pointer, `the card no longer declares ${name}, which ${listed(policies)} checks`)
  })
  const others = [...after.values()].flatMap(({ uri, required, pointer, params }): CardDifference[] => {
    const name = quoted(uri, MAX_QUOTED_CHARS)
    const was = before.get(uri)
    if (was === undefined) {
      return [difference(
        'extension-added', required ? 'raises' : 'opens', pointer, `the card declares ${name}${required ? ', and requires it' : ''}`
      )]
    }
    const ofParams = paramDifferences(uri, [was.params, params], pointer, { agent, declared: after })
    if (was.required === required) return ofParams
    return [
      required
        ? difference('requirement-added', 'raises', pointer, `the card now requires ${name}`)
        : lost(uri, pointer, `the card no longer requires ${name}`, { agent, declared: before }),
      ...ofParams
    ]
  })
  return [...gone, ...others]
}

interface Known { readonly agent: Policies, readonly declared: ReadonlyMap<string, CardExtension> }

/** A requirement that the card lost. `activation.required: always` and `never` decide without the card. */
function lost (uri: string, path: string, message: string, { agent, declared }: Known): CardDifference {
  const policies = policiesFor(uri, agent, declared)
  const keeping = policies.find(policy =>
    agent !== null && policy.policy.activation?.required === 'always' && requirementMode(agent.mode, policy) === 'enforce'
  )
  if (keeping !== undefined) {
    return difference('requirement-lost', 'neutral', path, `${message}; policy ${keeping.name} requires it (activation.required: always)`)
  }
  if (policies.length > 0 && policies.every(({ policy }) => policy.activation?.required === 'never')) {
    return difference('requirement-lost', 'neutral', path, `${message}; the configuration does not require it (activation.required: never)`)
  }
  return difference('requirement-lost', 'lowers', path, `${message}: the gateway would forward requests without it`)
}

function paramDifferences (
  uri: string,
  [old, now]: readonly [unknown, unknown],
  pointer: string,
  { agent, declared }: Known
): CardDifference[] {
  if (isDeepStrictEqual(old, now)) return []
  const reading = policiesFor(uri, agent, declared).filter(({ policy }) => readsCard(policy, pointer => pointer.includes('{self}')))
  const name = quoted(uri, MAX_QUOTED_CHARS)
  return [
    reading.length === 0
      ? difference('params-changed', 'neutral', `${pointer}/params`, `the parameters of ${name} have changed`)
      : difference(
        'params-changed', 'lowers', `${pointer}/params`, `the parameters of ${name} have changed: rules of ${listed(reading)} read them`
      )
  ]
}

function schemaDifferences (old: unknown, now: unknown, agent: Policies): CardDifference[] {
  if (isDeepStrictEqual(old, now)) return []
  const reading = (agent?.policies ?? []).filter(({ policy }) => readsCard(policy, pointer => pointer.startsWith('/schemas')))
  const by = reading.length === 0 ? '' : `, which ${listed(reading)} checks`
  const [before, after] = [isObject(old) ? old : {}, isObject(now) ? now : {}]
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name): CardDifference[] => {
    const path = `/schemas/${escapePointer(name)}`
    const shown = quoted(name, MAX_QUOTED_CHARS)
    if (!Object.hasOwn(before, name)) return [difference('schema-added', 'opens', path, `the schema ${shown} is new`)]
    if (!Object.hasOwn(after, name)) {
      return [
        difference('schema-removed', 'raises', path, `the schema ${shown} is gone${by}: the gateway rejects data that names it`)
      ]
    }
    if (isDeepStrictEqual(before[name], after[name])) return []
    const differences = compareSchemas(before[name], after[name])
    const looser = differences.filter(({ kind }) => kind !== 'tightened')
    const details = (looser.length > 0
      ? looser
      : differences).slice(0, NAMED).map(schemaDifference => `${visible(schemaDifference.path, MAX_QUOTED_CHARS)} ${schemaDifference.message}`).join('; ')
    if (looser.length > 0) return [difference('schema-loosened', 'lowers', path, `the schema ${shown} accepts more${by}: ${details}`)]
    if (differences.length > 0) return [difference('schema-tightened', 'raises', path, `the schema ${shown} accepts less: ${details}`)]
    return [difference('schema-text', 'neutral', path, `texts of the schema ${shown} have changed`)]
  })
}

function interfaceDifferences (old: JsonObject, now: JsonObject): CardDifference[] {
  const [before, after] = [addressesOf(old), addressesOf(now)]
  const added = [...after].filter(([key]) => !before.has(key)).map(([key, path]) => difference(
    'address-added', 'opens', path, `the card names a new address: ${visible(key, MAX_QUOTED_CHARS)}`
  ))
  const gone = [...before].filter(([key]) => !after.has(key)).map(([key, path]) => difference(
    'address-removed', 'neutral', path, `the card no longer names the address ${visible(key, MAX_QUOTED_CHARS)}`
  ))
  if (added.length + gone.length > 0 || isDeepStrictEqual([...before.keys()], [...after.keys()])) return [...added, ...gone]
  return [difference('address-order', 'neutral', '/supportedInterfaces', 'the addresses have another order of preference')]
}

/** Binding, version, URL and tenant of each interface, with its place. */
function addressesOf (raw: JsonObject): Map<string, string> {
  return new Map(placeInterfaces(raw).map(({ list, index, read, grpc, uncarried }) => {
    const path = list === null ? '/url' : `/${list}/${index}`
    const [binding, version, url, tenant] = read !== null
      ? [read.binding, read.unknownMinor ?? read.version, read.text, read.tenant]
      : grpc !== null
        ? [
            'GRPC', grpc.unknownMinor ?? grpc.version, grpc.text, grpc.tenant
          ]
        : [uncarried?.binding, uncarried?.version, uncarried?.url, null]
    return [[binding, version, url, tenant].filter(part => part !== null && part !== undefined && part !== '').join(' '), path]
  }))
}

function securityDifferences (old: JsonObject, now: JsonObject, agent: Policies): CardDifference[] {
  const [before, after] = [readSecurity(old), readSecurity(now)]
  const isEnforced = agent?.access.require === 'card'
  const effect: CardEffect = isEnforced ? 'lowers' : 'neutral'
  const note = isEnforced ? '' : ' (the gateway enforces access.require instead)'
  const key = SCHEME_KEYS.find(name => Object.hasOwn(now, name)) ?? SCHEME_KEYS[0] as string
  const schemes = [...new Set([...before.schemes.keys(), ...after.schemes.keys()])].flatMap((name): CardDifference[] => {
    const [a, b] = [before.schemes.get(name), after.schemes.get(name)]
    const path = `/${key}/${escapePointer(name)}`
    if (a === undefined) {
      return [
        difference('security-added', 'neutral', path, `the security scheme ${quoted(name, MAX_QUOTED_CHARS)} is new`)
      ]
    }
    if (b === undefined) {
      return [
        difference('security-removed', effect, path, `the security scheme ${quoted(name, MAX_QUOTED_CHARS)} is gone${note}`)
      ]
    }
    return isDeepStrictEqual(a, b)
      ? []
      : [difference('security-changed', effect, path, `the security scheme ${quoted(name, MAX_QUOTED_CHARS)} has changed${note}`)]
  })
  const texts = ({ alternatives }: ReturnType<typeof readSecurity>): string[] => alternatives?.map(names => names.join(' and ')) ?? []
  const [were, are] = [texts(before), texts(after)]
  const path = `/${REQUIREMENT_KEYS.find(name => Object.hasOwn(now, name)) ?? REQUIREMENT_KEYS[0] as string}`
  if (before.alternatives !== null && before.alternatives.length > 0 && are.length === 0) {
    return [...schemes, difference('security-lost', effect, path, `the card no longer requires credentials${note}`)]
  }
  const requirements = [
    ...are.filter(way => !were.includes(way) && were.length > 0).map(way =>
      difference(
        'security-alternative', effect, path,
        `the card accepts ${way === '' ? 'callers without credentials' : visible(way, MAX_QUOTED_CHARS)} as another way in${note}`
      )),
    ...were.filter(way => !are.includes(way)).map(way =>
      difference(
        'security-alternative', 'raises', path,
        `the card no longer accepts ${way === '' ? 'callers without credentials' : visible(way, MAX_QUOTED_CHARS)}`
      )),
    ...(were.length === 0 && are.length > 0 ? [difference('security-required', 'raises', path, 'the card now requires credentials')] : [])
  ]
  return [...schemes, ...requirements]
}

function skillDifferences (old: JsonObject, now: JsonObject): CardDifference[] {
  const [before, after] = [skillsOf(old), skillsOf(now)]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((id): CardDifference[] => {
    const [a, b] = [before.get(id), after.get(id)]
    const name = quoted(id, MAX_QUOTED_CHARS)
    if (a === undefined) return [difference('skill-added', 'opens', b?.path ?? '', `the skill ${name} is new`)]
    if (b === undefined) return [difference('skill-removed', 'neutral', a.path, `the skill ${name} is gone`)]
    if (isDeepStrictEqual(a.skill, b.skill)) return []
    const members = changedKeys(a.skill, b.skill)
    const opens = members.some(key => /^(?:input|output)_?modes$/i.test(key))
    const security = members.some(key => REQUIREMENT_KEYS.includes(key))
    return [difference(
      'skill-changed',
      opens ? 'opens' : 'neutral',
      b.path,
      `the skill ${name} has other ${members.map(key => visible(key, MAX_QUOTED_CHARS)).join(', ')}${security
? ': the agent asks for ' +
        'other credentials'
: ''}`
    )]
  })
}

function skillsOf ({ skills }: JsonObject): Map<string, { readonly path: string, readonly skill: JsonObject }> {
  const list: unknown[] = Array.isArray(skills) ? skills : []
  return new Map(list.flatMap((skill, i) => {
    if (!isObject(skill)) return []
    const id = typeof skill['id'] === 'string' ? skill['id'] : `number ${i + 1}`
    return [[id, { path: `/skills/${i}`, skill }]]
  }))
}

function capabilityDifferences (old: AgentCard, now: AgentCard): CardDifference[] {
  const flags = [
    ['/capabilities/streaming', old.streaming, now.streaming],
    ['/capabilities/pushNotifications', old.pushNotifications, now.pushNotifications],
    ['/capabilities/extendedAgentCard', old.extendedCard, now.extendedCard]
  ] as const
  return flags.filter(([, before, after]) => before !== after).map(([path, , after]) =>
    difference(
      'capability', after ? 'opens' : 'neutral', path,
      `the agent ${after ? 'offers' : 'no longer offers'} ${path.slice('/capabilities/'.length)}`
    )
  )
}

/** Members without a comparison of their own. A rule may read any of them. */
function otherDifferences (old: JsonObject, now: JsonObject, agent: Policies): CardDifference[] {
  return changedKeys(old, now).filter(key => !COMPARED.has(key)).map(key => {
    const path = `/${escapePointer(key)}`
    const what = !Object.hasOwn(old, key) ? 'is new' : Object.hasOwn(now, key) ? 'has changed' : 'is gone'
    const reading = (agent?.policies ?? []).filter(({ policy }) => readsCard(
      policy, pointer => pointer === path || pointer.startsWith(`${path}/`)
    ))
    if (reading.length > 0) {
      return difference(
        'member', 'lowers', path, `${quoted(key, MAX_QUOTED_CHARS)} ${what}: rules of ${listed(reading)} read it`
      )
    }
    return difference('member', /modes$/i.test(key) ? 'opens' : 'neutral', path, `${quoted(key, MAX_QUOTED_CHARS)} ${what}`)
  })
}

function changedKeys (old: JsonObject, now: JsonObject): string[] {
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(key => !isDeepStrictEqual(old[key], now[key]))
}

type ResolvedPolicies = NonNullable<Policies>['policies']

function policiesFor (uri: string, agent: Policies, declared: Known['declared']): ResolvedPolicies {
  const policies = agent?.policies ?? []
  const claimed = claimedUris(policies.map(({ policy }) => policy))
  return policies.filter(({ policy }) =>
    identitiesOf(policy, declared, claimed).some(({ same, also }) => same.includes(uri) || also.some(extension => extension.uri === uri))
  )
}

/** True if a rule of the policy reads a place of the card (`fromCard`, `enumFromCard`). */
function readsCard (policy: PolicyConfig, isPlace: (pointer: string) => boolean): boolean {
  const search = (value: unknown): boolean => {
    if (Array.isArray(value)) return value.some(search)
    if (!isObject(value)) return false
    return Object.entries(value).some(([key, member]) => {
      if (key !== 'fromCard' && key !== 'enumFromCard') return search(member)
      return (Array.isArray(member) ? member : [member]).some(pointer => typeof pointer === 'string' && isPlace(pointer))
    })
  }
  return search(policy)
}

function byUri ({ extensions }: AgentCard): Map<string, CardExtension> {
  return new Map(extensions.map(extension => [extension.uri, extension]))
}

function listed (policies: ResolvedPolicies): string {
  return `policy ${policies.slice(0, NAMED).map(({ name }) => name).join(', ')}${policies.length > NAMED ? ' and others' : ''}`
}
