/** Prints the messages of {@link MESH_ROWS}, and the effect of the keys on the model. */
import t from 'tap'
import { meshWarnings } from '#config/listeners/mesh-checks.js'
import { parseConfig } from '#config/load.js'
import { inEffect } from '#agents/changes.js'
import type { Config } from '#config/model/model.js'
import { MESH_ROWS, meshLines } from './mesh-rows.js'

t.test('every message stands where its row says', async t => {
  for (const [name, text, ...expected] of MESH_ROWS) t.same(meshLines(text), expected, name)
})

t.test('versions of Node.js', async t => {
  const config = { server: { mesh: { listen: '127.0.0.1:9', tls: { clientCertificate: 'none' } } } }
  t.match(meshWarnings(config, '20.20.2'), [{
    path: ['server', 'mesh', 'listen'],
    message: 'with Node.js 20.20.2, calls through ext_proc can fail: Node.js closes connections on which Envoy resets many streams'
  }])
  t.same(meshWarnings(config, '24.19.0'), [])
  t.same(meshWarnings({ server: { mesh: { listen: null, tls: {} } } }, '20.20.2'), [], 'no mesh')
})

t.test('the model, and what a reload changes', async t => {
  const model = (server: string): Config => {
    const text = `version: 1\nserver: {${server}}\nagents: [{name: a, upstream: {url: "http://h"}}]\n`
    const loaded = parseConfig(text, { file: 'g.yaml', baseDir: '/etc/gateway', env: {} })
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    return loaded.config
  }
  const without = model('')
  t.same([without.server.mesh, without.server.listen, without.agents[0]?.grpc], [null, { host: '0.0.0.0', port: 8080 }, null])
  const mesh = model('listen: null, mesh: {listen: ":9002"}')
  t.same([mesh.server.mesh, mesh.server.listen], [{ listen: { host: '0.0.0.0', port: 9002 }, tls: null }, null])
  t.match(mesh.agents[0]?.grpc, { listen: null, publicAddress: null }, 'a mesh carries gRPC without a listener')
  const moved = inEffect(mesh, model('listen: null, mesh: {listen: ":9003"}'))
  t.same(moved.server.mesh, mesh.server.mesh, 'the address needs a restart')
  t.match(moved.agents[0]?.grpc, { listen: null }, 'agents are still called by gRPC')
  t.equal(inEffect(without, mesh).server.mesh, null)
})
