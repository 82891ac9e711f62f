/** Agents for the advisories: over TLS, or written byte by byte. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { plainCard } from '../helpers/raw.js'
import { inTests } from '../helpers/paths.js'

const fixture = (name: string): string => inTests('security', 'fixtures', name)

/** Self-signed, and for `other.example` only. Its key is in the repository: it protects nothing. */
export const CERTIFICATE = fixture('other.example.crt')

/** A card on disk, for agents that cannot serve one themselves. */
export function cardFile (t: Test, url: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-card-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  const file = join(folder, 'card.json')
  writeFileSync(file, JSON.stringify(plainCard(url)))
  return file
}

export interface TlsAgent { readonly url: string, readonly connections: () => number, readonly requests: () => number }

export async function tlsAgent (t: Test): Promise<TlsAgent> {
  let connections = 0
  let requests = 0
  const server = createTlsServer(
    { cert: readFileSync(CERTIFICATE), key: readFileSync(fixture('other.example.key')) },
    (_request, response) => {
      requests++
      response.setHeader('content-type', 'application/json')
      response.end('{"jsonrpc":"2.0","id":1,"result":{}}')
    }
  )
  server.on('connection', () => connections++)
  server.on('tlsClientError', () => {})
  const port = await listen(t, server)
  return { url: `https://127.0.0.1:${port}`, connections: () => connections, requests: () => requests }
}

export interface BytesAgent { readonly url: string, readonly sockets: Socket[], readonly heads: string[] }

/**
 * Answers the n-th request of all connections with the bytes `answer` gives; requests with bodies must come in one piece, which small
 * ones do. Card requests are answered with a card.
 */
export async function bytesAgent (
  t: Test,
  answer: (index: number, socket: Socket, head: string) => string | Buffer | null
): Promise<BytesAgent> {
  const sockets: Socket[] = []
  const heads: string[] = []
  let url = ''
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    let pending = ''
    socket.on('data', chunk => {
      pending += chunk.toString('latin1')
      for (;;) {
        const end = pending.indexOf('\r\n\r\n')
        if (end === -1) return
        const head = pending.slice(0, end)
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (pending.length < end + 4 + length) return
        pending = pending.slice(end + 4 + length)
        if (head.includes('/.well-known/')) {
          const card = JSON.stringify(plainCard(url))
          socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${card.length}\r\n\r\n${card}`)
          continue
        }
        heads.push(head)
        const bytes = answer(heads.length - 1, socket, head)
        if (bytes !== null) socket.write(bytes)
      }
    })
  })
  const port = await listen(t, server)
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  url = `http://127.0.0.1:${port}`
  return { url, sockets, heads }
}

async function listen (t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    if ('closeAllConnections' in server) (server as unknown as { closeAllConnections (): void }).closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** A small JSON answer. */
export function ok (body: string, headers = ''): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
}
