import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { Express } from 'express'
import type { AgentCard, AgentInterface } from '@a2a-js/sdk'
import { duplicateInterfacesForLegacy } from '@a2a-js/sdk/compat/v0_3'
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import type { AgentExecutor } from '@a2a-js/sdk/server'
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'

export interface StartOptions {
  readonly port: number
  readonly host?: string
  /** The URL for the card, as clients reach the agent. Default: made from host and port. */
  readonly url?: string
}

export interface RunningAgent {
  readonly url: string
  /** Number of received HTTP requests, without card fetches. */
  requests (): number
  close (): Promise<void>
}

/** The interfaces of both bindings under one origin, each in 1.0 and, through the SDK's compatibility layer, in 0.3. */
export function interfaces (url: string): AgentInterface[] {
  return duplicateInterfacesForLegacy([
    { url: `${url}/a2a/jsonrpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
    { url: `${url}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' }
  ], ['JSONRPC', 'HTTP+JSON'])
}

export function mountAgent (app: Express, card: AgentCard, executor: AgentExecutor): void {
  const options = {
    requestHandler: new DefaultRequestHandler(card, new InMemoryTaskStore(), executor),
    userBuilder: UserBuilder.noAuthentication,
    legacyCompat: { enabled: true }
  }
  app.use('/a2a/jsonrpc', jsonRpcHandler(options))
  app.use('/a2a/rest', restHandler(options))
}

/** Listens before the agent is mounted, so that the card contains the port even when the system chose it. */
export async function serve (options: StartOptions, mount: (app: Express, url: string) => void): Promise<RunningAgent> {
  const host = options.host ?? '127.0.0.1'
  const server = createServer()
  server.listen(options.port, host)
  await once(server, 'listening')
  const url = options.url ?? `http://${host}:${(server.address() as AddressInfo).port}`

  let count = 0
  const app = express().disable('x-powered-by')
  app.use((req, _res, next) => {
    if (!(req.method === 'GET' && req.path.startsWith('/.well-known/'))) count++
    next()
  })
  mount(app, url)
  server.on('request', app)

  return {
    url,
    requests: () => count,
    async close () {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    }
  }
}
