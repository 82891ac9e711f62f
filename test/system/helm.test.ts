/** The output of helm for the chart: the same as the output of kustomize for the base, and each value has its documented effect. */
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { coherent, configured, gatewayOf, podOf, probed } from '../helpers/deploy-promises.js'
import { CHART, charted, helm, kustomized } from '../helpers/deploy-tools.js'
import { kindOf, manifests, only } from '../helpers/kubernetes.js'
import type { Manifest, Tree } from '../helpers/kubernetes.js'

const KUBE = ['--kube-version', '1.36.0']
const OPTIONAL = {
  serviceMonitor: { enabled: true },
  prometheusRule: { enabled: true },
  httpRoute: { enabled: true, parentRefs: [{ name: 'public' }] },
  ingress: { enabled: true, hosts: ['agents.example.com'] }
}
const GRPC = { server: { grpc: { listen: ':9000', publicAddress: 'agents.example.com:443' } } }
const of = (values: object): Manifest[] => charted(JSON.stringify(values))
const deployed = (all: readonly Manifest[]): Tree => only(all, 'Deployment').spec
const pod = (all: readonly Manifest[]): Tree => deployed(all).template.spec
const container = (all: readonly Manifest[]): Tree => gatewayOf(pod(all))

t.test('with its defaults and with all options it is coherent, configured, and responds to its probes', async t => {
  for (const values of [{}, OPTIONAL]) {
    const all = of(values)
    coherent(t, all)
    configured(t, all)
  }
  await probed(t, of({}))
  t.same(only(of(OPTIONAL), 'PrometheusRule').spec, parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')))
  t.match(only(of({}), 'Pod').metadata.annotations, { 'helm.sh/hook': 'test' })
  t.equal(helm(['lint', CHART, '--strict']).status, 0)
})

t.test('it equals the output of kustomize for the base', async t => {
  const OWN = /^(?:app\.kubernetes\.io\/(?:instance|version|managed-by)|helm\.sh\/chart)$/
  /** Without what a release of helm adds, and without what is a default of Kubernetes. */
  const plain = (value: Tree): Tree => {
    if (Array.isArray(value)) return value.map(plain)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key, one]) => !OWN.test(key) && one !== undefined && key !== 'imagePullPolicy')
        .map(([key, one]) => [key, key === 'gateway.yaml' ? parse(one as string) : plain(one)])
    )
  }
  const byName = (all: readonly Manifest[]): Record<string, Tree> =>
    Object.fromEntries(all.map(one => [`${kindOf(one)} ${String(one.metadata.name)}`, plain(one)]))
  t.same(byName(charted('', '--no-hooks')), byName(kustomized('deploy/kubernetes/base')))
})

const WATCHING = {
  agents: [],
  agentSources: [
    { name: 'cluster', kubernetes: { namespaces: ['agents', 'more'], selector: 'a2a-gateway.io/agent=true' }, agent: { path: '/agents/{name}' } },
    { name: 'far', kubernetes: { namespaces: ['far'], selector: 'x=y', api: { url: 'https://far.example' } }, agent: { path: '/far/{name}' } }
  ]
}

t.test('a source of Services gets the right to read them, in its namespaces', async t => {
  const all = of({ config: WATCHING })
  t.equal(pod(all).automountServiceAccountToken, true)
  t.equal(pod(of({})).automountServiceAccountToken, false)
  const roles = all.filter(one => one.kind === 'Role')
  t.strictSame(roles.map(one => one.metadata.namespace), ['agents', 'more'])
  for (const { rules } of roles) {
    t.strictSame(rules.map((rule: Tree) => [rule.apiGroups, rule.resources, rule.verbs]), [
      [[''], ['services'], ['get', 'list', 'watch']],
      [['discovery.k8s.io'], ['endpointslices'], ['get', 'list', 'watch']]
    ])
  }
  const bindings = all.filter(one => one.kind === 'RoleBinding')
  t.strictSame(bindings.map(one => [one.metadata.namespace, one.roleRef.kind, one.subjects[0].name]), [
    ['agents', 'Role', pod(all).serviceAccountName], ['more', 'Role', pod(all).serviceAccountName]
  ])
  t.equal(all.filter(one => one.kind.startsWith('ClusterRole')).length, 0)
})

