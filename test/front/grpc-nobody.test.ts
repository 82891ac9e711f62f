/**
 * Properties of the gRPC front, beside those of `identity/nobody` and `identity/access-property` for HTTP: whatever the service, the
 * method, the metadata, the message and the state of the card, no call without a caller reaches the agent, and none without an entry of
 * `allow`.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import fc from 'fast-check'
import t from 'tap'
import { GRPC_SERVICES, grpcMethodFor } from '#a2a/grpc/methods.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { grpcMessage } from '../helpers/grpc-raw.js'
import { MESSAGE } from '../helpers/http.js'
import { checkAsync } from '../helpers/seed.js'
import { clientCertOf } from '../identity/clients.js'
import { ACME, basicOf, keyFiles, PARTNERS, PEOPLE, USER } from '../identity/kit.js'
import type { GrpcAgent, GrpcGateway, GrpcGatewayOptions } from './grpc-kit.js'
import { grpcAgent, grpcGateway, HELLO, requestOf } from './grpc-kit.js'

const MARK = 'x-stranger'
/** Calls at once: each property run sends this many. */
const BATCH = 20
const SERVICE = 'acme.v1.Things'

const service = fc.constantFrom(...Object.values(GRPC_SERVICES), 'grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection', SERVICE, 'acme.v1.Other')
const method = fc.constantFrom(
  'SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'TaskSubscription', 'CreateTaskPushNotificationConfig',
  'DeleteTaskPushNotificationConfig', 'GetExtendedAgentCard', 'GetAgentCard', 'Check', 'Watch', 'ServerReflectionInfo', 'Do'
)
const path = fc.tuple(service, method, fc.constantFrom('', '', '', '', 'lower', 'slash', 'double', 'query', 'percent', 'dots'))
  .map(([service, method, spelling]) => {
    const plain = `/${service}/${method}`
    switch (spelling) {
      case 'lower': return plain.toLowerCase()
      case 'slash': return `${plain}/`
      case 'double': return `/${plain}`
      case 'query': return `${plain}?x-api-key=${ACME}`
      case 'percent': return plain.replace('.', '%2e')
      case 'dots': return `/${SERVICE}/..${plain}`
      default: return plain
    }
  })
const body = fc.constantFrom(HELLO, requestOf({ id: 't1' }, 'GetTask'), requestOf({}, 'ListTasks'), grpcMessage(Buffer.alloc(0)), Buffer.alloc(0), Buffer.from('00000000ff01', 'hex'))

