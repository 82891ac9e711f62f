/** gRPC interfaces of cards: how their addresses are read, which server they have, and what the served card names. */
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import { readGrpcAddress } from '#a2a/grpc/card-interface.js'
import type { GrpcScope } from '#a2a/grpc/card-map.js'
import { mapGrpc } from '#a2a/grpc/card-map.js'
import { PathScope } from '#a2a/card/path-scope.js'
import { rewriteCard } from '#a2a/card/rewrite.js'

const UP = 'http://agent.test'
const GATE = 'https://gate.test/agent'
const PUBLIC = 'gate.test:443'
const SCOPE: GrpcScope = { publicAddress: PUBLIC, upstream: null, own: { host: 'agent.test', tls: false } }
const scope = new PathScope({ upstreamUrl: new URL(UP) })

const of = (url: unknown, protocolVersion = '1.0', more: object = {}): object => ({ url, protocolBinding: 'GRPC', protocolVersion, ...more })

function mapped (interfaces: readonly object[], grpc: GrpcScope | null = SCOPE): readonly [served: string[], conflicts: string[]] {
  const read = readCard({ name: 'a', supportedInterfaces: interfaces })
  if (!read.ok) throw new Error(read.problem)
  const conflicts: string[] = []
  const served = mapGrpc(read.card.grpc, grpc, conflicts).filter(one => one !== null)
  return [served.map(({ version, unknownMinor, tenant, address: { host, port, tls } }) => `${unknownMinor ?? version} ${tenant ?? '-'} ${host} ${port}${tls ? ' tls' : ''}`), conflicts]
}

t.test('addresses', async t => {
  const good: readonly [string, number, boolean?][] = [
    ['agent.test:50051', 50051], ['127.0.0.1:1', 1], ['[::1]:65535', 65535], ['localhost:443', 443], ['my_agent:9', 9], ['unix:9', 9],
    ['dns:agent.test:443', 443], ['dns:///agent.test:443', 443], ['DNS:///[::1]:443', 443],
    ['http://agent.test:9', 9, true], ['https://agent.test:443/', 443, true]
  ]
  for (const [text, port, odd = false] of good) t.same(readGrpcAddress(text), { port, problem: null, odd }, text)
  const bad: readonly [string, RegExp][] = [
    ['agent.test', /is not host:port/], ['agent.test:0', /is not host:port/], ['agent.test:65536', /is not host:port/], [':50051', /is not host:port/],
    ['user:secret@agent.test:1', /is not host:port/], ['agent.test:1/x', /is not host:port/], ['::1:50051', /is not host:port/],
    ['%zz:1', /is not host:port/], ['dns://8.8.8.8/agent.test:443', /has the scheme "dns"/], ['unix:/run/agent', /has the scheme "unix"/],
    ['xds:///agent', /has the scheme "xds"/], ['grpc://agent.test:1', /has the scheme "grpc"/], ['ipv4:1.2.3.4:1,1.2.3.5:1', /has the scheme "ipv4"/],
    ['https://grpc.example.com/a2a', /has a path/], ['http://agent.test:1?x', /has a path/], ['https://agent.test', /names no port/],
    ['http://user@agent.test:1', /names no port/]
  ]
  for (const [text, problem] of bad) t.match(readGrpcAddress(text), { port: null, problem }, text)
})

t.test('bindings are written in many ways, and versions have minors', async t => {
  for (const protocolBinding of ['GRPC', 'grpc', 'gRPC', ' Grpc ', 'G-RPC']) {
    t.same(mapped([{ ...of('x:1'), protocolBinding }]), [['1.0 - agent.test 1'], []], protocolBinding)
  }
  t.same(mapped([of('x:1', '1.3'), of('x:1', '0.3.0'), of('x:1', '2.0')])[0], ['1.3 - agent.test 1', '0.3 - agent.test 1'])
})

