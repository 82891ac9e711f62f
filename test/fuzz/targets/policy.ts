/**
 * Rules. The same request in other bytes gets the same decision. The gateway rejects the requests that it must reject. A forwarded request
 * is JSON that differs only in the edited places.
 */
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import { CHECKS } from '#offline/configuration.js'
import { formatDiagnostic, loadCatalogue, parseConfig } from '#config/load.js'
import type { AgentConfig, Limits } from '#config/model/model.js'
import { dryRunRequest } from '#pipeline/dry-run.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { readCard } from '#a2a/card/card.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import type { Violation } from '#policy/violation.js'
import { MAX_VIOLATIONS } from '#policy/violation.js'
import { editJson } from '#wire/json/edit.js'
import { Random } from '../engine/random.js'
import type { Reader, Target } from '../engine/target.js'
import { respell } from '../oracles/respell.js'
import type { Node } from '../oracles/slow-json.js'
import { readSlowly, valueOf } from '../oracles/slow-json.js'
import { WORDS } from './message.js'
import type { DryRun } from '#pipeline/dry-run-operation.js'

const OWN = `
extensions:
  must: {uri: "urn:must", activation: {required: always}}
  secret:
    uri: "urn:secret"
    request:
      - {id: none, select: {part: {dataKey: secret}}, count: {max: 0}}
      - {id: number, select: {part: {dataKey: "n.*"}}, schema: {type: integer, maximum: 100}}
      - {id: note, select: {metadata: {in: [message, params], key: note}}, schema: {type: string, pattern: "^[a-z]+$"}}
    response:
      - {id: silent, select: {part: {dataKey: secret}}, count: {max: 0}, verdict: reject}
      - {id: told, select: {part: {dataKey: "n.*"}}, schema: {type: integer}, verdict: annotate}
  stripped:
    uri: "urn:strip"
    owns: {metadata: ["strip.*"], dataKeys: ["strip.*"], mediaTypes: [application/strip]}
    inactive: {request: strip, response: strip}
  injected:
    uri: "urn:inject"
    activation: {default: inject}
    inject:
      - {metadata: injected, value: {by: gateway}}
    redact: ["*#/token"]
  states:
    uri: "urn:states"
    state: {from: {metadata: {in: [message, status], key: state}}, transitions: {'': [a], a: [b]}}
`
const DECLARED = ['urn:must', 'urn:secret', 'urn:strip', 'urn:inject', 'urn:states']

const KINDS = [
  { path: '', headers: ['A2A-Version', '1.0'], name: 'A2A-Extensions', rpc: true, v1: true },
  { path: '', headers: [], name: 'X-A2A-Extensions', rpc: true, v1: false },
  { path: '/message:send', headers: ['A2A-Version', '1.0'], name: 'A2A-Extensions', rpc: false, v1: true },
  { path: '/v1/message:send', headers: [], name: 'X-A2A-Extensions', rpc: false, v1: false }
] as const

interface Agent { readonly config: AgentConfig, readonly state: AgentState, readonly limits: Limits, readonly own: boolean }

let agents: readonly Agent[] | null = null

/** Two agents: one with policies of every kind of edit, and one with the policies of the catalogue in mode enforce. */
function all (): readonly Agent[] {
  if (agents !== null) return agents
  const catalogue = loadCatalogue()
  const uris = [...new Set(Object.values(catalogue).flatMap(({ uri }) => uri ?? []))].slice(0, 60)
  const names = Object.keys(catalogue).filter(name => uris.includes(catalogue[name]?.uri ?? ''))
  const text = `version: 1
agents:
  - {name: own, path: /own, upstream: {url: "http://agent.test"}, responses: enforce, unlistedExtensions: strip, extensions: [must, secret, stripped, injected, states]}
  - {name: catalogue, path: /catalogue, upstream: {url: "http://agent.test"}, responses: enforce, extensions: [${names.map(name => `{${name}: {mode: enforce}}`).join(', ')}]}
${OWN}`
  const loaded = parseConfig(text, { file: 'fuzz.yaml', baseDir: '/nowhere', env: {}, checks: CHECKS, secrets: false })
  if (!loaded.ok) throw new Error(loaded.problems.map(formatDiagnostic).join('\n'))
  const { limits } = loaded.config
  agents = loaded.config.agents.map((config, i) => {
    const value = {
      name: 'a',
      supportedInterfaces: ['1.0', '0.3'].flatMap(protocolVersion =>
        ['JSONRPC', 'HTTP+JSON'].map(protocolBinding => ({ url: 'http://agent.test', protocolBinding, protocolVersion }))
      ),
      capabilities: { extensions: (i === 0 ? DECLARED : uris).map(uri => ({ uri })) }
    }
    const card = readCard(value)
    if (!card.ok) throw new Error(card.problem)
    const document = { bytes: Buffer.from(JSON.stringify(value)), value, card: card.card }
    return {
      config,
      limits,
      own: i === 0,
      state: buildAgentState(
        { byVersion: { 0.3: document, '1.0': document }, fetchedAt: 0, origin: 'card' },
        { agent: config, maxExtensions: limits.extensions, previous: null, secretOf: SECRET_HIDDEN }
      )
    }
  })
  return agents
}