/** By the path of a value: another value, where it shows, and what shows there. */
const CHANGES: Readonly<Record<string, readonly [object, (all: readonly Manifest[]) => unknown, unknown]>> = {
  'image.repository': [{ image: { repository: 'r.example/g' } }, all => container(all).image, 'r.example/g:0.1.0'],
  'image.tag': [{ image: { tag: '9' } }, all => container(all).image, 'a2a-gateway:9'],
  'image.digest': [
    { image: { tag: '9', digest: `sha256:${'a'.repeat(64)}` } },
    all => container(all).image,
    `a2a-gateway@sha256:${'a'.repeat(64)}`
  ],
  'image.pullPolicy': [{ image: { pullPolicy: 'Always' } }, all => container(all).imagePullPolicy, 'Always'],
  imagePullSecrets: [
    { imagePullSecrets: [{ name: 's' }] },
    all => [pod(all).imagePullSecrets, podOf(only(all, 'Pod')).imagePullSecrets],
    [[{ name: 's' }], [{ name: 's' }]]
  ],
  fullnameOverride: [
    { fullnameOverride: 'edge' },
    all => [...new Set(all.map(one => one.metadata.name))].sort(),
    ['edge', 'edge-admin', 'edge-test']
  ],
  config: [
    { config: { server: { drainTimeout: '2m', listen: ':9000' }, agents: [{ name: 'x', upstream: { url: 'http://x' } }] } },
    all => [
      parse(only(all, 'ConfigMap').data['gateway.yaml']).agents,
      pod(all).terminationGracePeriodSeconds,
      container(all).ports[0].containerPort
    ],
    [[{ name: 'x', upstream: { url: 'http://x' } }], 140, 9000]
  ],
  configFiles: [{ configFiles: { 'a.json': '{"x": 1}\n' } }, all => only(all, 'ConfigMap').data['a.json'], '{"x": 1}\n'],
  existingConfigMap: [
    { existingConfigMap: 'mine' },
    all => [pod(all).volumes[0].configMap.name, all.filter(one => one.kind === 'ConfigMap').length],
    ['mine', 0]
  ],
  env: [{ env: [{ name: 'A', value: 'b' }] }, all => container(all).env[1], { name: 'A', value: 'b' }],
  envFrom: [{ envFrom: [{ secretRef: { name: 's' } }] }, all => container(all).envFrom, [{ secretRef: { name: 's' } }]],
  extraVolumes: [
    { extraVolumes: [{ name: 'v', secret: { secretName: 's' } }] },
    all => pod(all).volumes[1],
    { name: 'v', secret: { secretName: 's' } }
  ],
  extraVolumeMounts: [
    { extraVolumes: [{ name: 'v', emptyDir: {} }], extraVolumeMounts: [{ name: 'v', mountPath: '/v' }] },
    all => container(all).volumeMounts[1],
    { name: 'v', mountPath: '/v' }
  ],
  'rbac.create': [
    { rbac: { create: false }, config: WATCHING },
    all => [pod(all).automountServiceAccountToken, all.filter(one => one.kind === 'Role').length],
    [true, 0]
  ],
  'serviceAccount.create': [
    { serviceAccount: { create: false } },
    all => [pod(all).serviceAccountName, all.filter(one => one.kind === 'ServiceAccount').length],
    ['default', 0]
  ],
  'serviceAccount.name': [
    { serviceAccount: { name: 'n' } },
    all => [pod(all).serviceAccountName, only(all, 'ServiceAccount').metadata.name],
    ['n', 'n']
  ],
  'serviceAccount.annotations': [
    { serviceAccount: { annotations: { a: 'b' } } },
    all => only(all, 'ServiceAccount').metadata.annotations,
    { a: 'b' }
  ],
  podAnnotations: [{ podAnnotations: { a: 'b' } }, all => deployed(all).template.metadata.annotations, { a: 'b' }],
  podLabels: [{ podLabels: { a: 'b' } }, all => deployed(all).template.metadata.labels.a, 'b'],
  priorityClassName: [{ priorityClassName: 'high' }, all => pod(all).priorityClassName, 'high'],
  nodeSelector: [{ nodeSelector: { a: 'b' } }, all => pod(all).nodeSelector, { a: 'b' }],
  tolerations: [{ tolerations: [{ key: 'a', operator: 'Exists' }] }, all => pod(all).tolerations, [{ key: 'a', operator: 'Exists' }]],
  affinity: [{ affinity: { podAntiAffinity: {} } }, all => pod(all).affinity, { podAntiAffinity: {} }],
  topologySpread: [{ topologySpread: false }, all => pod(all).topologySpreadConstraints, undefined],
  'resources.requests': [
    { resources: { requests: { cpu: '1' } } },
    all => container(all).resources.requests,
    { cpu: '1', memory: '256Mi' }
  ],
  'resources.limits': [{ resources: { limits: { memory: '1Gi' } } }, all => container(all).resources.limits, { memory: '1Gi' }],
  readyWith: [{ readyWith: 'all' }, all => container(all).readinessProbe.httpGet.path, '/readyz?agents=all'],
  'termination.preStopSeconds': [
    { termination: { preStopSeconds: 30 } },
    all => [container(all).lifecycle.preStop.sleep.seconds, pod(all).terminationGracePeriodSeconds],
    [30, 65]
  ],
  'termination.spareSeconds': [{ termination: { spareSeconds: 60 } }, all => pod(all).terminationGracePeriodSeconds, 85],
  'service.type': [{ service: { type: 'LoadBalancer' } }, all => only(all, 'Service', 'a2a-gateway').spec.type, 'LoadBalancer'],
  'service.port': [
    { ...OPTIONAL, service: { port: 8000 } },
    all => [only(all, 'Service', 'a2a-gateway').spec.ports[0].port, only(all, 'HTTPRoute').spec.rules[0].backendRefs[0].port],
    [8000, 8000]
  ],
  'service.grpcPort': [
    { config: GRPC, service: { grpcPort: 443 } },
    all => [
      only(all, 'Service', 'a2a-gateway').spec.ports[1],
      container(all).ports.find((one: Tree) => one.name === 'grpc'),
      only(all, 'NetworkPolicy').spec.ingress[0].ports
    ],
    [
      { name: 'grpc', port: 443, targetPort: 'grpc', appProtocol: 'kubernetes.io/h2c' },
      { name: 'grpc', containerPort: 9000 },
      [{ protocol: 'TCP', port: 'http' }, { protocol: 'TCP', port: 'grpc' }]
    ]
  ],
  'service.annotations': [
    { service: { annotations: { a: 'b' } } },
    all => only(all, 'Service', 'a2a-gateway').metadata.annotations,
    { a: 'b' }
  ],
  replicas: [{ replicas: 7, autoscaling: { enabled: false } }, all => deployed(all).replicas, 7],
  'autoscaling.enabled': [
    { autoscaling: { enabled: false } },
    all => [all.filter(one => one.kind === 'HorizontalPodAutoscaler').length, deployed(all).replicas],
    [0, 2]
  ],
  'autoscaling.minReplicas': [{ autoscaling: { minReplicas: 3 } }, all => only(all, 'HorizontalPodAutoscaler').spec.minReplicas, 3],
  'autoscaling.maxReplicas': [{ autoscaling: { maxReplicas: 30 } }, all => only(all, 'HorizontalPodAutoscaler').spec.maxReplicas, 30],
  'autoscaling.cpu': [
    { autoscaling: { cpu: 50 } },
    all => only(all, 'HorizontalPodAutoscaler').spec.metrics[0].resource.target.averageUtilization,
    50
  ],
  'autoscaling.scaleDownSeconds': [
    { autoscaling: { scaleDownSeconds: 60 } },
    all => only(all, 'HorizontalPodAutoscaler').spec.behavior.scaleDown.stabilizationWindowSeconds,
    60
  ],
  'disruptionBudget.enabled': [
    { disruptionBudget: { enabled: false } },
    all => all.filter(one => one.kind === 'PodDisruptionBudget').length,
    0
  ],
  'disruptionBudget.maxUnavailable': [
    { disruptionBudget: { maxUnavailable: '25%' } },
    all => only(all, 'PodDisruptionBudget').spec.maxUnavailable,
    '25%'
  ],
  'networkPolicy.enabled': [{ networkPolicy: { enabled: false } }, all => all.filter(one => one.kind === 'NetworkPolicy').length, 0],
  'networkPolicy.clients': [
    { networkPolicy: { clients: [{ podSelector: {} }] } },
    all => only(all, 'NetworkPolicy').spec.ingress[0].from,
    [{ podSelector: {} }]
  ],
  'networkPolicy.prometheus': [{ networkPolicy: { prometheus: [] } }, all => only(all, 'NetworkPolicy').spec.ingress.length, 1],
  'networkPolicy.dns': [
    { networkPolicy: { dns: [{ ipBlock: { cidr: '169.254.20.10/32' } }] } },
    all => only(all, 'NetworkPolicy').spec.egress[0].to,
    [{ ipBlock: { cidr: '169.254.20.10/32' } }]
  ],
  'networkPolicy.egress': [
    { networkPolicy: { egress: [{ ports: [{ port: 6379 }] }] } },
    all => only(all, 'NetworkPolicy').spec.egress.slice(1),
    [{ ports: [{ port: 6379 }] }]
  ],
  'serviceMonitor.enabled': [{ serviceMonitor: { enabled: true } }, all => only(all, 'ServiceMonitor').spec.endpoints[0].port, 'metrics'],
  'serviceMonitor.labels': [
    { serviceMonitor: { enabled: true, labels: { release: 'p' } } },
    all => only(all, 'ServiceMonitor').metadata.labels.release,
    'p'
  ],
  'serviceMonitor.interval': [
    { serviceMonitor: { enabled: true, interval: '1m' } },
    all => only(all, 'ServiceMonitor').spec.endpoints[0].interval,
    '1m'
  ],
  'prometheusRule.enabled': [{ prometheusRule: { enabled: true } }, all => only(all, 'PrometheusRule').spec.groups.length > 0, true],
  'prometheusRule.labels': [
    { prometheusRule: { enabled: true, labels: { release: 'p' } } },
    all => only(all, 'PrometheusRule').metadata.labels.release,
    'p'
  ],
  'prometheusRule.runbookUrl': [
    { prometheusRule: { enabled: true, runbookUrl: 'https://runbooks.example.com/a2a' } },
    all => {
      const { groups } = only(all, 'PrometheusRule').spec as { groups: { rules: { alert?: string, annotations?: { runbook_url: string } }[] }[] }
      const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined)
      return alerts.every(({ alert = '', annotations }) => annotations?.runbook_url === `https://runbooks.example.com/a2a#${alert.toLowerCase()}`)
    },
    true
  ],
  'httpRoute.enabled': [OPTIONAL, all => only(all, 'HTTPRoute').spec.rules.length, 1],
  'httpRoute.parentRefs': [OPTIONAL, all => only(all, 'HTTPRoute').spec.parentRefs, [{ name: 'public' }]],
  'httpRoute.hostnames': [
    { httpRoute: { ...OPTIONAL.httpRoute, hostnames: ['a.example.com'] } },
    all => only(all, 'HTTPRoute').spec.hostnames,
    ['a.example.com']
  ],
  'httpRoute.annotations': [
    { httpRoute: { ...OPTIONAL.httpRoute, annotations: { a: 'b' } } },
    all => only(all, 'HTTPRoute').metadata.annotations,
    { a: 'b' }
  ],
  'ingress.enabled': [
    OPTIONAL,
    all => only(all, 'Ingress').spec.rules[0].http.paths[0].backend.service,
    { name: 'a2a-gateway', port: { name: 'http' } }
  ],
  'ingress.className': [{ ingress: { ...OPTIONAL.ingress, className: 'traefik' } }, all => only(all, 'Ingress').spec.ingressClassName, 'traefik'],
  'ingress.hosts': [
    { ingress: { enabled: true, hosts: ['a.example.com', '*.b.example.com'] } },
    all => (only(all, 'Ingress').spec.rules as { host: string }[]).map(one => one.host),
    ['a.example.com', '*.b.example.com']
  ],
  'ingress.tls': [
    { ingress: { ...OPTIONAL.ingress, tls: [{ hosts: ['agents.example.com'], secretName: 'tls' }] } },
    all => only(all, 'Ingress').spec.tls,
    [{ hosts: ['agents.example.com'], secretName: 'tls' }]
  ],
  'ingress.annotations': [
    { ingress: { ...OPTIONAL.ingress, annotations: { a: 'b', 'nginx.ingress.kubernetes.io/proxy-body-size': null } } },
    all => {
      const { annotations } = only(all, 'Ingress').metadata as { annotations: Record<string, string> }
      return [annotations.a, annotations['nginx.ingress.kubernetes.io/proxy-body-size'], annotations['nginx.ingress.kubernetes.io/proxy-buffering']]
    },
    ['b', undefined, 'off']
  ]
}

