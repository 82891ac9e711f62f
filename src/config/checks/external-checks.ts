/** Checks of `decisionPoints`, of `external` of agents, and of `external` of rules. */
import { didYouMean, dotted, formatValue } from '../diagnostics.js'
import type { Path, PathProblem } from '../diagnostics.js'
import { problemAt, items, mapping } from '../yaml/values.js'
import type { Mapping } from '../yaml/values.js'
import type { Operation } from '#a2a/operations.js'
import { hasResults } from '#a2a/operations.js'
import { parseUrl } from '#wire/url.js'
import { conditionProblems, needsIdentity } from './callers/caller-checks.js'
import { headerProblems } from './card/card-checks.js'
import { unpaired, unreadable } from './named-files.js'
import { sourceProblems } from './rule-checks.js'
import { headerSecretProblems } from './secret-checks.js'
import type { SecretContext } from './secret-checks.js'

/** A place that names a policy server. `enforced`: its decision counts. */
interface Use { readonly name: unknown, readonly path: Path, readonly enforced: boolean }

/** Values of `operations` that are not operations. */
const GROUPS: ReadonlySet<string> = new Set(['all', 'messages'])

/** @param config the whole file */
export function externalProblems (config: Mapping, context: SecretContext): PathProblem[] {
  const points = mapping(config.decisionPoints)
  const sources = Object.keys(mapping(mapping(config.identity).sources))
  return [
    ...Object.entries(points).flatMap(([name, point]) => pointProblems(mapping(point), ['decisionPoints', name], context)),
    ...usesOf(config).flatMap(use => unknownPoint(use, Object.keys(points))),
    ...items(config.agents).flatMap((agent, index) => entriesProblems(
      items(mapping(agent).external).map(mapping), ['agents', index, 'external'], sources
    )),
    ...items(config.agents).map(mapping).flatMap(unaskedProblems)
  ]
}

/** Without a card, the gateway does not know the operation of a call, so that it has no question to ask. */
function unaskedProblems ({ external, card }: Mapping, index: number): PathProblem[] {
  if (mapping(card).onUnavailable !== 'forward' || !items(external).map(mapping).some(({ mode }) => mode !== 'observe')) return []
  const path: Path = ['agents', index, 'external']
  return [problemAt(
    path, `${dotted(path)} contradicts card.onUnavailable: forward, which forwards calls without a question while there is no card`,
    'write onUnavailable: reject'
  )]
}

export function externalWarnings (config: Mapping): PathProblem[] {
  const points = mapping(config.decisionPoints)
  const uses = usesOf(config)
  const used = new Set(uses.map(({ name }) => name))
  const enforced = new Set(uses.filter(use => use.enforced).map(({ name }) => name))
  return [
    ...Object.entries(points).flatMap(([name, point]) => {
      const path: Path = ['decisionPoints', name]
      if (!used.has(name)) {
        return [
          problemAt(
            path, `decision point ${formatValue(name)} is not used`, 'name it in "use" of external, or in "external" of a rule', 'key'
          )
        ]
      }
      return [...plainQuestions(mapping(point), path), ...(enforced.has(name) ? weakened(mapping(point), path) : [])]
    }),
    ...(mapping(config.identity).sources !== undefined
      ? []
      : items(config.agents).flatMap((agent, index) => items(mapping(agent).external).flatMap((entry, at) => {
        const { caller } = mapping(mapping(entry).when)
        return caller === undefined || mapping(caller).anonymous === true
          ? []
          : [needsIdentity(['agents', index, 'external', at, 'when', 'caller'])]
      })))
  ]
}

