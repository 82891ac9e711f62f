/**
 * An agent on a bare socket that answers well until it is given a fault. Every request names a token of its own, every good answer repeats
 * it, so that an answer that reaches somebody else shows.
 */
import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { plainCard } from '../helpers/raw.js'

export const EXTENSION = 'https://x.test/ext/any/v1'

export interface Asked {
  readonly socket: Socket
  readonly head: string
  /** Empty where the fault acts before it has arrived. */
  readonly body: string
  readonly streams: boolean
  /** The whole good answer, head and body. */
  readonly good: GoodAnswer
}

export interface GoodAnswer {
  readonly type: string
  /** The body; of a stream, one item per event. */
  readonly pieces: readonly string[]
}

/** What the agent does instead of answering well. */
export interface Fault {
  /** `head`: as soon as the head of a request is there, and nothing more is read. Default: once the request is whole. */
  readonly at?: 'head'
  readonly act: (asked: Asked) => void
}

export interface FaultyAgent {
  readonly url: string
  readonly sockets: ReadonlySet<Socket>
  /** Requests other than for the card, so far. */
  readonly calls: () => number
  fault: Fault | null
  /** Stops listening and drops every connection, as a process that ends. */
  down (): Promise<void>
  /** Listens again at the same address. */
  up (): Promise<void>
}

/** What is ended with the test, or whatever it is that needs the agent. */
export interface Ending { teardown (ending: () => unknown): void }

export async function faultyAgent (t: Ending, host = '127.0.0.1', port = 0): Promise<FaultyAgent> {
  const sockets = new Set<Socket>()
  const deaf = new Set<Socket>()
  let current: Fault | null = null
  let calls = 0
  let url = ''
  let server: Server
  const agent = {
    get fault () { return current },
    /**
     * RFC 9112 §9.6: a server that reads no more closes the connection a little later. The gateway cannot know that the agent has not read
     * a request, and would use the connection again, much later perhaps, because the connection that became free last comes first.
     */
    set fault (fault: Fault | null) {
      current = fault
      for (const socket of deaf) socket.destroy()
      deaf.clear()
    },
    sockets,
    calls: () => calls,
    get url () { return url },
    async down () {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
    async up () {
      server = createServer(socket => {
        sockets.add(socket)
        socket.on('error', () => {})
        socket.once('close', () => sockets.delete(socket))
        serve(socket, { cardUrl: () => url, fault: () => agent.fault, called: () => { calls++ }, deafened: () => { deaf.add(socket) } })
      })
      server.listen(port, host)
      await once(server, 'listening')
      port = (server.address() as AddressInfo).port
      url = `http://${host}:${port}`
    }
  }
  await agent.up()
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => { server.close(resolve) })
  })
  return agent
}

interface Serving {
  readonly cardUrl: () => string
  readonly fault: () => Fault | null
  readonly called: () => void
  /** Called when the agent reads no more of the connection. */
  readonly deafened: () => void
}

function serve (socket: Socket, { cardUrl, fault, called, deafened }: Serving): void {
  let text = ''
  let deaf = false
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    while (!deaf && !socket.destroyed) {
      const end = text.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = text.slice(0, end)
      const isCard = head.includes('/.well-known/')
      const now = isCard ? null : fault()
      if (now?.at === 'head') {
        deaf = true
        deafened()
        socket.pause()
        called()
        now.act({ socket, head, body: '', streams: false, good: { type: 'application/json', pieces: ['{"early":true}'] } })
        return
      }
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      const body = text.slice(end + 4, end + 4 + length)
      text = text.slice(end + 4 + length)
      if (isCard) {
        const card = plainCard(cardUrl(), { capabilities: { streaming: true, extensions: [{ uri: EXTENSION }] } })
        answer(socket, { type: 'application/json', pieces: [JSON.stringify(card)] })
        continue
      }
      called()
      const good = goodAnswer(head, body)
      if (now === null) answer(socket, good)
      else now.act({ socket, head, body, streams: good.type === 'text/event-stream', good })
    }
  })
}

/** What makes a stream long: about a mebibyte of comments. */
const LONG = Array.from({ length: 256 }, (_, i) => `: ${String(i).padStart(4_000, '.')}\n\n`)

function goodAnswer (head: string, body: string): GoodAnswer {
  const token = /token-[\w-]+/.exec(body)?.[0] ?? /token-[\w-]+/.exec(head)?.[0] ?? ''
  const id = /"jsonrpc".*?"id":("[^"]*"|[\d.]+)/.exec(body)?.[1]
  const wrap = (result: object): string =>
    id === undefined ? JSON.stringify(result) : `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`
  if (!/message:stream|SendStreamingMessage/.test(head + body)) {
    return { type: 'application/json', pieces: [wrap({ message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: token }] } })] }
  }
  const event = (result: object): string => `data: ${wrap(result)}\n\n`
  return {
    type: 'text/event-stream',
    pieces: [
      event({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } }),
      ...(/^x-long:/im.test(head) ? LONG : []),
      event({ artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text: token }] } } }),
      event({ statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } } })
    ]
  }
}

/** Well, and the connection stays open. */
export function answer (socket: Socket, { type, pieces }: GoodAnswer): void {
  if (type !== 'text/event-stream') {
    const body = pieces.join('')
    socket.write(`${headOf(type)}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    return
  }
  socket.write(`${headOf(type)}transfer-encoding: chunked\r\n\r\n${pieces.map(chunk).join('')}0\r\n\r\n`)
}

export function headOf (type: string, status = '200 OK'): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\n`
}

export function chunk (text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}