t.test('the Ingress equals the component of kustomize', async t => {
  const component = parse(readFileSync('deploy/kubernetes/components/ingress/ingress.yaml', 'utf8')) as Tree
  const tls = component.spec.tls
  const chart = only(of({ ingress: { ...OPTIONAL.ingress, tls } }), 'Ingress')
  t.same([chart.metadata.annotations, chart.spec], [component.metadata.annotations, component.spec])
  t.equal('ingressClassName' in only(of({ ingress: { ...OPTIONAL.ingress, className: '' } }), 'Ingress').spec, false, "the cluster's default class")
})

t.test('each value changes its setting, and the result is coherent', async t => {
  const before = of({})
  for (const [path, [values, show, expected]] of Object.entries(CHANGES)) {
    const all = of(values)
    t.same(show(all), expected, path)
    t.notSame(attempt(() => show(before)), expected, `${path}: which is not the default`)
    const extras = new Set(['serviceAccount.create', 'existingConfigMap', 'rbac.create'])
    if (!extras.has(path)) coherent(t, all)
  }
  const defaults = parse(readFileSync(`${CHART}/values.yaml`, 'utf8')) as Tree
  const GROUPS = new Set([
    'image',
    'serviceAccount',
    'rbac',
    'resources',
    'termination',
    'service',
    'autoscaling',
    'disruptionBudget',
    'networkPolicy',
    'serviceMonitor',
    'prometheusRule',
    'httpRoute',
    'ingress'
  ])
  const paths = Object.entries(defaults).flatMap(([key, value]) =>
    GROUPS.has(key) ? Object.keys(value as object).map(one => `${key}.${one}`) : [key]
  )
  t.same(Object.keys(CHANGES).sort(), paths.sort(), 'every value has its line above')
})

