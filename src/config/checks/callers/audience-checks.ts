/**
 * Checks of `access.audience` and `server.adminAccess.audience`: audiences that no token has, and agents or an admin listener that accept
 * the tokens of others.
 */
import { dotted, formatValue } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { problemAt, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'

/** A source of access tokens. */
interface TokenSource { readonly name: string, readonly kind: 'jwt' | 'envoyJwt', readonly audience: readonly unknown[] }

const ADMIN: Path = ['server', 'adminAccess']

/** @param config the value of the file */
export function audienceProblems (config: Mapping): PathProblem[] {
  const sources = tokenSources(config)
  const defaults = mapping(config.accessDefaults)
  const admin = mapping(mapping(config.server).adminAccess)
  return [
    ...problemsAt(admin, ADMIN, acceptedByAdmin(admin, sources)),
    ...problemsAt(defaults, ['accessDefaults'], accepted(defaults, defaults, sources)),
    ...items(config.agents).flatMap((agent, index) => {
      const access = mapping(mapping(agent).access)
      return problemsAt(access, ['agents', index, 'access'], accepted(access, defaults, sources))
    })
  ]
}

function problemsAt ({ audience }: Mapping, at: Path, sources: readonly TokenSource[]): PathProblem[] {
  if (!Array.isArray(audience)) return []
  const path: Path = [...at, 'audience']
  if (sources.length === 0) {
    return [problemAt(
      path, `${dotted(path)} has no effect: no source of the callers reads access tokens`,
      'add a jwt source to identity, or remove the key', 'key'
    )]
  }
  return audience.flatMap((value, index) => {
    const place: Path = [...path, index]
    if (value === '*') {
      return [
        problemAt(place, `${dotted(place)} must not be "*"`, 'write "audience: null" to accept all audiences of the source')
      ]
    }
    const isKnown = typeof value !== 'string' || sources.some(source => source.audience.includes(value) || source.audience.includes('*'))
    const [first] = sources
    return isKnown || first === undefined
      ? []
      : [problemAt(
          place, `${dotted(place)}: no source of the callers accepts tokens for ${formatValue(value)}`,
        `add it to identity.sources.${first.name}.${first.kind}.audience`
        )]
  })
}

/** Warns of agents, and of an admin listener, that accept tokens for other agents. @param config the value of the file */
export function audienceWarnings (config: Mapping): PathProblem[] {
  const agents = items(config.agents).map(mapping)
  const defaults = mapping(config.accessDefaults)
  const several = tokenSources(config).filter(({ audience }) => audience.length > 1)
  const admin = mapping(mapping(config.server).adminAccess)
  const open = (admin.audience ?? null) !== null
    ? undefined
    : acceptedByAdmin(admin, several).find(source => agents.some(agent => accepted(mapping(agent.access), defaults, [source]).length > 0))
  const ofAdmin = open === undefined
    ? []
    : [problemAt(
        ADMIN,
        `${dotted(ADMIN)} accepts tokens for every audience of the source ${formatValue(open.name)}, also those for agents`,
        'set server.adminAccess.audience',
        'key'
      )]
  const ofAgents = agents.flatMap((agent, index) => {
    const access = mapping(agent.access)
    const { audience = defaults.audience ?? null } = access
    if (audience !== null) return []
    const shared = accepted(access, defaults, several).find(source =>
      agents.some((other, at) => at !== index && accepted(mapping(other.access), defaults, [source]).length > 0))
    const path: Path = ['agents', index]
    return shared === undefined
      ? []
      : [problemAt(
          path, `${dotted(path)} accepts tokens for every audience of the source ${formatValue(shared.name)}, also those for other agents`,
          'set access.audience', 'key'
        )]
  })
  return [...ofAdmin, ...ofAgents]
}

function tokenSources (config: Mapping): TokenSource[] {
  return Object.entries(mapping(mapping(config.identity).sources)).flatMap(([name, source]) => {
    const kind = (['jwt', 'envoyJwt'] as const).find(key => mapping(source)[key] !== undefined)
    return kind === undefined ? [] : [{ name, kind, audience: items(mapping(mapping(source)[kind]).audience) }]
  })
}

/** The sources that an agent accepts, of those given. */
function accepted (access: Mapping, defaults: Mapping, sources: readonly TokenSource[]): readonly TokenSource[] {
  const { require = defaults.require } = access
  return Array.isArray(require) ? sources.filter(({ name }) => require.some(alternative => items(alternative).includes(name))) : sources
}

function acceptedByAdmin ({ sources: names }: Mapping, sources: readonly TokenSource[]): readonly TokenSource[] {
  return sources.filter(({ name }) => items(names).includes(name))
}
