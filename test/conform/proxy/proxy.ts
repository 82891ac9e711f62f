/** A small proxy that does what the profile asks, with faults that can be switched on. */
import { createServer as createHttp2 } from 'node:http2'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { FaultName } from './faults.js'
import { forwardGrpc } from './grpc-side.js'
import { serveClient } from './http-side.js'

export interface ProxyState {
  /** Origin of the agent. */
  readonly agent: string
  /** Origin of the proxy. */
  origin: string
  readonly has: (fault: FaultName) => boolean
  /** URIs that the agent's card requires. */
  readonly required: readonly string[]
  /** What the faults "stores-extended-cards" and "card-names-host" store. */
  stored: Map<string, Buffer>
}

export interface FaultyProxy {
  readonly url: string
  close (): Promise<void>
}

/** @param faults none: the faultless proxy */
export async function startProxy (
  agent: string,
  faults: readonly FaultName[] = [],
  required: readonly string[] = []
): Promise<FaultyProxy> {
  const has = (fault: FaultName): boolean => faults.includes(fault)
  const state: ProxyState = { agent, origin: '', has, required, stored: new Map() }
  const sessions = new Set<ServerHttp2Session>()
  const sockets = new Set<Socket>()
  const http2 = createHttp2()
  http2.on('session', session => {
    sessions.add(session)
    session.on('error', () => session.destroy())
    session.on('close', () => sessions.delete(session))
  })
  http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => forwardGrpc(stream, headers, raw, state))
  const server = createServer({ noDelay: true, allowHalfOpen: false }, socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null
      if (first === null) return socket.destroy()
      socket.unshift(first)
      if ('PRI * HTTP/2.0'.startsWith(first.toString('latin1', 0, 14))) http2.emit('connection', socket)
      else serveClient(socket, state)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  state.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: state.origin,
    close: async () => {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }
}
