/** Compiles policies and a card once into the tables that a request uses. One result per agent and protocol version. */
import { DataValidator } from '#jsonschema/bytes/data-validator.js'
import type { Program } from '#jsonschema/bytes/program.js'
import { claimedUris } from './identity.js'
import { idle, isPlain } from '../request/activation.js'
import type { AgentPolicy, CompiledPolicy } from './compiled.js'
import { compileGuards } from '../access/guard.js'
import { compilePush } from '../push/check.js'
import { pauseName } from '../request/pause.js'
import { compileOwnership } from '../access/ownership.js'
import { PolicyCollector } from './policy-collector.js'
import type { CompileOptions } from './policy-collector.js'

/** The member of a part that holds its data, in every version and binding. */
const DATA = 'data'
/** Schemas that data is checked against before its rule names the schema. */
const MAX_PROGRAMS = 16

/** The programs of the schemas for the data of parts. */
function programsOf (policies: readonly CompiledPolicy[]): readonly Program[] {
  const rules = policies.flatMap(({ rules, responses }) => [...rules, ...responses?.rules ?? []])
  const entries = rules.filter(({ select }) => select.selectsData === true).flatMap(({ schema }) => schema?.entries ?? [])
  const programs = new Set<Program>()
  for (const entry of entries.slice(0, MAX_PROGRAMS)) if (entry.usable && entry.program !== null) programs.add(entry.program)
  return [...programs]
}

/** @returns null when no rule has `pause` */
function pausesOf (policies: readonly CompiledPolicy[]): AgentPolicy['pauses'] {
  const pauses = policies.flatMap(policy => policy.rules.flatMap(rule => {
    const { pause } = rule
    return pause === null || rule.mode !== 'enforce' ? [] : [[pauseName(policy.name, rule.id), { policy, rule, pause }] as const]
  }))
  return pauses.length === 0 ? null : new Map(pauses)
}

export function compileAgentPolicy (options: CompileOptions): AgentPolicy {
  const { agent, card } = options
  const all = new PolicyCollector(options)
  const claimed = claimedUris(agent.policies.map(({ policy }) => policy))
  for (const resolved of agent.policies) all.add(resolved, claimed)
  all.requireRest()
  const { declared, required, injected, hidden, labels, names, methods, routes, policies, untagged, noted, echoes, responses } = all

  const additions = [...methods.values(), ...routes.values()].flat()
  const push = compilePush(agent.push, agent.mode)
  const ownership = compileOwnership(agent.access.tasks, schema => {
    const matches = all.callerMatcher(schema)
    return shape => matches(shape) === true
  })
  const guards = compileGuards({ agent, card, declared, policies, known: all.known, contextOf: (name, uris) => all.selectFor(name, uris) })
  const enforces = [...required, ...policies, ...additions, ...guards, ...(push === null ? [] : [push])].some(use => use.mode === 'enforce')
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
    seen: options.seen ?? null,
    names,
    methods,
    routes,
    policies,
    guards,
    idle: policies.every(policy => isPlain(policy.activation)) ? idle(policies) : null,
    untagged,
    push,
    ownership,
    claims: policies.some(policy => policy.rules.some(rule => rule.unique !== null)),
    asks: policies.some(policy => policy.rules.some(rule => rule.external !== null)),
    pauses: pausesOf(policies),
    edits:
      guards.some(guard => guard.strips || guard.data.some(({ strips }) => strips)) ||
      policies.some(policy => policy.inject.length > 0 || policy.activation.inactive === 'strip' || policy.rules.some(rule => rule.strips !== null)),
    responses,
    reads: responses !== 'off' && (labels.size > 0 || policies.some(policy => policy.responses !== null)),
    remembers:
      all.remembers ||
      policies.some(
        policy =>
          policy.state !== null || policy.correlations.length > 0 || policy.responses?.metrics.some(metric => metric.type === 'counter') === true
      ),
    evaluates: all.remembers || echoes.size > 0 || policies.some(policy => policy.responses?.silent === false),
    noted,
    echoes,
    keepsVerbatim: policies.some(policy => policy.verbatim),
    validator: new DataValidator(DATA, () => programsOf(policies)),
    unusable: all.unusable,
    warnings: all.warnings
  }
}