t.test('a gRPC port with TLS is no clear text', async t => {
  const tls = { server: { grpc: { ...GRPC.server.grpc, tls: { cert: 'tls.crt', key: 'tls.key' } } } }
  t.same(only(of({ config: tls }), 'Service', 'a2a-gateway').spec.ports[1], { name: 'grpc', port: 8082, targetPort: 'grpc' })
})

t.test('a drain timeout in any unit is respected', async t => {
  for (const [drainTimeout, seconds] of [['0s', 20], ['1500ms', 22], ['45s', 65], ['3m', 200], ['1h', 3620]] as const) {
    t.equal(pod(of({ config: { server: { drainTimeout } } })).terminationGracePeriodSeconds, seconds, drainTimeout)
  }
})

t.test('invalid values are rejected, with their place', async t => {
  const wrong: [object, RegExp][] = [
    [{ imagee: {} }, /additional properties 'imagee' not allowed/],
    [{ image: { pullPolicy: 'Sometimes' } }, /'\/image\/pullPolicy'.*'Always', 'IfNotPresent', 'Never'/],
    [{ image: { digest: 'latest' } }, /'\/image\/digest'/],
    [{ config: { server: { lisen: ':80' } } }, /'\/config\/server'.*'lisen' not allowed/],
    [{ config: { agents: {} } }, /'\/config\/agents'.*want array/],
    [{ config: { agents: [{ name: 'a' }] } }, /'\/config\/agents\/0'.*missing property 'upstream'/],
    [{ config: { limits: { jsonDepth: 'deep' } } }, /'\/config\/limits\/jsonDepth'/],
    [{ configFiles: { 'gateway.yaml': '' } }, /'\/configFiles\/gateway.yaml': false schema/],
    [{ configFiles: { 'a b': '' } }, /'\/configFiles'.*'a b' not allowed/],
    [{ readyWith: 'some' }, /'\/readyWith'.*'any', 'all'/],
    [{ service: { port: 70000 } }, /'\/service\/port'.*maximum/],
    [{ termination: { preStopSeconds: '5s' } }, /'\/termination\/preStopSeconds'.*want integer/],
    [{ autoscaling: { cpu: 0 } }, /'\/autoscaling\/cpu'.*minimum/],
    [{ networkPolicy: { enabled: 'no' } }, /'\/networkPolicy\/enabled'.*want boolean/],
    [{ httpRoute: { enabled: true } }, /'\/httpRoute\/parentRefs'.*minItems/],
    [{ ingress: { enabled: true } }, /'\/ingress\/hosts'.*minItems/],
    [{ ingress: { enabled: true, hosts: [''] } }, /'\/ingress\/hosts\/0'.*minLength/],
    [{ ingress: { tls: [{ secret: 'x' }] } }, /'\/ingress\/tls\/0'.*'secret' not allowed/]
  ]
  for (const [values, message] of wrong) {
    const { status, stderr } = helm(['template', 'a2a-gateway', CHART, ...KUBE], JSON.stringify(values))
    t.not(status, 0, JSON.stringify(values))
    t.match(stderr, message)
  }
  t.equal(container(of({ config: { limits: { jsonDepth: '${DEPTH:-64}' } } })).name, 'gateway', 'but a number may be left to a variable') // eslint-disable-line no-template-curly-in-string
})

