/** The parties of the case `grpc`, and the agent behind them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/helpers/http.js'
import { GRPC_JS_PROXY, HTTP2_PROXY } from '../names.js'
import { built, listening, start, until } from '../processes.js'
import type { ChildProcess } from 'node:child_process'
import type { Party, Place } from './party.js'
import { ours } from './party.js'

export interface GrpcAgent {
  /** `http://HOST:PORT` of the card and the statistics. */
  readonly url: string
  /** `HOST:PORT` of the gRPC server. */
  readonly grpc: string
  readonly child: ChildProcess
}

export async function startGrpcAgent ({ cores }: Place): Promise<GrpcAgent> {
  const child = start(process.execPath, [built('bench/agent/grpc.js')], { cores: cores?.load })
  const { url, grpc } = await listening(child, 'the gRPC agent') as { url: string, grpc: string }
  return { url, grpc, child }
}

/**
 * The gateway with a card, a required extension and an object schema; the URL of the party is that of its gRPC listener.
 * @param main path of the gateway's `main.js`; default: the file built here
 */
export async function startGrpcGateway (place: Place, agent: GrpcAgent, main = built('src/main.js')): Promise<Party> {
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  // A gateway reloads its file when the file changes, so each process has its own.
  const file = join(place.directory, `grpc-gateway-${port}.json`)
  writeFileSync(file, JSON.stringify({
    version: 1,
    server: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', grpc: { listen: address, publicAddress: address } },
    agents: [{
      name: 'bench',
      upstream: { url: agent.url },
      grpc: { upstream: `grpc://${agent.grpc}` },
      card: { refresh: '1h' }
    }]
  }))
  const party = await ours('gateway', place, [main, 'serve', '--config', file])
  await until(() => fetch(`${party.admin}/readyz`).then(response => response.ok), 'the gateway is ready')
  return { ...party, url: `http://${address}` }
}

export const startHttp2Proxy = (place: Place, { grpc }: GrpcAgent): Promise<Party> =>
  ours(HTTP2_PROXY, place, [built('bench/parties/http2-proxy.js'), grpc])

export const startGrpcJsProxy = (place: Place, { grpc }: GrpcAgent): Promise<Party> =>
  ours(GRPC_JS_PROXY, place, [built('bench/parties/grpc-js-proxy.js'), grpc])
