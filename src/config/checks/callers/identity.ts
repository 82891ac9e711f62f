/** Checks of `identity`: keys that depend on each other, and key files. */
import { resolve } from 'node:path'
import { dotted, formatValue } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { unreadable } from '../named-files.js'
import { plainHeaderName } from '#wire/header-names.js'
import { readKeyFile } from '../../key-file.js'
import { problemAt, items, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'
import { trustsEveryone } from '../../schema/formats.js'

const CARRIERS = ['header', 'cookie', 'query'] as const

/** Headers that other rules of HTTP or of the gateway read. A key in one of them would be lost, or would change the request. */
const TAKEN: ReadonlySet<string> = new Set([
  'authorization', 'proxy-authorization', 'cookie', 'host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding',
  'accept', 'accept-encoding', 'origin', 'te', 'trailer', 'upgrade', 'expect', 'keep-alive', 'via', 'forwarded', 'x-real-ip', 'traceparent',
  'tracestate', 'a2a-version', 'a2a-extensions', 'x-a2a-extensions', 'gateway-decision', 'client-cert',
  'client-cert-chain'
])

/** @param baseDir directory that the paths are relative to */
export function identityProblems (identity: Mapping, server: Mapping, baseDir: string): PathProblem[] {
  const sources = Object.entries(mapping(identity.sources))
  return [
    ...sourceProblems(sources, baseDir),
    ...sameIssuers(sources, 'jwt'),
    ...sameIssuers(sources, 'envoyJwt'),
    ...withoutMesh(sources, server),
    ...otherHeaders(sources),
    ...certificateProblems(sources)
  ]
}

/** A token names its source by its issuer alone. */
function sameIssuers (sources: readonly (readonly [string, unknown])[], kind: 'jwt' | 'envoyJwt'): PathProblem[] {
  const names = new Map<string, string>()
  return sources.flatMap(([name, source]) => {
    const { issuer, header, metadata } = mapping(mapping(source)[kind])
    if (typeof issuer !== 'string') return []
    const { namespace, key: place } = mapping(metadata)
    const carrier = kind === 'envoyJwt' ? [namespace, place] : [typeof header === 'string' ? header.toLowerCase() : '']
    const key = JSON.stringify([issuer, ...carrier])
    const other = names.get(key)
    if (other === undefined) names.set(key, name)
    const path: Path = ['identity', 'sources', name, kind, 'issuer']
    return other === undefined
      ? []
      : [problemAt(
          path, `${dotted(path)} is the issuer of the source ${formatValue(other)} too`,
          'list all audiences in one source, and set access.audience of the agents'
        )]
  })
}

/** A token that Envoy has verified comes in one header, which the agent must not get. */
function otherHeaders (sources: readonly (readonly [string, unknown])[]): PathProblem[] {
  const entries = new Map<string, readonly [name: string, header: unknown]>()
  return sources.flatMap(([name, source]) => {
    const { envoyJwt } = mapping(source)
    if (envoyJwt === undefined) return []
    const { header, metadata } = mapping(envoyJwt)
    const { namespace, key } = mapping(metadata)
    const place = JSON.stringify([namespace, key])
    const plain = typeof header === 'string' ? plainHeaderName(header) : null
    const other = entries.get(place)
    if (other === undefined) entries.set(place, [name, plain])
    if (other === undefined || other[1] === plain) return []
    const path: Path = ['identity', 'sources', name, 'envoyJwt']
    return [problemAt(
      path, `${dotted(path)} has the metadata of the source ${formatValue(other[0])} and another header`,
      'give them the same header, or other metadata', 'key'
    )]
  })
}

/** Such callers exist only for calls that a proxy asks about. */
function withoutMesh (sources: readonly (readonly [string, unknown])[], { mesh }: Mapping): PathProblem[] {
  if (typeof mapping(mesh).listen === 'string') return []
  return sources.filter(([, source]) => mapping(source).envoyJwt !== undefined).map(([name]) => {
    const path: Path = ['identity', 'sources', name, 'envoyJwt']
    return problemAt(
      path, `${dotted(path)} needs server.mesh: only Envoy sends what it has verified`, 'set server.mesh.listen, or use jwt', 'key'
    )
  })
}

/** Warns of tokens that were issued for other services, and of certificates that never come. */
export function identityWarnings (identity: Mapping, server: Mapping): PathProblem[] {
  return [...audienceWarnings(identity), ...certificateWarnings(identity, server)]
}

function audienceWarnings (identity: Mapping): PathProblem[] {
  return Object.entries(mapping(identity.sources)).flatMap(([name, source]) => {
    const kind = mapping(source).envoyJwt === undefined ? 'jwt' : 'envoyJwt'
    const path: Path = ['identity', 'sources', name, kind, 'audience']
    return items(mapping(mapping(source)[kind]).audience).includes('*')
      ? [problemAt(
          path, `${dotted(path)} accepts every token of the issuer, also those for other services and ID tokens`,
          'name the audience of the agents'
        )]
      : []
  })
}

function sourceProblems (sources: readonly (readonly [string, unknown])[], baseDir: string): PathProblem[] {
  return sources.flatMap(([name, source]) => {
    const at: Path = ['identity', 'sources', name]
    const { apiKey, basic, jwt, envoyJwt } = mapping(source)
    return [
      ...(apiKey === undefined
        ? []
        : [...carrierProblems(mapping(apiKey), [...at, 'apiKey']), ...keyProblems(mapping(apiKey), [...at, 'apiKey'], baseDir)]),
      ...(basic === undefined ? [] : keyProblems(mapping(basic), [...at, 'basic'], baseDir)),
      ...(jwt === undefined ? [] : jwtProblems(mapping(jwt), [...at, 'jwt'], baseDir)),
      ...(envoyJwt === undefined ? [] : headerProblems(mapping(envoyJwt).header, [...at, 'envoyJwt', 'header']))
    ]
  })
}

function carrierProblems (apiKey: Mapping, at: Path): PathProblem[] {
  const named = CARRIERS.filter(carrier => typeof apiKey[carrier] === 'string')
  const [first, second] = named
  if (first === undefined) {
    // The schema has already reported a value of another type.
    return CARRIERS.some(carrier => apiKey[carrier] !== undefined && apiKey[carrier] !== null)
      ? []
      : [problemAt(at, `${dotted(at)} needs one of header, cookie and query`, 'such as "header: x-api-key"', 'key')]
  }
  if (second !== undefined) {
    return [
      problemAt([...at, second], `${dotted(at)} has both ${first} and ${second}`, 'give each a separate source', 'key')
    ]
  }
  const { header, query, allowQuery } = apiKey
  if (typeof query === 'string' && allowQuery === false) {
    return [problemAt([...at, 'query'], `${dotted([...at, 'query'])} also needs allowQuery`, 'proxies log URLs; prefer a header')]
  }
  return headerProblems(header, [...at, 'header'])
}

function headerProblems (header: unknown, at: Path): PathProblem[] {
  // The agent gets no spelling of the header.
  const plain = typeof header === 'string' ? plainHeaderName(header) : ''
  return TAKEN.has(plain) || plain.startsWith('x-forwarded-')
    ? [problemAt(at, `${dotted(at)} cannot be ${formatValue(header)}`, 'choose another header, such as x-api-key')]
    : []
}

function jwtProblems (jwt: Mapping, at: Path, baseDir: string): PathProblem[] {
  const keys = mapping(jwt.keys)
  const path: Path = [...at, 'keys']
  const named = ['url', 'file'].filter(key => typeof keys[key] === 'string')
  if (jwt.keys === keys && named.length === 0 && (keys.url ?? keys.file ?? null) === null) {
    return [problemAt(path, `${dotted(path)} needs url or file`, 'or write "keys: discover"')]
  }
  if (named.length > 1) return [problemAt([...path, 'file'], `${dotted(path)} has both url and file`, 'keep one', 'key')]
  const { ca } = mapping(jwt.tls)
  return [
    ...headerProblems(jwt.header, [...at, 'header']),
    ...unreadable(keys.file, [...path, 'file'], baseDir),
    ...unreadable(ca, [...at, 'tls', 'ca'], baseDir),
    ...(typeof ca === 'string' && typeof keys.file === 'string'
      ? [problemAt([...at, 'tls', 'ca'], `${dotted([...at, 'tls', 'ca'])} has no effect with keys.file`, 'remove one of the two')]
      : [])
  ]
}

function keyProblems (source: Mapping, at: Path, baseDir: string): PathProblem[] {
  const { file } = mapping(source.keys)
  if (typeof file !== 'string' || file === '' || file.includes('\0')) return []
  const path = [...at, 'keys', 'file']
  const read = readKeyFile(resolve(baseDir, file))
  if ('entries' in read) return []
  return read.problems.map(problem =>
    problemAt(path, `${dotted(path)}: ${formatValue(file)}: ${problem}`, undefined, 'value', 'A2AGW_ERR_CONFIG_FILE'))
}

// Checks of `identity.sources.<name>.certificate`: keys that depend on each other, and on `server.tls`.

type Sources = readonly (readonly [string, unknown])[]

interface PlacedCertificate { readonly at: Path, readonly config: Mapping }

function certificatesOf (sources: Sources): PlacedCertificate[] {
  return sources.flatMap(([name, source]) => {
    const { certificate } = mapping(source)
    return certificate === undefined ? [] : [{ at: ['identity', 'sources', name, 'certificate'], config: mapping(certificate) }]
  })
}

function certificateProblems (sources: Sources): PathProblem[] {
  return certificatesOf(sources).flatMap(({ at, config }) => {
    const { from, proxies, hops, trustDomains, san } = config
    const problem = (key: string, text: string, hint: string): PathProblem => problemAt(
      [...at, key], `${dotted([...at, key])} ${text}`, hint
    )
    const count = items(proxies).length
    const headers = from === 'xfcc' || from === 'rfc9440'
    return [
      ...(headers && Array.isArray(proxies) && count === 0
        ? [
            problemAt(at, `${dotted(at)} needs proxies`, 'the addresses of the proxies that write the header, such as ' +
              '[127.0.0.1/32]', 'key')
          ]
        : []),
      ...(headers
        ? everyone(proxies).map(([index, entry]) =>
          problemAt(
            [...at, 'proxies', index],
            `${dotted([...at, 'proxies'])} trusts every address (${formatValue(entry)}): any client could write the header`,
            'list the proxies only'
          ))
        : []),
      ...(from === 'tls' && count > 0
        ? [problem('proxies', 'has no effect with from: tls', 'set from to xfcc or rfc9440, or remove this line')]
        : []),
      ...(from !== 'xfcc' && typeof hops === 'number' && hops !== 1
        ? [problem('hops', 'is for from: xfcc only', 'remove this line')]
        : []),
      ...(Array.isArray(trustDomains) && trustDomains.length === 0 && san === null
        ? [problemAt(at, `${dotted(at)} needs trustDomains or san`, 'without them no certificate names a caller', 'key')]
        : []),
      ...(from === 'xfcc' && san === 'email'
        ? [problem('san', 'cannot be email with from: xfcc', 'the header has names of the kinds uri and dns only')]
        : [])
    ]
  })
}

function everyone (proxies: unknown): (readonly [index: number, entry: string])[] {
  return items(proxies).flatMap((entry, index) => (typeof entry === 'string' && trustsEveryone(entry) ? [[index, entry] as const] : []))
}

/** In a Fastify application, its own listener asks for certificates: `server.tls` has no effect there. So this is no error. */
function certificateWarnings (identity: Mapping, server: Mapping): PathProblem[] {
  const { clientCertificate } = mapping(server.tls)
  if (clientCertificate === 'request' || clientCertificate === 'require') return []
  return certificatesOf(Object.entries(mapping(identity.sources))).filter(({ config }) => config.from === 'tls').map(({ at }) => {
    const path: Path = [...at, 'from']
    return problemAt(
      path,
      `${dotted(path)} is tls, but server.tls.clientCertificate is none`,
      'set it to request or require; in a Fastify application, its listener must ask for certificates'
    )
  })
}
