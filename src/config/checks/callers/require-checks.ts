/** Checks of `access.require` and `card.security`: what they name, and whether a caller can meet it. */
import { dotted, formatValue } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { problemAt, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'
import { unknownSources } from './caller-checks.js'

/** Stands for a request without credentials. */
const ANONYMOUS = 'anonymous'

/** @param config the value of the file */
export function requireProblems (config: Mapping): PathProblem[] {
  const identity = isSet(config.identity) ? mapping(mapping(config.identity).sources) : null
  const problems = requireAt(mapping(config.accessDefaults).require, ['accessDefaults', 'require'], identity)
  items(config.agents).map(mapping).forEach((agent, index) => {
    const path: Path = ['agents', index]
    problems.push(
      ...requireAt(mapping(agent.access).require, [...path, 'access', 'require'], identity),
      ...cardSecurity(mapping(agent.card), [...path, 'card', 'security'], identity)
    )
  })
  if (identity !== null && Object.hasOwn(identity, ANONYMOUS)) {
    const path: Path = ['identity', 'sources', ANONYMOUS]
    problems.push(problemAt(
      path, `${dotted(path)}: access.require uses this name for requests without credentials`, 'choose another name', 'key'
    ))
  }
  return problems
}

function isSet (value: unknown): boolean {
  return value !== undefined && value !== null
}

/** @param sources null without `identity` */
function requireAt (require: unknown, path: Path, sources: Mapping | null): PathProblem[] {
  if (!isSet(require)) return []
  if (sources === null) return [problemAt(path, `${dotted(path)} needs identity`, 'identity.sources says how callers authenticate', 'key')]
  return items(require).flatMap((alternative, index) => alternativeProblems(items(alternative), [...path, index], sources))
}

function alternativeProblems (names: readonly unknown[], path: Path, sources: Mapping): PathProblem[] {
  const problems = unknownSources(names, path, Object.keys(sources), [ANONYMOUS])
  if (names.length > 1 && names.includes(ANONYMOUS)) {
    problems.push(problemAt(
      path, `${dotted(path)} requires credentials and none of them`, 'make anonymous a separate alternative: [[a], [anonymous]]'
    ))
  }
  const carriers = new Map<string, unknown>()
  names.forEach((name, index) => {
    const carrier = typeof name === 'string' && Object.hasOwn(sources, name) ? carrierOf(mapping(sources[name])) : null
    if (carrier === null) return
    const other = carriers.get(carrier)
    carriers.set(carrier, name)
    if (other === undefined || other === name) return
    const at: Path = [...path, index]
    problems.push(
      problemAt(
        at, `${dotted(at)}: no request can have credentials of ${formatValue(other)} and ${formatValue(name)}: both are in the ${carrier}`,
        'make each a separate alternative'
      )
    )
  })
  return problems
}

/** The place of a source's credentials, in words. Null for a place that is not known to be single. */
function carrierOf ({ apiKey, basic, jwt, envoyJwt }: Mapping): string | null {
  if (envoyJwt !== undefined) {
    const { namespace, key } = mapping(mapping(envoyJwt).metadata)
    return `metadata ${formatValue(namespace)}, ${formatValue(key)}`
  }
  if (basic !== undefined) return 'header authorization'
  const { header, cookie, query } = mapping(apiKey ?? jwt)
  if (typeof header === 'string') return `header ${header.toLowerCase()}`
  if (jwt !== undefined) return 'header authorization'
  if (typeof cookie === 'string') return `cookie ${cookie}`
  return typeof query === 'string' ? `query parameter ${query}` : null
}

function cardSecurity ({ security, signature }: Mapping, path: Path, sources: Mapping | null): PathProblem[] {
  if (security !== 'gateway') return []
  if (sources === null) {
    return [
      problemAt(path, `${dotted(path)}: gateway needs identity`, 'without it, the gateway has no security schemes')
    ]
  }
  return signature === 'verbatim'
    ? [problemAt(path, `${dotted(path)}: gateway contradicts signature: verbatim, which serves the card unchanged`, 'write agent')]
    : []
}

/** Warns of sources that no agent accepts. @param config the value of the file */
export function unusedSources (config: Mapping): PathProblem[] {
  const defaults = mapping(config.accessDefaults)
  const used = new Set<unknown>(items(mapping(mapping(config.server).adminAccess).sources))
  for (const agent of items(config.agents)) {
    const { require = defaults.require } = mapping(mapping(agent).access)
    // Without a list, any source may be used.
    if (!Array.isArray(require)) return []
    for (const alternative of require) for (const name of items(alternative)) used.add(name)
  }
  return Object.keys(mapping(mapping(config.identity).sources)).filter(name => !used.has(name)).map(name =>
    problemAt(
      ['identity', 'sources', name], 'no agent accepts callers of the source ' +
        `${formatValue(name)}`, 'name it in access.require of an agent', 'key'
    ))
}
