/** `check --live`: loads the current cards of the agents and compares them with the configuration. */
import { GRPC_OFF, OnlyGrpc } from '#a2a/grpc/card-map.js'
import type { CardFinding } from '#a2a/card/lint.js'
import { quoted, visible } from '#a2a/fields.js'
import { buildAgentState, schemasToCompile, UNSIGNED } from '#pipeline/agent-snapshot.js'
import type { AgentState, AgentStateOptions } from '#pipeline/agent-snapshot.js'
import { diagnostic } from '#config/diagnostics.js'
import type { Diagnostic } from '#config/diagnostics.js'
import { loadCatalogue } from '#config/load.js'
import type { AgentConfig, Config, PolicyConfig } from '#config/model/model.js'
import { DEFAULT_POLICIES } from '#config/schema/schema.js'
import { callerSources, covers } from '#identity/schemes.js'
import { cardCompiler, readySchemas } from '#agents/card/compiler.js'
import { lintCards } from '#policy/card/lint.js'
import { loweredRequirements, loweringModes } from '#policy/card/lowered.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { CARDS_AT_ONCE, loadCardsOnce } from '#agents/card/card-once.js'
import type { TlsFiles } from '#upstream/tls.js'
import { readTlsFiles } from '#upstream/tls.js'
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import { isObject, own } from '#wire/json/object.js'
import { readSecurity } from '#a2a/card/security.js'
import type { CardSecurity } from '#a2a/card/security.js'
import { schemeText } from '#identity/requirement.js'
import type { CallerSource } from '#identity/schemes.js'
import { proposedSources } from './init/proposed-identity.js'
import { lintTexts } from '#a2a/card/texts.js'
import { inParallel } from '#wire/in-parallel.js'

export interface Look {
  /** Findings in the order of the agents. */
  readonly findings: readonly Diagnostic[]
  /** True when every agent has a card that the gateway can use. */
  readonly usable: boolean
}

/** Largest length of a sentence that quotes a card, in characters. */
const MAX_SENTENCE_CHARS = 1_000
/** Largest number of findings per agent. A card may have any number of faults. */
const MAX_FINDINGS = 50

const UNSIGNED_HINT = 'clients that verify signatures need card.signature: verbatim, and an agent that knows its public address'

/** A card on disk needs no connection, and so no files for TLS. */
const NO_FILES: TlsFiles = { ca: null, cert: null, key: null, fingerprint: '' }

export interface CardFilesLook {
  /** What the configuration lowers although the card files declare it. */
  readonly findings: readonly Diagnostic[]
  /** What the configuration would lower if a card that was not read declares it. One sentence each. */
  readonly notes: readonly string[]
}

/** Compares the configuration with the cards of `card.file`, without a connection. Never rejects. */
export async function lookAtCardFiles (config: Config, env: NodeJS.ProcessEnv): Promise<CardFilesLook> {
  const looks = await Promise.all(config.agents.map(async (agent): Promise<CardFilesLook> => {
    const { name, card } = agent
    const modes = loweringModes(agent, DEFAULT_POLICIES)
    if (modes.length === 0) return { findings: [], notes: [] }
    const local = { ...agent, card: { ...card, extended: null } }
    const loaded = card.file === null ? null : await loadCardsOnce(local, config.limits, NO_FILES, env)
    if (loaded === null || !loaded.ok) {
      const note = `check did not read the card of agent "${name}". Run check --live to see whether these settings lower what the card ` +
        `declares: ${modes.join(', ')}`
      return { findings: [], notes: [note] }
    }
    const { origin, byVersion } = loaded.cards
    return {
      findings: loweredRequirements(agent, [...new Set([byVersion['1.0'].card, byVersion['0.3'].card])]).map(finding =>
        diagnostic(`agent ${name}: card ${origin}`, 0, 0, finding)
      ),
      notes: []
    }
  }))
  return { findings: looks.flatMap(({ findings }) => findings), notes: looks.flatMap(({ notes }) => notes) }
}

/** Loads the cards of every agent. Never rejects. */
export async function lookAtAgents (config: Config, env: NodeJS.ProcessEnv): Promise<Look> {
  const looks = await inParallel(config.agents, CARDS_AT_ONCE, agent => lookAt(agent, config, env))
  return { findings: looks.flatMap(look => look.findings), usable: looks.every(look => look.usable) }
}

