/** What the scripted agent remembers of a call: its script, the requests, and which pieces the client has. */
import { gunzipSync } from 'node:zlib'
import type { Line, Receipt, Script } from '../model.js'

const NAME = /conform-call-[0-9a-f]{8}/
/** The agent forgets the oldest calls above this number. */
const MAX_CALLS = 10_000
/** Milliseconds that the agent waits for a client that never has a piece. */
const PATIENCE = 4_000

export interface SeenRequest { method: string, target: string, headers: readonly Line[], body: Buffer, left: boolean, complete: boolean }

interface Call {
  script: Script | null
  readonly receipts: SeenRequest[]
  readonly trapped: string[]
  released: number
  waiting: Array<() => void>
}

export class CallStore {
  readonly #calls = new Map<string, Call>()
  /** Requests for addresses that only a card or a message names. */
  readonly trapped: string[] = []

  script (name: string, script: Script): void {
    this.#call(name).script = script
  }

  /** @returns the script of the call that the request names, or null */
  scriptOf (name: string | null): Script | null {
    return name === null ? null : this.#calls.get(name)?.script ?? null
  }

  add (name: string | null, seenRequest: SeenRequest): void {
    if (name !== null) this.#call(name).receipts.push(seenRequest)
  }

  trap (target: string): void {
    this.trapped.push(target)
    const name = NAME.exec(target)?.[0]
    if (name !== undefined) this.#call(name).trapped.push(target)
  }

  trappedOf (name: string): readonly string[] {
    return [...this.#calls.get(name)?.trapped ?? [], ...this.trapped.filter(target => !NAME.test(target))]
  }

  receipts (name: string): Receipt[] {
    return (this.#calls.get(name)?.receipts ?? []).map(({ body, ...rest }) => ({ ...rest, body: body.toString('base64') }))
  }

  /** The client has the piece. */
  release (name: string, piece: number): void {
    const call = this.#call(name)
    call.released = Math.max(call.released, piece)
    for (const resume of call.waiting.splice(0)) resume()
  }

  /** Waits until the client has the piece. */
  async released (name: string, piece: number): Promise<void> {
    const call = this.#call(name)
    const end = Date.now() + PATIENCE
    while (call.released < piece && Date.now() < end) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, end - Date.now())
        call.waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  #call (name: string): Call {
    const existing = this.#calls.get(name)
    if (existing !== undefined) return existing
    const [oldest] = this.#calls.keys()
    if (this.#calls.size >= MAX_CALLS && oldest !== undefined) this.#calls.delete(oldest)
    const call: Call = { script: null, receipts: [], trapped: [], released: -1, waiting: [] }
    this.#calls.set(name, call)
    return call
  }
}

/** The name of a call in a request, wherever it stands, or null. */
export function nameIn (target: string, headers: readonly Line[], body: Buffer): string | null {
  const text = `${target}\n${headers.map(line => line.join(':')).join('\n')}\n${contentOf(headers, body).toString('latin1')}`
  return NAME.exec(text)?.[0] ?? null
}

function contentOf (headers: readonly Line[], body: Buffer): Buffer {
  if (!headers.some(([name, value]) => name.toLowerCase() === 'content-encoding' && value === 'gzip')) return body
  try {
    return gunzipSync(body)
  } catch {
    return body
  }
}