t.test('no gRPC call without a caller reaches an agent', async t => {
  const identity = `identity: {sources: {${PARTNERS}, ${PEOPLE}}}`
  const certificates = [
    'mesh: {certificate: {from: xfcc, proxies: [192.0.2.1], trustDomains: [prod.example.com]}}',
    'front: {certificate: {from: rfc9440, proxies: [192.0.2.1], trustDomains: [prod.example.com]}}'
  ]
  const passing = (agent: GrpcAgent): string[] => [`upstream: "grpc://127.0.0.1:${agent.port}"`, `passthrough: [grpc.health.v1.Health, ${SERVICE}]`]
  const baseDir = keyFiles(t)
  const reached: string[] = []
  const states: { readonly agent: GrpcAgent, readonly gateway: GrpcGateway }[] = []
  for (const { card = {}, ...options } of [
    { agent: ['mode: off', 'unknownMethods: forward'], root: [identity] },
    { agent: ['mode: observe', 'access: {mode: observe}', 'card: {public: minimal}'], root: [identity], grpc: ['maxConcurrentStreams: 200'] },
    { root: [`identity: {sources: {${[PARTNERS, ...certificates].join(', ')}}}`], server: ['trustedProxies: [127.0.0.1]'] },
    // Without a usable card, with and without the requirement of the card.
    { card: { supportedInterfaces: 'none' }, agent: ['card: {onUnavailable: forward}'], root: [identity] },
    { card: { supportedInterfaces: 'none' }, agent: ['card: {onUnavailable: forward}', 'access: {require: card}'], root: [identity] },
    // A key together with a login: the right key alone is half of it.
    { agent: ['access: {require: [[partners, people]]}'], root: [identity] }
  ] as readonly (GrpcGatewayOptions & { readonly card?: object })[]) {
    const agent = await grpcAgent(t, { card, versions: ['1.0', '0.3'] })
    agent.server.on('stream', (_stream, headers: IncomingHttpHeaders) => {
      if (headers[MARK] !== undefined) reached.push(`${headers[':path']} ${JSON.stringify(headers)}`)
    })
    states.push({ agent, gateway: await grpcGateway(t, agent, { ...options, baseDir, agentGrpc: passing(agent) }) })
  }
  const HALF = states.length - 1
  const line = fc.constantFrom<[string, string]>(
    ['x-api-key', 'wrong'], ['x_api_key', ACME], ['x.api.key', ACME], ['x-api-key', `${ACME}x`], ['x-api-key', USER], ['x-api-key', ''], ['x-api-key-bin', Buffer.from(ACME).toString('base64')],
    ['authorization', `Bearer ${ACME}`], ['authorization', basicOf('acme', USER)], ['authorization', basicOf('ada', ACME)], ['authorization', 'Basic'], ['cookie', `x-api-key=${ACME}`],
    ['x-forwarded-for', '127.0.0.1'], ['x-forwarded-client-cert', 'URI=spiffe://prod.example.com/b'], ['x_forwarded_client_cert', 'URI=spiffe://prod.example.com/b'], ['client-cert', clientCertOf('batch')],
    ['a2a-version', '0.3'], ['a2a-version', '1.0'], ['content-type', 'application/grpc+proto'], ['content-type', 'application/grpc-web'], ['content-type', 'application/json'], ['content-type', ''],
    [':method', 'GET'], [':method', 'OPTIONS'], [':method', 'PUT'], [':authority', 'elsewhere.test'], ['grpc-encoding', 'gzip'], ['grpc-timeout', '1n'], ['te', ''], ['origin', 'https://page.example']
  )
  const request = fc.tuple(fc.nat(states.length - 1), path, fc.array(line, { maxLength: 4 }), body)
  await checkAsync('front/grpc-nobody/no-stranger', fc.asyncProperty(fc.array(request, { minLength: BATCH, maxLength: BATCH }), async requests => {
    await Promise.all(requests.map(async ([state, path, lines, body]) => {
      const half: OutgoingHttpHeaders = state === HALF && lines.length % 2 === 1 ? { 'x-api-key': ACME } : {}
      await states[state]?.gateway.client.call({ path, body, headers: { [MARK]: '1', ...half, ...Object.fromEntries(lines) } }).catch(() => {})
    }))
    if (reached.length > 0) throw new Error(reached.join('\n'))
  }), { numRuns: 60 })
  t.same(reached, [])
  for (const { gateway } of states) {
    const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    t.match(text, /authentications_total\{agent="agent",source="none",outcome="missing"\} [1-9]|rule="gateway\/no-card"\} [1-9]/, 'the calls came to the door')
  }
  const before = reached.length
  await states[0]?.gateway.client.call({ path: `/${SERVICE}/Do`, body: HELLO, headers: { [MARK]: '1', 'x-api-key': ACME } })
  await states[0]?.gateway.client.call({ body: HELLO, headers: { [MARK]: '1', 'x-api-key': ACME } })
  t.equal(reached.length - before, 2, 'calls of a caller arrive, and the agent would have seen the others')
})

