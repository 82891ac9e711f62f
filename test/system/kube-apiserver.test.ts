/**
 * Services of a real kube-apiserver as a source of agents. Needs `etcd`, `openssl` and `kube-apiserver` in the PATH, or the latter in
 * A2A_KUBE_APISERVER: `go build k8s.io/kubernetes/cmd/kube-apiserver` in a module that replaces the staging modules by their releases.
 */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { call, freePorts, rpc, until, untilSame } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import { reasons, sourcedGateway } from '../agents/kit.js'

const inPath = (name: string): string | undefined =>
  (process.env['PATH'] ?? '').split(delimiter).map(folder => join(folder, name)).find(file => existsSync(file))
const SERVER = process.env['A2A_KUBE_APISERVER'] ?? inPath('kube-apiserver')
const ETCD = inPath('etcd')
/** Linux takes every address of 127.0.0.0/8 for this machine: the Services are reachable without kube-proxy. */
const SERVICE_RANGE = '127.77.0.0/24'

class Cluster {
  readonly dir: string
  readonly #port: number
  readonly #etcd: number
  #processes: ChildProcess[] = []

  private constructor (dir: string, port: number, etcd: number) {
    this.dir = dir
    this.#port = port
    this.#etcd = etcd
  }

  static async start (t: Test): Promise<Cluster> {
    const dir = mkdtempSync(join(tmpdir(), 'kube-apiserver-'))
    const [port = 0, etcd = 0, peer = 0] = await freePorts(3)
    const cluster = new Cluster(dir, port, etcd)
    t.teardown(async () => {
      await cluster.stop()
      rmSync(dir, { recursive: true, force: true })
    })
    execFileSync('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=test',
      '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', join(dir, 'tls.key'), '-out', join(dir, 'tls.crt')
    ], { stdio: 'ignore' })
    execFileSync('openssl', ['genpkey', '-algorithm', 'RSA', '-out', join(dir, 'sa.key')], { stdio: 'ignore' })
    writeFileSync(join(dir, 'tokens.csv'), 'admin-token,admin,1,"system:masters"\ngateway-token,gateway,2\n')
    writeFileSync(join(dir, 'token'), 'gateway-token\n')
    cluster.#run(ETCD ?? '', [
      '--data-dir', join(dir, 'etcd'), '--listen-client-urls', `http://127.0.0.1:${etcd}`, '--advertise-client-urls', `http://127.0.0.1:${etcd}`,
      '--listen-peer-urls', `http://127.0.0.1:${peer}`, '--initial-advertise-peer-urls', `http://127.0.0.1:${peer}`,
      '--initial-cluster', `default=http://127.0.0.1:${peer}`
    ])
    await cluster.startServer()
    return cluster
  }

  get url (): string {
    return `https://127.0.0.1:${this.#port}`
  }

  async startServer (): Promise<void> {
    this.#run(SERVER ?? '', [
      `--etcd-servers=http://127.0.0.1:${this.#etcd}`, `--service-cluster-ip-range=${SERVICE_RANGE}`, `--secure-port=${this.#port}`,
      '--bind-address=127.0.0.1', '--advertise-address=127.0.0.1', `--tls-cert-file=${join(this.dir, 'tls.crt')}`,
      `--tls-private-key-file=${join(this.dir, 'tls.key')}`,
      `--token-auth-file=${join(this.dir, 'tokens.csv')}`, '--authorization-mode=RBAC', '--service-account-issuer=https://issuer.test',
      `--service-account-signing-key-file=${join(this.dir, 'sa.key')}`, `--service-account-key-file=${join(this.dir, 'sa.key')}`,
      '--endpoint-reconciler-type=none'
    ])
    await until(async () => (await this.ask('GET', '/readyz').catch(() => ({ status: 0 }))).status === 200, 'kube-apiserver', 240_000)
  }

  /** Ends the API server, and not etcd. */
  async stopServer (): Promise<void> {
    const server = this.#processes.pop()
    if (server === undefined) return
    const gone = once(server, 'exit')
    server.kill('SIGKILL')
    await gone
  }

  async stop (): Promise<void> {
    while (this.#processes.length > 0) await this.stopServer()
  }

  ask (method: string, path: string, body?: object, token = 'admin-token'): Promise<{ status: number, text: string }> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }
      const sent = request(this.url + path, { method, headers, ca: readFileSync(join(this.dir, 'tls.crt')), agent: false }, response => {
        let text = ''
        response.on('data', (chunk: Buffer) => { text += chunk.toString() })
        response.on('end', () => { resolve({ status: response.statusCode ?? 0, text }) })
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** @throws Error when the API server does not accept the object */
  async make (path: string, object: object): Promise<void> {
    const { status, text } = await this.ask('POST', path, object)
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
  }

  #run (file: string, args: readonly string[]): void {
    this.#processes.push(spawn(file, args, { stdio: 'ignore' }))
  }
}

const LABELS = { 'a2a-gateway.io/agent': 'true' }
const SERVICES = '/api/v1/namespaces/agents/services'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/agents/endpointslices'

