/** Checks of `server.adminAccess`: its sources exist. */
import { didYouMean, dotted, shown } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { fault, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'

export function adminAccess (server: Mapping, identity: Mapping): PathProblem[] {
  const names = Object.keys(mapping(identity.sources))
  const at: Path = ['server', 'adminAccess']
  const { sources, allow } = mapping(server.adminAccess)
  const unknown = (name: unknown, path: Path): PathProblem[] =>
    typeof name !== 'string' || names.includes(name)
      ? []
      : [fault(path, `${dotted(path)}: identity has no source ${shown(name)}`, didYouMean(name, names) ?? 'define it in identity.sources')]
  return [
    ...items(sources).flatMap((name, i) => unknown(name, [...at, 'sources', i])),
    ...items(allow).flatMap((condition, i) =>
      items(mapping(condition).source).flatMap((name, j) => unknown(name, [...at, 'allow', i, 'source', j]))
    )
  ]
}
