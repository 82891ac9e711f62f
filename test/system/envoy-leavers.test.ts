/** Anonymous clients of Envoy that disconnect within their bodies. Envoy 1.36 resets their questions with the code NO_ERROR. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { NO_ENVOY, startEnvoy } from '../helpers/envoy.js'
import type { Mode } from '../helpers/envoy.js'
import { call, freePort, MESSAGE, rpcBody, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'

const ROUNDS = 3
const CLIENTS = 20
const BODY = 8_000_000

async function leave (port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'connect')
  socket.write(`POST /rpc HTTP/1.1\r\nhost: a.test\r\ncontent-type: application/json\r\na2a-version: 1.0\r\ncontent-length: ${BODY}\r\n\r\n`)
  socket.write(Buffer.alloc(BODY, 'x'), () => { setTimeout(() => { socket.destroy() }, 5) })
  await Promise.race([once(socket, 'close'), sleep(5_000)]).catch(() => {})
  socket.destroy()
}

for (const mode of ['ext-authz', 'ext-proc'] as const satisfies readonly Mode[]) {
  t.test(mode, { skip: NO_ENVOY }, async t => {
    const agent = await fakeAgent(t, { card: plainCard })
    const mesh = await freePort()
    const gateway = await serve(t, `agents: [{name: agent, upstream: {url: "${agent.url}"}}]`, {}, { server: [`mesh: {listen: "127.0.0.1:${mesh}"}`] })
    const envoy = await startEnvoy({ listeners: [{ mode }], gateways: [mesh], agent: { http: Number(new URL(agent.url).port) } })
    t.teardown(async () => { await envoy.stop() })
    const ask = async (): Promise<number> => (await call(`${envoy.urls[0] ?? ''}/rpc`, {
      headers: ['content-type', 'application/json', 'a2a-version', '1.0'], body: rpcBody('SendMessage', { message: MESSAGE })
    })).status
    await until(async () => await ask() === 200, 'a call through Envoy')
    const port = Number(new URL(envoy.urls[0] ?? '').port)
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(Array.from({ length: CLIENTS }, async () => { await leave(port) }))
      t.equal(await Promise.race([gateway.exited, sleep(50, 'alive')]), 'alive', `round ${round}: the process lives`)
    }
    await until(async () => await ask() === 200, 'a call after the attack')
    await until(async () => await gateway.metric('a2a_gateway_held_bytes') === 0, 'the memory to be given back')
    t.equal(await gateway.metric('a2a_gateway_unexpected_errors_total'), 0)
  })
}
