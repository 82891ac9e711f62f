/** A client on a bare socket. The client performs the steps of a scenario and parses all received bytes as responses. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../helpers/http.js'
import { bytesOf } from './bytes.js'
import type { HostileAgent } from './agent.js'
import type { Step } from './scenario.js'

export interface GotAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Head and body together. */
  readonly all: string
}

/** Limit of the received bytes that the client keeps: enough for every response that a scenario promises. */
const KEPT = 4 * 1024 * 1024

export class HostileClient {
  readonly socket: Socket
  private readonly chunks: Buffer[] = []
  private size = 0
  closed = false

  constructor (url: string) {
    const { hostname, port } = new URL(url)
    this.socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
    this.socket.on('error', () => {})
    this.socket.on('data', (chunk: Buffer) => {
      if (this.size < KEPT) this.chunks.push(chunk)
      this.size += chunk.length
    })
    const over = (): void => { this.closed = true }
    this.socket.once('end', over)
    this.socket.once('close', over)
  }

  async run (steps: readonly Step[], made: ReadonlyMap<Step, Buffer>, agent: HostileAgent, clients: number): Promise<void> {
    const { socket } = this
    if (socket.connecting) await once(socket, 'connect')
    for (const step of steps) {
      if ('send' in step) await this.write(made.get(step) ?? Buffer.alloc(0))
      else if ('trickle' in step) await this.trickle(made.get(step) ?? Buffer.alloc(0), step.size ?? 1, step.every)
      else if ('agentGot' in step) { await until(() => agent.requests.length >= step.agentGot * clients, `the agent to get ${step.agentGot} requests`, 20_000) } else if ('answered' in step) { await until(() => this.closed || this.answers().length >= step.answered, `${step.answered} answers`, 20_000) } else if ('agentStuck' in step) await stuck(agent)
      else if ('reading' in step) {
        if (step.reading) socket.resume()
        else socket.pause()
      } else if ('end' in step) socket.end()
      else socket.destroy()
    }
  }

  /** Complete responses so far, without 1xx responses and incomplete responses. */
  answers (): GotAnswer[] {
    const all = Buffer.concat(this.chunks)
    const answers: GotAnswer[] = []
    for (let at = 0; at < all.length;) {
      const end = all.indexOf('\r\n\r\n', at)
      if (end === -1) break
      const [line = '', ...rest] = all.subarray(at, end).toString('latin1').split('\r\n')
      const headers = Object.fromEntries(
        rest.map(text => [text.slice(0, text.indexOf(':')).toLowerCase(), text.slice(text.indexOf(':') + 1).trim()])
      )
      const status = Number(line.split(' ')[1])
      if (status < 200) { at = end + 4; continue }
      const body = bodyAt(all, end + 4, status, headers, this.closed)
      if (body === null) break
      answers.push({ status, headers, body: body.content, all: all.subarray(at, body.end).toString('latin1') })
      at = body.end
    }
    return answers
  }

  private async write (bytes: Buffer): Promise<void> {
    const { socket } = this
    // The gateway may close the connection or stop reading. Neither may stop the scenario.
    for (let at = 0; at < bytes.length && !this.closed && !socket.destroyed; at += 65_536) {
      if (!socket.write(bytes.subarray(at, at + 65_536))) {
        await Promise.race([once(socket, 'drain'), once(socket, 'close'), once(socket, 'end')]).catch(() => {})
      }
    }
  }

  private async trickle (bytes: Buffer, size: number, every: number): Promise<void> {
    for (let at = 0; at < bytes.length && !this.closed && !this.socket.destroyed; at += size) {
      this.socket.write(bytes.subarray(at, at + size))
      await sleep(every)
    }
  }
}

/** Waits until the gateway has read no more of the agent's response for a second. */
async function stuck (agent: HostileAgent): Promise<void> {
  for (let last = -1, since = Date.now(); last !== agent.sent() || Date.now() - since < 1_000;) {
    if (last !== agent.sent()) since = Date.now()
    last = agent.sent()
    await sleep(50)
  }
}

/** The bytes of each step, built before the time measurement starts. */
export function madeOf (steps: readonly Step[], placed: (text: string) => string): Map<Step, Buffer> {
  const made = new Map<Step, Buffer>()
  for (const step of steps) {
    const bytes = 'send' in step ? step.send : 'trickle' in step ? step.trickle : null
    if (bytes !== null) made.set(step, bytesOf(typeof bytes === 'string' ? placed(bytes) : bytes))
  }
  return made
}

function bodyAt (
  all: Buffer,
  start: number,
  status: number,
  headers: Readonly<Record<string, string>>,
  closed: boolean
): { content: Buffer; end: number } | null {
  if (status === 204 || status === 304) return { content: Buffer.alloc(0), end: start }
  if (headers['transfer-encoding'] !== undefined) return chunksAt(all, start)
  if (headers['content-length'] === undefined) return closed ? { content: all.subarray(start), end: all.length } : null
  const end = start + Number(headers['content-length'])
  return end > all.length ? null : { content: all.subarray(start, end), end }
}

function chunksAt (all: Buffer, start: number): { content: Buffer, end: number } | null {
  const chunks: Buffer[] = []
  for (let at = start; ;) {
    const line = all.indexOf('\r\n', at)
    if (line === -1) return null
    const size = Number.parseInt(all.subarray(at, line).toString('latin1'), 16)
    if (all.length < line + 2 + size + 2) return null
    if (size === 0) return { content: Buffer.concat(chunks), end: line + 4 }
    chunks.push(all.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}