const PART = '{"data":{"secret":1,"n.a":5,"strip.b":2},"mediaType":"application/strip","metadata":{"strip.x":1}}'

export const policy: Target & Reader = {
  name: 'policy',
  maxBytes: 1600,
  seeds: [
    `{"asks":["urn:must","urn:secret"],"body":{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"t"},${PART}],"metadata":{"note":"abc","strip.m":1}},"metadata":{"note":1}}}}`,
    '{"asks":["urn:must"],"body":{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"data","data":{"n.x":101,"strip.a":[]}},{"kind":"text","text":"t"}]}}},"answer":{"jsonrpc":"2.0","id":1,"result":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"data","data":{"secret":1,"strip.q":{}}},{"kind":"text","text":"t"}],"metadata":{"strip.a":1}}}}',
    '{"asks":["urn:must","urn:strip","urn:unknown"],"body":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"n.a":1},"media_type":"a/b"}]}},"answer":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":{"strip.x":1}},{"text":"t"}],"metadata":{"state":"b"}}},"history":[{"role":"ROLE_USER","parts":[],"metadata":{"k":{"token":"x"}}}]}}}',
    '{"asks":["urn:must"],"body":{"message":{"content":[{"data":{"data":{"secret":1}}},{"text":"t"}]}}}',
    '{"asks":[],"body":{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}}',
    '{"body":[],"asks":["urn:must"]}'
  ],
  dictionary: [
    ...WORDS,
    '"urn:must"',
    '"urn:secret"',
    '"urn:strip"',
    '"urn:inject"',
    '"urn:states"',
    '"secret":1',
    '"n.a":5',
    '"n.":"x"',
    '"strip.a":1',
    '"note":"abc"',
    '"mediaType":"application/strip"',
    '"state":"a"',
    '"injected":1',
    '"asks":',
    '"body":',
    '"answer":',
    '"x402.payment.status":"payment-submitted"',
    '"x402.payment.payload":{}',
    '"token":"x"',
    '"result":'
  ],
  read (bytes) {
    const exchange = exchangeOf(bytes)
    if (exchange === null) return null
    const { asks, body, answer } = exchange
    return all().flatMap(agent => KINDS.map(kind => {
      const { kind: is, rejection, evaluation, forwarded, plan } = ask(agent, kind, asks, cut(bytes, body))
      const evaluator = answer === undefined ? null : plan?.evaluation?.evaluator ?? null
      return { is, rejection, decision: evaluation?.decision, forwarded, response: evaluator?.evaluate(cut(bytes, answer as Node), false) }
    }))
  },
  check (bytes) {
    const exchange = exchangeOf(bytes)
    if (exchange === null) return
    const { asks, body, answer } = exchange
    for (const agent of all()) {
      for (const kind of KINDS) request(agent, kind, asks, body, answer, bytes)
    }
  }
}

/** The requested extensions, the request, and the response that an input describes. Null when the input is not an object in JSON. */
function exchangeOf (bytes: Buffer): { readonly asks: readonly string[], readonly body: Node, readonly answer: Node | undefined } | null {
  const { root, utf8, mark, depth } = readSlowly(bytes)
  if (!utf8 || mark || root?.kind !== 'object' || depth > 30) return null
  const member = (name: string): Node | undefined => root.members.find(one => one.name === name)?.value
  const listed = member('asks')
  const asks =
    listed?.kind === 'array'
      ? listed.items.flatMap(item => (item.kind === 'string' && /^[\x21-\x2b\x2d-\x7e]+$/.test(item.text) ? [item.text] : []))
      : []
  return { asks, body: member('body') ?? root, answer: member('answer') }
}

const cut = (bytes: Buffer, { start, end }: Node): Buffer => Buffer.from(bytes.subarray(start, end))

type Kind = typeof KINDS[number]

function ask (agent: Agent, kind: Kind, asks: readonly string[], body: Buffer): DryRun {
  const rawHeaders = ['Host', 'h', 'Content-Type', 'application/json', ...kind.headers, ...asks.flatMap(uri => [kind.name, uri])]
  return dryRunRequest(agent, { method: 'POST', path: kind.path, query: '', rawHeaders, body }, agent.limits)
}

