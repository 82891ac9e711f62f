/** Enforcing, for proxies that claim it: requests without an extension that the card requires do not reach the agent. */
import type { Case, Check, Line } from '../model.js'
import { grpcRequest, httpRequest, messageText, responseOf } from '../protocol.js'
import type { Operation } from '../protocol.js'
import type { Place, Row } from './build.js'
import { casesOf, GRPC, HTTP, HTTP_1_0, JSONRPC_1_0, NEVER, ONCE, REST_1_0, SAME_BYTES, withBody, withHeaders } from './build.js'

/** The extensions that the card of `conform agent --required` requires. */
export const REQUIRED = ['https://conform.example/extensions/required/v1', 'https://conform.example/extensions/also-required/v1'] as const
const [FIRST, SECOND] = REQUIRED
const ALL = REQUIRED.join(', ')
const BASE = {
  group: 'enforcing',
  operation: 'send_message',
  level: 'must',
  spec: 'A2A 1.0.1 §3.3.4; profile X1',
  register: 'X17',
  claims: ['enforcesExtensions']
} as const
const MISSING: Check = { check: 'error', codes: [-32008], statuses: [400], grpc: [9] }
const headerOf = ([, version]: Place): string => version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions'
const lines = (operation: Operation, ...values: readonly string[]) => (place: Place): Case['request'] => {
  if (place[0] !== 'grpc') return withHeaders(operation, ...values.map(value => [headerOf(place), value] as const))(place)
  const request = grpcRequest(operation, place[1])
  return { ...request, metadata: [...request.metadata, ...values.map((value): Line => [headerOf(place).toLowerCase(), value])] }
}
const respond = (operation: Operation) => ([transport, version]: Place) => responseOf(operation, transport, version)

const rejected = (id: string, name: string, request: Row['request'], extra: Partial<Row> = {}): Row => ({
  ...BASE,
  id: `X-${id}`,
  name,
  on: HTTP_1_0,
  agent: respond('send_message'),
  expect: [NEVER, MISSING],
  ...request === undefined
    ? {}
    : { request },
  ...extra
})
/** A path that some agents read as that of the operation. The form of the rejection is free. */
const spelled = (id: string, name: string, target: string, extra: Partial<Row> = {}): Row => ({
  ...rejected(`PATH-${id}`, `${name} in the path are no way around a required extension`, undefined),
  on: REST_1_0,
  spec: 'profile S4, X1',
  expect: [NEVER],
  request: ([transport, version]) => ({ ...httpRequest('send_message', transport, version), target }),
  ...extra
})
const accepted = (id: string, name: string, request: Row['request'], extra: Partial<Row> = {}): Row => ({
  ...BASE,
  id: `X-${id}`,
  name,
  on: HTTP_1_0,
  ...extra.operation === 'card' ? {} : { agent: respond('send_message') },
  expect: [
    ONCE, { check: 'request-header', name: 'A2A-Extensions', as: 'members' }, SAME_BYTES
  ],
  ...request === undefined ? {} : { request },
  ...extra
})

