import { accessSync, constants, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { didYouMean, dotted, shown } from './diagnostics.js'
import type { Path, PathProblem } from './diagnostics.js'
import { parseHostPort, trustsEveryone } from './formats.js'
import type { PolicyConfig } from './model.js'
import { dependencyProblems, ownUris, policyProblems } from './policy-checks.js'
import { describe } from './reasons.js'
import { secretProblems } from './secret-checks.js'
import type { Environment } from './substitute.js'
import { fault, items, mapping } from './yaml-values.js'
import type { Mapping } from './yaml-values.js'

/**
 * What a schema cannot say: how keys depend on each other and on the disk. Runs on values that may still be wrong, so that
 * all problems of a file are reported at once; each check passes over what validation already refused.
 */

export interface CheckContext {
  /** Directory that paths in the file are relative to. */
  readonly baseDir: string
  readonly env: Environment
  readonly catalogue: Readonly<Record<string, PolicyConfig>>
}

export interface CheckResult { readonly problems: readonly PathProblem[], readonly warnings: readonly PathProblem[] }

const CARD_PATHS = ['/.well-known/agent-card.json', '/.well-known/agent.json']

export function checkConfig (value: unknown, context: CheckContext): CheckResult {
  const config = mapping(value)
  const agents = items(config.agents)
  const policies = mapping(config.extensions)
  const problems = [
    ...listeners(mapping(config.server)),
    ...twins(agents),
    ...agents.flatMap((agent, index) => agentProblems(mapping(agent), ['agents', index], policies, context)),
    ...Object.keys(policies).flatMap((name) => [...policyProblems(policies[name], ['extensions', name]), ...secretProblems(mapping(policies[name]), ['extensions', name], context)]),
    ...dependencyProblems(policies, context.catalogue as Mapping)
  ]
  const warnings = [
    ...openProxies(mapping(config.server)),
    ...agents.flatMap((agent, index) => uselessTls(mapping(agent), ['agents', index])),
    ...unusedPolicies(policies, agents)
  ]
  return { problems, warnings }
}

function listeners (server: Mapping): PathProblem[] {
  const listen = typeof server.listen === 'string' ? parseHostPort(server.listen) : null
  const admin = typeof server.admin === 'string' ? parseHostPort(server.admin) : null
  if (listen === null || admin === null || listen.port === 0 || listen.port !== admin.port || listen.host !== admin.host) return []
  return [fault(['server', 'admin'], 'server.listen and server.admin are the same address', 'the admin listener needs one of its own')]
}

/** Names, and addresses under which agents are reached, are unique. */
function twins (agents: readonly unknown[]): PathProblem[] {
  const names = new Map<string, number>()
  const routes = new Map<string, number>()
  return agents.flatMap((item, index) => {
    const { name, path, host } = mapping(item)
    const problems: PathProblem[] = []
    if (typeof name === 'string') {
      const twin = names.get(name)
      if (twin === undefined) names.set(name, index)
      else problems.push(fault(['agents', index, 'name'], `agents[${twin}] and agents[${index}] have the same name, ${shown(name)}`))
    }
    if (typeof path === 'string' && (host === null || typeof host === 'string')) {
      const route = `${host?.toLowerCase() ?? '*'} ${path}`
      const twin = routes.get(route)
      if (twin === undefined) routes.set(route, index)
      else problems.push(fault(['agents', index, 'path'], `agents[${twin}] and agents[${index}] have the same host and path, ${path}`, 'give each its own'))
    }
    return problems
  })
}

function agentProblems (agent: Mapping, path: Path, policies: Mapping, context: CheckContext): PathProblem[] {
  const card = mapping(agent.card)
  const tls = mapping(mapping(agent.upstream).tls)
  const problems: PathProblem[] = []
  if (typeof card.url === 'string' && typeof card.file === 'string') {
    problems.push(fault([...path, 'card', 'file'], `${dotted([...path, 'card'])} has both url and file`, 'keep one', 'key'))
  }
  problems.push(...unreadable(card.file, [...path, 'card', 'file'], context))
  for (const key of ['ca', 'cert', 'key']) problems.push(...unreadable(tls[key], [...path, 'upstream', 'tls', key], context))
  for (const [one, other] of [['cert', 'key'], ['key', 'cert']] as const) {
    if (typeof tls[one] === 'string' && tls[other] === null) {
      problems.push(fault([...path, 'upstream', 'tls', one], `${dotted([...path, 'upstream', 'tls', one])} needs ${other} beside it`))
    }
  }
  items(agent.passthrough).forEach((prefix, index) => {
    const covered = CARD_PATHS.find((known) => known === prefix || known.startsWith(`${String(prefix)}/`))
    if (covered !== undefined && prefix !== '') {
      problems.push(fault([...path, 'passthrough', index], `${dotted([...path, 'passthrough', index])} must not cover the card at ${covered}`, 'the gateway serves it'))
    }
  })
  problems.push(...policyNames(items(agent.extensions), [...path, 'extensions'], policies, context))
  return problems
}

function policyNames (names: readonly unknown[], path: Path, policies: Mapping, context: CheckContext): PathProblem[] {
  const known = [...new Set([...Object.keys(policies), ...Object.keys(context.catalogue)])]
  const uris = new Map<string, string>()
  return names.flatMap((name, index) => {
    if (typeof name !== 'string') return []
    const policy = Object.hasOwn(policies, name) ? policies[name] : Object.hasOwn(context.catalogue, name) ? context.catalogue[name] : undefined
    if (policy === undefined) {
      return [fault([...path, index], `no policy is named ${shown(name)}`, didYouMean(name, known) ?? `known policies: ${known.join(', ')}`)]
    }
    const own = ownUris(policy)
    const twin = own.map((uri) => uris.get(uri)).find((other) => other !== undefined && other !== name)
    for (const uri of own) uris.set(uri, name)
    return twin === undefined ? [] : [fault([...path, index], `policies ${shown(twin)} and ${shown(name)} are for the same extension`, 'keep one')]
  })
}

function unreadable (value: unknown, path: Path, context: CheckContext): PathProblem[] {
  if (typeof value !== 'string' || value === '' || value.includes('\0')) return []
  const reason = whyUnreadable(resolve(context.baseDir, value))
  return reason === null ? [] : [fault(path, `${dotted(path)}: cannot read ${shown(value)}: ${reason}`, 'paths are relative to the configuration file')]
}

function whyUnreadable (file: string): string | null {
  try {
    if (!statSync(file).isFile()) return 'not a file'
    accessSync(file, constants.R_OK)
    return null
  } catch (error) {
    return describe(error)
  }
}

function openProxies (server: Mapping): PathProblem[] {
  return items(server.trustedProxies).flatMap((entry, index) => typeof entry === 'string' && trustsEveryone(entry)
    ? [fault(['server', 'trustedProxies', index], `${shown(entry)} trusts the X-Forwarded-* headers of every client`, 'name the proxies in front')]
    : [])
}

function uselessTls (agent: Mapping, path: Path): PathProblem[] {
  const upstream = mapping(agent.upstream)
  if (typeof upstream.url !== 'string' || !/^http:/i.test(upstream.url)) return []
  if (Object.values(mapping(upstream.tls)).every((setting) => setting === null)) return []
  return [fault([...path, 'upstream', 'tls'], `${dotted([...path, 'upstream', 'tls'])} has no effect on an http URL`, 'write https', 'key')]
}

function unusedPolicies (policies: Mapping, agents: readonly unknown[]): PathProblem[] {
  const named = agents.flatMap((agent) => items(mapping(agent).extensions))
  const used = new Set([...named, ...Object.values(policies).flatMap((policy) => items(mapping(mapping(policy).activation).requires))])
  return Object.keys(policies).filter((name) => !used.has(name)).map((name) =>
    fault(['extensions', name], `policy ${shown(name)} is in force for no agent`, 'name it in an agent\'s extensions', 'key'))
}
