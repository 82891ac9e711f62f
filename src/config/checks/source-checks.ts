/** Checks of `agentSources`. The templates are checked as agents: see `config/discovered.ts`. */
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import { unreadable } from './named-files.js'

/** Keys of the template that come from the source. */
const FROM_SOURCE: readonly (readonly [string, string])[] = [['upstream', 'url'], ['card', 'url'], ['card', 'file']]

export function sourceProblems (config: Mapping, baseDir: string): PathProblem[] {
  const sources = items(config.agentSources)
  const none = Array.isArray(config.agents) && config.agents.length === 0 && sources.length === 0
  const names = new Map<unknown, number>()
  return [
    ...(none ? [problemAt(['agents'], 'agents must have at least 1 entry')] : []),
    ...sources.flatMap((item, index) => {
      const source = mapping(item)
      const path: Path = ['agentSources', index]
      const earlier = names.get(source.name)
      names.set(source.name, earlier ?? index)
      const same = earlier === undefined || typeof source.name !== 'string'
        ? []
        : [problemAt(
            [...path, 'name'], `agentSources[${earlier}] and agentSources[${index}] have the same name, ${formatValue(source.name)}`
          )]
      return [...same, ...kindProblems(source, path, baseDir), ...templateProblems(source, path), ...keyProblems(source, path, baseDir)]
    })
  ]
}

// A file that is missing now may come later: the source reads it again and again.
function kindProblems ({ catalog, kubernetes, allowPrivate }: Mapping, path: Path, baseDir: string): PathProblem[] {
  const [hasCatalog, other] = [typeof catalog === 'string', typeof kubernetes === 'object' && kubernetes !== null]
  if (hasCatalog === other) {
    return [problemAt(
      path, `${dotted(path)} needs exactly one of catalog and kubernetes`,
      'such as catalog: https://agents.example.com/.well-known/ai-catalog.json'
    )]
  }
  if (other && items(allowPrivate).length > 0) {
    return [problemAt(
      [...path, 'allowPrivate'], `${dotted([...path, 'allowPrivate'])} is for catalogs: addresses of Services come from the cluster`,
      'remove it', 'key'
    )]
  }
  const api = mapping(mapping(kubernetes).api)
  return ['ca', 'token'].flatMap(key => unreadable(api[key], [...path, 'kubernetes', 'api', key], baseDir))
}

function templateProblems ({ agent, limit }: Mapping, path: Path): PathProblem[] {
  const template = mapping(agent)
  const place = [...path, 'agent']
  const named = (key: string): boolean => typeof template[key] !== 'string' || template[key].includes('{name}')
  const noPath = template.path === undefined && typeof agent === 'object'
  return [
    ...(noPath ? [problemAt([...place, 'path'], `${dotted([...place, 'path'])} is required`, 'such as "path: /agents/{name}"')] : []),
    ...FROM_SOURCE.filter(([key, part]) => typeof mapping(template[key])[part] === 'string').map(([key, part]) =>
      problemAt([...place, key, part], `${dotted([...place, key, part])} comes from the source`, 'remove it', 'key')
    ),
    ...(limit === 1 ? [] : ['name', 'path'].filter(key => !named(key))).map(key =>
      problemAt([...place, key], `${dotted([...place, key])} must contain "{name}": the source may have several agents`, 'or set limit: 1')
    )
  ]
}

function keyProblems ({ admit, keys, agent, kubernetes }: Mapping, path: Path, baseDir: string): PathProblem[] {
  const { url, file } = mapping(keys)
  const has = (value: unknown): boolean => typeof value === 'string'
  if (typeof keys === 'object' && keys !== null) {
    if (has(url) === has(file)) return [problemAt([...path, 'keys'], `${dotted([...path, 'keys'])} needs exactly one of url and file`)]
    return unreadable(file, [...path, 'keys', 'file'], baseDir)
  }
  if (admit !== 'signed' || typeof mapping(mapping(agent).card).verify === 'object') return []
  const what = typeof kubernetes === 'object' && kubernetes !== null ? 'the cards' : 'the catalog or its cards'
  return [
    problemAt(
      [...path, 'admit'], `${dotted([...path, 'admit'])}: signed needs the keys that sign ${what}`, 'set keys, or agent.card.verify'
    )
  ]
}
