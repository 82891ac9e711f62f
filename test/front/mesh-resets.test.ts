/** A proxy that resets its calls, frame by frame: the call ends, and nothing else notices. */
import t from 'tap'
import { plainCard, fakeAgent } from '../helpers/raw.js'
import { gatewayFor } from '../helpers/gateway.js'
import { END_HEADERS, FRAME, H2Socket, frame, headerBlock, uint32 } from '../helpers/h2-frames.js'
import { grpcMessage } from '../helpers/grpc-raw.js'
import { envoyFor } from './mesh-kit.js'

const PATHS = ['/envoy.service.auth.v3.Authorization/Check', '/envoy.service.ext_proc.v3.ExternalProcessor/Process', '/grpc.health.v1.Health/Check']
/** Error codes of RFC 9113 §7, and one that it does not define. */
const CODES = [0, 1, 2, 5, 7, 8, 11, 13, 0xffffffff]

t.test('a call that is reset before its message is complete', async t => {
  const agent = await fakeAgent(t, { card: plainCard })
  const gateway = await gatewayFor(t, {
    yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", mesh: {listen: "127.0.0.1:0"}}\nagents: [{name: agent, upstream: {url: "${agent.url}"}}]`
  })
  const address = gateway.mesh ?? ''
  for (const path of PATHS) {
    const head = headerBlock([
      [':method', 'POST'], [':scheme', 'http'], [':path', path], [':authority', 'gateway.test'], ['te', 'trailers'],
      ['content-type', 'application/grpc']
    ])
    for (const code of CODES) {
      const proxy = await H2Socket.to(address)
      t.teardown(() => { proxy.close() })
      proxy.send(frame(FRAME.headers, END_HEADERS, 1, head), frame(FRAME.data, 0, 1, grpcMessage(Buffer.alloc(2_000), 0, 19_000_000)))
      await proxy.alive()
      proxy.send(frame(FRAME.reset, 0, 1, uint32(code)))
      t.ok(await proxy.alive(), `${path}, code ${code}: the connection lives`)
      proxy.close()
    }
  }
  t.equal(await envoyFor(t, address).health(), 1)
})
