/**
 * An API server for Services and EndpointSlices in memory, with the semantics of watches that the Kubernetes documentation describes: lists
 * in pages, resource versions, events from a version on, bookmarks, 410 Gone for versions that are compacted, and watches that end.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { Test } from 'tap'

type Texts = Record<string, string>
interface Meta { name: string, namespace: string, labels?: Texts, annotations?: Texts, resourceVersion?: string }
export interface Stored { metadata: Meta, [key: string]: unknown }

type Kind = 'services' | 'endpointslices'
interface Event {
  readonly version: number
  readonly kind: Kind
  readonly namespace: string
  readonly type: string
  readonly object: Stored
  readonly before: Stored | null
}
interface Asked {
  readonly kind: Kind
  readonly watch: boolean
  readonly version: string | null
  readonly authorization: string | undefined
}

export class KubernetesApi {
  url = ''
  /** Requests so far: the kind, and whether it is a watch. */
  readonly requests: Asked[] = []
  /** Responds instead of the API; null: the API responds. */
  fail: ((request: IncomingMessage, response: ServerResponse) => void) | null = null
  page = 2
  #version = 100
  #oldest = 0
  readonly #objects: Record<Kind, Map<string, Stored>> = { services: new Map(), endpointslices: new Map() }
  readonly #events: Event[] = []
  readonly #watches = new Set<{ kind: Kind, namespace: string, selector: (object: Stored) => boolean, response: ServerResponse }>()

  static async start (t: Test): Promise<KubernetesApi> {
    const api = new KubernetesApi()
    const server = createServer((request, response) => { api.#handle(request, response) }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    api.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    t.teardown(() => { server.closeAllConnections(); server.close() })
    return api
  }

  put (kind: Kind, object: Stored): void {
    const key = `${object.metadata.namespace}/${object.metadata.name}`
    const before = this.#objects[kind].get(key) ?? null
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } }
    this.#objects[kind].set(key, stored)
    this.#publish({ version: this.#version, kind, namespace: object.metadata.namespace, type: before === null ? 'ADDED' : 'MODIFIED', object: stored, before })
  }

  delete (kind: Kind, namespace: string, name: string): void {
    const before = this.#objects[kind].get(`${namespace}/${name}`)
    if (before === undefined) return
    this.#objects[kind].delete(`${namespace}/${name}`)
    const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(++this.#version) } }
    this.#publish({ version: this.#version, kind, namespace, type: 'DELETED', object, before })
  }

  /** Forgets all events: a watch from an older version gets 410. */
  compact (): void {
    this.#oldest = ++this.#version
  }

  bookmark (): void {
    for (const { response } of this.#watches) {
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { kind: 'Service', metadata: { resourceVersion: String(this.#version), creationTimestamp: null } } })}\n`)
    }
  }

  /** Ends all watches: cleanly, with an error event, or by closing the connections. */
  end (how: 'end' | 'gone' | 'reset'): void {
    for (const watch of this.#watches) {
      if (how === 'gone') watch.response.write(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })}\n`)
      if (how === 'reset') watch.response.destroy()
      else watch.response.end()
    }
    this.#watches.clear()
  }

  get watches (): number {
    return this.#watches.size
  }

  #publish (event: Event): void {
    this.#events.push(event)
    for (const watch of this.#watches) if (watch.kind === event.kind && watch.namespace === event.namespace) send(watch, event)
  }

  #handle (request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://api')
    const [, namespace = '', kind = ''] = /\/namespaces\/([^/]+)\/(services|endpointslices)$/.exec(pathname) ?? []
    const watch = searchParams.get('watch') === 'true'
    const version = searchParams.get('resourceVersion')
    this.requests.push({ kind: kind as Kind, watch, version, authorization: request.headers.authorization })
    if (this.fail !== null) return this.fail(request, response)
    const [label = '', value = ''] = (searchParams.get('labelSelector') ?? '').split('=')
    const selector = ({ metadata }: Stored): boolean => metadata.labels?.[label] === value
    const status = (code: number, reason: string): void => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ kind: 'Status', status: 'Failure', code, reason }))
    }
    if (kind !== 'services' && kind !== 'endpointslices') return status(404, 'NotFound')
    if (!watch) {
      const all = [...this.#objects[kind].values()].filter(object => object.metadata.namespace === namespace && selector(object))
      const from = Number(searchParams.get('continue') ?? 0)
      const items = all.slice(from, from + this.page)
      const more = from + this.page < all.length ? { continue: String(from + this.page) } : {}
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ kind: 'List', metadata: { resourceVersion: String(this.#version), ...more }, items }))
      return
    }
    if (Number(version) < this.#oldest) return status(410, 'Expired')
    response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    response.flushHeaders()
    const entry = { kind, namespace, selector, response } as const
    const later = this.#events.filter(event => event.version > Number(version) && event.kind === kind && event.namespace === namespace)
    for (const event of later) send(entry, event)
    this.#watches.add(entry)
    response.once('close', () => { this.#watches.delete(entry) })
  }
}

/** An object that leaves or enters the selection is deleted from or added to the watch. */
function send (watch: { selector: (object: Stored) => boolean, response: ServerResponse }, { type, object, before }: Event): void {
  const { selector, response } = watch
  const [was, is] = [before !== null && selector(before), type !== 'DELETED' && selector(object)]
  if (!was && !is) return
  const shown = was && is ? 'MODIFIED' : is ? 'ADDED' : 'DELETED'
  const text = JSON.stringify({ type: shown, object })
  // An event may arrive in several pieces.
  response.write(text.slice(0, 10))
  response.write(`${text.slice(10)}\n`)
}

export interface ServiceOptions { ready?: boolean, namespace?: string, annotations?: Texts, spec?: object, label?: string }

/** A Service with a port of this machine, and its EndpointSlice. */
export function serviceOf (name: string, port: number, more: ServiceOptions = {}): { service: Stored, slice: Stored } {
  const { ready = true, namespace = 'agents', annotations = {}, spec = {}, label = 'true' } = more
  const labels = { 'a2a-gateway.io/agent': label }
  return {
    service: { metadata: { name, namespace, labels, annotations }, spec: { clusterIP: '127.0.0.1', ports: [{ name: 'http', port }], ...spec } },
    slice: {
      metadata: { name: `${name}-abcde`, namespace, labels: { ...labels, 'kubernetes.io/service-name': name } },
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready } }]
    }
  }
}
