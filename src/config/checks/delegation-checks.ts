/** Checks of `delegation` and `access.delegation`: keys that contradict each other, and limits that would limit nothing. */
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import { listedNames } from '../layers.js'
import { conditionProblems, needsIdentity, unknownSources } from './callers/caller-checks.js'
import { signingKeyProblems, signingKeyWarnings } from './card/signing-keys.js'
import { unreadable } from './named-files.js'

/** `access.delegation` as it is in force for one agent, and where it stands. */
interface Use { readonly value: Mapping, readonly path: Path, readonly access: Mapping, readonly defaults: Mapping, readonly agent: Path }

const ROOT: Path = ['delegation']

export function delegationProblems (config: Mapping, baseDir: string): PathProblem[] {
  const domain = mapping(config.delegation)
  const sources = Object.keys(mapping(mapping(config.identity).sources))
  return [
    ...signingKeyProblems(domain, ROOT, baseDir),
    ...items(domain.keys).flatMap((key, index) => keysProblems(mapping(key), [...ROOT, 'keys', index], baseDir)),
    ...conditionProblems(mapping(domain.agents), [...ROOT, 'agents'], sources),
    ...written(config).flatMap(({ value, path }) => [
      ...presenterProblems(mapping(value.as), [...path, 'as'], sources),
      ...(config.delegation === null || config.delegation === undefined ? withoutDomain(value, path) : [])
    ]),
    ...usesOf(config).flatMap(unknownClaims),
    ...chainBudgets(config)
  ]
}

export function delegationWarnings (config: Mapping, baseDir: string): PathProblem[] {
  const domain = mapping(config.delegation)
  if (Object.keys(domain).length === 0) return []
  const uses = usesOf(config)
  const withIdentity = mapping(config.identity).sources !== undefined
  return [
    ...signingKeyWarnings(domain, ROOT, baseDir),
    ...(uses.length > 0
      ? []
      : [
          problemAt(
            ROOT, 'delegation has no effect: no agent has access.delegation', 'write it in accessDefaults, or in access of an agent', 'key'
          )
        ]),
    ...(withIdentity || domain.agents === null || domain.agents === undefined ? [] : [needsIdentity([...ROOT, 'agents'])]),
    ...uses.flatMap(({ value, path }) =>
      value.mayReach === null || value.mayReach === undefined || (value.as ?? null) !== null
        ? []
        : [problemAt(
            [...path, 'mayReach'],
          `${dotted([...path, 'mayReach'])} has no effect without as: the agent gets no chain to which the list could belong`,
          'name the agent as a caller in as', 'key'
          )])
  ]
}

/** The places where the file has `access.delegation`. */
function written (config: Mapping): { readonly value: Mapping, readonly path: Path }[] {
  const places: readonly [Path, unknown][] = [
    [['accessDefaults', 'delegation'], mapping(config.accessDefaults).delegation],
    ...items(config.agents).map((agent, index): [Path, unknown] => [
      ['agents', index, 'access', 'delegation'], mapping(mapping(agent).access).delegation
    ])
  ]
  return places.filter(([, value]) => value !== undefined && value !== null).map(([path, value]) => ({ path, value: mapping(value) }))
}

function usesOf (config: Mapping): Use[] {
  const defaults = mapping(config.accessDefaults)
  return items(config.agents).flatMap((agent, index) => {
    const access = mapping(mapping(agent).access)
    const own = access.delegation !== undefined
    const value = own ? access.delegation : defaults.delegation
    const path: Path = own ? ['agents', index, 'access', 'delegation'] : ['accessDefaults', 'delegation']
    return value === undefined || value === null
      ? []
      : [{ value: mapping(value), path, access, defaults, agent: ['agents', index, 'access'] }]
  })
}

