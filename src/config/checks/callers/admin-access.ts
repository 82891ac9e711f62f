/** Checks of `server.adminAccess`: its sources exist, and its conditions can hold. */
import { dotted, shown } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { fault, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'
import { conditionProblems, unknownSources } from './caller-checks.js'

export function adminAccess (server: Mapping, identity: Mapping): PathProblem[] {
  const names = Object.keys(mapping(identity.sources))
  const at: Path = ['server', 'adminAccess']
  const { sources, allow } = mapping(server.adminAccess)
  return [
    ...ofMesh(sources, [...at, 'sources'], mapping(identity.sources)),
    ...unknownSources(sources, [...at, 'sources'], names),
    ...items(allow).flatMap((condition, i) => conditionProblems(mapping(condition), [...at, 'allow', i], names))
  ]
}

/** No proxy asks about requests to the admin listener. */
function ofMesh (names: unknown, at: Path, sources: Mapping): PathProblem[] {
  return items(names).flatMap((name, i) => {
    if (typeof name !== 'string' || !Object.hasOwn(sources, name) || mapping(sources[name]).envoyJwt === undefined) return []
    const path: Path = [...at, i]
    return [fault(path, `${dotted(path)}: the source ${shown(name)} has callers on server.mesh only`, 'name a source of another kind')]
  })
}
