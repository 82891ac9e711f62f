/** Compiles policies and a card once into the tables that a request uses. One result per agent and protocol version. */
import type { AgentCard } from '../../a2a/card/card.js'
import type { SeenNames } from '../../a2a/card/seen-names.js'
import { unquotedModes } from '../../a2a/card/modes.js'
import { routeKey } from '../../a2a/extension-routes.js'
import type { AgentConfig, InjectionConfig, InlineSchema, MethodConfig, PolicyConfig, ResolvedPolicy, SchemaRef } from '../../config/model/model.js'
import type { Identity } from './identity.js'
import { claimedUris, identitiesOf, modeOf, ExtensionAliases, spellingsOf } from './identity.js'
import { isOffered } from '../request/methods.js'
import type { CardToSearch, SchemaCache, SourceContext, UnusableSchema } from './schema-source.js'
import { compileMatcher, compileSource, reportTo } from './schema-source.js'
import { compileActivation, idle, isPlain } from '../request/activation.js'
import { compileResponseSide, isSilent, notedRules } from './response-rules.js'
import { compileRule, supplyOf } from './rule.js'
import type { AgentPolicy, CompiledAddition, CompiledPolicy, DataClaim, RequiredExtension } from './compiled.js'
import type { SelectContext } from '../selectors/kit.js'
import { compileGuards } from '../access/guard.js'
import { compileInjection } from '../request/inject.js'
import { compilePush } from '../push/check.js'
import { compileOwnership } from '../access/ownership.js'
import { dataClaim } from '../request/untagged.js'

export interface CompileOptions {
  readonly agent: AgentConfig
  readonly maxExtensions: number
  readonly card: AgentCard
  /**
   * The agent's card in its other version. Schemas are searched in `card` first, then here, because the JavaScript SDK's 0.3 card drops
   * unknown root keys.
   */
  readonly otherCard: AgentCard | null
  readonly cache: SchemaCache
  /** Names in extended cards that callers got. Default: none. */
  readonly seen?: SeenNames | null
  /** Returns an injected secret as JSON text. */
  readonly secretOf: (injection: InjectionConfig) => string
}

