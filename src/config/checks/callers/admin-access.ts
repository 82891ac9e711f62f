/** Checks of `server.adminAccess`: its sources exist, and its conditions can hold. */
import type { Path, PathProblem } from '../../diagnostics.js'
import { items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'
import { conditionProblems, unknownSources } from './caller-checks.js'

export function adminAccess (server: Mapping, identity: Mapping): PathProblem[] {
  const names = Object.keys(mapping(identity.sources))
  const at: Path = ['server', 'adminAccess']
  const { sources, allow } = mapping(server.adminAccess)
  return [
    ...unknownSources(sources, [...at, 'sources'], names),
    ...items(allow).flatMap((condition, i) => conditionProblems(mapping(condition), [...at, 'allow', i], names))
  ]
}