async function lookAt (agent: AgentConfig, config: Config, env: NodeJS.ProcessEnv): Promise<Look> {
  const unusable = (message: string, hint: string): Look => ({
    findings: [diagnostic(`agent ${agent.name}`, 0, 0, { message, hint, code: 'A2AGW_ERR_CARD' })],
    usable: false
  })
  try {
    const loaded = await loadCardsOnce(agent, config.limits, readTlsFiles(agent.upstream.tls), env)
    if (!loaded.ok) return unusable(`card ${loaded.problem}`, 'set card.url or card.file to the location of the card')
    const { cards } = loaded
    const sources = config.identity === null ? null : callerSources(config.identity)
    const policies: Readonly<Record<string, PolicyConfig>> = { ...loadCatalogue(), ...config.extensions }
    let state: AgentState
    try {
      const options: AgentStateOptions = {
        agent,
        maxExtensions: config.limits.extensions,
        previous: null,
        secretOf: SECRET_HIDDEN,
        sources
      }
      // Compiles the schemas within the limits of a gateway and in a thread, as the gateway does.
      const ready = await readySchemas(await cardCompiler.write(schemasToCompile(cards, options)))
      state = buildAgentState(cards, { ...options, ready })
    } catch (error) {
      const hint = error instanceof OnlyGrpc
        ? 'set server.grpc.listen: the gateway would reject every call with 501'
        : 'the gateway would reject every call'
      return unusable(`card ${cards.origin}: ${(error as Error).message}`, hint)
    }
    const ofConfiguration = [...securityFindings(state, agent, sources), ...credentialFindings(agent, config, cards)]
    const all = [...oddities(state), ...ofConfiguration, ...textFindings(cards), ...lintCards({
      cards: { 0.3: cards.byVersion['0.3'].card, '1.0': cards.byVersion['1.0'].card },
      inForce: Object.fromEntries(agent.policies.map(({ name, policy }) => [name, policy])),
      byDefault: agent.extensions.join() === DEFAULT_POLICIES.join() ? DEFAULT_POLICIES : [],
      leftOut: agent.leftOut.map(({ name }) => name),
      known: policies
    })]
    const shown =
      all.length <= MAX_FINDINGS
        ? all
        : [...all.slice(0, MAX_FINDINGS), { message: `${all.length - MAX_FINDINGS} more warnings not shown`, hint: 'fix these first' }]
    return {
      findings: shown.map(({ message, hint }) =>
        diagnostic(`agent ${agent.name}: card ${cards.origin}`, 0, 0, { message: `warning: ${message}`, hint })
      ),
      usable: true
    }
  } catch (error) {
    return unusable(`upstream.tls: ${(error as Error).message}`, 'the files of upstream.tls changed while they were read')
  }
}

/** Suspicious texts of the cards, each once. */
function textFindings ({ byVersion, extended = null }: LoadedCards): CardFinding[] {
  const raws = new Set([byVersion['1.0'].card.raw, byVersion['0.3'].card.raw, ...(extended === null ? [] : [extended.raw])])
  const unsafeTexts = [...raws].flatMap(lintTexts).map(({ message, hint }) => ({ message: visible(message, MAX_SENTENCE_CHARS), hint }))
  return [...new Map(unsafeTexts.map(unsafeText => [unsafeText.message, unsafeText])).values()]
}

/**
 * Returns the warnings about a card that the gateway logs. Omits the warnings about policies and security schemes, because the comparison
 * reports them with hints.
 */
function oddities (state: AgentState): CardFinding[] {
  const lowered = state.lowered.map(({ message, hint }) => `${message} (${hint})`)
  const elsewhere = [...state.policy['0.3'].warnings, ...state.policy['1.0'].warnings, ...state.security.warnings, ...lowered]
  return [
    ...state.lowered,
    ...[...state.cardWarnings, ...state.warnings.filter(message => !elsewhere.includes(message))]
      .map(message => ({ message: visible(message, MAX_SENTENCE_CHARS), hint: hintFor(message) }))
  ]
}

