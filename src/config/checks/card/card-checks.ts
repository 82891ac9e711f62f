/** Checks the credentials for an agent's card, and for whom the card is. */
import { dotted, formatValue } from '../../diagnostics.js'
import type { Path, PathProblem } from '../../diagnostics.js'
import { problemAt, mapping } from '../../yaml/values.js'
import type { Mapping } from '../../yaml/values.js'
import { parseUrl } from '#wire/url.js'

const EXAMPLE = 'such as "{env: CARD_TOKEN, prefix: \'Bearer \'}"'

/** Checks `card.headers`, `card.extended`, `card.public`, `card.changes` and `card.texts`. */
export function cardHeaderProblems (card: Mapping, path: Path): PathProblem[] {
  const problems = [
    ...headerProblems(mapping(card.headers), [...path, 'headers']),
    ...headerProblems(mapping(mapping(card.extended).headers), [...path, 'extended', 'headers'])
  ]
  if (Object.keys(mapping(card.headers)).length > 0 && typeof card.file === 'string') {
    problems.push(problemAt(
      [...path, 'headers'], `${dotted([...path, 'headers'])} has no effect with card.file`, 'remove one of them', 'key'
    ))
  }
  if (card.public === 'minimal' && card.signature === 'verbatim') {
    problems.push(
      problemAt(
        [...path, 'public'],
        `${dotted([...path, 'public'])}: minimal contradicts signature: verbatim, which serves the card unchanged`,
        'write none or full'
      )
    )
  }
  if (card.changes === 'hold' && card.onUnavailable === 'forward') {
    problems.push(
      problemAt(
        [...path, 'changes'],
        `${dotted([...path, 'changes'])}: hold contradicts onUnavailable: forward, which forwards calls without checks while a card waits`,
        'write onUnavailable: reject'
      )
    )
  }
  if (card.texts === 'strip' && card.signature === 'verbatim') {
    problems.push(
      problemAt(
        [...path, 'texts'],
        `${dotted([...path, 'texts'])}: strip contradicts signature: verbatim, which serves the card unchanged`,
        'write report, or signature: strip'
      )
    )
  }
  return problems
}

/** Checks headers with secrets: where their values come from, and that the gateway does not set them itself. */
export function headerProblems (headers: Mapping, path: Path): PathProblem[] {
  const names = new Set<string>()
  return Object.entries(headers).flatMap(([name, source]) => {
    const at: Path = [...path, name]
    const { file, env } = mapping(source)
    const lower = name.toLowerCase()
    const twice = names.has(lower)
    names.add(lower)
    return [
      ...(file === undefined && env === undefined ? [problemAt(at, `${dotted(at)} needs file or env`, EXAMPLE)] : []),
      ...(file !== undefined && env !== undefined ? [problemAt(at, `${dotted(at)} has both file and env`, 'keep one', 'key')] : []),
      ...(OWN_HEADERS.has(lower) ? [problemAt(at, `${dotted(at)}: the gateway itself sets this header`, 'remove it', 'key')] : []),
      ...(twice ? [problemAt(at, `${dotted(path)} names ${formatValue(name)} twice`, 'names of headers are case-insensitive', 'key')] : [])
    ]
  })
}

/** Headers of requests for cards and of questions that only the gateway may set. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept', 'accept-encoding', 'a2a-version', 'connection', 'content-length', 'content-type', 'expect', 'host', 'if-modified-since', 'if-none-match',
  'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'via', 'x-request-id'
])

/** Finds credentials that the gateway would send without encryption. */
export function plainCredentials (agent: Mapping, path: Path): PathProblem[] {
  const { headers, extended, url } = mapping(agent.card)
  const upstream = mapping(agent.upstream).url
  const places: [unknown, Path, unknown][] = [
    [headers, [...path, 'card', 'headers'], url ?? upstream],
    [mapping(extended).headers, [...path, 'card', 'extended', 'headers'], upstream]
  ]
  return places.flatMap(([values, at, address]) => {
    const target = typeof address === 'string' ? parseUrl(address) : null
    if (Object.keys(mapping(values)).length === 0 || target === null) return []
    const { protocol, hostname } = target
    return protocol !== 'http:' || hostname === 'localhost' || /^(?:127\.|\[::1\]$)/.test(hostname)
      ? []
      : [problemAt(at, `${dotted(at)} sends credentials over http to ${hostname}`, 'use https', 'key')]
  })
}
