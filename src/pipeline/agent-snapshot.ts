/**
 * The snapshot that requests to one agent use: routes, policies, served cards. The gateway builds it when cards load, replaces it as a
 * whole and never changes it.
 */
import type { AgentCard, CardInterface } from '#a2a/card/card.js'
import { readCard } from '#a2a/card/card.js'
import type { CardAdditions, CardChange } from '#a2a/card/additions.js'
import { replacedByAdditions, withAdditions } from '#a2a/card/additions.js'
import type { MappedInterface } from '#a2a/card/map.js'
import { interfacePath, mapInterfaces } from '#a2a/card/map.js'
import type { GrpcInterface } from '#a2a/grpc/card-interface.js'
import { grpcLabel, mapGrpc, OnlyGrpc } from '#a2a/grpc/card-map.js'
import type { PathScope } from '#a2a/card/path-scope.js'
import type { CardRewrite } from '#a2a/card/rewrite.js'
import { changesOf, isSigned } from '#a2a/card/rewrite.js'
import type { CardSigner } from '#a2a/card/served-card.js'
import { ExtendedCardNames } from '#a2a/card/extended-card-names.js'
import { schemasThatDiffer, unionCard } from '#a2a/card/union.js'
import type { ExtensionRoute } from '#a2a/extension-routes.js'
import { routeOfKey } from '#a2a/extension-routes.js'
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import { Router } from '#a2a/route.js'
import type { Version } from '#a2a/versions.js'
import { VERSIONS } from '#a2a/versions.js'
import type { AgentConfig, InjectionConfig } from '#config/model/model.js'
import type { SchemaToWrite } from '#jsonschema/code.js'
import type { CallerSource } from '#identity/schemes.js'
import { accessOf } from './access/access.js'
import type { AgentSecurity } from './access/agent-security.js'
import { securityOf } from './access/agent-security.js'
import { grpcScopeOf, scopeOf } from './scope.js'
import type { Access } from '#policy/access/access.js'
import type { ServedCards } from './card/served-cards.js'
import { servedCards } from './card/served-cards.js'
import type { CardFinding } from '#policy/card/checks.js'
import { checkCards } from '#policy/card/checks.js'
import { loweredRequirements } from '#policy/card/lowered.js'
import { requirementsOf } from '#policy/card/requirements.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { compileAgentPolicy } from '#policy/compile/agent-policy.js'
import type { KnownSchema } from '#policy/compile/schema-source.js'
import type { JsonObject } from '#wire/json/object.js'
import type { ExternalPlan } from './external/plan.js'
import { externalPlanOf } from './external/plan.js'
import { SchemaCache, SchemaCollector } from '#policy/compile/schema-source.js'

export interface AgentState extends Omit<ServedCards, 'warnings'> {
  readonly loaded: LoadedCards
  readonly router: Router
  /** The interfaces that the gateway serves: those at paths, then those of gRPC. */
  readonly interfaces: readonly MappedInterface[]
  /** Names in extended cards that callers got. Null when the gateway loads the extended card itself. */
  readonly seen: ExtendedCardNames | null
  /** Treatment of requests for later minor versions of 1. */
  readonly unknownMinor: 'carry' | 'reject'
  /** Treatment of member names that hide others from agents on V8 13.6. */
  readonly backslashNames: 'forward' | 'reject'
  /** Null: everybody may do everything. */
  readonly access: Access | null
  /** Null: no policy server decides about calls. */
  readonly external: ExternalPlan | null
  readonly policy: Readonly<Record<Version, AgentPolicy>>
  /** Differences between the agent's cards and the served cards, besides URLs and interfaces. */
  readonly changes: readonly CardChange[]
  /** Time at which the gateway first served these bytes, for `Last-Modified`. */
  readonly since: Date
  readonly rewrite: CardRewrite
  readonly security: AgentSecurity
  /** Unusual findings about the cards themselves. The card source has logged them. */
  readonly cardWarnings: readonly string[]
  /** Parts of the cards that the gateway cannot route or use. */
  readonly warnings: readonly string[]
  /** Findings of policies about the cards. `warnings` contains their messages. */
  readonly findings: readonly CardFinding[]
  /** What the configuration lowers although the cards declare it. `warnings` contains the messages with their hints. */
  readonly lowered: ReturnType<typeof loweredRequirements>
  readonly cache: SchemaCache
}

/** The warning about a signed card. */
export const UNSIGNED = 'the card is signed, and the served card is not: the changed URLs make the signatures invalid'

/** A policy does not allow the card to be used. */
export class CardRejected extends Error {
  readonly findings: readonly CardFinding[]