function usesOf (config: Mapping): Use[] {
  const rules = (policy: unknown, path: Path): Use[] =>
    (['request', 'response'] as const).flatMap(side => items(mapping(policy)[side]).map(mapping).flatMap(({ external, verdict }, index) =>
      external === undefined
        ? []
        : [{
            name: external,
            path: [...path, side, index, 'external'],
            enforced: side === 'request'
              ? verdict !== 'warn'
              : verdict === 'reject'
          }]))
  return [
    ...Object.entries(mapping(config.extensions)).flatMap(([name, policy]) => rules(policy, ['extensions', name])),
    ...items(config.agents).map(mapping).flatMap(({ external, extensions }, index) => [
      ...items(external).map(mapping).map(({ use, mode }, at): Use => ({
        name: use, path: ['agents', index, 'external', at, 'use'], enforced: mode !== 'observe'
      })),
      ...items(extensions).flatMap((entry, at) =>
        Object.entries(mapping(entry)).flatMap(([name, overlay]) => rules(overlay, ['agents', index, 'extensions', at, name])))
    ])
  ]
}

function unknownPoint ({ name, path }: Use, names: readonly string[]): PathProblem[] {
  if (typeof name !== 'string' || names.includes(name)) return []
  const hint = names.length === 0 ? 'define it in decisionPoints' : `decisionPoints has ${names.join(', ')}`
  return [problemAt(path, `${dotted(path)}: no decision point is named ${formatValue(name)}`, didYouMean(name, names) ?? hint)]
}

function pointProblems (point: Mapping, path: Path, context: SecretContext): PathProblem[] {
  const tls = mapping(point.tls)
  const tlsPath = [...path, 'tls']
  return [
    ...headerProblems(mapping(point.headers), [...path, 'headers']),
    ...(context.env === null ? [] : headerSecretProblems(point.headers, [...path, 'headers'], { ...context, env: context.env })),
    ...['ca', 'cert', 'key'].flatMap(key => unreadable(tls[key], [...tlsPath, key], context.baseDir)),
    ...unpaired(tls, tlsPath)
  ]
}

function entriesProblems (entries: readonly Mapping[], path: Path, sources: readonly string[]): PathProblem[] {
  const indices = new Map<unknown, number>()
  return entries.flatMap((entry, index) => {
    const at: Path = [...path, index]
    const { id, send, redact, when, phase } = entry
    const earlier = indices.get(id)
    if (earlier === undefined) indices.set(id, index)
    const { caller, match } = mapping(when)
    const silent = phase === 'request'
      ? []
      : items(entry.operations).filter(name => typeof name === 'string' && !GROUPS.has(name) && !hasResults(name as Operation))
    return [
      ...(earlier === undefined || typeof id !== 'string'
        ? []
        : [
            problemAt(
              [...at, 'id'], `${dotted([...at, 'id'])} is the id of ${dotted([...path, earlier])} too`, 'give each entry a separate id'
            )
          ]),
      ...(items(redact).length > 0 && send !== 'message'
        ? [problemAt(
            [...at, 'redact'], `${dotted([...at, 'redact'])} has no effect without send: message`, 'facts have no values of the message',
            'key'
          )]
        : []),
      ...(silent.length === 0
        ? []
        : [problemAt(
            [...at, 'operations'],
          `${dotted([...at, 'operations'])}: responses of ${silent.join(', ')} have no message and no task to ask about`,
          'write phase: request'
          )]),
      ...conditionProblems(mapping(caller), [...at, 'when', 'caller'], sources),
      ...sourceProblems(match, [...at, 'when', 'match'])
    ]
  })
}

function addressOf (value: unknown): URL | null {
  return typeof value === 'string' ? parseUrl(value) : null
}

/** Finds questions that would go over a network without encryption: they name callers, and a change of an answer is a decision. */
function plainQuestions (point: Mapping, path: Path): PathProblem[] {
  return ['url', 'batchUrl'].flatMap(key => {
    const address = addressOf(point[key])
    if (address === null || address.protocol !== 'http:') return []
    const { hostname } = address
    return hostname === 'localhost' || /^(?:127\.|\[::1\]$)/.test(hostname)
      ? []
      : [problemAt(
          [...path, key], `${dotted([...path, key])} asks over http at ${hostname}: everybody on the network can change the answer`,
          'use https'
        )]
  })
}

function weakened (point: Mapping, path: Path): PathProblem[] {
  const at: Path = [...path, 'onError']
  return point.onError === 'forward'
    ? [problemAt(
        at, `${dotted(at)}: forward lets every call pass while the server does not respond`, 'write reject where the decision must count'
      )]
    : []
}
