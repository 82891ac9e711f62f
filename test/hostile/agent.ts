/**
 * An agent on a bare socket. The agent keeps every received byte, parses requests by the strictest rules, and sends the responses of a
 * scenario.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { listenFor } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import { bytesOf, chunkOf, LAST_CHUNK } from './bytes.js'
import type { AgentPart, CardReply, Reply } from './scenario.js'

export interface GotRequest {
  readonly line: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
  readonly socket: Socket
}

export interface HostileAgent {
  readonly url: string
  /** Received calls, without the healthy calls. */
  readonly requests: readonly GotRequest[]
  readonly healthy: () => number
  readonly cardRequests: () => number
  /** Ambiguities in the received bytes. The gateway must never forward ambiguous bytes. */
  readonly faults: readonly string[]
  /** Bytes of responses that the agent has sent. */
  readonly sent: () => number
  /** The gateway's address, once it is known. Texts of cards use it. */
  gatewayUrl: string
}

/** A call whose body contains this text is healthy: its response is correct, whatever the scenario defines for other calls. */
export const HEALTHY = 'healthy-call'
export const HEALTHY_ANSWER = '{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"well"}]}}'

const HEAD_END = '\r\n\r\n'

class Connection {
  private pending: Buffer = Buffer.alloc(0)
  private readonly socket: Socket
  private readonly got: (request: GotRequest) => void
  private readonly fault: (what: string) => void

  constructor (socket: Socket, got: (request: GotRequest) => void, fault: (what: string) => void) {
    this.socket = socket
    this.got = got
    this.fault = fault
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
      while (this.next());
    })
  }

  /** Takes one request out of the received bytes. False when no request is complete. */
  private next (): boolean {
    const end = this.pending.indexOf(HEAD_END)
    if (end === -1) return false
    const [line = '', ...rest] = this.pending.subarray(0, end).toString('latin1').split('\r\n')
    const headers = rest.map((text): [string, string] => {
      if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+:/.test(text)) this.fault(`a header line that is none: ${text}`)
      const colon = text.indexOf(':')
      return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()]
    })
    if (!/^[A-Z]+ \/[\x21-\x7e\x80-\xff]* HTTP\/1\.1$/.test(line)) this.fault(`a request line that is none: ${line}`)
    const all = (name: string): string[] => headers.filter(([one]) => one === name).map(([, value]) => value)
    const lengths = all('content-length')
    const chunkedBody = all('transfer-encoding')
    if (/[\0\r\n]/.test(headers.map(([, value]) => value).join())) this.fault('a control character in a header')
    if (all('host').length !== 1) this.fault(`${all('host').length} Host headers`)
    if (lengths.length + chunkedBody.length > 1 || (lengths.length === 1 && !/^\d+$/.test(lengths[0] ?? ''))) {
      this.fault(`framing with two readings: ${JSON.stringify([lengths, chunkedBody])}`)
    }
    const start = end + HEAD_END.length
    const size = Number(lengths[0] ?? 0)
    if (this.pending.length < start + size) return false
    if (chunkedBody.length > 0) this.fault('chunks, although the gateway knows the length')
    const body = Buffer.from(this.pending.subarray(start, start + size))
    this.pending = Buffer.from(this.pending.subarray(start + size))
    this.got({ line, headers, body, socket: this.socket })
    return this.pending.length > 0
  }
}

export async function hostileAgent (t: Test, part: AgentPart): Promise<HostileAgent> {
  const requests: GotRequest[] = []
  const faults: string[] = []
  const sockets = new Set<Socket>()
  const cards = part.cards ?? [{}]
  let cardRequests = 0
  let healthy = 0
  let sent = 0
  let gatewayUrl = ''
  let url = ''

  const placed = (text: string): string => text.replaceAll('{agent}', url).replaceAll('{gateway}', gatewayUrl)

  async function write (socket: Socket, bytes: Buffer): Promise<void> {
    if (socket.destroyed || bytes.length === 0) return
    const fits = socket.write(bytes)
    sent += bytes.length
    if (!fits) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {})
  }

  async function answer (socket: Socket, reply: Reply, content: Buffer): Promise<void> {
    if (reply.hang === true) return
    const framing = reply.framing ?? 'length'
    const pieces = framing === 'chunked'
    const endless = reply.forever === undefined ? null : bytesOf(reply.forever)
    if (reply.raw !== undefined) {
      await write(socket, bytesOf(reply.raw))
    } else {
      const headers = (reply.headers ?? ['content-type: application/json']).map(one => bytesOf(one))
      const frame = framing === 'none' ? [] : [Buffer.from(pieces ? 'transfer-encoding: chunked' : `content-length: ${content.length}`)]
      const head = [Buffer.from(`HTTP/1.1 ${reply.status ?? 200} Said`), ...headers, ...frame].flatMap(one => [one, Buffer.from('\r\n')])
      await write(
        socket,
        Buffer.concat([
          ...head,
          Buffer.from('\r\n'),
          pieces && content.length > 0 ? chunkOf(content) : content,
          pieces && endless === null ? LAST_CHUNK : Buffer.alloc(0)
        ])
      )
    }
    if (endless !== null) {
      const piece = pieces ? chunkOf(endless) : endless
      while (!socket.destroyed) {
        await write(socket, piece)
        await sleep(reply.every ?? 0)
      }
    }
    if (reply.close === true) socket.end()
  }

  /** Writes a response. Errors of the socket are ignored, because the gateway may close the connection. */
  function reply (socket: Socket, said: Reply, content: Buffer): void {
    answer(socket, said, content).catch(() => {})
  }

  function cardOf (reply: CardReply): Buffer {
    if (reply.body !== undefined) return bytesOf(reply.body)
    const plain = JSON.stringify({ ...plainCard(url), ...JSON.parse(placed(JSON.stringify(reply.members ?? {}))) as object })
    return reply.text === undefined
      ? Buffer.from(plain)
      : Buffer.concat([Buffer.from(plain.slice(0, -1)), bytesOf(reply.text), Buffer.from('}')])
  }

  const server = createServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    const connection = new Connection(socket, request => {
      if (request.line.includes('/.well-known/')) {
        const said = cards[Math.min(cardRequests++, cards.length - 1)] ?? {}
        reply(
          socket,
          {
            ...said,
            ...(said.headers === undefined ? {} : { headers: said.headers.map(one => (typeof one === 'string' ? placed(one) : one)) })
          },
          cardOf(said)
        )
      } else if (request.body.includes(HEALTHY)) {
        healthy++
        reply(socket, {}, Buffer.from(HEALTHY_ANSWER))
      } else {
        requests.push(request)
        const said = part.answer ?? {}
        reply(socket, said, said.body === undefined ? Buffer.from(HEALTHY_ANSWER.replace('well', 'attacked')) : bytesOf(said.body))
      }
    }, what => faults.push(what))
    return connection
  })
  url = await listenFor(t, server, sockets)
  return {
    url,
    requests,
    faults,
    healthy: () => healthy,
    cardRequests: () => cardRequests,
    sent: () => sent,
    get gatewayUrl () {
      return gatewayUrl
    },
    set gatewayUrl (value) {
      gatewayUrl = value
    }
  }
}
