/** The Services of Kubernetes that a label selector matches, with the readiness of their endpoints. */
import { readFileSync } from 'node:fs'
import type { Dispatcher } from 'undici'
import type { KubernetesSourceConfig } from '#config/model/model.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'
import { parseUrl } from '#wire/url.js'
import { OperatorError } from '#operator-errors.js'
import { serviceConnections } from '../bounded-request.js'
import { ObjectWatch } from './watch.js'

/** A Service that the selector matches. */
export interface FoundService {
  readonly namespace: string
  readonly name: string
  /** Base address of the agent; null when the Service has no usable address. */
  readonly address: URL | null
  /** Why there is no address; null with an address. */
  readonly problem: string | null
  /** True when at least one endpoint is ready. */
  readonly ready: boolean
  /** Policies of the annotation. */
  readonly extensions: readonly string[]
  /** Path of the card in the annotation; null: the usual one. */
  readonly cardPath: string | null
}

/** Annotations of Services. */
const PREFIX = 'a2a-gateway.io/'
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
const TIMEOUT = 10_000
const MAX_EXTENSIONS = 50

export class KubernetesServices {
  readonly #config: KubernetesSourceConfig
  readonly #onChange: () => void
  readonly #env: NodeJS.ProcessEnv
  readonly #retry: number | undefined
  #dispatcher: Dispatcher | null = null
  #watches: readonly { readonly services: ObjectWatch, readonly slices: ObjectWatch }[] = []
  #problem: string | null = null

  /** @param retry ms of the first wait after a failure */
  constructor (config: KubernetesSourceConfig, onChange: () => void, env: NodeJS.ProcessEnv = process.env, retry?: number) {
    this.#config = config
    this.#onChange = onChange
    this.#env = env
    this.#retry = retry
  }

