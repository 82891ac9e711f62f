/**
 * Every operation of A2A, driven by an official client, told as plain JSON: what the SDK made of it and what was on the wire,
 * with ids, times and hosts replaced. The story through the gateway must equal the story told to the agent itself.
 */
import { connect, taskIdOf } from '../helpers/sdk-clients.js'
import type { AgentClient, ClientKind, ClientOptions, Transport } from '../helpers/sdk-clients.js'

export const clients: readonly ClientKind[] = ['v1', 'v1-as-03', 'v03']
export const transports: readonly Transport[] = ['JSONRPC', 'HTTP+JSON']

/** What an operation came to, in one word: the name of the error, or ok. */
export function outcomes (story: Story): Record<string, string> {
  return Object.fromEntries(Object.entries(story).map(([operation, told]) => [operation, told.error?.name ?? 'ok']))
}

export interface MatrixOptions extends ClientOptions {}

export type Operation =
  | 'sendMessage' | 'sendTask' | 'sendData' | 'sendNonBlocking' | 'sendFollowUp' | 'sendUnknownTask'
  | 'stream' | 'streamMessage' | 'streamUnknownTask' | 'getTask' | 'getUnknownTask' | 'listTasks'
  | 'cancel' | 'cancelFinished' | 'subscribe' | 'subscribeFinished'
  | 'pushCreate' | 'pushGet' | 'pushList' | 'pushDelete' | 'pushGetDeleted' | 'extendedCard'
export interface Told {
  /** What the SDK returned, or what it threw. */
  readonly value?: unknown
  readonly error?: { readonly name: string, readonly message: string }
  readonly http: ReadonlyArray<{ readonly status: number, readonly contentType: string | null, readonly activated: string | null }>
}
export type Story = Partial<Record<Operation | 'connect', Told>>

export async function runMatrix (options: MatrixOptions): Promise<Story> {
  const wire = new Wire(options.fetch ?? fetch)
  const base = options.cardUrl.slice(0, options.cardUrl.indexOf('/.well-known/'))
  const story: Story = {}

  const tell = async <T> (operation: Operation | 'connect', work: () => Promise<T>): Promise<T | null> => {
    let value: T | null = null
    let told: unknown
    try {
      value = await work()
      told = { value: operation === 'connect' ? 'connected' : value ?? null }
    } catch (error) {
      told = { error: describe(error) }
    }
    story[operation] = normalise({ ...told as object, http: await wire.drain() }, base) as Told
    return value
  }

  const client = await tell('connect', () => connect({ ...options, fetch: wire.fetch }))
  if (client === null) return story

  await tell('sendMessage', () => client.send('message'))
  const task = await tell('sendTask', () => client.send('task'))
  const done = taskIdOf(task) ?? 'none'
  await tell('sendData', () => client.send('data', { data: { a: 1, b: ['x', null, 1.5] }, mediaType: 'application/json' }))
  await tell('sendFollowUp', () => followUp(client))
  await tell('sendUnknownTask', () => client.send('task', { taskId: 'unknown' }))
  await tell('stream', () => collect(client.stream('stream')))
  await tell('streamMessage', () => collect(client.stream('message')))
  await tell('streamUnknownTask', () => collect(client.stream('task', { taskId: 'unknown' })))
  await tell('getTask', () => client.getTask(done))
  await tell('getUnknownTask', () => client.getTask('unknown'))
  await tell('listTasks', () => client.listTasks((task as { contextId?: string } | null)?.contextId ?? 'none'))

  const long = taskIdOf(await tell('sendNonBlocking', () => client.send('long', { nonBlocking: true }))) ?? 'none'
  await tell('cancel', () => client.cancelTask(long))
  await tell('cancelFinished', () => client.cancelTask(done))
  await tell('subscribe', () => subscribeWhileRunning(client))
  await tell('subscribeFinished', () => collect(client.subscribe(done)))

  await tell('pushCreate', () => client.createPush(done, 'hook', 'http://127.0.0.1:9/hook'))
  await tell('pushGet', () => client.getPush(done, 'hook'))
  await tell('pushList', () => client.listPush(done))
  await tell('pushDelete', () => client.deletePush(done, 'hook'))
  await tell('pushGetDeleted', () => client.getPush(done, 'hook'))
  await tell('extendedCard', () => client.extendedCard())
  return story
}

