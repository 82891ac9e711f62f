/**
 * Handles everything under `/console/`: the page's files, its data, the live tail, and calls tried from the page. Loaded on first request.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { ignoreErrors, listenOnce, ownerOf } from '#guard.js'
import type { Log } from '#telemetry/log.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { Version } from '#a2a/versions.js'
import type { CardDiff } from './card-diff.js'
import { diffOf } from './card-diff.js'
import { readFilter } from './filter.js'
import type { Rejected } from './guard.js'
import { HEADERS, readProblem, writeProblem } from './guard.js'
import { matrixOf } from './matrix.js'
import { overviewOf, statusOf } from './overview.js'
import { Playground } from './playground/playground.js'
import { TaskRejected } from './playground/playground-thread.js'
import { explained } from './rules/explained.js'
import { hitsOf } from './rules/hits.js'
import { policyLinesOf } from './rules/policy-lines.js'
import type { ComparedCards, ConsoleAgent, ConsoleSource } from './source.js'
import type { TryWatcher } from './try/call.js'
import { readTry, tryCall } from './try/call.js'
import { tryFormOf } from './try/form.js'
import { Viewers } from './viewers.js'

export interface ConsoleHandler {
  /**
   * @param url target of the request below the prefix of the admin routes, with the query
   * @param rejected the admin listener's rejection of the host name, or null
   */
  handle (request: IncomingMessage, response: ServerResponse, url: string, rejected: Rejected | null): void
  /** Closes open connections, so that the listener can close. */
  close (): void
}

/** Largest size of a tried call, bytes. */
const BODY = 1024 * 1024
/** Largest number of calls tried at once. */
const TRIES = 4
const PREFIX = '/console/'
/** Names of the playground's data. */
const PLAYGROUND = 'api/playground/'

export function consoleHandler (gateway: ConsoleSource, log: Pick<Log, 'error'>): ConsoleHandler {
  const source = explained(gateway)
  const viewers = new Viewers(source)
  const playground = new Playground(source)
  let files: ReadonlyMap<string, PageFile> | null = null
  let trying = 0

  const agent = (name: string): ConsoleAgent => {
    const agentState = source.agents().find(agent => agent.name === name)
    if (agentState === undefined) throw new Failure({ status: 404, error: 'no agent has that name' })
    return agentState
  }

  const data: Readonly<Record<string, (query: URLSearchParams) => unknown>> = {
    status: () => statusOf(source),
    overview: query => overviewOf(source, query.get('q') ?? ''),
    extensions: () => matrixOf(source),
    rules: () => hitsOf(source),
    series: () => source.series(),
    agent: async query => {
      const { name } = agent(query.get('name') ?? '')
      return (await source.described()).find(description => description.name === name) ?? null
    },
    card: query => {
      const { state, config, publicBase, agreement } = agent(query.get('name') ?? '')
      const version = query.get('version') === '0.3' ? '0.3' : '1.0'
      const held = heldDiff(agreement?.compared ?? null, version)
      if (state === null) return { version, same: false, origin: null, signature: config.card.signature, diff: null, held }
      const { byVersion, origin } = state.loaded
      const served = state.served[version].at(publicBase ?? config.path)
      return {
        version,
        same: byVersion['0.3'] === byVersion['1.0'],
        origin,
        signature: config.card.signature,
        ...(publicBase === null ? {} : { etag: served.etag }),
        diff: diffOf(byVersion[version].card.raw, parseJson(served.bytes)),
        held
      }
    },
    policy: query => {
      const { name } = agent(query.get('name') ?? '')
      return policyLinesOf(source.config(), name)
    },
    form: query => {
      const { server } = source.config()
      return { tryIt: server.console.tryIt, ...tryFormOf(agent(query.get('name') ?? ''), source.main(), server.hosts) }
    }
  }

  const tryOne = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!source.config().server.console.tryIt) {
      throw new Failure({ status: 403, error: 'calls cannot be sent from here: server.console.tryIt is false' })
    }
    if (trying >= TRIES) throw new Failure({ status: 429, error: 'other calls are being tried; wait for one to end' })
    trying++
    try {
      const wanted = readTry(jsonOf(await bodyOf(request)))
      if (typeof wanted === 'string') throw new Failure({ status: 400, error: wanted })
      const watcher = request.headers.accept === LINES ? watcherOf(response) : null
      const result = await tryCall(source, wanted, watcher)
      if (watcher !== null && response.headersSent) response.end(lineOf(typeof result === 'string' ? { error: result } : { result }))
      else if (typeof result === 'string') throw new Failure({ status: 404, error: result })
      else json(response, result)
    } finally {
      trying--
    }
  }

  const result = async (request: IncomingMessage, response: ServerResponse, url: string, rejected: Rejected | null): Promise<void> => {
    for (const [name, value] of HEADERS) response.setHeader(name, value)
    if (rejected !== null) throw new Failure(rejected)
    const [path = '', query = ''] = url.split('?', 2)
    const method = request.method ?? 'GET'
    const name = path.slice(PREFIX.length)
    if (name === 'api/try') {
      if (method !== 'POST') throw new Failure({ status: 405, error: 'use POST' }, { allow: 'POST' })
      check(writeProblem(request.headers))
      return await tryOne(request, response)
    }
    if (name.startsWith(PLAYGROUND)) {
      const signal = abortedWith(response)
      const of = name.slice(PLAYGROUND.length)
      const isWrite = method === 'POST'
      if (!isWrite && method !== 'GET') throw new Failure({ status: 405, error: 'use GET or POST' }, { allow: 'GET, POST' })
      check(isWrite ? writeProblem(request.headers) : readProblem(request.headers))
      const rejection = isWrite
        ? await playground.post(of, jsonOf(await bodyOf(request)), signal)
        : await playground.get(of, new URLSearchParams(query), signal)
      if (typeof rejection !== 'string') throw new Failure(rejection)
      return jsonText(response, rejection)
    }
    if (method !== 'GET' && method !== 'HEAD') throw new Failure({ status: 405, error: 'use GET' }, { allow: 'GET, HEAD' })
    if (path === '/' || path === '/console') {
      const prefix = (request.url ?? '').slice(0, -url.length)
      response.writeHead(302, { location: prefix + PREFIX }).end()
      return
    }
    if (name === 'api/decisions') {
      check(readProblem(request.headers))
      if (viewers.full) throw new Failure({ status: 503, error: 'too many pages are connected to the decisions' }, { 'retry-after': '5' })
      if (method === 'HEAD') return json(response, {})
      return await viewers.serve(response, readFilter(new URLSearchParams(query)))
    }
    const api = name.startsWith('api/') ? name.slice(4) : null
    if (api !== null && Object.hasOwn(data, api)) {
      check(readProblem(request.headers))
      return json(response, await data[api]?.(new URLSearchParams(query)), method === 'HEAD')
    }
    files ??= readPage()
    const file = files.get(name)
    if (file === undefined) throw new Failure({ status: 404, error: 'not found' })
    const { type } = file
    const bytes = file.bytes()
    response.writeHead(200, { 'content-type': type, 'content-length': bytes.length })
    response.end(method === 'HEAD' ? undefined : bytes)
  }

  return {
    handle: (request, response, url, rejected) => {
      ignoreErrors(response)
      result(request, response, url, rejected).catch((error: unknown) => {
        if (error instanceof TaskRejected) error = new Failure({ status: error.status, error: error.message })
        if (!(error instanceof Failure)) log.error({ err: error }, 'a request for the console failed')
        if (response.headersSent) return response.destroy()
        const { refused: rejected, headers } = error instanceof Failure ? error : new Failure({ status: 500, error: 'internal error' })
        response.writeHead(rejected.status, {
          'content-type': JSON_TYPE,
          connection: request.complete ? 'keep-alive' : 'close',
          ...headers
        })
        response.end(JSON.stringify({ error: rejected.error }))
      })
    },
    close: () => {
      viewers.close()
      playground.close()
    }
  }
}

