/** Every sentence about `server.grpc` and `agents[].grpc`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'
import { lines } from './rows.js'

/** Without the warning that depends on the version of Node.js; grpc-messages.test.ts has it. */
export const grpcLines = (text: string): string[] => lines(text).filter(line => !line.includes('HTTP/2 server of Node.js'))

const agent = (name: string, more: string): string => `  - {name: ${name}, path: /${name}, upstream: {url: "http://${name}.test"}${more}}\n`
const withServer = (server: string, ...agents: readonly string[]): string =>
  `version: 1\nserver: {${server}}\nagents:\n${agents.length === 0 ? agent('a', '') : agents.join('')}`
const withGrpc = (grpc: string, ...agents: readonly string[]): string => withServer(`grpc: {${grpc}}`, ...agents)
const SHARED = 'listen: ":9", publicAddress: "agents.test:443"'
const withAgent = (grpc: string, more = ''): string => withGrpc(SHARED, agent('a', `${more}, grpc: {${grpc}}`))

export const GRPC_ROWS: readonly Row[] = [
  ['shared listener', withGrpc(SHARED)],
  ['own listener', withGrpc('', agent('a', ', grpc: {listen: ":9", publicAddress: "a.test:443"}'))],
  ['own listener, address by host and port', withGrpc('', agent('a', ', host: a.test, grpc: {listen: ":9"}'))],
  ['all keys of an agent', withAgent('upstream: "grpcs://a.test:50051", passthrough: [grpc.health.v1.Health]')],
  ['verbatim', withGrpc('listen: ":9"', agent('a', ', card: {signature: verbatim}'))],
  ['hosts', withGrpc(SHARED, agent('a', ', host: a.test'), agent('b', ', host: b.test'), agent('c', ''))],
  ['hosts on an own listener', withGrpc('', agent('a', ', host: a.test, grpc: {listen: ":9"}'), agent('b', ', host: b.test, grpc: {listen: ":9"}'))],
  ['one by choice', withGrpc(SHARED, agent('a', ''), agent('b', ', grpc: {enabled: false}'))],
  [
    'address of the shared listener',
    withGrpc(SHARED, agent('a', ', grpc: {listen: "0.0.0.0:9"}')),
    'g.yaml:4:74: server.grpc.listen and agents[0].grpc.listen are the same address (name another address, or leave it out for the shared listener)'
  ],
  ['no public address, and a listener on one address', withGrpc('listen: "127.0.0.1:9"')],
  ['no public address, and an own listener on one address', withGrpc('', agent('a', ', grpc: {listen: "[::1]:9"}'))],
  [
    'no public address, every IPv6 interface',
    withGrpc('listen: "[::]:9"'),
    'g.yaml:2:10: server.grpc.publicAddress is required: served cards contain it (such as "agents.example.com:443")'
  ],
  [
    'no public address, one address and port 0',
    withGrpc('listen: "127.0.0.1:0"'),
    'g.yaml:2:10: server.grpc.publicAddress is required: served cards contain it (such as "agents.example.com:443")'
  ],
  [
    'no public address',
    withGrpc('listen: ":9"'),
    'g.yaml:2:10: server.grpc.publicAddress is required: served cards contain it (such as "agents.example.com:443")'
  ],
  [
    'no public address, own listener',
    withGrpc('', agent('a', ', grpc: {listen: ":9"}')),
    'g.yaml:4:59: agents[0].grpc.publicAddress is required: served cards contain it (such as "agents.example.com:443")'
  ],
  [
    'no public address, port 0',
    withGrpc(SHARED, agent('a', ', grpc: {listen: ":0"}')),
    'g.yaml:4:59: agents[0].grpc.publicAddress is required: served cards contain it (such as "agents.example.com:443")'
  ],
  [
    'no listener',
    withAgent('upstream: "grpc://a.test:1"').replace('listen: ":9", publicAddress: "agents.test:443"', ''),
    'g.yaml:4:66: agents[0].grpc.upstream has no effect without a gRPC listener (set server.grpc.listen, or agents[0].grpc.listen)'
  ],
  [
    'no listener, TLS',
    withGrpc('publicAddress: "a.test:1"'),
    'g.yaml:2:17: server.grpc.publicAddress has no effect without a gRPC listener (set server.grpc.listen)'
  ],
  [
    'not enabled',
    withAgent('enabled: false, listen: ":8"'),
    'g.yaml:4:82: agents[0].grpc.listen has no effect while enabled is false (remove one of them)'
  ],
  [
    'two without a host',
    withGrpc(SHARED, agent('a', ''), agent('b', '')),
    'g.yaml:5:5: agents[0] and agents[1] have the same gRPC listener and no host: gRPC requests cannot tell them apart (give each agent a host or its own grpc.listen, or set grpc.enabled: false)'
  ],
  [
    'two with one host',
    withGrpc(SHARED, agent('a', ', host: x.test'), agent('b', ', host: X.test')),
    'g.yaml:5:5: agents[0] and agents[1] have the same gRPC listener and the host x.test: gRPC requests cannot tell them apart (give each agent a host or its own grpc.listen, or set grpc.enabled: false)'
  ],
  [
    'one public address',
    withGrpc('', agent('a', ', grpc: {listen: ":8", publicAddress: "a.test:443"}'), agent('b', ', grpc: {listen: ":9", publicAddress: "A.test:443"}')),
    'g.yaml:5:59: agents[0] and agents[1] have the same public gRPC address, a.test:443 (give each its own publicAddress)'
  ],
  [
    'address of the main listener',
    withServer('listen: ":9", grpc: {listen: ":9", publicAddress: "a.test:443"}'),
    'g.yaml:2:39: server.listen and server.grpc.listen are the same address (the gRPC listener needs its own address)'
  ],
  [
    'address of the admin listener, of an agent',
    withServer('admin: "127.0.0.1:9"', agent('a', ', grpc: {listen: "127.0.0.1:9", publicAddress: "a.test:443"}')),
    'g.yaml:4:74: server.admin and agents[0].grpc.listen are the same address (name another address, or leave it out for the shared listener)'
  ],
  [
    'to itself',
    withAgent('upstream: "grpc://127.0.0.1:9"'),
    'g.yaml:4:76: agents[0].grpc.upstream is a listener of the gateway itself, 0.0.0.0:9 (name the server of the agent)'
  ],
  [
    'other host',
    withAgent('publicAddress: "b.test:443"', ', host: a.test'),
    'g.yaml:4:95: agents[0].grpc.publicAddress names another host than host, "a.test" (clients send the host of the address, unless a proxy in front replaces it)'
  ],
  [
    'no TLS',
    withServer(`tls: {cert: right.pem, key: right.key.pem}, grpc: {${SHARED}}`),
    'g.yaml:2:69: the main listener has TLS, and the gRPC listener has none (set server.grpc.tls, unless a proxy in front ends TLS)'
  ],
  [
    'no certificates of clients',
    withServer(
      `tls: {cert: right.pem, key: right.key.pem, clientCa: ca.pem, clientCertificate: request}, grpc: {${SHARED}, tls: {cert: right.pem, key: right.key.pem}}`
    ) + 'identity: {sources: {mesh: {certificate: {from: tls, trustDomains: [prod.test]}}}}\n',
    'g.yaml:2:115: callers of identity.sources.mesh cannot be recognized over gRPC: server.grpc.tls.clientCertificate is none (set server.grpc.tls.clientCertificate to request or require)'
  ],
  ['TLS', withGrpc(`${SHARED}, tls: {cert: none.pem}`), 'g.yaml:2:77: server.grpc.tls.cert: cannot read "none.pem": no such file (paths are relative to the configuration file)', 'g.yaml:2:77: server.grpc.tls.cert also needs key'],
  ['address, a port', withGrpc('listen: ":9", publicAddress: ":443"'), 'g.yaml:2:46: server.grpc.publicAddress must be host:port (such as "agents.example.com:443")'],
  ['address, a URL', withGrpc('listen: ":9", publicAddress: "https://a.test:443/x"'), 'g.yaml:2:46: server.grpc.publicAddress must be host:port (write "a.test:443": gRPC clients take no URL)'],
  ['address, port 0', withGrpc('listen: ":9", publicAddress: "a.test:0"'), 'g.yaml:2:46: server.grpc.publicAddress must not have port 0 (name the port that clients use)'],
  ['address, every interface', withGrpc('listen: ":9", publicAddress: "0.0.0.0:9"'), 'g.yaml:2:46: server.grpc.publicAddress must not be an address that means every interface (name the host that clients use)'],
  ['upstream, no port', withAgent('upstream: "grpc://a.test"'), 'g.yaml:4:76: agents[0].grpc.upstream must be grpc://host:port or grpcs://host:port (with a port, such as "grpc://127.0.0.1:50051"; grpcs:// for TLS)'],
  ['upstream, no scheme', withAgent('upstream: "a.test:50051"'), 'g.yaml:4:76: agents[0].grpc.upstream must be grpc://host:port or grpcs://host:port (did you mean "grpc://a.test:50051"?)'],
  ['upstream, https', withAgent('upstream: "https://a.test:50051/"'), 'g.yaml:4:76: agents[0].grpc.upstream must be grpc://host:port or grpcs://host:port (did you mean "grpcs://a.test:50051"?)'],
  ['upstream, unix', withAgent('upstream: "unix:/run/agent"'), 'g.yaml:4:76: agents[0].grpc.upstream must be grpc://host:port or grpcs://host:port (only host and port; no other scheme of gRPC)'],
  ['service, a path', withAgent('passthrough: [/grpc.health.v1.Health/Check]'), 'g.yaml:4:80: agents[0].grpc.passthrough[0] must be the full name of a gRPC service (such as "grpc.health.v1.Health", without "/" and without a method)'],
  ['service of A2A', withAgent('passthrough: [lf.a2a.v1.A2AService]'), 'g.yaml:4:80: agents[0].grpc.passthrough[0] must not be a service of A2A (its calls would be forwarded without any check)']
]
