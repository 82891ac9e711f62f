/** One HTTP/1.1 connection of the scripted agent: records each request as it is on the wire, and sends what the script of its call says. */
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { chunkBytes, headBytes, Http1Reader, LAST_CHUNK, valueOf } from '../http1.js'
import type { Head } from '../http1.js'
import type { Script } from '../model.js'
import { CALL } from '../model.js'
import { filled } from '../mark.js'
import type { CallStore, SeenRequest } from './store.js'
import { nameIn } from './store.js'

export interface HttpAgent {
  readonly store: CallStore
  /** The response of a request without a script. Null: the agent has none, and the response is 404. */
  respond (seenRequest: SeenRequest): Script | null
  /** A request of the runner. Null: the request is not one. */
  control (seenRequest: SeenRequest): Script | null
}

const NOT_FOUND: Script = {
  status: 404,
  headers: [['Content-Type', 'application/json']],
  pieces: ['{"error":{"code":404,"status":"NOT_FOUND","message":"no such resource"}}']
}

/** Serves the connection until it ends. */
export function serveHttp1 (socket: Socket, agent: HttpAgent): void {
  /** Responses of one connection come in the order of the requests. */
  let turn = Promise.resolve()
  let current: { head: Head, pieces: Buffer[], seen: SeenRequest } | null = null
  const unfinished = new Set<SeenRequest>()
  const begin = (seenRequest: SeenRequest, early: boolean): void => {
    const name = nameIn(seenRequest.target, seenRequest.headers, seenRequest.body)
    const control = agent.control(seenRequest)
    if (control === null) {
      agent.store.add(name, seenRequest)
      unfinished.add(seenRequest)
    }
    turn = turn.then(async () => {
      const script = control ?? agent.store.scriptOf(name) ?? agent.respond(seenRequest) ?? NOT_FOUND
      await new Playing(socket, agent.store, name, seenRequest).play(script, early)
      unfinished.delete(seenRequest)
    })
  }
  const reader = new Http1Reader('request', {
    head: head => {
      const [method = '', target = ''] = head.start.split(' ')
      const seenRequest: SeenRequest = { method, target, headers: head.headers, body: Buffer.alloc(0), left: false, complete: false }
      current = { head, pieces: [], seen: seenRequest }
      if (/^100-continue$/i.test(valueOf(head.headers, 'expect') ?? '')) socket.write('HTTP/1.1 100 Continue\r\n\r\n')
      const name = nameIn(target, head.headers, Buffer.alloc(0))
      if (agent.store.scriptOf(name)?.begin === 'early') begin(seenRequest, true)
    },
    data: bytes => { current?.pieces.push(bytes) },
    end: () => {
      if (current === null) return
      const { seen: seenRequest, pieces } = current
      current = null
      seenRequest.body = Buffer.concat(pieces)
      seenRequest.complete = true
      if (!unfinished.has(seenRequest)) begin(seenRequest, false)
    },
    fault: () => { socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n') }
  })
  const markClientLeft = (): void => { for (const seenRequest of unfinished) seenRequest.left = true }
  socket.on('data', (chunk: Buffer) => { reader.feed(chunk) })
  socket.on('end', () => {
    markClientLeft()
    socket.end()
  })
  socket.on('close', markClientLeft)
  socket.on('error', () => socket.destroy())
}

/** Sends one response. */
class Playing {
  readonly #socket: Socket
  readonly #store: CallStore
  readonly #name: string | null
  readonly #seen: SeenRequest

  constructor (socket: Socket, store: CallStore, name: string | null, seenRequest: SeenRequest) {
    this.#socket = socket
    this.#store = store
    this.#name = name
    this.#seen = seenRequest
  }

  async play (script: Script, early: boolean): Promise<void> {
    const socket = this.#socket
    if (socket.destroyed) return
    if (script.begin === 'reset') {
      socket.resetAndDestroy()
      return
    }
    const name = this.#name ?? CALL
    const pieces = (script.pieces ?? []).map(piece => filled(piece, name))
    const { status = 200, headers = [] } = script
    const isHead = this.#seen.method === 'HEAD'
    const content = script.framing === 'gzip' ? [gzipSync(Buffer.concat(pieces))] : pieces
    const framing = this.#framingOf(script, content.length)
    const length = Buffer.concat(content).length + (script.end === 'reset' ? 1_000 : 0)
    const closes = framing === 'close' || early
    socket.write(headBytes(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Status'}`, [
      ...headers.map(([key, value]) => [key, filled(value, name).toString('latin1')] as const),
      ...script.framing === 'gzip' ? [['Content-Encoding', 'gzip'] as const] : [],
      ['Date', 'Sat, 28 Nov 2026 00:00:00 GMT'],
      ...status === 204 || status === 304
        ? []
        : framing === 'chunked'
          ? [
              ['Transfer-Encoding', 'chunked'] as const
            ]
          : framing === 'length' ? [['Content-Length', String(length)] as const] : [],
      ...closes ? [['Connection', 'close'] as const] : []
    ]))
    if (!isHead && status !== 204 && status !== 304) await this.#body(content, script, framing)
    if (script.end === 'hang') return await this.#hang()
    if (script.end === 'reset') {
      // The client gets what was written before, and then the end.
      await new Promise(resolve => setTimeout(resolve, 30))
      socket.resetAndDestroy()
      return
    }
    const wantsClose = /\bclose\b/i.test(valueOf(this.#seen.headers, 'connection') ?? '')
    if (closes || wantsClose) socket.end()
  }

  #framingOf ({ framing }: Script, pieces: number): 'length' | 'chunked' | 'close' {
    if (framing !== undefined && framing !== 'gzip') return framing
    return pieces > 1 ? 'chunked' : 'length'
  }

  async #body (pieces: readonly Buffer[], script: Script, framing: 'length' | 'chunked' | 'close'): Promise<void> {
    for (const [index, piece] of pieces.entries()) {
      if (index > 0 && script.gated === true && this.#name !== null) await this.#store.released(this.#name, index - 1)
      if (index > 0 && script.pause !== undefined) await new Promise(resolve => setTimeout(resolve, script.pause))
      if (this.#socket.destroyed || this.#seen.left) return
      this.#socket.write(framing === 'chunked' ? chunkBytes(piece) : piece)
    }
    if (framing === 'chunked' && script.end === undefined) this.#socket.write(LAST_CHUNK)
  }

  async #hang (): Promise<void> {
    const socket = this.#socket
    if (socket.destroyed) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(() => {
        socket.destroy()
        resolve()
      }, 10_000)
      socket.once('close', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  302: 'Found',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  413: 'Content Too Large',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout'
}