export const ENFORCING_CASES: readonly Case[] = casesOf([
  rejected('MISSING', 'a request without the required extensions is rejected', undefined, { on: [...HTTP, ...GRPC] }),
  rejected(
    'MISSING-STREAM', 'a stream without the required extensions is rejected', undefined,
    { on: [...HTTP, ...GRPC], operation: 'send_streaming_message', agent: respond('send_streaming_message') }
  ),
  rejected(
    'MISSING-ONE', 'a request with one of two required extensions is rejected', lines('send_message', FIRST), { on: [...HTTP, ...GRPC] }
  ),
  rejected(
    'MISSING-ALL-NAMED', 'the error names all missing extensions', undefined,
    { expect: [NEVER, { ...MISSING, mentions: [...REQUIRED] }], on: [...HTTP_1_0, ['grpc', '1.0']], spec: 'profile X2' }
  ),
  rejected(
    'MISSING-NAMED', 'the error names the extension that is missing', lines('send_message', FIRST),
    { expect: [NEVER, { ...MISSING, mentions: [SECOND] }], spec: 'profile X2' }
  ),
  rejected('MISSING-REASON', 'the error has the reason of A2A', undefined, {
    expect: [NEVER, { ...MISSING, mentions: ['EXTENSION_SUPPORT_REQUIRED'] }],
    on: [...HTTP_1_0, ['grpc', '1.0']],
    spec: 'A2A 1.0.1 §9.5, §10.6, §11.6'
  }),
  rejected(
    'OTHER-CASE', 'a URI in other letter case is another extension', lines('send_message', FIRST.toUpperCase(), SECOND), { register: 'E2' }
  ),
  rejected(
    'OTHER-VERSION', 'another version is another extension', lines('send_message', FIRST.replace('/v1', '/v2'), SECOND), { register: 'X40' }
  ),
  rejected(
    'OTHER-SPELLING', 'a URI with a final slash is another extension', lines('send_message', `${FIRST}/`, SECOND), { register: 'E2' }
  ),
  rejected('PREFIX', 'a part of a URI is not the URI', lines('send_message', `${FIRST}-more`, SECOND)),
  rejected('ONLY-IN-MESSAGE', 'a list in the message alone activates nothing', withBody('send_message', ([transport, version], ordinary) => ordinary.replace(
    messageText(version, transport), messageText(version, transport, 'Hello', `,"extensions":["${FIRST}","${SECOND}"]`)
  )), { level: 'should', spec: 'A2A 1.0.1 §9.2, §11.2' }),
  spelled('DOTS', 'dot segments', '/tasks/../message:send'),
  spelled('DOTS-RPC', 'dot segments', '/.', { on: JSONRPC_1_0 }),
  spelled('ENCODED-DOTS', 'encoded dot segments', '/tasks/%2e%2e/message:send'),
  spelled('SLASHES', 'two slashes', '//message:send'),
  spelled('ENCODED-COLON', 'encoded colons', '/message%3Asend'),
  accepted('REQUESTED', 'a request with the required extensions reaches the agent', lines('send_message', ALL)),
  accepted('REQUESTED-LINES', 'several lines count together', lines('send_message', FIRST, SECOND)),
  accepted('REQUESTED-ORDER', 'the order does not matter', lines('send_message', `${SECOND},${FIRST}`)),
  accepted('REQUESTED-MORE', 'further extensions do not matter', lines('send_message', `urn:other, ${ALL}, urn:more`)),
  accepted('REQUESTED-SPACES', 'white space and empty members do not matter', lines('send_message', ` ,${FIRST} ,,\t${SECOND} ,`)),
  accepted(
    'REQUESTED-STREAM', 'a stream with the required extensions reaches the client', lines('send_streaming_message', ALL),
    { operation: 'send_streaming_message', agent: respond('send_streaming_message') }
  ),
  accepted(
    'REQUESTED-GRPC', 'a call over gRPC with the required extensions reaches the agent', lines('send_message', ALL),
    { on: [['grpc', '1.0']], expect: [ONCE, { check: 'messages' }] }
  ),
  accepted(
    'REQUESTED-0.3', 'a request of 0.3 with the required extensions reaches the agent', lines('send_message', ALL),
    { on: [['jsonrpc', '0.3'], ['rest', '0.3'], ['grpc', '0.3']], expect: [ONCE], register: 'X28' }
  ),
  accepted('CARD', 'the card still says that the extensions are required', undefined, {
    on: [['card', '1.0']],
    operation: 'card',
    register: 'X16',
    request: () => ({ kind: 'http', method: 'GET', target: '/.well-known/agent-card.json', headers: [], body: null }),
    expect: [{ check: 'card', rule: 'members' }]
  })
])
