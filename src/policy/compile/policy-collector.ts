/** Compiles the policies of an agent one by one, and collects everything that the agent's table needs from them. */
import { unquotedModes } from '#a2a/card/modes.js'
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import { routeKey } from '#a2a/extension-routes.js'
import type {
  AgentConfig, InjectionConfig, InlineSchema, MethodConfig, Mode, PolicyConfig, ResolvedPolicy, SchemaRef
} from '#config/model/model.js'
import { compileActivation } from '../request/activation.js'
import { compileInjection } from '../request/inject.js'
import { isOffered } from '../request/methods.js'
import { dataClaim } from '../request/untagged.js'
import type { SelectContext } from '../selectors/selection.js'
import type { AgentPolicy, CompiledAddition, CompiledPolicy, DataClaim, RequiredExtension } from './compiled.js'
import type { Identity } from './identity.js'
import { ExtensionAliases, identitiesOf, modeOf, requirementMode, spellingsOf } from './identity.js'
import { compileResponseSide, isSilent, notedRules } from './response-rules.js'
import { compileRule, supplyOf } from './rule.js'
import type { CardToSearch, SchemaCache, SourceContext, UnusableSchema } from './schema-source.js'
import { compileMatcher, compileSource, reportTo } from './schema-source.js'
import type { ExtendedCardNames } from '#a2a/card/extended-card-names.js'

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
  readonly seen?: ExtendedCardNames | null
  /** Returns an injected secret as JSON text. */
  readonly secretOf: (injection: InjectionConfig) => string
}

type Additions = Map<string, readonly CompiledAddition[]>

/** One policy under one of its identities. */
interface Taken extends Pick<ResolvedPolicy, 'name' | 'policy' | 'from'> {
  readonly identity: Identity
  /** URIs that activate the policy. */
  readonly activators: readonly string[]
  readonly mode: Mode
  readonly context: SourceContext
}

export class PolicyCollector {
  readonly declared: ReadonlyMap<string, CardExtension>
  readonly labels = new Map<string, string>()
  readonly required: RequiredExtension[] = []
  readonly injected: string[] = []
  readonly hidden = new Set<string>()
  readonly policies: CompiledPolicy[] = []
  readonly unusable: UnusableSchema[] = []
  readonly warnings: string[] = []
  readonly methods: Additions = new Map()
  readonly routes: Additions = new Map()
  readonly untagged: DataClaim[] | null
  readonly names = new ExtensionAliases()
  readonly noted = new Set<string>()
  readonly echoes = new Map<string, 'verify' | 'synthesize'>()
  readonly responses: AgentPolicy['responses']
  /** All policies that another one can require, by name. */
  readonly known: AgentConfig['dependencies']
  /** True when a rule for requests needs the remembered state of the task. */
  remembers = false
  private readonly options: CompileOptions
  /** URIs of the card that a policy is for. */
  private readonly spoken = new Set<string>()
  /** For conditions on other extensions: the URIs under which an extension may be active, by each of its URIs. */
  private readonly activeUris = new Map<string, readonly string[]>()
  private readonly modes: ReturnType<typeof unquotedModes>
  private readonly report: SourceContext['report']

  constructor (options: CompileOptions) {
    const { agent, card, otherCard } = options
    this.options = options
    this.declared = new Map(card.extensions.map(extension => [extension.uri, extension]))
    for (const uri of this.declared.keys()) this.labels.set(uri, uri)
    this.untagged = agent.untaggedData === 'reject' ? [] : null
    this.responses = agent.mode === 'off' ? 'off' : agent.responses
    this.known = { ...agent.dependencies, ...Object.fromEntries(agent.policies.map(({ name, policy }) => [name, policy])) }
    this.modes = unquotedModes(otherCard === null ? [card.raw] : [card.raw, otherCard.raw])
    this.report = reportTo(this.unusable)
  }

