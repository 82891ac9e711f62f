/** Checks policies after their layers are merged, and how agents name policies. Each fault is reported at the layer that caused it. */
import { unguarded } from './callers/caller-checks.js'
import { responsesWarnings } from './response-checks.js'
import { didYouMean, dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import type { LayeredPolicy, ListItem, PolicyLayers } from '../layers.js'
import { listItem, partOf, requiredBy } from '../layers.js'
import { ownUris, policyProblems, policyWarnings, satisfyingUris } from './policy-checks.js'
import { absenceWarnings } from './rule-checks.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

interface Listed { readonly item: ListItem, readonly path: Path, readonly policy: LayeredPolicy | null }

/** Checks every policy of the file and every overlay of its agents. */
export function layeredProblems (layers: PolicyLayers, agents: readonly unknown[]): PathProblem[] {
  const fromFile = layers.fileNames.flatMap((name) => {
    const policy = layers.named(name)
    return policy === null ? [] : [...inside(policy, layers), ...requirements(policy, layers, (required) => layers.named(required))]
  })
  const lists = listsOf(agents, layers)
  return once([
    ...fromFile,
    ...lists.flatMap((list) => listProblems(list, layers)),
    ...lists.flatMap((list, index) => unshown(mapping(agents[index]), list))
  ])
}

/** Warns about valid policies that are probably not intended. */
export function layeredWarnings (layers: PolicyLayers, agents: readonly unknown[]): PathProblem[] {
  const lists = listsOf(agents, layers)
  const policies = [
    ...layers.fileNames.map(name => layers.named(name)),
    ...lists
      .flat()
      .filter(({ item }) => item.overlay !== null)
      .map(({ policy }) => policy)
  ]
  return once([
    ...policies.flatMap((policy) => policy === null ? [] : located(policy, (path) => policyWarnings(policy.value, path))),
    ...policies.flatMap(policy => policy?.parts ?? []).flatMap(writtenRules).flatMap(([rule, path]) => absenceWarnings(rule, path)),
    ...lists.flatMap(sharedAliases),
    ...lists.flatMap((list, index) =>
      unguarded(
        mapping(agents[index]), list.flatMap(({ item, policy }) => policy === null ? [] : [{ name: item.name, value: policy.value }]),
        ['agents', index]
      )
    ),
    ...lists.flatMap((list, index) => responsesWarnings(mapping(agents[index]), list.map(({ policy }) => policy), ['agents', index]))
  ])
}

/** Returns the request rules that a layer of the file writes, with their places. Rules of the catalogue say in words what they accept. */
function writtenRules ({ value, path }: LayeredPolicy['parts'][number]): [Mapping, Path][] {
  return path === null ? [] : items(value.request).map((rule, index) => [mapping(rule), [...path, 'request', index]])
}

function once (problems: readonly PathProblem[]): PathProblem[] {
  const keys = new Set<string>()
  return problems.filter(({ path, message }) => {
    const key = JSON.stringify([path, message])
    if (keys.has(key)) return false
    keys.add(key)
    return true
  })
}

/** Finds faults in the merged policy. */
function inside (policy: LayeredPolicy, layers: PolicyLayers): PathProblem[] {
  return located(policy, (path) => policyProblems(policy.value, path, layers.catalogueNames))
}

/** Reports each fault at the place of its key. Omits faults that come from the catalogue alone. */
function located (policy: LayeredPolicy, find: (path: Path) => PathProblem[]): PathProblem[] {
  return policy.parts.flatMap(({ path }) =>
    path === null ? [] : find(path).filter(problem => partOf(policy, problem.path.slice(path.length)) === path)
  )
}

/** Returns the lists of the agents, as far as they are readable. */
function listsOf (agents: readonly unknown[], layers: PolicyLayers): Listed[][] {
  return agents.map((agent, index) => items(mapping(agent).extensions).flatMap((entry, at) => {
    const item = listItem(entry)
    const path = ['agents', index, 'extensions', at]
    return item === null ? [] : [{ item, path, policy: layers.listed(item, path) }]
  }))
}

function listProblems (entries: readonly Listed[], layers: PolicyLayers): PathProblem[] {
  const own = new Map(entries.map(({ item, policy }) => [item.name, policy]))
  const lookUp = (name: string): LayeredPolicy | null => own.get(name) ?? layers.named(name)
  return [
    ...entries.flatMap(({ item, path, policy }) => (policy === null ? [unknown(item.name, path, layers)] : [])),
    ...duplicatePolicies(entries),
    ...entries.flatMap(({ item, policy }) =>
      item.overlay === null || policy === null ? [] : [...inside(policy, layers), ...requirements(policy, layers, lookUp)]
    )
  ]
}

/** Finds requirements that a card cannot show because the gateway serves it unchanged: clients could not know of them. */
function unshown (agent: Mapping, listed: readonly Listed[]): PathProblem[] {
  if (mapping(agent.card).signature !== 'verbatim') return []
  return listed.flatMap(({ item: { name }, path, policy }) => {
    const { activation, mode = agent.mode } = mapping(policy?.value)
    return agent.mode === 'off' || mode !== 'enforce' || mapping(activation).required !== 'always'
      ? []
      : [
          problemAt(
            path,
            `policy ${formatValue(name)} requires its extension (activation.required: always), and signature: verbatim serves the card unchanged`,
            'write activation: {required: card} and let the agent declare the requirement, or serve the card with signature: strip'
          )
        ]
  })
}

function unknown (name: string, path: Path, layers: PolicyLayers): PathProblem {
  const own = layers.fileNames.length === 0 ? '' : `this file has ${layers.fileNames.join(', ')}; `
  return problemAt(
    path,
    `no policy is named ${formatValue(name)}`,
    didYouMean(
      name, layers.names
    ) ?? `${own}a2a-gateway help catalogue lists those of the catalogue${layers.directoryNames.length === 0 ? '' : `, and extensions.from has ${layers.directoryNames.join(', ')}`}`
  )
}

/** Checks that an agent lists each policy name once and has one policy per extension. */
function duplicatePolicies (listed: readonly Listed[]): PathProblem[] {
  const uris = new Map<string, string>()
  const names = new Set<string>()
  return listed.flatMap(({ item: { name, overlay }, path, policy }) => {
    const again = names.has(name)
    names.add(name)
    // The schema already reports identical names.
    if (again) return overlay === null ? [] : [problemAt(path, `${dotted(path.slice(0, -1))} lists ${formatValue(name)} twice`)]
    const own = ownUris(policy?.value)
    const earlier = own.map((uri) => uris.get(uri)).find((other) => other !== undefined)
    for (const uri of own) uris.set(uri, name)
    return earlier === undefined
      ? []
      : [problemAt(path, `policies ${formatValue(earlier)} and ${formatValue(name)} apply to the same extension`, 'keep one')]
  })
}

/** Finds a URI that satisfies two extensions. This is legal, but one request for the URI then satisfies both extensions. */
function sharedAliases (listed: readonly Listed[]): PathProblem[] {
  const owners = new Map<string, string>()
  return listed.flatMap(({ item: { name }, path, policy }) => satisfyingUris(policy?.value).flatMap((uri) => {
    const owner = owners.get(uri)
    owners.set(uri, name)
    return owner === undefined || owner === name
      ? []
      : [
          problemAt(
            path,
            `policies ${formatValue(owner)} and ${formatValue(name)} are both satisfied by ${formatValue(uri)}`,
            'a client that requests it satisfies both'
          )
        ]
  }))
}

/** Checks the policies that a policy requires: finds unknown names and cycles. */
function requirements (policy: LayeredPolicy, layers: PolicyLayers, lookUp: (name: string) => LayeredPolicy | null): PathProblem[] {
  const { name } = policy
  const place = partOf(policy, ['activation', 'requires'])
  if (place === null) return []
  const next = (required: string): string[] => requiredBy(lookUp(required))
  return requiredBy(policy).flatMap((required, index) => {
    const at: Path = [...place, 'activation', 'requires', index]
    const layered = lookUp(required)
    if (layered !== null && layered.value.uri === undefined && layered.value.uriPattern !== undefined) {
      return [
        problemAt(
          at,
          `policy ${formatValue(name)} requires ` +
            `${formatValue(required)}, which applies to all extensions that match its uriPattern, not to one`,
          'name a policy with a uri'
        )
      ]
    }
    if (layered === null) return [unknown(required, at, layers)]
    if (required === name) return [problemAt(at, `policy ${formatValue(name)} requires itself`, 'remove it')]
    return reaches(required, name, next)
      ? [problemAt(at, `policies ${formatValue(name)} and ${formatValue(required)} require each other`, 'remove one of the two')]
      : []
  })
}

function reaches (from: string, to: string, next: (name: string) => string[]): boolean {
  const names = new Set<string>()
  const open = [from]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name === to) return true
    if (names.has(name)) continue
    names.add(name)
    open.push(...next(name))
  }
  return false
}