t.test('the server: host and TLS of upstream.url, port of the card', async t => {
  t.same(mapped([of('elsewhere.test:50051')]), [['1.0 - agent.test 50051'], []], 'the host in the card does not count')
  t.same(mapped([of('x:1')], { ...SCOPE, own: { host: '::1', tls: true } })[0], ['1.0 - ::1 1 tls'])
  const upstream = { host: 'grpc.test', port: 7, tls: true }
  const odd = [of('https://grpc.example.com/a2a'), of('x:1', '0.3'), of('unix:/x', '1.0', { tenant: 't' })]
  t.same(mapped(odd, { ...SCOPE, upstream, own: null }), [['1.0 - grpc.test 7 tls', '0.3 - grpc.test 7 tls', '1.0 t grpc.test 7 tls'], []], 'the configuration names the server')
})

t.test('interfaces that are not served, and why', async t => {
  t.same(mapped([of('x:1')], null), [[], ['GRPC 1.0 x:1 is not served: the gateway has no gRPC listener for the agent (server.grpc.listen, or agents[].grpc)']])
  t.same(mapped([of('https://u:p@x/a')]), [[], ['GRPC 1.0 https://x/a is not served: its URL has a path, and gRPC clients need host:port; agents[].grpc.upstream can name the server of this agent']])
  t.same(mapped([of('x:1')], { ...SCOPE, own: null }), [[], ['GRPC 1.0 x:1 is not served: other agents have the same host in upstream.url, and its port could be theirs; agents[].grpc.upstream can name the server of this agent']])
  t.same(mapped([of('x:1'), of('x:2'), of('x:1', '1.0', { tenant: 't' }), of('x:2', '0.3')]), [
    ['1.0 - agent.test 1', '1.0 t agent.test 1', '0.3 - agent.test 2'],
    ['GRPC 1.0 x:2 is not served: another gRPC interface of its version has another port; agents[].grpc.upstream can name one server for both']
  ])
})

const served = (card: Record<string, unknown>, grpc: GrpcScope | null = SCOPE): object =>
  rewriteCard(card, { scope, grpc, signature: 'strip', publicBase: GATE })

t.test('the served card of 1.0: the public address, in the order of the agent', async t => {
  const rest = { url: `${UP}/v1`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }
  const card = { supportedInterfaces: [of('agent.test:50051', '1.0', { tenant: 't' }), rest, of('xds:///x')] }
  t.same(served(card), { supportedInterfaces: [of(PUBLIC, '1.0', { tenant: 't' }), { ...rest, url: `${GATE}/v1` }] })
  t.same(served(card, null), { supportedInterfaces: [{ ...rest, url: `${GATE}/v1` }] }, 'without a listener as ever')
  t.same(served({ supportedInterfaces: [of('agent.test:50051')] }), { supportedInterfaces: [of(PUBLIC)] }, 'gRPC only')
  const wrong = rewriteCard(card, { scope, grpc: SCOPE, signature: 'strip', publicBase: GATE, routed: one => one.binding !== 'GRPC' })
  t.same(wrong, { supportedInterfaces: [{ ...rest, url: `${GATE}/v1` }] }, 'what the router does not know')
  t.equal(rewriteCard(card, { scope, grpc: { ...SCOPE, publicAddress: null }, signature: 'verbatim', publicBase: GATE }), card)
})

t.test('the served card of 0.3', async t => {
  const json = { url: UP, transport: 'JSONRPC' }
  const main = { url: 'agent.test:50051', preferredTransport: 'GRPC', protocolVersion: '0.3.0' }
  t.same(served({ ...main, additionalInterfaces: [json] }), { ...main, url: PUBLIC, additionalInterfaces: [{ ...json, url: GATE }] })
  t.same(
    served({ ...main, additionalInterfaces: [json] }, null),
    { url: GATE, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0', additionalInterfaces: [{ ...json, url: GATE }] },
    'another interface takes its place'
  )
  const soap = { url: 'x:1', preferredTransport: 'SOAP', protocolVersion: '0.3.0', additionalInterfaces: [{ url: 'agent.test:1', transport: 'GRPC' }] }
  t.same(served(soap), { ...soap, url: PUBLIC, preferredTransport: 'GRPC', additionalInterfaces: [{ url: PUBLIC, transport: 'GRPC' }] })
})