t.test('no gRPC call reaches an agent without an entry', async t => {
  /** The partner may read tasks of the own tenant; ada may use the service. */
  const ALLOW = 'allow: [{id: readers, on: [GetTask], caller: {source: [partners]}, tenant: own}, {id: things, on: [passthrough], caller: {source: [people]}}]'
  const baseDir = keyFiles(t)
  const wrong: string[] = []
  let arrived = 0
  const gateways: GrpcGateway[] = []
  for (const [card, ...lines] of [
    [{}, 'mode: off', 'unknownMethods: forward'],
    [{}, 'mode: enforce'],
    [{ supportedInterfaces: 'none' }, 'card: {onUnavailable: forward}']
  ] as readonly (readonly [object, ...string[]])[]) {
    const agent = await grpcAgent(t, {
      card,
      versions: ['1.0', '0.3'],
      answer: ({ headers, chunks, stream }) => {
        arrived++
        const got = Buffer.concat(chunks)
        const { tenant = '' } = got.length < 5 ? {} : readTenant(got.subarray(5))
        const own = headers['x-who'] === 'ada' ? String(headers[':path']).startsWith(`/${SERVICE}/`) : headers[':path'] === `/${GRPC_SERVICES['1.0']}/GetTask` && tenant === 'north'
        if (!own || ('supportedInterfaces' in card && headers['x-who'] !== 'ada')) wrong.push(`${headers['x-who']} ${headers[':path']} ${tenant} ${JSON.stringify(headers)}`)
        stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '0' }, { endStream: true })
      }
    })
    gateways.push(await grpcGateway(t, agent, {
      agent: [...lines, `access: {${ALLOW}}`],
      agentGrpc: [`upstream: "grpc://127.0.0.1:${agent.port}"`, `passthrough: [${SERVICE}]`],
      root: [`identity: {sources: {${PARTNERS}, ${PEOPLE}}}`],
      baseDir
    }))
  }
  const target = fc.oneof({ weight: 2, arbitrary: path }, { weight: 1, arbitrary: fc.constantFrom(`/${GRPC_SERVICES['1.0']}/GetTask`, `/${SERVICE}/Do`) })
  const message = fc.oneof(body, fc.constantFrom(
    requestOf({ id: 't1', tenant: 'north' }, 'GetTask'), requestOf({ id: 't1', tenant: 'other' }, 'GetTask'),
    // The last tenant counts (protobuf: the last value of a field wins).
    grpcMessage(Buffer.concat([requestOf({ id: 't1', tenant: 'north' }, 'GetTask').subarray(5), requestOf({ tenant: 'other' }, 'GetTask').subarray(5)])),
    requestOf({ tenant: 'north', message: MESSAGE }), requestOf({ tenant: 'north' }, 'ListTasks')
  ))
  const line = fc.constantFrom<[string, string]>(['a2a-version', '0.3'], ['a2a-version', '9'], ['content-type', 'application/grpc+proto'], ['x-tenant', 'north'], [':method', 'GET'], ['grpc-encoding', 'gzip'])
  const request = fc.tuple(fc.nat(gateways.length - 1), fc.boolean(), target, fc.array(line, { maxLength: 2 }), message)
  await checkAsync('front/grpc-nobody/no-entry', fc.asyncProperty(fc.array(request, { minLength: BATCH, maxLength: BATCH }), async requests => {
    await Promise.all(requests.map(async ([state, partner, path, lines, body]) => {
      const who: OutgoingHttpHeaders = partner ? { 'x-who': 'partner', 'x-api-key': ACME } : { 'x-who': 'ada', authorization: basicOf('ada', USER) }
      await gateways[state]?.client.call({ path, body, headers: { ...who, ...Object.fromEntries(lines) } }).catch(() => {})
    }))
    if (wrong.length > 0) throw new Error(wrong.join('\n'))
  }), { numRuns: 60 })
  t.same(wrong, [])
  t.ok(arrived > 10, `${arrived} calls with an entry arrived`)
})

function readTenant (bytes: Buffer): { readonly tenant?: string } {
  const read = readProtobuf(bytes, grpcMethodFor('GetTask', '1.0')?.request as never, { depth: 50, members: 1_000 })
  return read.ok ? read.value : {}
}