  constructor (findings: readonly CardFinding[]) {
    super(findings.filter(finding => finding.rejects).map(finding => finding.message).join('; '))
    this.findings = findings
  }
}

export interface AgentStateOptions {
  readonly agent: AgentConfig
  readonly maxExtensions: number
  readonly previous: AgentState | null
  /** Returns the JSON text of a secret that a policy injects. */
  readonly secretOf: (injection: InjectionConfig) => string
  /** Sources of callers; absent without `identity`. */
  readonly sources?: readonly CallerSource[] | null | undefined
  /** Schemas of the card that were compiled before, by key. Without it, all schemas are compiled immediately. */
  readonly ready?: ReadonlyMap<string, KnownSchema> | undefined
  /** Signs the served cards, with `card.signature: resign`. */
  readonly signer?: CardSigner | null
}

/**
 * Maximum cost (`costOf`) of the schemas of a card that the gateway compiles between two requests: about 30 ms. A thread compiles the
 * schemas of a card that costs more. Most cards cost less and start no thread.
 */
export const COMPILED_HERE = 100

/**
 * Returns the schemas, by key, that a snapshot of these cards would compile. Faults of the cards are ignored here; `buildAgentState`
 * reports them.
 * @param options the options of the snapshot to build
 */
export function schemasToCompile (loaded: LoadedCards, options: AgentStateOptions): ReadonlyMap<string, SchemaToWrite> {
  const collector = new SchemaCollector({ previous: options.previous?.cache, formats: options.agent.jsonSchema.formats })
  try {
    const cards = amendedCards(loaded, additionsOf(options.agent))
    checkCards(options.agent, [...new Set([cards['1.0'], cards['0.3']])], collector)
    policiesOf(cards, options, collector, null)
  } catch {
    return new Map()
  }
  return collector.found
}

/**
 * Builds the snapshot of an agent from its cards.
 * @throws Error in plain words when the cards cannot be used
 */
export function buildAgentState (loaded: LoadedCards, options: AgentStateOptions): AgentState {
  // Destructured on purpose. A closure that outlives this call and refers to `options` would keep the previous snapshot, and with it the
  // one before.
  const { agent, previous, ready, sources = null, signer } = options
  const scope = scopeOf(agent)
  const grpc = grpcScopeOf(agent)
  const additions = additionsOf(agent)
  const documents = loaded.byVersion
  const security = securityOf([documents['1.0'].card.raw, documents['0.3'].card.raw], agent, sources)
  const cards = amendedCards(loaded, additions)
  const carries = (entry: { readonly unknownMinor?: string }): boolean =>
    agent.protocol.unknownMinor === 'carry' || entry.unknownMinor === undefined
  const listed = [...cards['1.0'].interfaces, ...cards['0.3'].interfaces]
  const grpcListed = distinctGrpc([...cards['1.0'].grpc, ...cards['0.3'].grpc])
  const { mapped, conflicts } = mapInterfaces(distinct(listed.filter(carries)), scope)
  const mappedGrpc = mapGrpc(grpcListed.filter(carries), grpc, conflicts).filter(mappedGrpcInterface => mappedGrpcInterface !== null)
  conflicts.push(
    ...listed
      .filter(cardInterface => !carries(cardInterface))
      .map(cardInterface =>
        `${cardInterface.binding} ${cardInterface.unknownMinor ?? ''} ${cardInterface.url.origin}${cardInterface.url.pathname} is not ` +
          'served: protocol.unknownMinor is reject'),
    ...grpcListed.filter(grpcInterface => !carries(grpcInterface)).map(grpcInterface => `${grpcLabel(grpcInterface)} is not served: ` +
      'protocol.unknownMinor is reject')
  )
  const interfaces = [...mapped, ...mappedGrpc]
  if (interfaces.length === 0) {
    throw listed.length === 0 ? new OnlyGrpc(conflicts) : new Error(`no interface of the card can be routed: ${conflicts.join('; ')}`)
  }
  const routed = new Set(interfaces.map(routeKey))
  const rewrite: CardRewrite = {
    scope,
    grpc,
    signature: agent.card.signature === 'verbatim' ? 'verbatim' : 'strip',
    routed: mappedInterface => carries(mappedInterface) && routed.has(routeKey(mappedInterface)),
    additions,
    security: security.offered,
    texts: agent.card.texts
  }
  const cache = new SchemaCache({
    previous: previous?.cache,
    ready,
    formats: agent.jsonSchema.formats,
    here: ready === undefined ? undefined : COMPILED_HERE
  })
  const findings = checkCards(agent, [...new Set([cards['1.0'], cards['0.3']])], cache)
  if (findings.some(finding => finding.rejects)) throw new CardRejected(findings)
  const { warnings: cardProblems, ...served } = servedCards({
    agent,
    documents,
    rewrite,
    additions,
    signer,
    matcher: schema => {
      const compiled = cache.compile(schema)
      if (!compiled.ok) throw new Error(`card.views: a schema of match cannot be used: ${compiled.problem.message}`)
      return caller => compiled.schema.matches(caller) === true
    }
  })
  const extendedCardNames = agent.card.extended === null ? previous?.seen ?? new ExtendedCardNames() : null
  const policy = policiesOf(cards, options, cache, extendedCardNames)
  const uncarried = [cards['1.0'], cards['0.3']].flatMap(card => uncarriedPaths(card, mapped, scope))
  const lowered = loweredRequirements(agent, [...new Set([cards['1.0'], cards['0.3']])])
  const router = new Router(mapped, cards['0.3'].legacyExtendedCard, extensionRoutes(mapped, policy), { scope, uncarried })
  return {
    loaded,
    router,
    interfaces,
    seen: extendedCardNames,
    unknownMinor: agent.protocol.unknownMinor,
    backslashNames: agent.protocol.backslashNames,
    access: accessOf(agent),
    external: externalPlanOf(agent),
    policy,
    ...served,
    changes: distinctChanges([documents['1.0'], documents['0.3']].flatMap(({ card }) => changesOf(card.raw, rewrite))),
    since: new Date(loaded.fetchedAt),
    rewrite,
    security,
    cardWarnings: unique([...cards['1.0'].warnings, ...cards['0.3'].warnings]),
    findings,
    lowered,
    warnings: unique([
      ...lowered.map(({ message, hint }) => `${message} (${hint})`),
      ...conflicts,
      ...cardProblems,
      ...router.shadowed.map(
        route => `${namesOf(route, policy)}: the route ${route} is never reached: the card has an operation at its path`
      ),
      ...unservedRoutes(mapped, policy),
      ...[documents['1.0'], documents['0.3']].flatMap(({ card }) => replacedByAdditions(card.raw, additions)),
      ...(agent.card.signature === 'strip' && [documents['1.0'], documents['0.3']].some(({ card }) => isSigned(card.raw))
        ? [UNSIGNED]
        : []),
      ...extendedWarnings(loaded, agent),
      ...security.warnings,
      ...findings.map(finding => finding.message),
      ...policy['1.0'].warnings,
      ...policy['0.3'].warnings,
      ...[...policy['1.0'].unusable, ...policy['0.3'].unusable].map(
        problem => `schema at ${problem.pointer} cannot be used: ${problem.message}; data that names it is rejected`
      )
    ]),
    cache
  }
}

