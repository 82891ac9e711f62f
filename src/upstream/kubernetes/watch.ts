/**
 * Lists and watches one kind of object of a Kubernetes API: resumes where a watch ended, uses bookmarks, lists again after 410 Gone, and
 * waits longer after each failure. The official client (@kubernetes/client-node 1.x) is 40 MB with its dependencies; this needs four calls.
 */
import type { Dispatcher } from 'undici'
import { BACKGROUND, guarded } from '#guard.js'
import { parseStrict } from '#wire/json/json.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import type { BoundedResponse } from '../bounded-request.js'
import { boundedRequest, errorCode } from '../bounded-request.js'

export interface WatchOptions {
  readonly dispatcher: Dispatcher
  /** URL of the API server, without trailing slash. */
  readonly api: string
  /** Such as `/api/v1/namespaces/agents/services`. */
  readonly path: string
  /** Label selector; '' for all. */
  readonly selector: string
  /** Returns the token for a request; null without one. @throws Error when the token cannot be read */
  readonly token: () => string | null
  readonly onChange: () => void
  /** Milliseconds of the first wait after a failure; tests use shorter ones. */
  readonly retry?: number | undefined
}

/** Objects of one list response, and bytes of a response and of one event. */
const PAGE = 500
const MAX_BYTES = 16 * 1_024 * 1_024
const MAX_EVENT = 1_024 * 1_024
/** Objects that are kept. */
const MAX_OBJECTS = 10_000
/** Time until the server ends a watch, s; servers end it within 30 to 60 min on their own. */
const WATCH_SECONDS = 290
const TIMEOUT = 10_000
const RETRY = 1_000
const LONGEST_RETRY = 60_000

class Gone extends Error {}

export class ObjectWatch {
  /** By `namespace/name`; null before the first list. */
  objects: ReadonlyMap<string, JsonObject> | null = null
  /** Why the API cannot be read; null while it can. */
  problem: string | null = null
  readonly #options: WatchOptions
  readonly #abort = new AbortController()
  #version = ''
  #failures = 0

  constructor (options: WatchOptions) {
    this.#options = options
  }

  /** Lists, and watches until `close`. @returns when the first list has ended, well or not */
  start (): Promise<void> {
    return new Promise(resolve => {
      this.#run(resolve).catch(() => {})
    })
  }

  close (): void {
    this.#abort.abort()
  }

