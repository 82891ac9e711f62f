/** Checks of `card.views` and `card.publicSkills`. */
import { didYouMean, dotted, formatValue } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import type { PolicyLayers } from '../../layers.js'
import { listedNames, listItem } from '../../layers.js'
import { ALL } from '../../model/card-model.js'
import { problemAt, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'
import { conditionProblems } from '../callers/caller-checks.js'

/** @param identity value of the key `identity` */
export function viewProblems (agent: Mapping, path: Path, identity: unknown): PathProblem[] {
  const card = mapping(agent.card)
  const views = items(card.views)
  const at: Path = [...path, 'card', 'views']
  const problems = skillProblems(card, [...path, 'card', 'publicSkills'])
  if (views.length === 0) return problems
  if (identity === null || identity === undefined) {
    problems.push(problemAt(
      at, `${dotted(at)} needs identity: without it, the gateway knows no caller`, 'add identity, or remove the views', 'key'
    ))
  }
  if (card.signature === 'verbatim') {
    problems.push(problemAt(
      at, `${dotted(at)} contradicts signature: verbatim, which serves the card unchanged`, 'write strip or resign', 'key'
    ))
  }
  const policies = new Set(listedNames(agent.extensions))
  const ids = new Set<unknown>()
  const sources = Object.keys(mapping(mapping(identity).sources))
  return [...problems, ...views.flatMap((view, index) => {
    const { id } = mapping(view)
    const again = typeof id === 'string' && ids.has(id)
    ids.add(id)
    return [
      ...(again ? [problemAt([...at, index, 'id'], `${dotted(at)} has ${formatValue(id)} twice`)] : []),
      ...conditionProblems(mapping(mapping(view).caller), [...at, index, 'caller'], sources),
      ...unknownExtensions(mapping(view), [...at, index, 'extensions'], policies)
    ]
  })]
}

function skillProblems (card: Mapping, path: Path): PathProblem[] {
  return items(card.publicSkills).length === 0 || card.public === 'minimal'
    ? []
    : [problemAt(path, `${dotted(path)} has no effect without public: minimal`, 'write public: minimal', 'key')]
}

/** Finds names of policies that are not in force. A URI contains a colon. */
function unknownExtensions (view: Mapping, path: Path, policies: ReadonlySet<string>): PathProblem[] {
  return items(view.extensions).flatMap((name, index) => {
    if (typeof name !== 'string' || name === ALL || name.includes(':') || policies.has(name)) return []
    const hint = didYouMean(name, [...policies, ALL]) ?? "write a URI, or the name of a policy in the agent's extensions"
    return [problemAt([...path, index], `${dotted([...path, index])}: the agent uses no policy ${formatValue(name)}`, hint)]
  })
}

/** Warns of views that everybody can go around. */
export function viewWarnings (agent: Mapping, path: Path, layers: PolicyLayers): PathProblem[] {
  const card = mapping(agent.card)
  const at: Path = [...path, 'card', 'views']
  const views = items(card.views)
  if (views.length === 0) return []
  const isFull = card.public === 'full' || (card.public === null && Object.keys(mapping(card.headers)).length === 0)
  return [
    ...(isFull
      ? [problemAt(
          at, `${dotted(at)} hides nothing from unauthenticated requests: public: full shows them the whole card`,
          'write public: minimal or none', 'key'
        )]
      : []),
    ...views.flatMap((view, index) => activatable(mapping(view), [...at, index], { agent, layers }))
  ]
}

/** Policies whose extension a view hides, although its callers may activate the extension. */
function activatable (view: Mapping, path: Path, { agent, layers }: { agent: Mapping, layers: PolicyLayers }): PathProblem[] {
  const shownNames = new Set(items(view.extensions))
  if (shownNames.has(ALL)) return []
  return items(agent.extensions).flatMap(entry => {
    const item = listItem(entry)
    const policy = item === null ? null : layers.listed(item, [])
    if (item === null || policy === null || shownNames.has(item.name)) return []
    const { uri, activation, mode = agent.mode } = mapping(policy.value)
    if (typeof uri !== 'string' || shownNames.has(uri) || mode === 'off' || mapping(activation).callers !== undefined) return []
    return [
      problemAt(
        [...path, 'extensions'],
        `view ${formatValue(view.id)} hides the extension of policy ` +
          `${formatValue(item.name)}, but its callers can still activate the extension`,
        'hiding is not enforcing: add activation.callers to the policy',
        'key'
      )
    ]
  })
}
