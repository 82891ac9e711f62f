/** The output of kustomize for deploy/kubernetes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { FILE, schemasText } from '../../scripts/kubernetes-schemas.js'
import { FILE as MESH_FILE, meshSchemasText } from '../../scripts/mesh-schemas.js'
import type { Config } from '#config/model/model.js'
import { coherent, configured, gatewayOf, podOf, probed } from '../helpers/deploy-promises.js'
import { kustomized } from '../helpers/deploy-tools.js'
import { only } from '../helpers/kubernetes.js'
import type { Manifest, Tree } from '../helpers/kubernetes.js'

const ROOT = 'deploy/kubernetes'

/** Of the agents in the configuration: what the NetworkPolicy lets the gateway reach is they and DNS, and nothing else. */
function reachesAgents (t: Test, policy: Manifest, config: Config): void {
  const [dns, agents, ...more] = policy.spec.egress
  t.same(more, [])
  t.same(dns.ports.map((one: Tree) => `${String(one.protocol)} ${String(one.port)}`), ['UDP 53', 'TCP 53'])
  t.same(dns.to, [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } }
    }
  ])
  const urls = config.agents.map(one => new URL(one.upstream.url))
  t.same(agents.ports, [...new Set(urls.map(url => Number(url.port)))].map(port => ({ protocol: 'TCP', port })))
  const named = urls.map(url => /^[^.]+\.([^.]+)\.svc$/.exec(url.hostname)?.[1]).filter(one => one !== undefined)
  t.same(agents.to.flatMap((one: Tree) => one.namespaceSelector?.matchExpressions?.[0].values ?? []), named, 'the namespaces of the agents')
}

function lets (t: Test, policy: Manifest, http: string, metrics: string): void {
  t.same(
    policy.spec.ingress,
    [
      { ports: [{ protocol: 'TCP', port: http }] },
      {
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
        ports: [{ protocol: 'TCP', port: metrics }]
      }
    ],
    'calls from anywhere, metrics for Prometheus'
  )
}

for (const folder of ['base', 'overlays/shared-gateway']) {
  t.test(folder, async t => {
    const all = kustomized(join(ROOT, folder))
    coherent(t, all)
    const config = configured(t, all)
    await probed(t, all)
    const policy = only(all, 'NetworkPolicy')
    t.same(policy.spec.policyTypes, ['Ingress', 'Egress'])
    lets(t, policy, 'http', 'metrics')
    reachesAgents(t, policy, config)
    t.match(
      gatewayOf(podOf(only(all, 'Deployment'))).readinessProbe.httpGet.path,
      /agents=any/,
      'one agent that is away does not take the others with it'
    )
    for (const kind of ['ServiceAccount', 'PodDisruptionBudget', 'HorizontalPodAutoscaler']) only(all, kind)
    const namespaces = new Set(all.filter(one => one.kind !== 'Namespace').map(one => one.metadata.namespace))
    t.same([...namespaces], [folder === 'base' ? undefined : only(all, 'Namespace').metadata.name])
  })
}

t.test('overlays/sidecar', async t => {
  const all = kustomized(join(ROOT, 'overlays/sidecar'))
  coherent(t, all)
  const config = configured(t, all)
  await probed(t, all)
  const pod = podOf(only(all, 'Deployment'))
  t.same(pod.containers.map((one: Tree) => one.name), ['agent'])
  const gateway = gatewayOf(pod)
  t.ok(pod.initContainers.includes(gateway))
  t.equal(gateway.restartPolicy, 'Always', 'a native sidecar: started before the agent, stopped after it')
  t.equal(gateway.startupProbe.httpGet.path, '/livez', 'the agent starts after this, so its card is not asked for')
  t.equal(gateway.readinessProbe.httpGet.path, '/readyz')
  const environment = new Map<string, string>(pod.containers[0].env.map((one: Tree) => [one.name, one.value]))
  t.equal(environment.get('HOST'), '127.0.0.1', 'nobody reaches the agent but through the gateway')
  t.equal(new URL(config.agents[0]?.upstream.url ?? '').host, `127.0.0.1:${String(environment.get('PORT'))}`)
  t.equal(only(all, 'Service').spec.ports[0].targetPort, 'gateway')
  lets(t, only(all, 'NetworkPolicy'), 'gateway', 'gateway-metrics')
  const { annotations } = only(all, 'Deployment').spec.template.metadata
  t.equal(Number(annotations['prometheus.io/port']), config.server.metrics?.port)
})

