/** Official SDK clients, and the results that they read from a response. */
import type { ResultKind } from '#a2a/message/result.js'
import type { AgentClient, ClientKind } from '../../helpers/sdk-clients.js'
import { connect } from '../../helpers/sdk-clients.js'
import type { Form } from '../../security/kit.js'
import { partOf03, partOf10 } from '../oracle.js'
import type { Reader, ResultReading } from './reading.js'
import { resultOf } from './reading.js'

export type CallName = 'send' | 'stream' | 'get' | 'list' | 'cancel' | 'subscribe'

/** A request as a client sent it. */
export interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface ClientReading {
  /** Results in order, as far as the client read them. */
  readonly results: readonly ResultReading[]
  /** The reason why the client stopped reading; null when the client read the response to its end. */
  readonly error: string | null
}

export interface ReadingClient {
  readonly kind: ClientKind
  readonly form: Form
  /** The last request. */
  sent (): Sent
  read (call: CallName): Promise<ClientReading>
}

const STATES = [
  'unknown',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required'
] as const
const ROLES: Readonly<Record<string, string>> = { 1: 'user', 2: 'agent' }

const READER_1_0: Reader = { role: value => ROLES[String(value)], state: value => STATES[value as number], part: partOf10 }
/** An application uses the texts that the SDK's types define for roles and states. */
const READER_0_3: Reader = {
  role: value => (value === 'user' || value === 'agent' ? value : undefined),
  state: value => STATES.find(one => one === value),
  part: partOf03
}

const KINDS: Readonly<Record<string, ResultKind>> = {
  task: 'task',
  message: 'message',
  'status-update': 'statusUpdate',
  'artifact-update': 'artifactUpdate'
}

/** @param cardUrl URL of the agent's own card or of the gateway's */
export async function readingClient (kind: ClientKind, form: Form, cardUrl: string, extension: string): Promise<ReadingClient> {
  let last: Sent | null = null
  const listening: typeof fetch = (input, init) => {
    if (init?.method === 'POST' || !String(input).includes('/.well-known/')) {
      last = {
        url: String(input),
        method: init?.method ?? 'GET',
        headers: init?.headers as Record<string, string>,
        body: (init?.body ?? null) as string | null
      }
    }
    return fetch(input, init)
  }
  const client = await connect({ client: kind, cardUrl, transport: form.binding, extensions: [extension], fetch: listening })
  const read = kind === 'v03' ? results03(form) : results10
  return {
    kind,
    form,
    sent () {
      if (last === null) throw new Error('nothing was sent')
      return last
    },
    async read (call) {
      const results: ResultReading[] = []
      try {
        for await (const value of answersOf(client, call)) results.push(...read(call, value))
        return { results, error: null }
      } catch (error) {
        return { results, error: String(error) }
      }
    }
  }
}

async function * answersOf (client: AgentClient, call: CallName): AsyncIterable<unknown> {
  switch (call) {
    case 'send': return yield await client.send('hello')
    case 'stream': return yield * client.stream('hello')
    case 'get': return yield await client.getTask('t')
    case 'list': return yield await client.listTasks('c')
    case 'cancel': return yield await client.cancelTask('t')
    case 'subscribe': yield * client.subscribe('t')
  }
}

function results10 (call: CallName, value: unknown): ResultReading[] {
  if (call === 'list') return (value as { tasks: unknown[] }).tasks.map(task => resultOf(READER_1_0, 'task', task))
  if (call === 'get' || call === 'cancel') return [resultOf(READER_1_0, 'task', value)]
  // The SDK itself uses the same criterion to distinguish a message from a task.
  if (call === 'send') return [resultOf(READER_1_0, 'messageId' in (value as object) ? 'message' : 'task', value)]
  const { payload } = value as { readonly payload?: { readonly $case: ResultKind, readonly value: unknown } }
  return [resultOf(READER_1_0, payload?.$case ?? null, payload?.value)]
}

/** Over JSON-RPC this client passes on what it receives. The application uses `kind`, except where only a task is possible. */
function results03 ({ binding }: Form): typeof results10 {
  return (call, value) => {
    const kind = typeof value === 'object' && value !== null ? (value as { readonly kind?: unknown }).kind : undefined
    const known = typeof kind === 'string' && Object.hasOwn(KINDS, kind) ? KINDS[kind] ?? null : null
    const task = binding === 'JSONRPC' && (call === 'get' || call === 'cancel')
    return [resultOf(READER_0_3, task ? 'task' : known, value)]
  }
}