/**
 * Paths of interfaces that the gateway does not route, as the most lenient agent reads them. No `passthrough` prefix may forward calls to
 * these paths without inspection.
 */
function uncarriedPaths (card: AgentCard, mapped: readonly MappedInterface[], scope: PathScope): string[] {
  const carried = new Set(mapped.map(mappedInterface => mappedInterface.url))
  const written = [
    ...card.uncarried.map(uncarriedInterface => uncarriedInterface.path),
    ...card.interfaces.filter(cardInterface => !carried.has(cardInterface.text)).map(cardInterface => cardInterface.url.pathname)
  ]
  return written.filter(path => path !== null).map(path => interfacePath(path, scope.base)).filter(path => path !== null)
}

/** Routes that policies add, in the versions that the agent supports. Routes below the agent come first: they win at the same path. */
function extensionRoutes (interfaces: readonly MappedInterface[], policies: Readonly<Record<Version, AgentPolicy>>): ExtensionRoute[] {
  const routes = VERSIONS.filter(version => interfaces.some(mappedInterface => mappedInterface.version === version)).flatMap(version =>
    [...policies[version].routes.keys()].map(key => ({ key, version, ...routeOfKey(key) }))
  )
  const ofAgent = routes.filter(route => route.base === 'agent').map(({ verb, path, version }) => ({ verb, path, versions: [version] }))
  const ofInterfaces = routes.filter(route => route.base === 'interface').flatMap(({ key, verb, path, version }) =>
    interfaces.filter(mappedInterface => mappedInterface.binding === 'HTTP+JSON' && mappedInterface.version === version).map(({ publicPath, upstreamPath }) => ({
      verb,
      path: publicPath + path,
      versions: [version],
      key,
      below: { publicPath, upstreamPath: upstreamPath === '/' ? '' : upstreamPath }
    }))
  )
  return [...ofAgent, ...ofInterfaces]
}