function keysProblems ({ url, file }: Mapping, path: Path, baseDir: string): PathProblem[] {
  if (typeof url === 'string' && typeof file === 'string') {
    return [
      problemAt([...path, 'file'], `${dotted(path)} has both url and file`, 'write two entries', 'key')
    ]
  }
  if ((url ?? file ?? null) === null) {
    return [
      problemAt(path, `${dotted(path)} needs url or file`, 'such as "url: https://travel.example.com/.well-known/jwks.json"')
    ]
  }
  return unreadable(file, [...path, 'file'], baseDir)
}

function presenterProblems (as: Mapping, path: Path, sources: readonly string[]): PathProblem[] {
  const { source, subject, client, spiffe } = as
  if (Object.keys(as).length === 0) return []
  return (subject ?? client ?? spiffe) === undefined
    ? [problemAt(path, `${dotted(path)} needs subject, client or spiffe`, 'the source alone would let all its callers use the chain')]
    : typeof source === 'string' && sources.length > 0
      ? unknownSources([source], path, sources).map(({ message, hint }) => problemAt(
        [...path, 'source'], message.replace(dotted([...path, 0]), dotted([...path, 'source'])), hint
      ))
      : []
}

function withoutDomain (value: Mapping, path: Path): PathProblem[] {
  return ['as', 'mayReach'].filter(key => (value[key] ?? null) !== null).map(key =>
    problemAt(
      [...path, key], `${dotted([...path, key])} has no effect without delegation, which signs the chains`, 'configure delegation', 'key'
    ))
}

/** The header has no claims, so that a condition on them would not know the initiator. */
function unknownClaims ({ value, path, access, defaults, agent }: Use): PathProblem[] {
  if (value.initiator === 'ignore') return []
  return (['allow', 'deny'] as const).flatMap(list => {
    const own = access[list] !== undefined
    return items(own ? access[list] : defaults[list]).flatMap((entry, index) => {
      const key = (['claims', 'match'] as const).find(key => mapping(mapping(entry).caller)[key] !== undefined)
      const at: Path = [...(own ? agent : ['accessDefaults']), list, index, 'caller', key ?? '']
      return key === undefined
        ? []
        : [problemAt(
            at,
          `${dotted(at)} contradicts ` +
            `${dotted([...path, 'initiator'])}: authorize, because a chain of callers has no claims of the initiator`,
          'use subject, client, scopes, groups or tenant, or write initiator: ignore', 'key'
          )]
    })
  })
}

/** Budgets of chains that one header can carry, besides the chain. */
const MOST_BUDGETS = 5

/** Finds budgets by `chain` that nothing would pass on, and keys that only such budgets have. */
function chainBudgets (config: Mapping): PathProblem[] {
  const limited = new Set(usesOf(config).map(({ agent }) => agent[1]))
  let count = 0
  return items(config.budgets).map(mapping).flatMap(({ id, by, of, remaining }, index) => {
    const path: Path = ['budgets', index]
    const keys = items(by)
    if (!keys.includes('chain')) {
      return typeof remaining === 'string'
        ? [problemAt([...path, 'remaining'], `${dotted([...path, 'remaining'])} has no effect without "by: [chain]"`, 'remove it', 'key')]
        : []
    }
    const [policy = ''] = String(of).split('/')
    const without = items(config.agents).map(mapping)
      .filter(({ extensions }, agent) => listedNames(extensions).includes(policy) && !limited.has(agent))
    return [
      ...(++count === MOST_BUDGETS + 1
        ? [problemAt(path, `budgets has more than ${MOST_BUDGETS} entries with "by: [chain]"`, 'a header has no room for more')]
        : []),
      ...(keys.length > 1 ? [problemAt([...path, 'by'], `${dotted([...path, 'by'])}: chain stands alone`, 'write two budgets')] : []),
      ...(id === 'time'
        ? [problemAt(
            [...path, 'id'], `${dotted([...path, 'id'])} must not be "time" with "by: [chain]"`,
            'the header a2a-budget has the remaining time under this name'
          )]
        : []),
      ...without.map(({ name }) => problemAt(
        [...path, 'by'], `${dotted([...path, 'by'])}: agent ${formatValue(name)} has no access.delegation, so its calls belong to no chain`,
        'write access.delegation'
      ))
    ]
  })
}
