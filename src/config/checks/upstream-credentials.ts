/** Checks of `upstream.credentials`: keys that depend on each other and on `identity`, names of headers, and files of secrets. */
import { resolve } from 'node:path'
import { didYouMean, dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { isReservedHeader } from '#a2a/reserved-headers.js'
import { FORMATS } from '../schema/formats.js'
import { readHeader, readSecret } from '../secrets.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import type { Environment } from '../yaml/substitute.js'
import { plainHeaderName } from '#wire/header-names.js'
import { readableByAll } from './named-files.js'
import { unusableSecret } from './secret-checks.js'
import { signingKeyProblems, signingKeyWarnings } from './card/signing-keys.js'
import { parseUrl } from '#wire/url.js'

interface SecretContext {
  readonly baseDir: string
  /** Environment that holds the secrets. Null: the checks do not look for secrets. */
  readonly env: Environment | null
}

interface Context extends SecretContext {
  /** `identity.sources`, by name. */
  readonly sources: Mapping
  readonly server: Mapping
}

const KINDS = ['fromSecret', 'clientCredentials', 'exchange'] as const

/** @param config the whole file */
export function upstreamCredentialProblems (config: Mapping, surroundings: SecretContext): PathProblem[] {
  const context = { ...surroundings, sources: mapping(mapping(config.identity).sources), server: mapping(config.server) }
  return agentsOf(config).flatMap(([credentials, path]) => {
    const send = items(credentials.send).map(mapping)
    return [
      ...send.flatMap((entry, index) => entryProblems(entry, [...path, 'send', index], context)),
      ...(given(credentials.identity) ? identityProblems(credentials, [...path, 'identity'], context) : [])
    ]
  })
}

function agentsOf (config: Mapping): [credentials: Mapping, path: Path, agent: Mapping][] {
  return items(config.agents).map(mapping).map((agent, index) => [
    mapping(mapping(agent.upstream).credentials),
    ['agents', index, 'upstream', 'credentials'],
    agent
  ])
}

function given (value: unknown): boolean {
  return value !== undefined && value !== null
}

function entryProblems (entry: Mapping, path: Path, context: Context): PathProblem[] {
  const [kind, other] = KINDS.filter(kind => given(entry[kind]))
  if (kind === undefined) return [problemAt(path, `${dotted(path)} needs fromSecret, clientCredentials or exchange`, 'one of them')]
  if (other !== undefined) {
    return [
      problemAt([...path, other], `${dotted(path)} has both ${kind} and ${other}`, 'give each a separate entry', 'key')
    ]
  }
  const inner = mapping(entry[kind])
  return [
    ...headerProblems(entry, path, kind),
    ...callerProblems(entry, path, kind, context),
    ...(kind === 'fromSecret'
      ? secretProblems(inner, [...path, kind], context, entry.prefix)
      : secretProblems(mapping(mapping(inner).client).secret, [...path, kind, 'client', 'secret'], context)),
    ...(given(inner.actorToken) ? secretProblems(inner.actorToken, [...path, kind, 'actorToken'], context) : [])
  ]
}

function headerProblems (entry: Mapping, path: Path, kind: typeof KINDS[number]): PathProblem[] {
  const { header, prefix } = entry
  if (kind === 'fromSecret') {
    return typeof header === 'string'
      ? reserved(header, [...path, 'header'])
      : header === null ? [problemAt(path, `${dotted(path)} needs header`, 'such as "header: x-api-key"')] : []
  }
  return Object.entries({ header, prefix }).filter(([, value]) => given(value)).map(([key]) =>
    problemAt(
      [...path, key], `${dotted([...path, key])} has no effect with ${kind}`, 'tokens go into Authorization, after "Bearer "', 'key'
    )
  )
}

function reserved (header: string, path: Path): PathProblem[] {
  return isReservedHeader(header)
    ? [problemAt(path, `${dotted(path)} cannot be ${formatValue(header)}`, 'the header has a meaning in HTTP, in A2A or for the gateway')]
    : []
}

/** Checks `for`, and that only tokens are exchanged. */
function callerProblems (entry: Mapping, path: Path, kind: typeof KINDS[number], { sources }: Context): PathProblem[] {
  const inside = kind === 'fromSecret' ? undefined : mapping(entry[kind]).for
  if (given(entry.for) && given(inside)) {
    return [
      problemAt([...path, kind, 'for'], `${dotted(path)} and ${dotted([...path, kind])} both have for`, 'keep the one of the entry', 'key')
    ]
  }
  const place: Path = given(inside) ? [...path, kind, 'for'] : [...path, 'for']
  const list = entry.for ?? inside
  const names = Object.keys(sources)
  const unknown = items(list).flatMap((name, index) =>
    typeof name !== 'string' || names.includes(name) || FORMATS.name(name) !== null
      ? []
      : [problemAt(
          [...place, index], `${dotted([...place, index])}: identity has no source ${formatValue(name)}`,
          didYouMean(name, names) ?? sourcesHint(names)
        )]
  )
  if (kind !== 'exchange') return unknown
  if (!given(list)) {
    const others = names.filter(name => !isJwt(sources, name))
    if (names.length > 0 && others.length === 0) return unknown
    const why = names.length === 0 ? 'needs identity' : 'needs for'
    const hint = names.length === 0 ? 'only the access token of an authenticated caller can be exchanged' : 'the names of jwt sources'
    return [...unknown, problemAt([...path, kind], `${dotted([...path, kind])} ${why}`, hint, 'key')]
  }
  const wrong = items(list).flatMap((name, index) =>
    typeof name !== 'string' || !names.includes(name) || isJwt(sources, name)
      ? []
      : [problemAt(
          [...place, index], `${dotted([...place, index])}: the source ${formatValue(name)} has no access tokens to exchange`,
          'name sources of the kind jwt'
        )]
  )
  return [...unknown, ...wrong]
}

function isJwt (sources: Mapping, name: string): boolean {
  return given(mapping(sources[name]).jwt)
}

function sourcesHint (names: readonly string[]): string {
  return names.length === 0 ? 'the configuration has no identity.sources' : `known sources: ${names.join(', ')}`
}

function identityProblems (credentials: Mapping, path: Path, context: Context): PathProblem[] {
  const { header } = mapping(credentials.identity)
  const problems: PathProblem[] = []
  const at: Path = [...path, 'header']
  if (typeof header === 'string') {
    const name = plainHeaderName(header)
    const taken = items(credentials.send).map(mapping).find(entry => typeof entry.header === 'string' &&
      plainHeaderName(entry.header) === name)
    if (name === 'authorization') {
      problems.push(problemAt(
        at, `${dotted(at)} cannot be ${formatValue(header)}`, 'choose another header, such as gateway-identity'
      ))
    } else if (taken !== undefined) {
      problems.push(problemAt(
        at, `${dotted(at)} is the header of an entry of send too`, 'choose another header'
      ))
    } else problems.push(...reserved(header, at))
  }
  if (Object.keys(context.sources).length === 0) {
    problems.push(problemAt(path, `${dotted(path)} needs identity`, 'without identity.sources, no request has a caller', 'key'))
  }
  if (context.server.publicUrl === null) {
    problems.push(problemAt(path, `${dotted(path)} needs server.publicUrl`, 'the tokens name it as their issuer', 'key'))
  }
  problems.push(...signingKeyProblems(mapping(credentials.identity), path, context.baseDir))
  return problems
}

/** Checks that a secret has one place, and can be read. @param prefix of a header; undefined for a secret that is no header */
function secretProblems (value: unknown, path: Path, { baseDir, env }: SecretContext, prefix?: unknown): PathProblem[] {
  const { file, env: variable } = mapping(value)
  if (value !== mapping(value)) return []
  if (file === undefined && variable === undefined) {
    return [
      problemAt(path, `${dotted(path)} needs file or env`, 'such as "{file: secrets/token}"')
    ]
  }
  if (file !== undefined && variable !== undefined) {
    return [
      problemAt([...path, 'env'], `${dotted(path)} has both file and env`, 'keep one', 'key')
    ]
  }
  const place = file ?? variable
  if (env === null || typeof place !== 'string' || place === '' || place.includes('\0')) return []
  if (file === undefined && FORMATS.variable(place) !== null) return []
  const absolute = resolve(baseDir, place)
  const source = file === undefined ? { env: place } : { file: absolute }
  const read = prefix === undefined
    ? readSecret(source, 'text', env)
    : readHeader({ ...source, ...(typeof prefix === 'string' ? { prefix } : {}) }, env)
  if (!('problem' in read)) return []
  const at: Path = [...path, file === undefined ? 'env' : 'file']
  return [unusableSecret(read.problem, at, { file: file !== undefined, given: place, absolute })]
}

/** Warns of secrets that others can read, of entries without effect, and of credentials without encryption. @param config the whole file */
export function upstreamCredentialWarnings (config: Mapping, baseDir: string): PathProblem[] {
  return agentsOf(config).flatMap(([credentials, path, agent]) => {
    const send = items(credentials.send).map(mapping)
    return [
      ...send.flatMap((entry, index) => readableSecrets(entry, [...path, 'send', index], baseDir)),
      ...signingKeyWarnings(mapping(credentials.identity), [...path, 'identity'], baseDir),
      ...neverSent(send, [...path, 'send']),
      ...unencrypted(credentials, path, mapping(agent.upstream).url),
      ...withoutDigest(credentials, path, agent)
    ]
  })
}

function readableSecrets (entry: Mapping, path: Path, baseDir: string): PathProblem[] {
  const { fromSecret, clientCredentials, exchange } = entry
  const places: [Mapping, Path][] = [
    [mapping(fromSecret), [...path, 'fromSecret']],
    [mapping(mapping(mapping(clientCredentials).client).secret), [...path, 'clientCredentials', 'client', 'secret']],
    [mapping(mapping(mapping(exchange).client).secret), [...path, 'exchange', 'client', 'secret']],
    [mapping(mapping(exchange).actorToken), [...path, 'exchange', 'actorToken']]
  ]
  return places.flatMap(([{ file }, at]) => readableByAll(file, [...at, 'file'], baseDir))
}

/** Finds entries that an entry before them hides from every caller. */
function neverSent (send: readonly Mapping[], path: Path): PathProblem[] {
  /** Header to the sources that it is sent for; null for all. */
  const sources = new Map<string, Set<unknown> | null>()
  return send.flatMap((entry, index) => {
    const header = typeof entry.header === 'string' ? plainHeaderName(entry.header) : 'authorization'
    const list = entry.for ?? mapping(entry.clientCredentials).for ?? mapping(entry.exchange).for
    const before = sources.get(header)
    const hidden = before === null || (before !== undefined && given(list) && items(list).every(name => before.has(name)))
    if (!given(list)) sources.set(header, null)
    else if (before !== null) sources.set(header, new Set([...before ?? [], ...items(list)]))
    const at: Path = [...path, index]
    return hidden
      ? [problemAt(
          at, `${dotted(at)} is never sent: an entry before it has the header ${formatValue(header)} for the same callers`,
          'the gateway uses the first entry'
        )]
      : []
  })
}

function unencrypted (credentials: Mapping, path: Path, url: unknown): PathProblem[] {
  const at: Path = [...path, 'send']
  const target = typeof url === 'string' ? parseUrl(url) : null
  if (items(credentials.send).length === 0 || target === null) return []
  const { protocol, hostname } = target
  return protocol !== 'http:' || hostname === 'localhost' || /^(?:127\.|\[::1\]$)/.test(hostname)
    ? []
    : [problemAt(at, `${dotted(at)} sends credentials over http to ${hostname}`, 'use https', 'key')]
}

function withoutDigest (credentials: Mapping, path: Path, agent: Mapping): PathProblem[] {
  const at: Path = [...path, 'identity', 'body']
  return mapping(credentials.identity).body === true && items(agent.passthrough).length > 0
    ? [problemAt(
        at, `${dotted(at)} has no effect below passthrough`,
        'the gateway does not read those bodies, so the agent must not require the digest there'
      )]
    : []
}