/** Compares the agreed card with the card that waits; all lines of a card are new when nobody has agreed on any. */
function heldDiff (compared: ComparedCards | null, version: Version): CardDiff | null {
  return compared === null ? null : diffOf(compared.agreed?.byVersion[version].card.raw ?? {}, compared.waiting.byVersion[version].card.raw)
}

const JSON_TYPE = 'application/json; charset=utf-8'
/** A response to a tried call that the page reads while it arrives: one JSON object in each line. */
const LINES = 'application/x-ndjson'

function lineOf (value: object): string {
  return `${JSON.stringify(value)}\n`
}

/** Writes what arrives to the page. */
function watcherOf (response: ServerResponse): TryWatcher {
  const abort = new AbortController()
  listenOnce(ownerOf('admin', () => { response.destroy() }), response, 'close', () => { abort.abort() })
  return {
    signal: abort.signal,
    head: head => {
      response.writeHead(200, { 'content-type': LINES, 'x-accel-buffering': 'no' })
      response.write(lineOf({ head }))
    },
    data: (text, milliseconds) => { response.write(lineOf({ data: text, milliseconds })) }
  }
}

class Failure extends Error {
  readonly refused: Rejected
  readonly headers: Readonly<Record<string, string>>

  constructor (rejected: Rejected, headers: Readonly<Record<string, string>> = {}) {
    super(rejected.error)
    this.refused = rejected
    this.headers = headers
  }
}

function check (rejected: Rejected | null): void {
  if (rejected !== null) throw new Failure(rejected)
}

function json (response: ServerResponse, value: unknown, head = false): void {
  jsonText(response, JSON.stringify(value) ?? 'null', head)
}

function jsonText (response: ServerResponse, text: string, head = false): void {
  const bytes = Buffer.from(text)
  response.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': bytes.length })
  response.end(head ? undefined : bytes)
}

/** A signal that aborts when the client has disconnected. */
function abortedWith (response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  listenOnce(ownerOf('admin', () => { response.destroy() }), response, 'close', () => { controller.abort() })
  return controller.signal
}

async function bodyOf (request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY) throw new Failure({ status: 413, error: `the call is larger than ${BODY} bytes` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function jsonOf (text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new Failure({ status: 400, error: 'send JSON' })
  }
}

// The page's own files: a fixed list, made on first request.

/** `bytes` reads the file: the editor of the playground is large, and few open it. */
interface PageFile { readonly type: string, readonly bytes: () => Buffer }

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml'
}

/** Directory beside this file, in the sources and in the build. */
const DIRECTORY = join(import.meta.dirname, 'page')

/** Returns the files by name below `/console/`; `''` is the page itself. A request never determines a file path. */
function readPage (): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const path of readdirSync(DIRECTORY, { encoding: 'utf8', recursive: true })) {
    const name = path.replaceAll(sep, '/')
    const type = TYPES[name.slice(name.lastIndexOf('.'))]
    if (type !== undefined) {
      files.set(
        name === 'index.html' ? '' : name, { type, bytes: () => readFileSync(join(DIRECTORY, name)) }
      )
    }
  }
  return files
}
