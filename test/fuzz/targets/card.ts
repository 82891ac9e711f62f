/**
 * Cards. Loading any served bytes ends with a card or a plain sentence. The card that the gateway serves names only the gateway's own
 * addresses, and is a valid card again.
 */
import { equal, ok } from 'node:assert'
import { CHECKS } from '#offline/configuration.js'
import { loadCatalogue, parseConfig } from '#config/load.js'
import type { AgentConfig } from '#config/model/model.js'
import { buildAgentState, CardRejected } from '#pipeline/agent-snapshot.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { OnlyGrpc } from '#a2a/grpc/card-map.js'
import type { CardDocument } from '#a2a/card/loaded-cards.js'
import { readCard } from '#a2a/card/card.js'
import { lintCards } from '#policy/card/lint.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { readDocument } from '#agents/card/card-fetch.js'
import { outcomeOf } from '../../runtimes/exact.js'
import { readSlowly } from '../oracles/slow-json.js'
import type { Reader, Target } from '../engine/target.js'

const LIMITS = { card: 1 << 20, jsonDepth: 32, jsonMembers: 2000 }
const BASE = 'http://gateway.test/own'
const PLAIN = /^[^\p{Cc}\u2028\u2029]+$/u
const INTERFACE = '{"url":"http://agent.test/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}'

let agent: AgentConfig | null = null

function configured (): AgentConfig {
  if (agent !== null) return agent
  const loaded = parseConfig(`version: 1
agents:
  - name: a
    upstream: {url: "http://agent.test"}
    extensions: [object-schemas, any, checked]
    card: {advertise: [{uri: "urn:added", params: {a: 1}}], schemas: {added: {type: object}}}
extensions:
  any: {uriPattern: "urn:*", owns: {metadata: [$uri]}}
  checked: {uri: "urn:checked", card: {params: {type: object, required: [a]}}}
`, { file: 'fuzz.yaml', baseDir: '/nowhere', env: {}, checks: CHECKS })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  agent = loaded.config.agents[0] as AgentConfig
  return agent
}