export function compileAgentPolicy (options: CompileOptions): AgentPolicy {
  const { agent, card } = options
  const declared = new Map(card.extensions.map(extension => [extension.uri, extension]))
  const labels = new Map<string, string>()
  for (const uri of declared.keys()) labels.set(uri, uri)
  const required: RequiredExtension[] = []
  const injected: string[] = []
  const hidden = new Set<string>()
  const policies: CompiledPolicy[] = []
  const unusable: UnusableSchema[] = []
  const warnings: string[] = []
  const methods = new Map<string, readonly CompiledAddition[]>()
  const routes = new Map<string, readonly CompiledAddition[]>()
  const untagged: DataClaim[] | null = agent.untaggedData === 'reject' ? [] : null
  const spoken = new Set<string>()
  let remembers = false
  const names = new ExtensionAliases()
  const noted = new Set<string>()
  const echoes = new Map<string, 'verify' | 'synthesize'>()
  const responses = agent.mode === 'off' ? 'off' : agent.responses
  const known = { ...agent.dependencies, ...Object.fromEntries(agent.policies.map(({ name, policy }) => [name, policy])) }
  /** Several policies may name the same URI. The URI is required once, in the strictest mode. */
  const require = (extension: RequiredExtension): void => {
    const at = required.findIndex(known => known.uri === extension.uri)
    if (at < 0) required.push(extension)
    else if (extension.mode === 'enforce') required[at] = extension
  }

  const modes = unquotedModes(options.otherCard === null ? [card.raw] : [card.raw, options.otherCard.raw])
  const report = reportTo(unusable)
  const seen = options.seen ?? null
  /** For conditions on other extensions: the URIs under which an extension may be active, by each of its URIs. */
  const activeUris = new Map<string, readonly string[]>()
  const sourceOf = (uris: readonly string[]): SourceContext =>
    ({ cards: cardsToSearch(uris, card, options.otherCard), cache: options.cache, report, seen })
  const selectFor = (name: string, uris: readonly string[]): SelectContext => ({
    uris,
    policy: name,
    matcher: schema => compileMatcher(schema, sourceOf(uris)),
    activeAs: uri => activeUris.get(uri) ?? [uri],
    modes
  })
  const take = ({ name, policy, from }: ResolvedPolicy, identity: Identity): void => {
    const { uri, same, also, extension } = identity
    const activators = also.length === 0 ? same : [...same, ...also.map(one => one.uri)]
    const mode = modeOf(agent.mode, policy)
    for (const known of activators) {
      labels.set(known, name)
      spoken.add(known)
    }
    for (const known of urisOf(policy)) if (!labels.has(known)) labels.set(known, name)
    names.add(identity, declared)
    for (const known of new Set([...spellingsOf(policy), ...same])) {
      activeUris.set(known, [...(activeUris.get(known) ?? []), ...activators])
    }
    const context = sourceOf(activators)
    const add = (
      added: Map<string, readonly CompiledAddition[]>,
      { kind, name: shown }: Pick<CompiledAddition, 'kind' | 'name'>,
      key: string,
      need: MethodConfig['need'],
      schema: InlineSchema | SchemaRef | undefined
    ): void => {
      if (!isOffered(need, extension !== null)) return
      const one = {
        kind,
        name: shown,
        policy: name,
        uri,
        mode,
        needsActive: (need ?? 'active') === 'active',
        schema: schema === undefined ? null : compileSource(schema, context)
      }
      added.set(key, [...(added.get(key) ?? []), one])
    }
    // An agent with mode `off` is still routed, but nothing is evaluated.
    if (policy.mode !== 'off') {
      for (const { verb, path, base, need, body } of policy.routes ?? []) {
        add(routes, { kind: 'route', name: `${verb} ${path}` }, routeKey(verb, path, base), need, body)
      }
    }
    if (mode === 'off') return
    const demand = policy.activation?.required ?? 'card'
    const byCard = same.some(spelling => declared.get(spelling)?.required === true)
    // The catalogue only observes its own rules. The card's requirement was enforced before the catalogue listed the policy, and stays
    // enforced.
    const demanded = demand === 'card' && from.mode === 'catalogue' ? agent.mode : mode
    const scope = policy.activation?.scope === undefined ? {} : { scope: policy.activation.scope }
    if (demand === 'always' || (demand === 'card' && byCard)) {
      require({ uri, label: name, mode: demanded, ...scope })
    }
    for (const one of also) if (demand !== 'never' && one.required) require({ uri: one.uri, label: name, mode: demanded, ...scope })
    if (policy.activation?.default === 'inject') {
      if (!injected.includes(uri)) injected.push(uri)
      if (policy.activation.expose !== true) hidden.add(uri)
    }
    for (const [method, { need, params }] of Object.entries(policy.methods ?? {})) {
      add(methods, { kind: 'method', name: method }, method, need, params)
    }
    if (policy.echo !== undefined && policy.echo !== 'passthrough' && mode === 'enforce' && responses === 'enforce') {
      for (const spelling of activators) echoes.set(spelling, policy.echo)
    }
    if (extension === null) {
      if (policy.activation !== undefined) warnings.push(`policy "${name}": the card does not declare ${uri}, so its rules do not run`)
      return
    }
    if (
      (policy.request ?? []).length === 0 &&
      policy.owns === undefined &&
      policy.methods === undefined &&
      policy.routes === undefined &&
      policy.activation?.signals === undefined &&
      policy.activation?.requires === undefined &&
      policy.inject === undefined &&
      policy.integrity !== 'verbatim' &&
      (responses === 'off' || isSilent(policy))
    ) { return }
    const select = selectFor(name, activators)
    const activation = compileActivation(policy, select, known, card)
    for (const needed of activation.requires) {
      if (!labels.has(needed.uri)) labels.set(needed.uri, needed.name)
      if (activation.addsMissing && !needed.exposed) hidden.add(needed.uri)
    }
    const inject = (policy.inject ?? []).map(config => compileInjection(config, select, options.secretOf))
    const asked = responses === 'off' ? NOTHING_NOTED : notedRules(policy)
    for (const id of asked) noted.add(`${name}/${id}`)
    const rules = (policy.request ?? []).map(rule =>
      compileRule(rule, mode, select, source => compileSource(source, context), {
        supply: supplyOf(rule, policy.inject ?? [], inject),
        noted: asked.has(rule.id)
      })
    )
    if (responses !== 'off') {
      remembers ||= (policy.request ?? []).some(({ when, unless }) => when?.taskState !== undefined || unless?.taskState !== undefined)
    }
    policies.push({
      name,
      uri,
      same,
      activators,
      mode,
      activation,
      rules,
      inject,
      verbatim: policy.integrity === 'verbatim',
      ...compileResponseSide(policy, mode, responses, select, source => compileSource(source, context))
    })
    const claim = untagged === null ? null : dataClaim(policy, uri, rules, select)
    if (claim !== null) untagged?.push(claim)
  }

  const claimed = claimedUris(agent.policies.map(({ policy }) => policy))
  for (const resolved of agent.policies) {
    const { name, policy } = resolved
    const identities = identitiesOf(policy, declared, claimed)
    for (const identity of identities) take(resolved, identity)
    if (identities.length === 0) {
      warnings.push(`policy "${name}": the card declares no extension that matches ${policy.uriPattern ?? 'it'}, so its rules do not run`)
    }
  }
  if (agent.mode !== 'off') {
    for (const extension of card.extensions) {
      if (extension.required && !spoken.has(extension.uri)) require({ uri: extension.uri, label: extension.uri, mode: agent.mode })
    }
  }
  const additions = [...methods.values(), ...routes.values()].flat()
  const push = compilePush(agent.push, agent.mode)
  const ownership = compileOwnership(agent.access.tasks, schema => {
    const matches = compileMatcher(schema, { cards: [], cache: options.cache, report, seen: null })
    return shape => matches(shape) === true
  })
  const guards = compileGuards({ agent, card, declared, policies, known, contextOf: selectFor })
  const enforces = [...required, ...policies, ...additions, ...guards, ...(push === null ? [] : [push])].some(one => one.mode === 'enforce')
  return {
    mode: agent.mode,
    readMode: enforces || ownership !== null ? 'enforce' : agent.mode,
    enforceOn: agent.enforceOn,
    unlisted: agent.unlistedExtensions,
    unknownMethods: agent.unknownMethods,
    maxExtensions: options.maxExtensions,
    declared: [...declared.keys()],
    required,
    injected,
    hidden,
    labels,
    seen,
    names,
    methods,
    routes,
    policies,
    guards,
    idle: policies.every(one => isPlain(one.activation)) ? idle(policies) : null,
    untagged,
    push,
    ownership,
    claims: policies.some(one => one.rules.some(rule => rule.unique !== null)),
    edits:
      guards.some(one => one.strips || one.data.some(({ strips }) => strips)) ||
      policies.some(one => one.inject.length > 0 || one.activation.inactive === 'strip' || one.rules.some(rule => rule.strips !== null)),
    responses,
    reads: responses !== 'off' && (labels.size > 0 || policies.some(one => one.responses !== null)),
    remembers:
      remembers ||
      policies.some(
        one =>
          one.state !== null || one.correlations.length > 0 || one.responses?.metrics.some(metric => metric.type === 'counter') === true
      ),
    evaluates: remembers || echoes.size > 0 || policies.some(one => one.responses?.silent === false),
    noted,
    echoes,
    keepsVerbatim: policies.some(one => one.verbatim),
    unusable,
    warnings
  }
}

const NOTHING_NOTED: ReadonlySet<string> = new Set()

/** Every URI that a policy names. */
function urisOf ({ uri, aliases = [] }: PolicyConfig): string[] {
  return [...(uri === undefined ? [] : [uri]), ...aliases.map(alias => alias.uri)]
}

function cardsToSearch (uris: readonly string[], card: AgentCard, other: AgentCard | null): CardToSearch[] {
  const cards = other === null || other.raw === card.raw ? [card] : [card, other]
  return cards.map(one => ({ raw: one.raw, self: one.extensions.find(extension => uris.includes(extension.uri))?.index ?? -1 }))
}
