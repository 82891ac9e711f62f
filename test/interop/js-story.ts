/** The operations of the foreign clients, driven by the JavaScript SDKs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, taskIdOf } from '../helpers/sdk-clients.js'
import type { ClientKind, Transport } from '../helpers/sdk-clients.js'
import type { ForeignStory, Operation } from './toolchains.js'
import { normalise, settled } from './toolchains.js'

/** An operation that does not end is told as an error: a stream of some agents never does. */
const PATIENCE = 10_000

export interface JsRun {
  readonly client: ClientKind
  readonly transport: Transport
  readonly url: string
  readonly extensions?: readonly string[]
  /** Sends and streams only. */
  readonly brief?: boolean
}

export async function jsStory (options: JsRun): Promise<ForeignStory> {
  const story: ForeignStory = {}
  const tell = async <T> (operation: Operation, work: Promise<T>): Promise<T | null> => {
    const tooLong = new AbortController()
    try {
      const value = await Promise.race([
        work,
        sleep(PATIENCE, null, { signal: tooLong.signal }).then(() => {
          throw new Error('it does not end')
        })
      ])
      story[operation] = { value }
      return value
    } catch (error) {
      story[operation] = { error: String(error) }
      return null
    } finally {
      tooLong.abort()
      work.catch(() => {})
    }
  }
  const client = await connect({ ...options, cardUrl: `${options.url}/.well-known/agent-card.json` })
  await tell('message', client.send('message'))
  const task = await tell('send', client.send('task'))
  await tell('stream', collect(client.stream('stream')))
  if (options.brief !== true) {
    await tell('sendData', client.send('data', { data: { a: 1, b: ['x', null, 1.5] }, mediaType: 'application/json' }))
    await tell('get', client.getTask(taskIdOf(task) ?? 'none'))
    await tell('getUnknown', client.getTask('unknown'))
    const long = await tell('sendLong', client.send('long', { nonBlocking: true }))
    await tell('cancel', client.cancelTask(taskIdOf(long) ?? 'none'))
  }
  return settled(JSON.parse(normalise(JSON.stringify(story), options.url)) as ForeignStory)
}

async function collect (events: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const event of events) all.push(event)
  return all
}
