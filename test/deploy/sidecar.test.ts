import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { formatDiagnostic, parseConfig } from '../../src/config/load.js'

interface Manifest {
  kind: string
  data?: Record<string, string>
  spec?: { template?: { spec?: PodSpec }, ports?: { targetPort: string }[] }
}

interface PodSpec {
  initContainers: Container[]
  containers: Container[]
  terminationGracePeriodSeconds: number
  volumes: { name: string, configMap: { name: string } }[]
}

interface Container {
  name: string
  restartPolicy?: string
  env?: { name: string, value: string }[]
  ports?: { name: string, containerPort: number }[]
  livenessProbe?: { httpGet: { path: string, port: string } }
  readinessProbe?: { httpGet: { path: string, port: string } }
  securityContext?: { runAsUser: number, readOnlyRootFilesystem: boolean, allowPrivilegeEscalation: boolean, capabilities: { drop: string[] } }
  volumeMounts?: { name: string, mountPath: string }[]
}

const manifests = parseAllDocuments(readFileSync('deploy/kubernetes/sidecar.yaml', 'utf8')).map(document => document.toJS() as Manifest)
const find = (kind: string): Manifest => {
  const found = manifests.find(manifest => manifest.kind === kind)
  if (found === undefined) throw new Error(`no ${kind} in the manifest`)
  return found
}

t.test('the configuration in the ConfigMap is one the gateway starts with', async t => {
  const files = Object.entries(find('ConfigMap').data ?? {})
  t.equal(files.length, 1)
  for (const [file, text] of files) {
    const loaded = parseConfig(text, { file, baseDir: '.', env: {} })
    t.equal(loaded.ok ? '' : loaded.problems.map(formatDiagnostic).join('\n'), '')
    if (!loaded.ok) continue
    const pod = find('Deployment').spec?.template?.spec as PodSpec
    const gateway = pod.initContainers[0] as Container
    t.equal(gateway.ports?.find(port => port.name === 'gateway')?.containerPort, loaded.config.server.listen.port, 'the container port is the one listened on')
    t.equal(gateway.ports?.find(port => port.name === 'gateway-admin')?.containerPort, loaded.config.server.admin.port)
    t.ok(pod.terminationGracePeriodSeconds * 1_000 > loaded.config.server.drainTimeout + 10_000, 'Kubernetes waits longer than a drain takes')
    const mount = gateway.volumeMounts?.[0]
    t.equal(gateway.env?.find(one => one.name === 'A2A_GATEWAY_CONFIG')?.value, `${mount?.mountPath}/${file}`, 'the file is mounted where it is looked for')
  }
})

t.test('the gateway is a native sidecar that runs without privileges, and traffic goes to it', async t => {
  const pod = find('Deployment').spec?.template?.spec as PodSpec
  const gateway = pod.initContainers[0] as Container
  t.equal(gateway.restartPolicy, 'Always')
  t.same(gateway.securityContext, { runAsUser: 1000, allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
  t.same(gateway.livenessProbe?.httpGet, { path: '/livez', port: 'gateway-admin' })
  t.same(gateway.readinessProbe?.httpGet, { path: '/readyz', port: 'gateway-admin' })
  t.equal(find('Service').spec?.ports?.[0]?.targetPort, 'gateway')
  t.equal(pod.containers[0]?.env?.find(one => one.name === 'HOST')?.value, '127.0.0.1', 'nobody reaches the agent but through the gateway')
})