  /** Null while the Services of a namespace are not known, or the API has failed since. */
  get services (): readonly FoundService[] | null {
    if (this.#watches.length === 0 || this.problem !== null) return null
    return this.#watches.flatMap(({ services, slices }) => {
      const ready = readyServices(slices.objects ?? new Map())
      return [...services.objects?.values() ?? []].map(service => serviceOf(service, this.#config.port, ready))
    })
  }

  get problem (): string | null {
    if (this.#problem !== null) return this.#problem
    for (const { services, slices } of this.#watches) {
      for (const { objects, problem } of [services, slices]) {
        if (problem !== null) return problem
        if (objects === null) return 'the API server has not responded yet'
      }
    }
    return null
  }

  /** @returns when each namespace has been listed once, well or not. Never rejects. */
  async start (): Promise<void> {
    let access: Access
    try {
      access = accessOf(this.#config, this.#env)
    } catch (error) {
      this.#problem = (error as Error).message
      return
    }
    const { api, ca, token } = access
    const { namespaces, selector } = this.#config
    this.#dispatcher = serviceConnections(2 * namespaces.length + 1, TIMEOUT, ca === null ? {} : { ca })
    const common = { dispatcher: this.#dispatcher, api, token, onChange: this.#onChange, retry: this.#retry }
    this.#watches = namespaces.map(namespace => ({
      services: new ObjectWatch({ ...common, path: `/api/v1/namespaces/${namespace}/services`, selector }),
      // Kubernetes copies the labels of a Service to its EndpointSlices.
      slices: new ObjectWatch({ ...common, path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, selector })
    }))
    await Promise.all(this.#watches.flatMap(({ services, slices }) => [services.start(), slices.start()]))
  }

  close (): void {
    for (const { services, slices } of this.#watches) {
      services.close()
      slices.close()
    }
    this.#dispatcher?.destroy().catch(() => {})
  }
}

interface Access { readonly api: string, readonly ca: Buffer | null, readonly token: () => string | null }

/** @throws Error with a readable message outside of a cluster, and when a file cannot be read */
function accessOf ({ api }: KubernetesSourceConfig, env: NodeJS.ProcessEnv): Access {
  if (api !== null) {
    const { url, ca, token } = api
    return {
      api: url.replace(/\/+$/, ''),
      ca: ca === null ? null : readFileSync(ca),
      token: () => token === null ? null : readFileSync(token, 'utf8').trim()
    }
  }
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (host === undefined || host === '') {
    throw new OperatorError(
      'A2AGW_ERR_AGENT_SOURCE', 'KUBERNETES_SERVICE_HOST is not set: the gateway does not run in a cluster; set kubernetes.api'
    )
  }
  const file = (name: string): string => `${SERVICE_ACCOUNT}/${name}`
  try {
    return {
      api: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      ca: readFileSync(file('ca.crt')),
      // The kubelet replaces the token before it expires.
      token: () => readFileSync(file('token'), 'utf8').trim()
    }
  } catch (error) {
    throw new OperatorError(
      'A2AGW_ERR_AGENT_SOURCE',
      `the service account cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}; the pod needs ` +
        'automountServiceAccountToken: true'
    )
  }
}

/** @returns `namespace/name` of the Services with a ready endpoint */
function readyServices (slices: ReadonlyMap<string, JsonObject>): ReadonlySet<string> {
  const ready = new Set<string>()
  for (const { metadata, endpoints } of slices.values()) {
    const { namespace, labels } = isObject(metadata) ? metadata : {}
    const service = isObject(labels) ? labels['kubernetes.io/service-name'] : undefined
    const some = Array.isArray(endpoints) &&
      endpoints.filter(isObject).some(({ conditions }) => !isObject(conditions) || conditions['ready'] !== false)
    if (some) ready.add(`${String(namespace)}/${String(service)}`)
  }
  return ready
}

function serviceOf ({ metadata, spec }: JsonObject, wanted: string | null, ready: ReadonlySet<string>): FoundService {
  const { namespace: ns, name: n, annotations: notes } = isObject(metadata) ? metadata : {}
  const [namespace, name] = [String(ns), String(n)]
  const note = (key: string): string | null => {
    const text = isObject(notes) ? notes[PREFIX + key] : undefined
    return typeof text === 'string' && text !== '' && text.length <= 1_000 ? text : null
  }
  const cardPath = note('card-path')
  const extensions = (note('extensions') ?? '').split(',').map(uri => uri.trim()).filter(uri => uri !== '').slice(0, MAX_EXTENSIONS)
  const at = addressOf(
    namespace, name, isObject(spec) ? spec : {},
    { port: note('port') ?? wanted, scheme: note('scheme') ?? 'http', path: note('path') ?? '/' }
  )
  const badPath = cardPath !== null &&
    (!cardPath.startsWith('/') || parseUrl(cardPath, 'http://service.invalid')?.origin !== 'http://service.invalid')
  const problem = badPath ? `has an annotation ${PREFIX}card-path that is not a path` : 'problem' in at ? at.problem : null
  return {
    namespace,
    name,
    extensions,
    cardPath,
    problem,
    address: problem === null && 'url' in at ? at.url : null,
    ready: ready.has(`${namespace}/${name}`)
  }
}

interface Wanted { readonly port: string | null, readonly scheme: string, readonly path: string }

type Address = { readonly url: URL } | { readonly problem: string }

function addressOf (namespace: string, name: string, spec: JsonObject, { port: wanted, scheme, path }: Wanted): Address {
  // An ExternalName may be any host: the cluster does not know its endpoints.
  if (spec['type'] === 'ExternalName') return { problem: 'is an ExternalName' }
  if (scheme !== 'http' && scheme !== 'https') return { problem: `has an annotation ${PREFIX}scheme that is neither http nor https` }
  const ports = (Array.isArray(spec['ports']) ? spec['ports'] : []).filter(isObject)
  const named = (text: string): JsonObject | undefined => ports.find(port => port['name'] === text || String(port['port']) === text)
  const portSpec = wanted === null ? (ports.length === 1 ? ports[0] : named('a2a') ?? named('http')) : named(wanted)
  const port = portSpec?.['port']
  if (typeof port !== 'number') {
    return {
      problem: wanted === null ? 'has several ports, none of which is named a2a or http' : 'has no such port'
    }
  }
  const { clusterIP } = spec
  // A certificate has the name of the Service. A headless Service has no address of its own.
  const host = scheme === 'https' || typeof clusterIP !== 'string' || clusterIP === '' || clusterIP === 'None'
    ? `${name}.${namespace}.svc`
    : clusterIP
  const origin = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const url = parseUrl(path, origin)
  return url === null || !path.startsWith('/') || url.origin !== parseUrl(origin)?.origin || url.search !== '' || url.hash !== ''
    ? { problem: `has an annotation ${PREFIX}path that is not a path` }
    : { url }
}