  /** Compiles a policy for each extension of the card that it is for. @param claimed URIs that policies name as their own */
  add (resolved: ResolvedPolicy, claimed: ReadonlySet<string>): void {
    const { name, policy } = resolved
    const identities = identitiesOf(policy, this.declared, claimed)
    for (const identity of identities) this.take(resolved, identity)
    if (identities.length === 0) {
      this.warnings.push(
        `policy "${name}": the card declares no extension that matches ${policy.uriPattern ?? 'it'}, so its rules do not run`
      )
    }
  }

  /** Requires the extensions that the card requires and no policy is for. */
  requireRest (): void {
    const { agent, card } = this.options
    if (agent.mode === 'off') return
    for (const { uri, required } of card.extensions) {
      if (required && !this.spoken.has(uri)) this.require({ uri, label: uri, mode: agent.mode })
    }
  }

  selectFor (name: string, uris: readonly string[]): SelectContext {
    return {
      uris,
      policy: name,
      matcher: schema => compileMatcher(schema, this.sourceOf(uris)),
      activeAs: uri => this.activeUris.get(uri) ?? [uri],
      modes: this.modes
    }
  }

  /** Compiles a schema for the shape of a caller. */
  callerMatcher (schema: InlineSchema): ReturnType<typeof compileMatcher> {
    return compileMatcher(schema, { cards: [], cache: this.options.cache, report: this.report, seen: null })
  }

  private sourceOf (uris: readonly string[]): SourceContext {
    const { card, otherCard, cache, seen: extendedCardNames = null } = this.options
    return { cards: cardsToSearch(uris, card, otherCard), cache, report: this.report, seen: extendedCardNames }
  }

  private take ({ name, policy, from }: ResolvedPolicy, identity: Identity): void {
    const { same, also, extension } = identity
    const activators = also.length === 0 ? same : [...same, ...also.map(cardExtension => cardExtension.uri)]
    const mode = modeOf(this.options.agent.mode, policy)
    const taken: Taken = { name, policy, from, identity, activators, mode, context: this.sourceOf(activators) }
    this.addNames(taken)
    // An agent with mode `off` is still routed, but nothing is evaluated.
    if (policy.mode !== 'off') this.addRoutes(taken)
    if (mode === 'off') return
    this.addRequirements(taken)
    if (policy.activation?.default === 'inject') this.addInjected(taken)
    for (const [method, { need, params }] of Object.entries(policy.methods ?? {})) {
      this.addAddition(this.methods, taken, { kind: 'method', name: method, key: method, need, schema: params })
    }
    if (policy.echo !== undefined && policy.echo !== 'passthrough' && mode === 'enforce' && this.responses === 'enforce') {
      for (const spelling of activators) this.echoes.set(spelling, policy.echo)
    }
    if (extension !== null) {
      if (!this.hasNoRules(policy)) this.addRules(taken)
    } else if (policy.activation !== undefined) {
      this.warnings.push(`policy "${name}": the card does not declare ${identity.uri}, so its rules do not run`)
    }
  }

  private addNames ({ name, policy, identity, activators }: Taken): void {
    const { labels, activeUris } = this
    for (const activator of activators) {
      labels.set(activator, name)
      this.spoken.add(activator)
    }
    for (const uri of urisOf(policy)) if (!labels.has(uri)) labels.set(uri, name)
    this.names.add(identity, this.declared)
    for (const uri of new Set([...spellingsOf(policy), ...identity.same])) {
      activeUris.set(uri, [...(activeUris.get(uri) ?? []), ...activators])
    }
  }

  private addRoutes (taken: Taken): void {
    for (const { verb, path, base, need, body } of taken.policy.routes ?? []) {
      this.addAddition(this.routes, taken, { kind: 'route', name: `${verb} ${path}`, key: routeKey(verb, path, base), need, schema: body })
    }
  }

