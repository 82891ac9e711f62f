/** Checks of `access.tasks`: what it needs, and what goes around it. */
import { dotted } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { duration } from '../../model/units.js'
import { problemAt, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'

interface Owning {
  readonly agent: Mapping
  readonly at: Path
  /** Path of `tasks`: in the agent, or in `accessDefaults`. */
  readonly path: Path
}

/** Agents with `access.tasks`. */
function owning ({ agents, accessDefaults }: Mapping): readonly Owning[] {
  return items(agents).flatMap((item, index) => {
    const agent = mapping(item)
    const { tasks: own } = mapping(agent.access)
    const tasks = own === undefined ? mapping(accessDefaults).tasks : own
    const at: Path = ['agents', index]
    const path: Path = own === undefined ? ['accessDefaults', 'tasks'] : [...at, 'access', 'tasks']
    return tasks === undefined || tasks === null ? [] : [{ agent, at, path }]
  })
}

export function ownershipProblems (config: Mapping): PathProblem[] {
  const all = owning(config)
  const keys = new Map(all.map(({ path }) => [dotted(path), path]))
  const withoutOwners = (config.identity === null ? [...keys] : []).map(([key, path]) =>
    problemAt(path, `${key} needs identity: without callers, tasks have no owners`, 'add identity, or remove the key', 'key')
  )
  return [...withoutOwners, ...all.flatMap(({ agent, at }) => contradictions(agent, at))]
}

function contradictions ({ mode, card }: Mapping, at: Path): PathProblem[] {
  const [modeAt, cardAt]: [Path, Path] = [[...at, 'mode'], [...at, 'card', 'onUnavailable']]
  return [
    ...(mode === 'off'
      ? [problemAt(
          modeAt, `${dotted(modeAt)} is off, so the gateway would not read to whom tasks belong`, 'write "mode: observe" with access.tasks'
        )]
      : []),
    ...(mapping(card).onUnavailable === 'forward'
      ? [
          problemAt(
            cardAt,
            `${dotted(cardAt)} forwards calls without any checks, and access.tasks needs them`,
            'write "onUnavailable: reject" with access.tasks'
          )
        ]
      : [])
  ]
}

/** Time for which clients are expected to come back to a task, ms. */
const DAY = 24 * 60 * 60 * 1_000

export function ownershipWarnings (config: Mapping): PathProblem[] {
  const agents = owning(config)
  const [first] = agents
  if (first === undefined) return []
  const { store, ttl } = mapping(config.state)
  const { path } = first
  const warnings: PathProblem[] = []
  if (store === 'memory') {
    warnings.push(
      problemAt(
        path,
        `${dotted(path)} with state.store "memory": after a restart, and in other replicas, nobody owns the tasks`,
        'set state.store to a Redis or Valkey server',
        'key'
      )
    )
  }
  if (typeof ttl === 'string' && timeOf(ttl) < DAY) {
    warnings.push(
      problemAt(
        ['state', 'ttl'], `state.ttl is ${ttl}: callers lose tasks that they do not use for so long`, 'at least as long as tasks live'
      )
    )
  }
  return [...warnings, ...agents.flatMap(({ agent, at }) => bypasses(agent, at))]
}

function bypasses (agent: Mapping, at: Path): PathProblem[] {
  const forwarded = items(agent.passthrough).length > 0 ? [...at, 'passthrough'] : null
  const unknown = agent.unknownMethods === 'forward' ? [...at, 'unknownMethods'] : null
  return [
    ...(forwarded === null
      ? []
      : [problemAt(forwarded, `${dotted(forwarded)} bypasses access.tasks: the gateway does not read these requests`, 'remove it', 'key')]),
    ...(unknown === null
      ? []
      : [problemAt(
          unknown, `${dotted(unknown)} forwards methods whose tasks access.tasks does not check`, 'declare the methods in a policy', 'key'
        )])
  ]
}

/** @returns NaN for a value that validation has reported */
function timeOf (text: string): number {
  try {
    return duration(text)
  } catch {
    return Number.NaN
  }
}