t.test('the notes contain its address and its agents', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  cpSync(CHART, folder, { recursive: true })
  // Only with a cluster does helm show notes; as a part of a manifest it renders them without.
  renameSync(join(folder, 'templates/NOTES.txt'), join(folder, 'notes.txt'))
  writeFileSync(
    join(folder, 'templates/notes.yaml'),
    'kind: Notes\nmetadata: {name: notes}\ntext: |\n  {{- tpl (.Files.Get "notes.txt") . | nindent 2 }}\n'
  )
  const { stdout, stderr, status } = helm(
    ['template', 'edge', folder, '--show-only', 'templates/notes.yaml', '--namespace', 'shared', ...KUBE],
    JSON.stringify({ config: { agents: [{ name: 'billing', path: '/billing', upstream: { url: 'http://b' } }] } })
  )
  t.equal(status, 0, stderr)
  const { text } = only(manifests(stdout), 'Notes')
  t.match(text, /serves 1 agent\(s\) at http:\/\/edge\.shared:80\n {2}billing: \/billing in front of http:\/\/b\n/)
  t.match(text, /kubectl --namespace shared port-forward deployment\/edge 9901/)
  t.match(text, /networkPolicy\.egress/)
})

function attempt (show: () => unknown): unknown {
  try {
    return show()
  } catch (error) {
    return error
  }
}