function request (agent: Agent, kind: Kind, asks: readonly string[], node: Node, answer: Node | undefined, bytes: Buffer): void {
  const body = cut(bytes, node)
  const judged = ask(agent, kind, asks, body)
  ok(judged.kind === 'operation' || judged.kind === 'refused')
  const slow = readSlowly(body)
  if (slow.root === null || slow.duplicates.length > 0) {
    ok(judged.rejection !== null, 'what is not JSON, or has duplicates, is refused')
    return
  }
  const again = ask(agent, kind, asks, respell(slow.root, body, Random.of(body)))
  same(spoken(again), spoken(judged), 'the same decision')
  const value = valueOf(slow.root, body)
  if (agent.own) mustRefuse(judged, kind, asks, value)
  if (judged.forwarded === null) return
  const { edits } = judged.evaluation?.decision ?? { edits: [] }
  const sent = judged.forwarded.body
  ok(sent !== null)
  if (edits.length === 0) equal(sent, body, 'the same bytes where nothing is edited')
  else edited(agent, value, sent)
  if (answer !== undefined) {
    reviewed(judged, cut(bytes, answer), agent.limits, () => ask(agent, kind, asks, body))
  }
}

function spokenViolations (violations: readonly Violation[]): readonly string[] | number {
  return violations.length >= MAX_VIOLATIONS
    ? MAX_VIOLATIONS
    : violations.map(({ mode, reason, extension, rule }) => `${mode} ${reason} ${extension}/${rule}`).sort()
}

function spoken ({ kind, rejection: refusal, evaluation: ruling, forwarded }: DryRun): unknown {
  const decision = ruling?.decision
  const violations = spokenViolations(decision?.violations ?? [])
  // With several reasons, the order of members may decide which reason comes first and which reasons are left out.
  const reason = Array.isArray(violations) && violations.length < 2 ? refusal?.reason : refusal !== null
  return {
    kind,
    reason,
    violations,
    active: decision?.active,
    listed: decision?.listed,
    evidenced: decision?.evidenced,
    outbound: decision?.outbound,
    missing: decision?.missing,
    edited: [...(decision?.edited ?? [])].sort(),
    headers: forwarded?.headers
  }
}

type Json = Readonly<Record<string, unknown>>
const own = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Json)[key] : undefined

/** Simple cases of required rejections, detected without any of the code under test. */
function mustRefuse (judged: DryRun, { rpc, v1 }: Kind, asks: readonly string[], body: unknown): void {
  const method = own(body, 'method')
  if (rpc && method !== (v1 ? 'SendMessage' : 'message/send')) return
  if (!asks.includes('urn:must')) ok(judged.rejection !== null, 'lacks a required extension and is forwarded')
  const message = own(rpc ? own(body, 'params') : body, 'message')
  const parts = own(message, 'parts')
  if (!Array.isArray(parts)) return
  for (const part of parts) {
    const data = own(part, 'data')
    if (Array.isArray(data) || (!v1 && own(part, 'kind') !== 'data')) continue
    if (own(data, 'secret') !== undefined) ok(judged.rejection !== null, 'a key that a rule forbids is forwarded')
    const number = own(data, 'n.a')
    if (number !== undefined && (typeof number !== 'number' || number > 100)) {
      ok(judged.rejection !== null, 'a value that breaks its schema is forwarded')
    }
  }
}

function edited (agent: Agent, before: unknown, sent: Buffer): void {
  const after = readSlowly(sent)
  ok(after.root !== null && after.utf8 && after.duplicates.length === 0, 'what is forwarded is JSON')
  if (!agent.own) return
  const removed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(removed)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => key !== 'parts' && key !== 'content' && key !== 'injected' && key !== 'metadata' && !key.startsWith('strip.'))
        .map(([key, inner]) => [key, removed(inner)])
    )
  }
  same(removed(valueOf(after.root, sent)), removed(before), 'nothing but what a policy names is changed')
}

function reviewed ({ plan, call }: DryRun, answer: Buffer, limits: Limits, anew: () => DryRun): void {
  const slow = readSlowly(answer)
  const review = plan?.evaluation?.evaluator ?? null
  if (review === null || call === null) return
  const verdict = review.evaluate(answer, false)
  if (slow.root === null || slow.duplicates.length > 0) {
    ok(verdict.rejection !== null || !review.enforces, 'what is not JSON is refused')
    return
  }
  const again = anew().plan?.evaluation?.evaluator.evaluate(respell(slow.root, answer, Random.of(answer)), false)
  const words = (one: typeof verdict | undefined): unknown => ({
    refused: one?.rejection != null,
    violations: spokenViolations(one?.violations ?? []),
    edited: [...(one?.edited ?? [])].sort(),
    annotations: [...(one?.annotations ?? [])].sort(),
    remember: one?.remember
  })
  same(words(again), words(verdict), 'the same verdict')
  if (verdict.rejection !== null) return
  const after = readSlowly(editJson(answer, verdict.edits))
  ok(after.root !== null && after.duplicates.length === 0, 'an answer that goes on is JSON')
  equal(editJson(answer, []), answer)
  ok(after.depth <= limits.jsonDepth)
}