/** One warning for each route below HTTP+JSON interfaces, if the cards have no such interface. */
function unservedRoutes (interfaces: readonly MappedInterface[], policies: Readonly<Record<Version, AgentPolicy>>): string[] {
  if (interfaces.some(mappedInterface => mappedInterface.binding === 'HTTP+JSON')) return []
  return unique(VERSIONS.flatMap(version => [...policies[version].routes.keys()]))
    .filter(key => routeOfKey(key).base === 'interface')
    .map(key => `${namesOf(key, policies)}: the route ${key} is never reached: the card has no HTTP+JSON interface`)
}

function namesOf (route: string, policies: Readonly<Record<Version, AgentPolicy>>): string {
  const names = VERSIONS.flatMap(version => policies[version].routes.get(route) ?? []).map(addition => addition.policy)
  return unique(names).map(name => `policy "${name}"`).join(', ')
}

function policiesOf (
  cards: Readonly<Record<Version, AgentCard>>,
  { agent, maxExtensions, secretOf }: AgentStateOptions,
  cache: SchemaCache,
  extendedCardNames: ExtendedCardNames | null
): Record<Version, AgentPolicy> {
  const policyOf = (version: Version): AgentPolicy =>
    compileAgentPolicy({
      agent,
      maxExtensions,
      card: cardFor(version, cards),
      otherCard: otherCard(version, cards),
      cache,
      secretOf,
      seen: extendedCardNames
    })
  return { 0.3: policyOf('0.3'), '1.0': policyOf('1.0') }
}

function additionsOf (agent: AgentConfig): CardAdditions {
  const { advertise, schemas } = agent.card
  return { advertise, schemas, requirements: requirementsOf(agent) }
}

function extendedWarnings ({ byVersion, extended = null }: LoadedCards, agent: AgentConfig): string[] {
  if (agent.card.extended === null) return []
  if (extended === null) return ['card.extended has no effect: the card does not say that the agent has an extended card']
  return [byVersion['1.0'], byVersion['0.3']].flatMap(({ card }) => schemasThatDiffer(card.raw, extended.raw))
}

function distinctChanges (changes: readonly CardChange[]): CardChange[] {
  return [...new Map(changes.map(change => [`${change.part} ${change.change} ${change.name}`, change])).values()]
}

function amendedCards ({ byVersion, extended = null }: LoadedCards, additions: CardAdditions): Record<Version, AgentCard> {
  const more = extended?.raw ?? null
  const plain = amended(byVersion['0.3'].card, more, additions)
  return { 0.3: plain, '1.0': byVersion['1.0'] === byVersion['0.3'] ? plain : amended(byVersion['1.0'].card, more, additions) }
}

/** The card as clients see it, with the extended card if the gateway has it. The gateway validates requests against this card. */
function amended (card: AgentCard, extended: JsonObject | null, additions: CardAdditions): AgentCard {
  const raw = withAdditions(extended === null ? card.raw : unionCard(card.raw, extended), additions)
  if (raw === card.raw) return card
  const read = readCard(raw)
  if (!read.ok) {
    throw new Error(
    `with the ${extended === null ? '' : 'extended card and the '}additions of the configuration, ${read.problem}`
    )
  }
  return read.card
}

/** Card of a version: the card that was fetched for this version, unless only the other card lists an interface of the version. */
function cardFor (version: Version, cards: Readonly<Record<Version, AgentCard>>): AgentCard {
  const speaks = ({ interfaces, grpc }: AgentCard): boolean =>
    interfaces.some(cardInterface => cardInterface.version === version) || grpc.some(grpcInterface => grpcInterface.version === version)
  if (speaks(cards[version])) return cards[version]
  const other = VERSIONS.find(candidate => candidate !== version) as Version
  return speaks(cards[other]) ? cards[other] : cards[version]
}

function otherCard (version: Version, cards: Readonly<Record<Version, AgentCard>>): AgentCard | null {
  const used = cardFor(version, cards)
  return VERSIONS.map(version => cards[version]).find(card => card !== used) ?? null
}

function routeKey (mappedInterface: MappedInterface): string {
  return `${mappedInterface.binding} ${mappedInterface.version} ${mappedInterface.publicPath}`
}

/** Removes duplicates. The two variants of a card usually list the same interfaces. */
function distinct (interfaces: readonly CardInterface[]): CardInterface[] {
  return [...new Map(interfaces.map(cardInterface => [`${cardInterface.binding} ${cardInterface.version} ${cardInterface.url.href}`, cardInterface])).values()]
}

function distinctGrpc (interfaces: readonly GrpcInterface[]): GrpcInterface[] {
  return [...new Map(interfaces.map(grpcInterface => [`${grpcLabel(grpcInterface)} ${grpcInterface.text} ${grpcInterface.tenant ?? ''}`, grpcInterface])).values()]
}

function unique (texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