  private addAddition (
    added: Additions,
    { name: policy, identity: { uri, extension }, mode, context }: Taken,
    { kind, name, key, need, schema }: Pick<CompiledAddition, 'kind' | 'name'> & {
      readonly key: string
      readonly need: MethodConfig['need']
      readonly schema: InlineSchema | SchemaRef | undefined
    }
  ): void {
    if (!isOffered(need, extension !== null)) return
    const addition = {
      kind,
      name,
      policy,
      uri,
      mode,
      needsActive: (need ?? 'active') === 'active',
      schema: schema === undefined ? null : compileSource(schema, context)
    }
    added.set(key, [...(added.get(key) ?? []), addition])
  }

  private addRequirements ({ name: label, policy, from, identity: { uri, same, also } }: Taken): void {
    const { activation } = policy
    const demand = activation?.required ?? 'card'
    const byCard = same.some(spelling => this.declared.get(spelling)?.required === true)
    const mode = requirementMode(this.options.agent.mode, { policy, from })
    const scope = activation?.scope === undefined ? {} : { scope: activation.scope }
    if (demand === 'always' || (demand !== 'never' && byCard)) this.require({ uri, label, mode, ...scope })
    if (demand === 'never') return
    for (const cardExtension of also) if (cardExtension.required) this.require({ uri: cardExtension.uri, label, mode, ...scope })
  }

  /** Several policies may name the same URI. The URI is required once, in the strictest mode. */
  private require (extension: RequiredExtension): void {
    const at = this.required.findIndex(requiredExtension => requiredExtension.uri === extension.uri)
    if (at < 0) this.required.push(extension)
    else if (extension.mode === 'enforce') this.required[at] = extension
  }

  private addInjected ({ policy, identity: { uri } }: Taken): void {
    if (!this.injected.includes(uri)) this.injected.push(uri)
    if (policy.activation?.expose !== true) this.hidden.add(uri)
  }

  private hasNoRules (policy: PolicyConfig): boolean {
    return (policy.request ?? []).length === 0 &&
      policy.owns === undefined &&
      policy.methods === undefined &&
      policy.routes === undefined &&
      policy.activation?.signals === undefined &&
      policy.activation?.requires === undefined &&
      policy.inject === undefined &&
      policy.integrity !== 'verbatim' &&
      (this.responses === 'off' || isSilent(policy))
  }

  private addRules ({ name, policy, identity: { uri, same }, activators, mode, context }: Taken): void {
    const { responses, untagged } = this
    const { card, secretOf } = this.options
    const select = this.selectFor(name, activators)
    const activation = compileActivation(policy, select, this.known, card)
    for (const needed of activation.requires) {
      if (!this.labels.has(needed.uri)) this.labels.set(needed.uri, needed.name)
      if (activation.addsMissing && !needed.exposed) this.hidden.add(needed.uri)
    }
    const inject = (policy.inject ?? []).map(config => compileInjection(config, select, secretOf))
    const asked = responses === 'off' ? NOTHING_NOTED : notedRules(policy)
    for (const id of asked) this.noted.add(`${name}/${id}`)
    const rules = (policy.request ?? []).map(rule =>
      compileRule(rule, mode, select, source => compileSource(source, context), {
        supply: supplyOf(rule, policy.inject ?? [], inject),
        noted: asked.has(rule.id)
      })
    )
    if (responses !== 'off') {
      this.remembers ||= (policy.request ?? []).some(({ when, unless }) => when?.taskState !== undefined || unless?.taskState !== undefined)
    }
    this.policies.push({
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
}

const NOTHING_NOTED: ReadonlySet<string> = new Set()

/** Every URI that a policy names. */
function urisOf ({ uri, aliases = [] }: PolicyConfig): string[] {
  return [...(uri === undefined ? [] : [uri]), ...aliases.map(alias => alias.uri)]
}

function cardsToSearch (uris: readonly string[], card: AgentCard, other: AgentCard | null): CardToSearch[] {
  const cards = other === null || other.raw === card.raw ? [card] : [card, other]
  return cards.map(card => ({ raw: card.raw, self: card.extensions.find(extension => uris.includes(extension.uri))?.index ?? -1 }))
}