async function followUp (client: AgentClient): Promise<unknown> {
  const asked = await client.send('pause')
  const answered = await client.send('more', { taskId: taskIdOf(asked) ?? 'none' })
  return { asked, answered }
}

/** One stream starts a task that does not end, a second one joins, then the task is cancelled: both must end. */
async function subscribeWhileRunning (client: AgentClient): Promise<unknown> {
  const events = client.stream('long')[Symbol.asyncIterator]()
  const first = [await events.next(), await events.next()].map(({ value }) => value as unknown)
  const id = taskIdOf(first[0]) ?? 'none'
  const subscription = client.subscribe(id)[Symbol.asyncIterator]()
  const outcome: Record<string, unknown> = {}
  try {
    outcome['joined'] = (await subscription.next()).value
  } catch (error) {
    outcome['joined'] = { error: describe(error) }
  }
  outcome['cancelled'] = await client.cancelTask(id).catch((error: unknown) => ({ error: describe(error) }))
  outcome['subscription'] = await rest(subscription)
  outcome['stream'] = [...first, ...await rest(events)]
  return outcome
}

async function collect (events: AsyncIterable<unknown>): Promise<unknown[]> {
  return await rest(events[Symbol.asyncIterator]())
}

/** Events until the end; an error ends the list, told as its last member, but one before any event is thrown. */
async function rest (events: AsyncIterator<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  try {
    for (let next = await events.next(); next.done !== true; next = await events.next()) all.push(next.value)
  } catch (error) {
    if (all.length === 0) throw error
    all.push({ error: describe(error) })
  }
  return all
}

function describe (error: unknown): unknown {
  if (!(error instanceof Error)) return { name: typeof error, message: String(error) }
  const { name, message } = error
  return 'code' in error && typeof error.code !== 'undefined' ? { name, message, code: error.code } : { name, message }
}

/** What went over the wire since the last drain. */
class Wire {
  #exchanges: Array<Promise<unknown>> = []
  readonly #send: typeof fetch

  constructor (send: typeof fetch) {
    this.#send = send
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const response = await this.#send(input, init)
    const url = input instanceof Request ? input.url : String(input)
    // A card is written anew by the gateway; what it means is in the result, its bytes are not the agent's.
    const card = /\/(?:\.well-known\/|extendedAgentCard|v1\/card)/.test(url) || /ExtendedCard|ExtendedAgentCard/.test(String(init?.body))
    const body = card ? Promise.resolve('<card>') : response.clone().text().catch((error: unknown) => `<cut: ${String(error)}>`)
    this.#exchanges.push(body.then((text) => ({
      method: init?.method ?? 'GET',
      url,
      status: response.status,
      contentType: card ? null : response.headers.get('content-type'),
      activated: response.headers.get('a2a-extensions') ?? response.headers.get('x-a2a-extensions'),
      body: text
    })))
    return response
  }

  async drain (): Promise<unknown[]> {
    const exchanges = this.#exchanges
    this.#exchanges = []
    return await Promise.all(exchanges)
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

function normalise (value: unknown, base: string): unknown {
  const ids = new Map<string, string>()
  const text = JSON.stringify(value)
    .replaceAll(base, '<agent>')
    .replace(UUID, (id) => {
      if (!ids.has(id)) ids.set(id, `<id-${ids.size + 1}>`)
      return ids.get(id)!
    })
    .replace(TIME, '<time>')
  return JSON.parse(text) as unknown
}
