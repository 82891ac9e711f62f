/** The callers of a soak, and the checks of each response. Every call contains a token of its own. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, callOf, FORMS } from '../../test/faults/calls.js'
import type { Ended, Form } from '../../test/faults/calls.js'
import { call, JSON_TYPE, open, V1 } from '../../test/helpers/http.js'
import type { AgentClient } from '../../test/helpers/sdk-clients.js'
import type { Random } from '../random.js'

export interface Counts { own: number, told: number, cut: number, left: number, refused: number, lost: number, crossed: number }

/** The shared inputs and results of the callers. */
export interface Field {
  readonly random: Random
  readonly stop: AbortSignal
  readonly counts: Counts
  /** Broken promises, in words. */
  readonly broken: string[]
  /** True when a fault has been active at any time since `at`, in ms. */
  readonly faultSince: (at: number) => boolean
}

const TOKENS = /token-[\w-]+/g
const BIG = 1024 * 1024

function lost (field: Field, what: string, said: string): void {
  field.counts.lost++
  if (field.broken.length < 50) field.broken.push(`lost: ${what}: ${said.slice(0, 300)}`)
}

function crossed (field: Field, what: string, token: string, text: string): boolean {
  const others = [...new Set(text.match(TOKENS))].filter(one => one !== token)
  if (others.length === 0) return false
  field.counts.crossed++
  if (field.broken.length < 50) field.broken.push(`crossed: ${what}: ${others.join()} instead of ${token}`)
  return true
}

/**
 * Checks a response of the misbehaving agent: the agent's own response, or during a fault a rejection that names the fault, or a response
 * that is visibly cut off.
 */
function judge (field: Field, what: string, form: Form, ended: Ended, startedAt: number): void {
  if (crossed(field, what, ended.token, ended.text)) return
  const own =
    ended.status === 200 && ended.whole && ended.text.includes(ended.token) && (form.includes('REST') || ended.text.includes(ended.id))
  if (own) field.counts.own++
  else if (!field.faultSince(startedAt)) lost(field, what, `${ended.status ?? 'no answer'} ${ended.text}`)
  else if (ended.status === 200 && !ended.whole) field.counts.cut++
  else if (ended.status === 413 && ended.text === '{"early":true}') field.counts.told++
  else if (isRefusal(ended, form)) field.counts.told++
  else lost(field, what, `${ended.status ?? 'no answer'} ${ended.text}`)
}

function isRefusal (ended: Ended, form: Form): boolean {
  if (!ended.whole || ended.status === null || !String(ended.headers['gateway-decision']).startsWith('reject;rule="gateway/upstream-')) {
    return false
  }
  try {
    const body = JSON.parse(ended.text) as { id?: string, error: { message: string } }
    return body.error.message.length > 0 && (form.includes('REST') || body.id === JSON.parse(ended.id))
  } catch {
    return false
  }
}

async function until (field: Field, pause: number, turn: () => Promise<void>): Promise<void> {
  while (!field.stop.aborted) {
    await turn()
    await sleep(pause * field.random.next() * 2)
  }
}

/** Sends calls of every form, and now and then a large call. */
export function caller (field: Field, url: string): Promise<void> {
  return until(field, 30, async () => {
    const form = field.random.of(FORMS)
    const large = field.random.below(50) === 0
    const startedAt = Date.now()
    judge(field, `${form}${large ? ', large' : ''}`, form, await ask({ url }, form, large ? BIG : 0), startedAt)
  })
}

/** An official client with an official agent. All of these calls must succeed. */
export function sdkCaller (field: Field, name: string, client: AgentClient): Promise<void> {
  return until(field, 50, async () => {
    const token = `token-${randomUUID()}`
    const streams = field.random.below(2) === 0
    const what = `${name}, ${streams ? 'stream' : 'send'}`
    try {
      const got: unknown[] = []
      if (streams) for await (const event of client.stream(token)) got.push(event)
      else got.push(await client.send(token))
      const text = JSON.stringify(got)
      if (crossed(field, what, token, text)) return
      if (text.includes(token) && /COMPLETED|completed|:3\b/.test(text)) field.counts.own++
      else lost(field, what, text)
    } catch (error) {
      lost(field, what, String(error))
    }
  })
}

/** An official client that leaves a stream after the first event. */
export function sdkLeaver (field: Field, client: AgentClient): Promise<void> {
  return until(field, 60, async () => {
    try {
      const events = client.stream(`token-${randomUUID()}`)[Symbol.asyncIterator]()
      await events.next()
      await events.return?.()
      field.counts.left++
    } catch (error) {
      lost(field, 'a client that leaves a stream', String(error))
    }
  })
}

const REFUSED: readonly (readonly [string, string, number, RegExp])[] = [
  ['/rpc', '{"jsonrpc":"2.0","id":"TOKEN","method":"SendMessage","params":', 200, /-32700/],
  ['/rpc', '{"jsonrpc":"2.0","id":"TOKEN","method":"NoSuchMethod","params":{}}', 200, /"id":"TOKEN".*-32601/],
  ['/rest/nothing', '{"x":"TOKEN"}', 404, /ROUTE_NOT_FOUND/]
]

/** Sends requests that the gateway itself always rejects, whatever the agent does. */
export function refusedCaller (field: Field, url: string): Promise<void> {
  return until(field, 100, async () => {
    const token = `token-${randomUUID()}`
    const [path, body, status, said] = field.random.of(REFUSED)
    try {
      const got = await call(`${url}${path}`, { headers: [...JSON_TYPE, ...V1], body: body.replace('TOKEN', token) })
      if (crossed(field, `rejection at ${path}`, token, got.text)) return
      if (got.status === status && new RegExp(said.source.replace('TOKEN', token)).test(got.text)) field.counts.refused++
      else lost(field, `rejection at ${path}`, `${got.status} ${got.text}`)
    } catch (error) {
      lost(field, `rejection at ${path}`, String(error))
    }
  })
}

/** A client that disconnects at any moment. No response is expected, but the gateway must release all resources of the call. */
export function leaver (field: Field, url: string): Promise<void> {
  return until(field, 60, async () => {
    const { path, options } = callOf(field.random.of(FORMS))
    const outgoing = open(`${url}${path}`, options)
    outgoing.on('error', () => {})
    outgoing.on('response', incoming => { incoming.on('error', () => {}).resume() })
    if (field.random.below(4) === 0) outgoing.write(options.body.slice(0, 20))
    else outgoing.end(options.body)
    await sleep(field.random.below(40))
    outgoing.destroy()
    field.counts.left++
  })
}

/** Reads a long stream chunk by chunk, with pauses. */
export function slowReader (field: Field, url: string): Promise<void> {
  return until(field, 200, async () => {
    const { path, options, token, id } = callOf('SSE')
    const startedAt = Date.now()
    const outgoing = open(`${url}${path}`, { ...options, headers: [...options.headers ?? [], 'x-long', '1'] })
    const incoming = await new Promise<IncomingMessage | null>(resolve => {
      outgoing
        .once('response', resolve)
        .once('error', () => {
          resolve(null)
        })
        .end(options.body)
    })
    outgoing.on('error', () => {})
    let text = ''
    try {
      if (incoming !== null) {
        for await (const chunk of incoming) {
          text += String(chunk)
          await sleep(2)
        }
      }
    } catch {
      // The stream was cut off: `complete` shows this.
    }
    judge(
      field,
      'a slow reader',
      'SSE',
      { token, id, status: incoming?.statusCode ?? null, headers: incoming?.headers ?? {}, text, whole: incoming?.complete ?? false },
      startedAt
    )
  })
}
