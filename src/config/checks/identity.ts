/** Checks of `identity`: keys that depend on each other, and key files. */
import { resolve } from 'node:path'
import { dotted, shown } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { readKeyFile } from '../key-file.js'
import { fault, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'

const CARRIERS = ['header', 'cookie', 'query'] as const

/** Headers that other rules of HTTP or of the gateway read. A key in one of them would be lost, or would change the request. */
const TAKEN: ReadonlySet<string> = new Set([
  'authorization', 'proxy-authorization', 'cookie', 'host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding',
  'accept', 'accept-encoding', 'origin', 'te', 'trailer', 'upgrade', 'expect', 'keep-alive', 'via', 'forwarded', 'x-real-ip', 'traceparent',
  'tracestate', 'a2a-version', 'a2a-extensions', 'x-a2a-extensions', 'gateway-decision'
])

/** @param baseDir directory that the paths are relative to */
export function identityProblems (identity: Mapping, baseDir: string): PathProblem[] {
  return Object.entries(mapping(identity.sources)).flatMap(([name, source]) => {
    const at: Path = ['identity', 'sources', name]
    const { apiKey, basic } = mapping(source)
    return [
      ...(apiKey === undefined ? [] : [...carrierProblems(mapping(apiKey), [...at, 'apiKey']), ...keyProblems(mapping(apiKey), [...at, 'apiKey'], baseDir)]),
      ...(basic === undefined ? [] : keyProblems(mapping(basic), [...at, 'basic'], baseDir))
    ]
  })
}

function carrierProblems (apiKey: Mapping, at: Path): PathProblem[] {
  const named = CARRIERS.filter(one => typeof apiKey[one] === 'string')
  const [first, second] = named
  if (first === undefined) {
    // The schema has already reported a value of another type.
    return CARRIERS.some(one => apiKey[one] !== undefined && apiKey[one] !== null)
      ? []
      : [fault(at, `${dotted(at)} needs one of header, cookie and query`, 'such as "header: x-api-key"', 'key')]
  }
  if (second !== undefined) return [fault([...at, second], `${dotted(at)} has both ${first} and ${second}`, 'give each a source of its own', 'key')]
  const { header, query, allowQuery } = apiKey
  if (typeof query === 'string' && allowQuery === false) {
    return [fault([...at, 'query'], `${dotted([...at, 'query'])} also needs allowQuery`, 'proxies log URLs; prefer a header')]
  }
  const lower = typeof header === 'string' ? header.toLowerCase() : ''
  return TAKEN.has(lower) || lower.startsWith('x-forwarded-')
    ? [fault([...at, 'header'], `${dotted([...at, 'header'])} cannot be ${shown(header)}`, 'choose another header, such as x-api-key')]
    : []
}

function keyProblems (source: Mapping, at: Path, baseDir: string): PathProblem[] {
  const { file } = mapping(source.keys)
  if (typeof file !== 'string' || file === '' || file.includes('\0')) return []
  const path = [...at, 'keys', 'file']
  const read = readKeyFile(resolve(baseDir, file))
  return 'entries' in read ? [] : read.problems.map(problem => fault(path, `${dotted(path)}: ${shown(file)}: ${problem}`))
}