async function makeAgent (cluster: Cluster, name: string, port: number, ready = true): Promise<void> {
  await cluster.make(SERVICES, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels: LABELS, annotations: { 'a2a-gateway.io/path': `/${name}` } },
    spec: { ports: [{ name: 'http', port, protocol: 'TCP' }] }
  })
  await cluster.make(SLICES, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { name: `${name}-1`, labels: { ...LABELS, 'kubernetes.io/service-name': name } },
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready } }],
    ports: [{ name: 'http', port, protocol: 'TCP' }]
  })
}

const missing = SERVER === undefined || ETCD === undefined
const skip = missing ? 'kube-apiserver or etcd is not in the PATH' : false

t.test('Services of a real API server come, go and become ready, and no call fails', { skip, timeout: 900_000 }, async t => {
  const cluster = await Cluster.start(t)
  const agents = createServer((message, response) => {
    const [, name = ''] = (message.url ?? '').split('/')
    const card = message.url?.endsWith('agent-card.json') === true
    const text = JSON.stringify(card
      ? plainCard(`http://${message.headers.host ?? ''}/${name}`, { name })
      : { jsonrpc: '2.0', id: '1', result: { message: { messageId: 'm2', role: 'ROLE_AGENT', parts: [{ text: name }] } } })
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }).listen(0, '0.0.0.0')
  await once(agents, 'listening')
  t.teardown(() => { agents.closeAllConnections(); agents.close() })
  const { port } = agents.address() as AddressInfo

  await cluster.make('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'agents' } })
  for (const name of ['a', 'b', 'c']) await makeAgent(cluster, name, port)
  writeFileSync(join(cluster.dir, 'catalog.json'), '{}')
  const source = `agentSources: [{name: cluster, kubernetes: {namespaces: [agents], selector: "a2a-gateway.io/agent=true", api: {url: "${cluster.url}", ca: tls.crt, token: token}}, agent: {path: "/agents/{name}"}, admit: all}]`
  const gateway = await sourcedGateway(t, ['agents: []', source].join('\n'), { dir: cluster.dir })
  t.match((await gateway.report()).problem, /responded with 403 \(Forbidden\)/, 'without rights')

  // The rights of the chart: get, list and watch of services and endpointslices in the namespace.
  const verbs = ['get', 'list', 'watch']
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/agents'
  await cluster.make(`${rbac}/roles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'gateway' },
    rules: [{ apiGroups: [''], resources: ['services'], verbs }, { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs }]
  })
  await cluster.make(`${rbac}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'gateway' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'gateway' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'gateway' }]
  })
  t.equal((await cluster.ask('GET', '/api/v1/namespaces/agents/secrets', undefined, 'gateway-token')).status, 403)
  await untilSame(t, () => gateway.agents(), ['a /agents/a', 'b /agents/b', 'c /agents/c'], 'with rights', 90_000)
  await untilSame(t, async () => (await call(`${gateway.adminUrl}/readyz`)).status, 200, 'cards through the cluster IPs', 30_000)

  const calling = { over: false, calls: 0 }
  const failed: string[] = []
  const caller = (async () => {
    for (; !calling.over; calling.calls++) {
      const { status, text } = await rpc(`${gateway.url}/agents/a/rpc`)
      if (status !== 200 || !text.includes('"a"')) failed.push(`${status} ${text}`)
    }
  })()
  await makeAgent(cluster, 'd', port, false)
  await untilSame(t, async () => reasons(await gateway.report())['agents/d'], 'the Service has no ready endpoint', 'd', 30_000)
  await cluster.ask('PATCH', `${SLICES}/d-1`, { endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }] })
  await untilSame(t, async () => (await gateway.agents()).includes('d /agents/d'), true, 'ready', 30_000)
  await cluster.ask('PATCH', `${SERVICES}/b`, { metadata: { labels: { 'a2a-gateway.io/agent': null } } })
  await untilSame(t, async () => (await gateway.agents()).includes('b /agents/b'), false, 'without its label', 30_000)
  await cluster.ask('PATCH', `${SLICES}/a-1`, { endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: false } }] })
  await cluster.ask('DELETE', `${SERVICES}/c`)
  await untilSame(t, () => gateway.agents(), ['a /agents/a', 'd /agents/d'], 'a Service that is deleted', 30_000)

  // The API server goes, and comes back without the history of its watch cache.
  await cluster.stopServer()
  await untilSame(t, async () => (await gateway.report()).problem === null, false, 'the loss is seen', 60_000)
  t.strictSame(await gateway.agents(), ['a /agents/a', 'd /agents/d'], 'the last good state')
  await cluster.startServer()
  await makeAgent(cluster, 'e', port)
  await untilSame(t, () => gateway.agents(), ['a /agents/a', 'd /agents/d', 'e /agents/e'], 'after the restart', 120_000)
  calling.over = true
  await caller
  t.ok(calling.calls > 20, `${calling.calls} calls`)
  t.strictSame(failed, [])
})
