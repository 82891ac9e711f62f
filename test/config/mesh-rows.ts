/** Every sentence about `server.mesh` and `server.listen: null`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'
import { lines } from './rows.js'

/** Without the warning that depends on the version of Node.js; mesh-messages.test.ts has it. */
export const meshLines = (text: string): string[] => lines(text).filter(line => !line.includes('calls through ext_proc can fail'))

const AGENT = '  - {name: a, upstream: {url: "http://a.test"}}\n'
const withServer = (server: string, agent = AGENT): string => `version: 1\nserver: {${server}}\nagents:\n${agent}`
const LOCAL = 'mesh: {listen: "127.0.0.1:9"}'

export const MESH_ROWS: readonly Row[] = [
  ['a loopback address', withServer(LOCAL)],
  ['certificates of proxies', withServer('mesh: {listen: ":9", tls: {cert: right.pem, key: right.key.pem, clientCa: ca.pem, clientCertificate: require}}')],
  ['no main listener', withServer(`listen: null, ${LOCAL}`)],
  ['gRPC of an agent', withServer(LOCAL, AGENT.replace('}}', '}, grpc: {publicAddress: "a.test:443"}}'))],
  [
    'any address',
    withServer('mesh: {listen: ":9"}'),
    'g.yaml:2:25: any client that reaches server.mesh.listen can probe the policies and learn the addresses of agents (listen on a loopback address, or set server.mesh.tls with clientCertificate: require)'
  ],
  ['bodies of the default length', `${withServer(LOCAL)}limits: {body: 20MiB}\n`],
  ['large bodies without a mesh', 'version: 1\nagents: [{name: a, upstream: {url: "http://a.test"}}]\nlimits: {body: 64MiB}\n'],
  [
    'large bodies',
    `${withServer(LOCAL)}limits: {body: 64MiB}\n`,
    'g.yaml:5:16: limits.body "64MiB" also bounds the messages of ext_authz, which contain bodies of unauthenticated requests (set max_request_bytes of ext_authz to the largest body that agents need, such as 1 MiB; or use ext_proc)'
  ],
  [
    'address of another listener',
    withServer('admin: "127.0.0.1:9", mesh: {listen: "127.0.0.1:9"}'),
    'g.yaml:2:47: server.admin and server.mesh.listen are the same address (the listener for a mesh needs its own address)'
  ],
  [
    'address of an agent',
    withServer(LOCAL, AGENT.replace('}}', '}, grpc: {listen: "127.0.0.1:9", publicAddress: "a.test:443"}}')),
    'g.yaml:2:25: agents[0].grpc.listen and server.mesh.listen are the same address (the listener for a mesh needs its own address)'
  ],
  [
    'TLS without a listener',
    withServer('mesh: {tls: {cert: right.pem, key: right.key.pem}}'),
    'g.yaml:2:17: server.mesh.tls has no effect without server.mesh.listen (set server.mesh.listen)'
  ],
  ['TLS', withServer('mesh: {listen: "127.0.0.1:9", tls: {cert: none.pem}}'), 'g.yaml:2:52: server.mesh.tls.cert: cannot read "none.pem": no such file (paths are relative to the configuration file)', 'g.yaml:2:52: server.mesh.tls.cert also needs key'],
  ['nothing listens', withServer('listen: null'), 'g.yaml:2:18: server.listen is null, and nothing else takes calls (set server.mesh.listen, or remove this line)'],
  [
    'gRPC without an address for cards',
    withServer(`listen: null, grpc: {listen: ":8", publicAddress: "a.test:443"}, ${LOCAL}`),
    'g.yaml:2:39: server.grpc.listen needs server.publicUrl while server.listen is null: cards name it (set server.publicUrl)'
  ],
  [
    'keys of the main listener',
    withServer(`listen: null, tls: {cert: right.pem, key: right.key.pem}, ${LOCAL}`),
    'g.yaml:2:24: server.tls has no effect while server.listen is null (remove this line)'
  ],
  [
    'calls of the console',
    withServer(`listen: null, console: {tryIt: true}, ${LOCAL}`),
    'g.yaml:2:34: server.console.tryIt has no effect while server.listen is null (remove this line)'
  ]
]
