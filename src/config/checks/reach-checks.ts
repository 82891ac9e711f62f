/** Warns about policies that affect more than their own extension: names and URIs that all extensions share. */
import { OFFICIAL_PREFIX, uriVersion } from '#a2a/card/extensions.js'
import { dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

export function reachWarnings (policy: Mapping, path: Path): PathProblem[] {
  return [...uriWarnings(policy, path), ...fallbacks(policy, path), ...ownedByAll(mapping(policy.owns), [...path, 'owns'])]
}

/** Matches `*`, or a scheme and `*`. */
const ANY_URI = /^(?:[a-z][a-z0-9+.-]*:(?:\/\/)?)?\*+$/i

function uriWarnings ({ uri, uriPattern, aliases }: Mapping, path: Path): PathProblem[] {
  const uris: [unknown, Path][] = [[uri, [...path, 'uri']], [uriPattern, [...path, 'uriPattern']]]
  items(aliases).forEach((alias, index) => { uris.push([mapping(alias).uri, [...path, 'aliases', index, 'uri']]) })
  const warnings = uris.flatMap(([text, at]) =>
    typeof text === 'string' && text.toLowerCase().startsWith(OFFICIAL_PREFIX)
      ? [
          problemAt(
            at,
            `${dotted(at)} is below ${OFFICIAL_PREFIX}, which is reserved for extensions of the A2A project`,
            'use your own URI for your extension'
          )
        ]
      : []
  )
  if (typeof uriPattern === 'string' && ANY_URI.test(uriPattern)) {
    const at = [...path, 'uriPattern']
    warnings.push(
      problemAt(
        at, `${dotted(at)} ${formatValue(uriPattern)} matches the extensions of all organizations`, 'begin it with a host or namespace'
      )
    )
  }
  return warnings
}

/** Finds aliases that equate two versions of an extension. The specification does not allow a fall-back to another version. */
function fallbacks ({ uri, aliases }: Mapping, path: Path): PathProblem[] {
  const own = typeof uri === 'string' ? uriVersion(uri) : null
  if (own === null) return []
  return items(aliases).map(mapping).flatMap((alias, index) => {
    const other = typeof alias.uri === 'string' && alias.relation === 'same' ? uriVersion(alias.uri) : null
    if (other === null || other === own) return []
    const at = [...path, 'aliases', index, 'uri']
    return [
      problemAt(
        at,
        `${dotted(at)} ${formatValue(alias.uri)} is version ${other} and uri is version ` +
          `${own}: a client that requests one version gets the other`,
        'write a policy for each version, or use relation: satisfies if agents that require uri also accept this version'
      )
    ]
  })
}

/** Names that occur in requests of every client, with or without an extension. */
const EVERYONES: Readonly<Record<string, readonly string[]>> = {
  metadata: ['mimetype'],
  dataKeys: [],
  mediaTypes: ['application/json', 'text/plain', 'application/octet-stream'],
  headers: [
    'a2a-version',
    'a2a-extensions',
    'x-a2a-extensions',
    'accept',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'transfer-encoding',
    'user-agent'
  ]
}

function ownedByAll (owns: Mapping, path: Path): PathProblem[] {
  return Object.entries(EVERYONES).flatMap(([kind, names]) => items(owns[kind]).flatMap((name, index) => {
    if (typeof name !== 'string') return []
    const at = [...path, kind, index]
    const hint = 'own only data that no other extension uses: its rules and inactive.request depend on this evidence'
    if (/^\*+$/.test(name) && kind !== 'headers') return [problemAt(at, `${dotted(at)}: ${formatValue(name)} owns everything`, hint)]
    return names.includes(name.toLowerCase())
      ? [problemAt(at, `${dotted(at)}: ${formatValue(name)} is in requests of every kind`, hint)]
      : []
  }))
}
