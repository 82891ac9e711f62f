/** Checks of `rates` and `budgets`: names that do not exist, and limits that would not limit. */
import { didYouMean, dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import type { PolicyLayers } from '../layers.js'
import { listedNames, listItem } from '../layers.js'
import { FAILURES } from '../model/rates-model.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

/** The configuration, as far as limits depend on it. */
interface LimitContext {
  readonly agents: readonly Mapping[]
  readonly layers: PolicyLayers
  /** True when `state.store` is a server. */
  readonly server: boolean
}

interface Entry { readonly value: Mapping, readonly path: Path }

export function rateProblems (config: Mapping, layers: PolicyLayers): PathProblem[] {
  const { store } = mapping(config.state)
  const surroundings = { agents: items(config.agents).map(mapping), layers, server: typeof store !== 'string' || store !== 'memory' }
  const [rates, budgets] = [entries(config, 'rates'), entries(config, 'budgets')]
  return [
    ...sameIds([...rates, ...budgets]),
    ...[...rates, ...budgets].flatMap(entry => unshared(entry, surroundings)),
    ...rates.flatMap(entry => [...unknownAgents(entry, surroundings), ...unknownPolicy(entry, surroundings), ...failureProblems(entry)]),
    ...budgets.flatMap(entry => metricProblems(entry, surroundings))
  ]
}

export function rateWarnings (config: Mapping): PathProblem[] {
  const agents = items(config.agents).map(mapping)
  const [rates, budgets] = [entries(config, 'rates'), entries(config, 'budgets')]
  return [
    ...(mapping(config.identity).sources === undefined ? [...rates, ...budgets].flatMap(withoutIdentity) : []),
    ...budgets.flatMap(({ value, path }) => {
      const [policy = ''] = String(value.of).split('/')
      return agents.flatMap(({ name, extensions, responses, mode }) => {
        if (!listedNames(extensions).includes(policy) || (responses !== 'off' && mode !== 'off')) return []
        const key = mode === 'off' ? 'mode' : 'responses'
        return [problemAt(
          [...path, 'of'], `${dotted([...path, 'of'])} counts nothing of agent ${formatValue(name)}, which has ${key}: off`,
          'the gateway must read its responses'
        )]
      })
    })
  ]
}

function entries (config: Mapping, key: 'rates' | 'budgets'): Entry[] {
  return items(config[key]).map((value, index) => ({ value: mapping(value), path: [key, index] }))
}

function sameIds (all: readonly Entry[]): PathProblem[] {
  const paths = new Map<string, Path>()
  return all.flatMap(({ value: { id, on }, path }) => {
    if (typeof id !== 'string') return []
    const other = paths.get(id)
    if (other === undefined) paths.set(id, path)
    if (other !== undefined) {
      return [
        problemAt([...path, 'id'], `${dotted(other)} and ${dotted(path)} have the same id, ${formatValue(id)}`)
      ]
    }
    return id === FAILURES.id && on !== 'failures'
      ? [problemAt([...path, 'id'], `${dotted([...path, 'id'])} is the name of the built-in limit of failures`, 'choose another')]
      : []
  })
}

function unshared ({ value, path }: Entry, { server }: LimitContext): PathProblem[] {
  return value.scope === 'shared' && !server
    ? [problemAt(
        [...path, 'scope'], `${dotted([...path, 'scope'])} needs a server that gateways share`,
        'set state.store to the URL of a Redis or Valkey server'
      )]
    : []
}

function unknownAgents ({ value, path }: Entry, { agents }: LimitContext): PathProblem[] {
  const names = agents.map(({ name }) => name).filter(name => typeof name === 'string')
  return items(value.agents).flatMap((name, index) => {
    const at = [...path, 'agents', index]
    return typeof name !== 'string' || names.includes(name)
      ? []
      : [problemAt(
          at, `${dotted(at)}: no agent has the name ${formatValue(name)}`, didYouMean(
            name, names
          ) ?? `agents: ${names.slice(0, 10).join(', ')}`
        )]
  })
}

function unknownPolicy ({ value: { extension }, path }: Entry, surroundings: LimitContext): PathProblem[] {
  return typeof extension === 'string' ? inForce(extension, [...path, 'extension'], surroundings) : []
}

/** Checks that a policy exists and that an agent has it. Otherwise the limit would silently not limit. */
function inForce (policy: string, at: Path, { agents, layers }: LimitContext): PathProblem[] {
  if (!layers.names.includes(policy)) {
    return [
      problemAt(at, `${dotted(at)}: no policy has the name ${formatValue(policy)}`, didYouMean(policy, layers.names))
    ]
  }
  return agents.some(({ extensions }) => listedNames(extensions).includes(policy))
    ? []
    : [problemAt(at, `${dotted(at)}: no agent uses the policy ${formatValue(policy)}`, 'name it in an agent\'s extensions')]
}

/** Keys that a request without a caller does not have. */
const NOT_OF_FAILURES: readonly string[] = ['caller', 'client', 'source', 'tenant', 'operation', 'extension']

function failureProblems ({ value, path }: Entry): PathProblem[] {
  if (value.on !== 'failures') return []
  const by = items(value.by).findIndex(key => NOT_OF_FAILURES.includes(String(key)))
  const useless = (['agents', 'extension'] as const).filter(key => value[key] !== null && value[key] !== undefined)
  return [
    ...(by < 0
      ? []
      : [problemAt(
          [...path, 'by', by], `${dotted([...path, 'by', by])}: a failed authentication has no ${String(items(value.by)[by])}`,
          'use address, and agent for a separate count per agent'
        )]),
    ...(value.scope === 'shared'
      ? [problemAt(
          [...path, 'scope'], `${dotted([...path, 'scope'])} cannot be shared with on: failures`, 'each process counts failures for itself'
        )]
      : []),
    ...useless.map(key => problemAt([...path, key], `${dotted([...path, key])} has no effect with on: failures`, 'remove it', 'key'))
  ]
}

function metricProblems ({ value, path }: Entry, surroundings: LimitContext): PathProblem[] {
  const { of } = value
  const at = [...path, 'of']
  const [policy, metric] = typeof of === 'string' ? of.split('/') : []
  if (policy === undefined || metric === undefined) return []
  const missing = inForce(policy, at, surroundings)
  if (missing.length > 0) return missing
  const metrics = metricsOf(policy, surroundings)
  const definition = metrics.find(({ name }) => name === metric)
  if (definition?.type === 'counter') return []
  if (definition !== undefined) {
    return [
      problemAt(at, `${dotted(at)}: the metric ${formatValue(metric)} is a gauge`, 'a budget counts amounts: use a metric of type: counter')
    ]
  }
  const names = metrics.map(({ name }) => name).filter(name => typeof name === 'string')
  return [
    problemAt(
      at, `${dotted(at)}: the policy ${formatValue(policy)} has no metric ${formatValue(metric)}`,
      didYouMean(metric, names) ?? 'define it in observe.metrics of the policy'
    )
  ]
}

/** The metrics of a policy, in all agents that have it. */
function metricsOf (policy: string, { agents, layers }: LimitContext): Mapping[] {
  return agents.flatMap(({ extensions }) => items(extensions)).flatMap(item => {
    const listed = listItem(item)
    const observe = listed?.name === policy ? mapping(layers.listed(listed, [])?.value.observe) : {}
    return items(observe.metrics).map(mapping)
  })
}

function withoutIdentity ({ value, path }: Entry): PathProblem[] {
  if (value.on === 'failures') {
    return [problemAt([...path, 'on'], `${dotted([...path, 'on'])}: without identity, no authentication fails`, 'configure identity')]
  }
  const by = items(value.by).findIndex(key => key === 'caller' || key === 'client' || key === 'source')
  return by < 0
    ? []
    : [problemAt(
        [...path, 'by', by], `${dotted([...path, 'by', by])}: without identity, all requests have the same ${String(items(value.by)[by])}`,
        'configure identity, or use address'
      )]
}