export const card: Target & Reader = {
  name: 'card',
  maxBytes: 2048,
  seeds: [
    `{"name":"a","version":"1","supportedInterfaces":[${INTERFACE},{"url":"http://agent.test/v1","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"t"}],"capabilities":{"streaming":true,"extensions":[{"uri":"urn:a","required":true,"params":{"k":1}},{"uri":"urn:checked","params":{"a":1}}]},"signatures":[{}],"skills":[]}`,
    '{"name":"a","url":"http://agent.test/","protocolVersion":"0.3.0","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"http://agent.test/","transport":"JSONRPC"},{"url":"http://agent.test/rest/","transport":"HTTP+JSON"},{"url":"http://agent.test","transport":"GRPC"}],"supportsAuthenticatedExtendedCard":true}',
    '{"name":"a","url":"http://agent.test","capabilities":{"extensions":[{"uri":"https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1","required":true}]},"schemas":{"fight":{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string","pattern":"^a+$"}}}}}',
    `{"supported_interfaces":[${INTERFACE.replaceAll('protocolBinding', 'protocol_binding')}],"protocol_version":1.0,"extensions":[{"uri":"urn:b"}]}`,
    `{"url":"http://agent.test/a","supportedInterfaces":[],"additional_interfaces":[${INTERFACE}]}`,
    '{"url":"http://agent.test/%2e%2e/a?x#y"}',
    '{"url":"http://agent.test/a^b|c","schemas":{"s":{"type":"string","pattern":"(?i:a)","format":"regex"}}}',
    '[]',
    'null',
    '',
    '\ufeff{"url":"http://h"}',
    `{"supportedInterfaces":[${INTERFACE},${INTERFACE.replace('1.0', '0.3').replace('/rpc', '/rpc/')},${INTERFACE.replace('/rpc', '/.well-known/agent.json')}]}`
  ],
  dictionary: [
    '"url":"http://agent.test/x"',
    '"url":"http://other.test/rpc"',
    '"url":"http://u:p@agent.test/y"',
    '"supportedInterfaces":',
    '"additionalInterfaces":',
    '"protocolBinding":"HTTP+JSON"',
    '"protocolBinding":"GRPC"',
    '"url":"agent.test:50051"',
    '"protocolVersion":"0.3"',
    '"transport":"JSONRPC"',
    '"preferredTransport":"HTTP+JSON"',
    '"tenant":"t"',
    '"capabilities":',
    '"extensions":',
    '"uri":"urn:a"',
    '"required":"yes"',
    '"params":{}',
    '"schemas":',
    '"$ref":"#"',
    '"$ref":"#/schemas/fight"',
    '"$id":"http://x/y"',
    '"$schema":"http://json-schema.org/draft-07/schema#"',
    '"pattern":"(a|a)*$"',
    '"pattern":"(?i:a)"',
    '"format":"regex"',
    '^',
    '"$dynamicRef":"#a"',
    '"allOf":[{}]',
    '"signatures":[]',
    '"__proto__":{"url":"http://x"}',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    'null',
    '//',
    '/..',
    '%2f',
    '?',
    '#',
    '\\u0000',
    '\\u2028',
    '[::1]',
    '"name":"\\u001b[31m"',
    'https://',
    ':99999',
    '"constructor":{}',
    '"protocolVersion":1.0',
    INTERFACE
  ],
  read (bytes) {
    const read = documentOf(bytes)
    if (typeof read === 'string') return read
    return [read.card, outcomeOf(() => {
      const { warnings, served } = buildState(read)
      return [warnings, served['1.0'].at(BASE), served['0.3'].at(BASE)]
    })]
  },
  check (bytes) {
    const read = documentOf(bytes)
    if (typeof read === 'string') {
      ok(PLAIN.test(read), 'a plain sentence')
      return
    }
    const slow = readSlowly(read.bytes)
    ok(slow.root !== null && slow.duplicates.length === 0)
    for (const warning of read.card.warnings) ok(PLAIN.test(warning), 'a plain warning')
    const state = stateOf(read)
    if (state === null) return
    for (const warning of state.warnings) ok(PLAIN.test(warning), `a plain warning: ${JSON.stringify(warning)}`)
    for (const finding of lintCards({
      cards: { 0.3: read.card, '1.0': read.card },
      inForce: Object.fromEntries(configured().policies.map(({ name, policy }) => [name, policy])),
      byDefault: [],
      known: loadCatalogue()
    })) { ok(PLAIN.test(finding.message) && PLAIN.test(finding.hint), 'a plain finding') }
    served(state)
    for (const verb of ['GET', 'POST', 'OPTIONS']) {
      for (const path of ['', '/', '/rpc', '/v1/tasks', '/.well-known/agent-card.json', '/x/..', '/message:send']) {
        state.router.match(verb, path, '1.0')
      }
    }
  }
}

const documentOf = (bytes: Buffer): CardDocument | string => readDocument(
  { kind: 'fetched', from: 'http://agent.test/card', status: 200, bytes, contentType: 'text/plain', validators: null, lifetime: null },
  LIMITS
)

const buildState = (document: CardDocument): AgentState => buildAgentState(
  { byVersion: { 0.3: document, '1.0': document }, fetchedAt: 0, origin: 'card' },
  { agent: configured(), maxExtensions: 32, previous: null, secretOf: SECRET_HIDDEN }
)

function stateOf (document: CardDocument): AgentState | null {
  try {
    return buildState(document)
  } catch (error) {
    ok(
      error instanceof CardRejected || error instanceof OnlyGrpc ||
        (error instanceof Error && Object.getPrototypeOf(error) === Error.prototype),
      `no refusal: ${error instanceof Error ? error.stack : String(error)}`
    )
    ok(PLAIN.test(error.message), `a plain sentence: ${JSON.stringify(error.message)}`)
    return null
  }
}

function served (state: AgentState): void {
  const { bytes } = state.served['1.0'].at(BASE)
  const value = JSON.parse(bytes.toString()) as Record<string, unknown>
  const again = readCard(value)
  ok(again.ok, 'a served card is a card')
  for (const { url, text } of again.card.interfaces) {
    ok(text === BASE || text.startsWith(`${BASE}/`), `an address past the gateway: ${text}`)
    equal(url.username + url.password + url.search + url.hash, '')
  }
  equal(again.card.uncarried.length, 0, 'an interface that nobody carries')
  equal(again.card.grpc.length, 0, 'a gRPC interface that nobody serves')
  ok(!Object.hasOwn(value, 'signatures'), 'signatures of another card')
  const uris = new Set(again.card.extensions.filter(({ required }) => required).map(({ uri }) => uri))
  for (const { uri, required } of state.loaded.byVersion['1.0'].card.extensions) {
    if (required) ok(uris.has(uri), 'a required extension that clients are not told of')
  }
}
