/** Checks `access` and `accessDefaults`: entries that can never match, and requests that no entry allows. */
import { operationOfMethod } from '#a2a/operations.js'
import { routeKey } from '#a2a/extension-routes.js'
import { dotted, formatValue } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { listItem } from '../../layers.js'
import type { PolicyLayers } from '../../layers.js'
import { sourceProblems } from '../rule-checks.js'
import { problemAt, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'
import { conditionProblems, needsIdentity } from './caller-checks.js'

/** One entry of a list, with its place. */
interface Listed { readonly entry: Mapping, readonly path: Path }

interface Sources {
  readonly sources: Mapping
  /** True when several sources can verify one request: the caller then also has properties of the others. */
  readonly together: boolean
}

const LISTS = ['allow', 'deny'] as const

export function accessProblems (config: Mapping): PathProblem[] {
  const sources = mapping(mapping(config.identity).sources)
  const context: Sources = { sources, together: areTogether(config, sources) }
  return sections(config).flatMap(({ access, path }) => {
    const entries = entriesOf(access, path)
    const { shared } = mapping(access.tasks)
    return [
      ...sameIds(entries),
      ...entries.flatMap(entry => entryProblems(entry, context)),
      ...conditionProblems(mapping(shared), [...path, 'tasks', 'shared'], Object.keys(sources))
    ]
  })
}

export function accessWarnings (config: Mapping, layers: PolicyLayers): PathProblem[] {
  const withIdentity = Object.keys(mapping(config.identity)).length > 0
  const defaults = mapping(config.accessDefaults)
  const strangers = sections(config).some(
    ({ access: { require } }) => require === 'card' || items(require).flat().includes('anonymous')
  )
  return [
    ...sections(config)
      .flatMap(({ access, path }) => entriesOf(access, path))
      .flatMap(listed => callerWarnings(listed, { withIdentity, strangers })),
    ...items(config.agents).flatMap((agent, index) => agentWarnings(mapping(agent), ['agents', index], defaults, layers))
  ]
}

function sections (config: Mapping): { readonly access: Mapping, readonly path: Path }[] {
  const agents = items(config.agents).map((agent, index) => ({ access: mapping(mapping(agent).access), path: ['agents', index, 'access'] }))
  return [{ access: mapping(config.accessDefaults), path: ['accessDefaults'] }, ...agents]
}

function entriesOf (access: Mapping, path: Path): Listed[] {
  return LISTS.flatMap(list => items(access[list]).map((entry, index) => ({ entry: mapping(entry), path: [...path, list, index] })))
}

function sameIds (entries: readonly Listed[]): PathProblem[] {
  const paths = new Map<unknown, Path>()
  return entries.flatMap(({ entry: { id }, path }) => {
    if (typeof id !== 'string') return []
    const other = paths.get(id)
    if (other === undefined) paths.set(id, path)
    const at: Path = [...path, 'id']
    if (id === 'none') return [problemAt(at, `${dotted(at)} must not be "none"`, 'metrics and logs write it where no entry decides')]
    return other === undefined ? [] : [problemAt(at, `${dotted(at)} is also the id of ${dotted(other)}`, 'give each entry a unique id')]
  })
}

function areTogether (config: Mapping, sources: Mapping): boolean {
  const required = sections(config).map(({ access: { require } }) => require)
  return (
    Object.values(sources).some(source => mapping(source).certificate !== undefined) ||
    required.some(require => require === 'card' || items(require).some(alternative => items(alternative).length > 1))
  )
}

function entryProblems ({ entry, path }: Listed, sources: Sources): PathProblem[] {
  return [
    ...nameProblems(entry, path),
    ...neverProblems(entry, path),
    ...conditionProblems(mapping(entry.caller), [...path, 'caller'], Object.keys(sources.sources)),
    ...impossible(entry, path, sources),
    ...(['when', 'unless'] as const).flatMap(side => sourceProblems(mapping(entry[side]).match, [...path, side, 'match']))
  ]
}

/** Finds `methods` and `routes` without effect. */
function nameProblems ({ on, methods, routes }: Mapping, path: Path): PathProblem[] {
  const extension = items(on).includes('Extension')
  const idle = Object.entries({ methods, routes })
    .filter(([, value]) => value !== undefined && items(on).length > 0 && !extension)
    .map(([key]) => problemAt([...path, key], `${dotted([...path, key])} has no effect without Extension in on`, 'add it to on', 'key'))
  const operations = items(methods).flatMap((method, index) => {
    if (typeof method !== 'string') return []
    const operation = operationOfMethod(method, '1.0') ?? operationOfMethod(method, '0.3')
    const at = [...path, 'methods', index]
    return operation === null
      ? []
      : [problemAt(at, `${dotted(at)} is an operation of A2A, not a method of an extension`, `write "on: [${operation}]"`)]
  })
  return [...idle, ...operations]
}

/** Finds keys that need the body of requests which nobody reads. */
function neverProblems ({ on, tenant, when, unless, caller }: Mapping, path: Path): PathProblem[] {
  const problems: PathProblem[] = []
  if (items(on).length > 0 && items(on).every(name => name === 'passthrough')) {
    for (const [key, value] of Object.entries({ tenant, when, unless })) {
      if (value === undefined) continue
      const at = [...path, key]
      problems.push(problemAt(
        at, `${dotted(at)}: the gateway does not read requests below passthrough prefixes, so the entry never matches`, 'remove it', 'key'
      ))
    }
  }
  if (mapping(caller).anonymous === true && tenant === 'own') {
    const at = [...path, 'caller', 'anonymous']
    problems.push(problemAt(
      at, `${dotted(at)}: no caller has a tenant and is anonymous, so the entry never matches`, 'write two entries', 'key'
    ))
  }
  return problems
}

/** Finds conditions that no source of the file can meet. */
function impossible ({ caller, tenant }: Mapping, path: Path, { sources, together }: Sources): PathProblem[] {
  const names = Object.keys(sources)
  if (names.length === 0) return []
  const condition = mapping(caller)
  const at: Path = [...path, 'caller']
  const problems: PathProblem[] = []
  const possible = together || items(condition.source).length === 0 ? names : names.filter(name => items(condition.source).includes(name))
  if (condition.spiffe !== undefined && possible.length > 0 && possible.every(name => mapping(sources[name]).certificate === undefined)) {
    const place = [...at, 'spiffe']
    problems.push(problemAt(
      place, `${dotted(place)} never matches: no source of the caller reads certificates`, 'name another property of the caller', 'key'
    ))
  }
  if (tenant === 'own' && possible.length > 0 && possible.every(name => isWithoutTenant(mapping(sources[name])))) {
    const place = [...path, 'tenant']
    problems.push(
      problemAt(
        place, `${dotted(place)} never matches: no source of the caller knows a tenant`, 'set claims.tenant of its jwt source', 'key'
      )
    )
  }
  return problems
}

function isWithoutTenant ({ jwt, envoyJwt, certificate }: Mapping): boolean {
  const token = jwt ?? envoyJwt
  return certificate !== undefined || (token !== undefined && (mapping(mapping(token).claims).tenant ?? null) === null)
}

/** Warns about entries that only requests with a caller can match, or only requests without one. */
function callerWarnings (
  { entry: { caller }, path }: Listed,
  { withIdentity, strangers }: { readonly withIdentity: boolean; readonly strangers: boolean }
): PathProblem[] {
  const condition = mapping(caller)
  const at: Path = [...path, 'caller']
  if (Object.keys(condition).length === 0) return []
  if (!withIdentity) {
    return condition.anonymous === true ? [] : [needsIdentity(at)]
  }
  return condition.anonymous === true && !strangers
    ? [problemAt(
        [...at, 'anonymous'], `${dotted([...at, 'anonymous'])} never matches: with identity, every request has a caller`, 'remove the entry',
        'key'
      )]
    : []
}

function agentWarnings (agent: Mapping, path: Path, defaults: Mapping, layers: PolicyLayers): PathProblem[] {
  const access = mapping(agent.access)
  const allow = access.allow ?? defaults.allow
  const warnings = [...unusedTargets(agent, access, path), ...unusedRoutes(agent, access, path, layers)]
  if (!Array.isArray(allow)) return warnings
  const at: Path = access.allow === undefined ? ['accessDefaults', 'allow'] : [...path, 'access', 'allow']
  const covers = (...names: readonly string[]): boolean =>
    allow.some(entry => items(mapping(entry).on).some(name => names.includes(String(name))))
  if (allow.length === 0) {
    warnings.push(problemAt(
      at, `${dotted(at)} is empty: nobody may do anything`, 'add an entry, or remove the key', 'key'
    ))
  }
  if (allow.length > 0 && items(agent.passthrough).length > 0 && !covers('all', 'passthrough')) {
    const place = [...path, 'passthrough']
    warnings.push(problemAt(
      place, `${dotted(place)}: no entry of ${dotted(at)} allows passthrough, so the gateway rejects all its requests`,
      'add an entry with "on: [passthrough]"', 'key'
    ))
  }
  if (allow.length > 0 && mapping(agent.card).onUnavailable === 'forward' && !covers('all')) {
    const place = [...path, 'card', 'onUnavailable']
    warnings.push(
      problemAt(
        place, `${dotted(place)}: forward has no effect, because without a card only entries with "on: [all]" of ${dotted(at)} match`,
        'write reject, or add such an entry', 'key'
      )
    )
  }
  return warnings
}

/** Entries of the agent that are about paths it does not have. */
function unusedTargets (agent: Mapping, access: Mapping, path: Path): PathProblem[] {
  if (items(agent.passthrough).length > 0) return []
  return entriesOf(access, [...path, 'access']).flatMap(({ entry, path: at }) =>
    items(entry.on).includes('passthrough')
      ? [problemAt(
          [...at, 'on'], `${dotted([...at, 'on'])} names passthrough, but ${dotted(path)} has no passthrough prefixes`, 'remove it', 'key'
        )]
      : []
  )
}

function unusedRoutes (agent: Mapping, access: Mapping, path: Path, layers: PolicyLayers): PathProblem[] {
  const policies = items(agent.extensions).map(item => listItem(item)).filter(item => item !== null)
  const declared = new Set(
    policies
      .flatMap(item => items(layers.listed(item, [])?.value.routes))
      .map(mapping)
      .map(({ verb, path }) => routeKey(String(verb), String(path)))
  )
  return entriesOf(access, [...path, 'access']).flatMap(({ entry, path: at }) =>
    items(entry.routes).flatMap((route, index) => {
      const [verb = '', rest = ''] = typeof route === 'string' ? route.split(' ') : []
      const place = [...at, 'routes', index]
      return typeof route !== 'string' || declared.has(routeKey(verb, rest))
        ? []
        : [problemAt(
            place, `${dotted(place)}: no policy of the agent declares the route ${formatValue(route)}`,
            'write HTTP method and path as the policy does'
          )]
    })
  )
}
