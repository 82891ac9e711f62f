/** Services of Kubernetes as a source of agents. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { KubernetesServices } from '#upstream/kubernetes/services.js'
import { call, rpc, until, untilSame } from '../helpers/http.js'
import { catalogServer, reasons, sourcedGateway } from './kit.js'
import { KubernetesApi, serviceOf } from './kubernetes-api.js'

const NAMESPACE = 'agents'
const source = (api: string, more = ''): string =>
  `agentSources: [{name: cluster, kubernetes: {namespaces: [${NAMESPACE}], selector: "a2a-gateway.io/agent=true", api: {url: "${api}", token: token}}, agent: {path: "/agents/{name}"}, admit: all${more}}]`

t.test('Services come, go and change while calls are in flight, and no call fails', async t => {
  const api = await KubernetesApi.start(t)
  const agents = await catalogServer(t)
  const port = Number(new URL(agents.url).port)
  const dir = t.testdir({ token: 'secret\n' })
  const put = (name: string, more: Parameters<typeof serviceOf>[2] = {}): void => {
    const { service, slice } = serviceOf(name, port, { annotations: { 'a2a-gateway.io/path': `/${name}` }, ...more })
    api.put('services', service)
    api.put('endpointslices', slice)
  }
  for (const name of ['a', 'b', 'c']) put(name)
  put('other', { label: 'false' })
  const gateway = await sourcedGateway(t, ['agents: []', source(api.url)].join('\n'), { dir })
  t.strictSame(await gateway.agents(), ['a /agents/a', 'b /agents/b', 'c /agents/c'], 'a list of two pages, and only the selected ones')
  t.equal(api.requests[0]?.authorization, 'Bearer secret')
  await untilSame(t, async () => (await call(`${gateway.adminUrl}/readyz`)).status, 200)

  // Calls to an agent that stays, all the time.
  let calls = 0
  const failed: string[] = []
  const calling = { over: false }
  const caller = (async () => {
    for (; !calling.over; calls++) {
      const { status, text } = await rpc(`${gateway.url}/agents/a/rpc`)
      if (status !== 200) failed.push(`${status} ${text}`)
    }
  })()
  put('d')
  await untilSame(t, async () => (await gateway.agents()).includes('d /agents/d'), true, 'a new Service')
  put('e', { ready: false })
  await untilSame(t, async () => reasons(await gateway.report())[`${NAMESPACE}/e`], 'the Service has no ready endpoint')
  t.notOk((await gateway.agents()).includes('e /agents/e'))
  put('e')
  await untilSame(t, async () => (await gateway.agents()).includes('e /agents/e'), true, 'a Service that becomes ready')
  put('a', { ready: false })
  put('a')
  put('b', { label: 'false' })
  await untilSame(t, async () => (await gateway.agents()).includes('b /agents/b'), false, 'a Service that loses its label')
  api.delete('services', NAMESPACE, 'c')
  await untilSame(t, () => gateway.agents(), ['a /agents/a', 'd /agents/d', 'e /agents/e'])
  put('a', { ready: false })
  await until(() => calls > 20, 'calls')
  t.ok((await gateway.agents()).includes('a /agents/a'), 'an agent in force stays while it is not ready')
  calling.over = true
  await caller
  t.strictSame(failed, [], `${calls} calls`)
})

t.test('annotations and ports', async t => {
  const api = await KubernetesApi.start(t)
  const agents = await catalogServer(t)
  const port = Number(new URL(agents.url).port)
  const put = (name: string, annotations: Record<string, string>, spec: object = {}): void => {
    const { service, slice } = serviceOf(name, port, { annotations, spec })
    api.put('services', service)
    api.put('endpointslices', slice)
  }
  put('one', { 'a2a-gateway.io/path': '/one', 'a2a-gateway.io/extensions': 'traceability, usage' })
  put('two', { 'a2a-gateway.io/card-path': '/two/.well-known/agent-card.json', 'a2a-gateway.io/path': '/two' }, { ports: [{ name: 'x', port: 1 }, { name: 'a2a', port }] })
  put('three', { 'a2a-gateway.io/port': 'x' })
  put('four', {}, { ports: [{ name: 'x', port: 1 }, { name: 'y', port: 2 }] })
  put('five', {}, { type: 'ExternalName', externalName: 'evil.example' })
  put('six', { 'a2a-gateway.io/path': '//evil.example/' })
  put('seven', { 'a2a-gateway.io/card-path': '//evil.example/card' })
  put('eight', { 'a2a-gateway.io/scheme': 'gopher' })
  put('nine', { 'a2a-gateway.io/extensions': 'no-such-policy' })
  put('ten', { 'a2a-gateway.io/path': '/ten' }, { clusterIP: 'None' })
  const gateway = await sourcedGateway(t, ['agents: []', source(api.url)].join('\n'), { dir: t.testdir({ token: '' }) })
  t.match(reasons(await gateway.report()), {
    'agents/three': 'has no such port',
    'agents/four': /several ports/,
    'agents/five': 'is an ExternalName',
    'agents/six': /not a path/,
    'agents/seven': /not a path/,
    'agents/eight': /neither http nor https/,
    'agents/nine': /no-such-policy/
  })
  const described = JSON.parse((await call(`${gateway.adminUrl}/agents`)).text) as { name: string, upstream: string, policies: { name: string }[] }[]
  t.strictSame(described.map(({ name, upstream }) => `${name} ${upstream}`).sort(), [
    `one http://127.0.0.1:${port}/one`, `ten http://ten.agents.svc:${port}/ten`, `two http://127.0.0.1:${port}/two`
  ])
  t.strictSame(described.find(({ name }) => name === 'one')?.policies.map(({ name }) => name), ['object-schemas', 'traceability', 'usage'])
})

t.test('the watch: resumes, bookmarks, 410, failures and rights', async t => {
  const api = await KubernetesApi.start(t)
  const dir = t.testdir({ token: 't' })
  let changes = 0
  const services = new KubernetesServices(
    { namespaces: [NAMESPACE], selector: 'a2a-gateway.io/agent=true', port: null, api: { url: `${api.url}/`, ca: null, token: join(dir, 'token') } },
    () => { changes++ }, {}, 20
  )
  t.teardown(() => { services.close() })
  const put = (name: string): void => { api.put('services', serviceOf(name, 1).service) }
  const names = (): string[] => (services.services ?? []).map(({ name }) => name)
  const lists = (): number => api.requests.filter(({ watch, kind }) => !watch && kind === 'services').length
  const watches = (): (string | null)[] => api.requests.filter(({ watch, kind }) => watch && kind === 'services').map(({ version }) => version)
  put('a')
  await services.start()
  t.strictSame(names(), ['a'])
  await until(() => api.watches === 2, 'both watches')
  put('b')
  await untilSame(t, names, ['a', 'b'])
  t.equal(lists(), 1)

  // The server ends the watch: the next one goes on from the last event, and misses nothing.
  api.end('end')
  put('c')
  await untilSame(t, names, ['a', 'b', 'c'], 'what came between two watches')
  t.equal(lists(), 1, 'without another list')
  t.strictSame(watches().slice(0, 2), ['101', '102'])

  // A bookmark moves the version without an event.
  api.compact()
  await until(() => api.watches === 2, 'both watches')
  api.bookmark()
  put('d')
  await untilSame(t, names, ['a', 'b', 'c', 'd'])
  api.end('end')
  await until(() => api.watches === 2, 'both watches')
  t.equal(lists(), 1, 'a version after the compaction')

  // Events that the server has forgotten: a new list, which also has what went meanwhile.
  api.end('reset')
  api.delete('services', NAMESPACE, 'a')
  put('e')
  api.compact()
  await untilSame(t, names, ['b', 'c', 'd', 'e'])
  t.ok(lists() >= 2)
  await until(() => api.watches === 2, 'both watches')
  api.end('gone')
  put('f')
  await untilSame(t, names, ['b', 'c', 'd', 'e', 'f'], 'an event with 410')

  // No rights, then no server: the problem says so, and the attempts become rarer.
  for (const [status, body] of [[403, { kind: 'Status', reason: 'Forbidden' }], [500, 'x'], [200, 'x']] as const) {
    api.fail = (_request, response) => { response.writeHead(status).end(JSON.stringify(body)) }
    api.end('reset')
    await until(() => services.problem !== null, 'a problem')
    t.equal(services.services, null, 'the source keeps its last good state')
    api.fail = null
    await untilSame(t, () => services.problem, null)
    await untilSame(t, names, ['b', 'c', 'd', 'e', 'f'])
    await until(() => api.watches === 2, 'both watches')
  }
  writeFileSync(join(dir, 'token'), 'next\n')
  api.end('end')
  await untilSame(t, () => api.requests.at(-1)?.authorization, 'Bearer next', 'the kubelet has replaced the token')
  t.ok(changes > 5)
})

t.test('outside of a cluster', async t => {
  const services = new KubernetesServices({ namespaces: [NAMESPACE], selector: 'x=y', port: null, api: null }, () => {}, {})
  await services.start()
  t.match(services.problem, /does not run in a cluster/)
  t.equal(services.services, null)
})