  async #run (listed: () => void): Promise<void> {
    const { signal } = this.#abort
    let complete = false
    while (!signal.aborted) {
      try {
        if (!complete) {
          await this.#list()
          complete = true
        }
        listed()
        await this.#watch()
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof Gone) {
          complete = false
          continue
        }
        this.problem = `${this.#options.api}${this.#options.path} ${error instanceof Failure
? error.message
: 'cannot be reached: ' +
          `${errorCode(error) ?? 'unknown error'}`}`
        listed()
        this.#options.onChange()
        // Replicas must not come back at the same moment.
        await this.#wait(Math.min((this.#options.retry ?? RETRY) * 2 ** this.#failures++, LONGEST_RETRY) * (0.5 + Math.random() / 2))
      }
    }
  }

  async #list (): Promise<void> {
    const objects = new Map<string, JsonObject>()
    let version = ''
    for (let more = ''; ;) {
      const query = { limit: String(PAGE), ...(more === '' ? {} : { continue: more }) }
      const signal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(TIMEOUT)])
      const page = await this.#request(query, signal, async (response, status) => {
        const bytes = await response.read(MAX_BYTES)
        const value = bytes === null ? null : read(bytes)
        if (status === 410) throw new Gone()
        if (status !== 200) throw new Failure(`responded with ${status}${reasonOf(value)}`)
        if (value === null || !Array.isArray(value['items'])) throw new Failure('did not respond with a list')
        return value
      })
      for (const item of (page['items'] as unknown[]).filter(isObject)) this.#put(objects, item)
      const { resourceVersion, continue: next } = isObject(page['metadata']) ? page['metadata'] : {}
      version = typeof resourceVersion === 'string' ? resourceVersion : version
      if (typeof next !== 'string' || next === '') break
      more = next
    }
    this.#version = version
    this.#failures = 0
    this.problem = null
    this.objects = objects
    this.#options.onChange()
  }

  /** Resolves when the server ends the watch. */
  async #watch (): Promise<void> {
    const begin = performance.now()
    const query = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: this.#version, timeoutSeconds: String(WATCH_SECONDS) }
    await this.#request(query, this.#abort.signal, async (response, status) => {
      if (status === 410) throw new Gone()
      if (status !== 200) throw new Failure(`responded with ${status} to a watch`)
      this.problem = null
      for await (const line of linesOf(response.chunks, MAX_EVENT)) this.#event(line)
    })
    // A proxy that ends each watch at once must not make a busy loop.
    if (performance.now() - begin < RETRY) await this.#wait(this.#options.retry ?? RETRY)
  }

  #event (line: Buffer): void {
    const event = read(line)
    const { type, object } = event ?? {}
    if (!isObject(object)) throw new Failure('sent an event that is not JSON')
    if (type === 'ERROR') {
      if (object['code'] === 410) throw new Gone()
      throw new Failure(`sent an error${reasonOf(object)}`)
    }
    const { resourceVersion } = isObject(object['metadata']) ? object['metadata'] : {}
    if (typeof resourceVersion === 'string') this.#version = resourceVersion
    this.#failures = 0
    if (type === 'BOOKMARK') return
    const objects = new Map(this.objects)
    if (type === 'DELETED') objects.delete(keyOf(object))
    else this.#put(objects, object)
    this.objects = objects
    this.#options.onChange()
  }

  #put (objects: Map<string, JsonObject>, object: JsonObject): void {
    objects.set(keyOf(object), object)
    if (objects.size > MAX_OBJECTS) throw new Failure(`has more than ${MAX_OBJECTS} objects; use a narrower selector`)
  }

  async #request<T> (
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    use: (response: Pick<BoundedResponse, 'read' | 'chunks'>, status: number) => Promise<T>
  ): Promise<T> {
    const { dispatcher, api, path, selector, token } = this.#options
    const url = new URL(api + path)
    for (const [name, value] of Object.entries({
      ...query, ...(selector === '' ? {} : { labelSelector: selector })
    })) url.searchParams.set(name, value)
    const secret = token()
    const headers = { accept: 'application/json', ...(secret === null ? {} : { authorization: `Bearer ${secret}` }) }
    // A watch may be silent until its end.
    const timeout = query['watch'] === undefined ? TIMEOUT : (WATCH_SECONDS + 30) * 1_000
    return await boundedRequest(url, dispatcher, { method: 'GET', headers, timeout, signal }, response => use(response, response.status))
  }

  #wait (milliseconds: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(guarded(BACKGROUND, resolve), milliseconds).unref()
      this.#abort.signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      }, { once: true })
    })
  }
}

/** Completes the sentence "the API …". */
class Failure extends Error {}

function read (bytes: Buffer): JsonObject | null {
  const parsed = parseStrict(bytes, { depth: 64, members: 1_000_000 })
  return parsed.ok && isObject(parsed.value) ? parsed.value : null
}

function keyOf ({ metadata }: JsonObject): string {
  const { namespace, name } = isObject(metadata) ? metadata : {}
  return `${String(namespace)}/${String(name)}`
}

/** The reason of a Status object, such as Forbidden. */
function reasonOf (value: JsonObject | null): string {
  const { reason } = value ?? {}
  return typeof reason === 'string' && /^\w{1,60}$/.test(reason) ? ` (${reason})` : ''
}

async function * linesOf (chunks: AsyncIterable<Buffer>, longest: number): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...rest, chunk.subarray(from, end)])
      rest = []
      size = 0
      from = end + 1
      if (line.length > 0) yield line
    }
    const tail = chunk.subarray(from)
    size += tail.length
    if (size > longest) throw new Failure(`sent an event of more than ${longest} bytes`)
    if (tail.length > 0) rest.push(tail)
  }
}