function hintFor (message: string): string {
  if (message === UNSIGNED) return UNSIGNED_HINT
  if (message.endsWith(GRPC_OFF)) return 'set server.grpc.listen, or close this port of the agent: calls to it bypass the gateway'
  if (message.startsWith('GRPC ') && message.includes('agents[].grpc.upstream')) return 'set grpc.upstream of the agent'
  return message.startsWith('schema at /schemas/') ? 'fix the card, or replace the schema with card.schemas' : 'fix the card'
}

// `check --live`: compares what a card asks of callers with the credentials that the agent gets.

/** Warns of an agent that gets no credentials, although its card asks for some. */
function credentialFindings ({ upstream: { credentials } }: AgentConfig, { identity }: Config, cards: LoadedCards): CardFinding[] {
  const none = identity !== null && credentials.client === 'strip' && credentials.send.length === 0
  if (!none || !Object.values(cards.byVersion).some(({ value }) => asksForCredentials(value))) return []
  return [{
    message: 'the card asks for credentials, but the gateway removes those of callers and sends none itself',
    hint: 'set upstream.credentials.send, or upstream.credentials.client: forward'
  }]
}

/** True when no alternative of the card's root lets a caller in without credentials. */
function asksForCredentials (card: unknown): boolean {
  if (!isObject(card)) return false
  const lists = [
    'securityRequirements', 'security_requirements', 'security'
  ].map(name => own(card, name)).filter(list => Array.isArray(list))
  return lists.some(list => list.length > 0 && list.every((entry: unknown) => isObject(entry) && Object.keys(schemesOf(entry)).length > 0))
}

/** 1.0 has `{"schemes": {name: {"list": […]}}}`, 0.3 `{name: […]}`. */
function schemesOf (requirement: Readonly<Record<string, unknown>>): object {
  const schemes = own(requirement, 'schemes')
  return isObject(schemes) ? schemes : requirement
}

// `check --live`: compares the security schemes of an agent's cards with the sources of `identity`.

/** Maximum number of names in one sentence, and of characters of one name. */
const NAMES = 10
const MAX_NAME_CHARS = 100

/** @param sources null without `identity` */
function securityFindings (
  { loaded, security }: AgentState,
  agent: AgentConfig,
  sources: readonly CallerSource[] | null
): CardFinding[] {
  const { byVersion } = loaded
  const cards = [...new Set([byVersion['1.0'].card.raw, byVersion['0.3'].card.raw])].map(readSecurity)
  if (sources === null) return withoutIdentity(cards)
  const proposal = proposalOf(proposedSources(cards, scheme => !sources.some(source => covers(source, scheme))))
  const skills = [...new Set(cards.flatMap(card => card.skills))]
  const byCard = agent.access.require === 'card'
  return [
    ...security.warnings.map(message => ({ message, hint: proposal ?? 'compare the card with identity.sources, or write access.require' })),
    ...(byCard && security.requirement?.anonymous === true
      ? [{
          message: 'access.require: card: the card accepts callers without credentials',
          hint: 'write access.require as a list if that is not intended'
        }]
      : []),
    ...(byCard && cards.some(({ scopes }) => scopes)
      ? [{
          message: 'access.require: card: the card requires scopes, which this key does not enforce',
          hint: 'name the scopes in ' +
            'access.allow'
        }]
      : []),
    ...(skills.length === 0
      ? []
      : [{
          message: `the skills ${listed(skills.map(id => quoted(id, MAX_NAME_CHARS)))} have separate security requirements, which are ` +
            'not enforced: a request names no skill',
          hint: 'give skills with other callers a separate agent'
        }])
  ]
}

function withoutIdentity (cards: readonly CardSecurity[]): CardFinding[] {
  const schemes = [...new Set(cards.flatMap(card => [...card.schemes].map(([name, scheme]) => schemeText(name, scheme))))]
  const proposal = proposalOf(proposedSources(cards))
  if (schemes.length === 0 || proposal === null) return []
  return [{ message: `the gateway does not verify the credentials of the card's security schemes: ${listed(schemes)}`, hint: proposal }]
}

function proposalOf (sources: ReturnType<typeof proposedSources>): string | null {
  if (sources.length === 0) return null
  return `to verify callers here, adapt: identity: {sources: {${sources.map(({ name, yaml }) => `${name}: ${yaml}`).join(', ')}}}`
}

function listed (names: readonly string[]): string {
  return names.length > NAMES ? `${names.slice(0, NAMES).join(', ')} and ${names.length - NAMES} more` : names.join(', ')
}