/** The overlay of a shared gateway with components. */
function withComponents (t: Test, ...names: readonly string[]): Manifest[] {
  const folder = mkdtempSync(join(ROOT, '.test-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  writeFileSync(
    join(folder, 'kustomization.yaml'),
    JSON.stringify({
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: ['../overlays/shared-gateway'],
      components: names.map(name => `../components/${name}`)
    })
  )
  const all = kustomized(relative('.', folder))
  coherent(t, all)
  return all
}

t.test('component: gRPC', async t => {
  const all = withComponents(t, 'grpc')
  t.same(only(all, 'Service', 'a2a-gateway').spec.ports.map((one: Tree) => [one.name, one.port, one.targetPort, one.appProtocol]).toSorted(), [
    ['grpc', 8082, 'grpc', 'kubernetes.io/h2c'],
    ['http', 80, 'http', 'http']
  ])
  const { ports } = gatewayOf(podOf(only(all, 'Deployment')))
  t.same(ports.find((one: Tree) => one.name === 'grpc'), { name: 'grpc', containerPort: 8082 })
  t.equal(ports.length, 4)
  t.same(only(all, 'NetworkPolicy').spec.ingress[0], { ports: [{ protocol: 'TCP', port: 'http' }, { protocol: 'TCP', port: 'grpc' }] })
})

t.test('component: the listener for a mesh', async t => {
  const all = withComponents(t, 'mesh')
  t.same(only(all, 'Service', 'a2a-gateway').spec.ports.find((one: Tree) => one.name === 'mesh'), {
    name: 'mesh', port: 9002, targetPort: 'mesh', appProtocol: 'kubernetes.io/h2c'
  })
  t.same(gatewayOf(podOf(only(all, 'Deployment'))).ports.find((one: Tree) => one.name === 'mesh'), { name: 'mesh', containerPort: 9002 })
  const { ingress } = only(all, 'NetworkPolicy').spec
  const open = ingress.filter((one: Tree) => one.ports.some(({ port }: Tree) => port === 'mesh'))
  t.equal(open.length, 1)
  t.ok(open[0].from.length > 0, 'nobody but the proxies reaches it')
})

t.test('components: monitoring and a route', async t => {
  const all = withComponents(t, 'monitoring', 'http-route')
  const monitor = only(all, 'ServiceMonitor')
  const service = only(all, 'Service', 'a2a-gateway-admin')
  const found = all.filter(
    one =>
      one.kind === 'Service' &&
      Object.entries(monitor.spec.selector.matchLabels).every(([name, value]) => one.metadata.labels[name] === value)
  )
  t.same(found, [service], 'the monitor finds the Service, and not the one for calls')
  t.same(monitor.spec.endpoints.map((one: Tree) => one.port), service.spec.ports.map((one: Tree) => one.name))
  t.match(service.metadata.labels[monitor.spec.jobLabel], /a2a-gateway/, 'the alerts know the job')
  t.same(only(all, 'PrometheusRule').spec, parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')))
  const route = only(all, 'HTTPRoute').spec.rules[0]
  const target = only(all, 'Service', route.backendRefs[0].name)
  t.equal(target.spec.ports[0].port, route.backendRefs[0].port)
  t.equal(route.timeouts.request, '0s', 'streams are not cut')
})

t.test('component: an ingress', async t => {
  const all = withComponents(t, 'ingress')
  const { spec, metadata } = only(all, 'Ingress')
  const [path, ...more] = spec.rules[0].http.paths
  t.same(more, [])
  const { service } = path.backend
  t.ok(only(all, 'Service', service.name).spec.ports.some((one: Tree) => one.name === service.port.name))
  t.same(spec.tls[0].hosts, [spec.rules[0].host])
  const setting = (name: string): unknown => metadata.annotations[`nginx.ingress.kubernetes.io/${name}`]
  t.same(['proxy-buffering', 'proxy-next-upstream', 'proxy-body-size'].map(setting), ['off', 'off', '0'], 'streams pass, and no call is sent twice')
})

t.test('the schemas in the repository match the published ones', async t => {
  t.ok(schemasText() === readFileSync(FILE, 'utf8'), `${FILE} is out of date: node dist/scripts/kubernetes-schemas.js`)
  t.ok(meshSchemasText(null) === readFileSync(MESH_FILE, 'utf8'), `${MESH_FILE} is out of date: node dist/scripts/mesh-schemas.js`)
})
