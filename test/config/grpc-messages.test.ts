/** Prints the messages of {@link GRPC_ROWS}, and the effect of the keys on the model. */
import t from 'tap'
import { grpcWarnings, hasSafeHttp2Server } from '#config/listeners/grpc-checks.js'
import { parseConfig } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { GRPC_ROWS, grpcLines } from './grpc-rows.js'

t.test('every message stands where its row says', async t => {
  for (const [name, text, ...expected] of GRPC_ROWS) t.same(grpcLines(text), expected, name)
})

t.test('versions of Node.js', async t => {
  const safe = ['22.22.2', '22.23.0', '24.14.1', '24.15.0', '25.0.0', '26.1.2']
  const old = ['18.20.0', '20.20.2', '21.0.0', '22.22.1', '22.9.9', '23.11.0', '24.14.0', '24.9.0']
  t.same(safe.filter(version => !hasSafeHttp2Server(version)), [])
  t.same(old.filter(version => hasSafeHttp2Server(version)), [])

  const server = { tls: { cert: null }, grpc: { listen: null, publicAddress: null, tls: { cert: null } } }
  const own = { server, agents: [{ grpc: { enabled: true, listen: ':9', publicAddress: 'a:1' } }] }
  t.match(grpcWarnings(own, '20.20.2'), [{
    path: ['agents', 0, 'grpc', 'listen'],
    message: 'the HTTP/2 server of Node.js 20.20.2 has known faults (CVE-2026-21714)',
    hint: 'run the gateway on Node.js 22.22.2, 24.14.1 or later'
  }])
  t.same(grpcWarnings(own, '24.14.1'), [])
  t.same(grpcWarnings({ server, agents: [{ grpc: { enabled: true, listen: null, publicAddress: null } }] }, '20.20.2'), [], 'no gRPC')
})

t.test('the model', async t => {
  const model = (server: string, ...agents: string[]): Config => {
    const text = `version: 1\nserver: {grpc: {${server}}}\nagents:\n${agents.map(one => `  - {${one}}\n`).join('')}`
    const loaded = parseConfig(text, { file: 'g.yaml', baseDir: '/etc/gateway', env: {} })
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    return loaded.config
  }
  const off = model('', 'name: a, upstream: {url: "http://h"}')
  t.same([off.server.grpc, off.agents[0]?.grpc], [null, null])

  const shared = model(
    'listen: ":8082", publicAddress: "Agents.example.com:443"',
    'name: a, upstream: {url: "http://a"}',
    'name: b, host: B.example.com, upstream: {url: "http://b"}, grpc: {upstream: "GRPCS://B.internal:50051", passthrough: [grpc.health.v1.Health]}',
    'name: c, host: c.example.com, upstream: {url: "http://c"}, grpc: {listen: "[::1]:9000"}',
    'name: d, host: "[::1]", upstream: {url: "http://127.0.0.2:1"}, grpc: {upstream: "grpc://[::2]:1"}',
    'name: e, path: /e, upstream: {url: "http://localhost:2"}, grpc: {enabled: false}'
  )
  t.same(shared.server.grpc, { listen: { host: '0.0.0.0', port: 8082 }, tls: null, maxConcurrentStreams: 128 })
  t.same(shared.agents.map(one => one.grpc), [
    { listen: null, publicAddress: 'agents.example.com:443', upstream: null, sharedHost: false, passthrough: [] },
    {
      listen: null,
      publicAddress: 'b.example.com:443',
      upstream: { host: 'b.internal', port: 50051, tls: true },
      sharedHost: false,
      passthrough: ['grpc.health.v1.Health']
    },
    { listen: { host: '::1', port: 9000 }, publicAddress: 'c.example.com:9000', upstream: null, sharedHost: false, passthrough: [] },
    { listen: null, publicAddress: '[::1]:443', upstream: { host: '::2', port: 1, tls: false }, sharedHost: true, passthrough: [] },
    null
  ])

  const own = model('', 'name: a, upstream: {url: "http://a"}, grpc: {listen: ":9", publicAddress: "a.example.com:443"}')
  t.match(own.server.grpc, { listen: null, maxConcurrentStreams: 128 })
  t.match(own.agents[0]?.grpc, { listen: { host: '0.0.0.0', port: 9 }, publicAddress: 'a.example.com:443' })
})
