/** A gateway with all listeners, as a process of its own, for clients that break every rule; and the calls of honest clients. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { HELLO, grpcAgent, reply } from '../front/grpc-kit.js'
import { RawGrpc } from '../helpers/grpc-raw.js'
import { H2Socket } from '../helpers/h2-frames.js'
import type { Sequence, Service } from '../helpers/h2-sequences.js'
import { GRPC_SERVICES, MESH_SERVICES } from '../helpers/h2-sequences.js'
import { freePort } from '../helpers/http.js'
import { serve } from '../helpers/serve.js'
import type { ServedGateway } from '../helpers/serve.js'

export interface Attacked {
  readonly gateway: ServedGateway
  /** `host:port` of each listener of HTTP/2, with its services, and of those of HTTP/1.1, without. */
  readonly listeners: Readonly<Record<'grpc' | 'mesh' | 'main' | 'admin', { readonly address: string, readonly services: readonly Service[] }>>
  /** One call of an honest client on each listener. @returns milliseconds of the slowest. @throws Error when one has no response */
  honest (): Promise<number>
}

/**
 * @param limits settings of `limits`, in one line
 * @param flags of Node
 * @param env of the gateway
 */
export async function attackedGateway (t: Test, limits = 'requestTimeout: 2s, idleTimeout: 2s', flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Attacked> {
  const agent = await grpcAgent(t, {
    answer: call => { if (!call.stream.closed && !call.stream.destroyed) reply(call) }
  })
  const [grpc, mesh] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const gateway = await serve(t, `limits: {${limits}}\nagents: [{name: agent, upstream: {url: "${agent.url}"}}]`, env, {
    server: [`grpc: {listen: "${grpc}", publicAddress: "${grpc}"}`, `mesh: {listen: "${mesh}"}`],
    flags
  })
  const listeners = {
    grpc: { address: grpc, services: GRPC_SERVICES },
    mesh: { address: mesh, services: MESH_SERVICES },
    main: { address: gateway.url.slice('http://'.length), services: [] },
    admin: { address: gateway.adminUrl.slice('http://'.length), services: [] }
  }
  const honest = async (): Promise<number> => {
    const begin = performance.now()
    const calls = [[grpc, GRPC_SERVICES[0]], ...MESH_SERVICES.slice(0, 3).filter(one => one.name !== 'ext_proc').map(one => [mesh, one])] as Array<[string, Service]>
    for (const [address, service] of calls) {
      const client = await RawGrpc.to(address, HONEST)
      try {
        const { status } = await client.call({ path: service.path, body: service === GRPC_SERVICES[0] ? HELLO : service.message })
        if (status !== 0) throw new Error(`${service.name}: status ${String(status)}`)
      } finally {
        client.close()
      }
    }
    for (const url of [`${gateway.url}/.well-known/agent-card.json`, `${gateway.adminUrl}/readyz`]) {
      const response = await fetch(url, { signal: AbortSignal.timeout(20_000), headers: { connection: 'close' } })
      await response.arrayBuffer()
      if (response.status !== 200) throw new Error(`${url}: ${response.status}`)
    }
    return performance.now() - begin
  }
  return { gateway, listeners, honest }
}

/** Honest clients have an address of their own, because the gateway limits the connections of each address. */
const HONEST = '127.0.0.2'

/** Plays a sequence on a connection of its own, and leaves. */
export async function play (address: string, { steps, leaves }: Sequence, isHttp2: boolean): Promise<void> {
  if (isHttp2) {
    const h2 = await H2Socket.to(address)
    for (const step of steps) {
      if (step === 'wait') await Promise.race([h2.alive(), sleep(200)])
      else h2.send(step)
    }
    if (!leaves) await Promise.race([h2.alive(), sleep(200)])
    h2.close()
    return
  }
  const [host, port] = address.split(':')
  const socket = connect(Number(port), host)
  socket.on('error', () => {})
  socket.resume()
  await Promise.race([once(socket, 'connect'), sleep(2_000)]).catch(() => {})
  for (const step of steps) {
    if (step === 'wait') await sleep(5)
    else if (!socket.destroyed) socket.write(step)
  }
  if (!leaves) await sleep(20)
  socket.destroy()
}
