/** Promises that hold for every deployment of the gateway, however it was rendered. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { freePort, until } from './http.js'
import { kindOf, only, problemsOf, VERSIONS } from './kubernetes.js'
import type { Manifest, Tree } from './kubernetes.js'
import { notRestricted } from './pod-security.js'

const MAIN = 'dist/src/main.js'

export const podOf = (manifest: Manifest): Tree => manifest.kind === 'Pod' ? manifest.spec : manifest.spec?.template?.spec
export const gatewayOf = (pod: Tree): Tree => [...pod.initContainers ?? [], ...pod.containers].find((one: Tree) => one.name === 'gateway')

/** Checks that the API server accepts all manifests, that containers have minimal rights, and that every reference has a target. */
export function coherent (t: Test, all: readonly Manifest[]): void {
  for (const manifest of all) {
    for (const version of VERSIONS) t.same(problemsOf(manifest, version), [], `${kindOf(manifest)} ${version}`)
    const pod = podOf(manifest)
    if (pod === undefined) continue
    t.same(notRestricted(pod), [], `${kindOf(manifest)} is of the restricted profile`)
    t.equal(pod.automountServiceAccountToken, false)
  }
  const deployment = only(all, 'Deployment')
  const labels = deployment.spec.template.metadata.labels
  const matches = (selector: Tree): boolean =>
    Object.keys(selector).length > 0 && Object.entries(selector).every(([name, value]) => labels[name] === value)
  t.ok(matches(deployment.spec.selector.matchLabels), 'the Deployment selects its Pods')
  const pod = podOf(deployment)
  const ports = gatewayOf(pod).ports.map((one: Tree) => one.name)
  for (const one of all.filter(manifest => manifest.kind === 'Service')) {
    t.ok(matches(one.spec.selector), `the Service ${String(one.metadata.name)} selects the Pods`)
    for (const port of one.spec.ports) t.ok(ports.includes(port.targetPort), `${String(one.metadata.name)} goes to a port of the gateway`)
  }
  for (const one of all.filter(manifest => manifest.kind === 'PodDisruptionBudget')) {
    t.ok(matches(one.spec.selector.matchLabels), 'the PodDisruptionBudget is of the Pods')
  }
  for (const one of all.filter(manifest => manifest.kind === 'NetworkPolicy')) {
    t.ok(matches(one.spec.podSelector.matchLabels), 'the NetworkPolicy is of the Pods')
    for (const rule of one.spec.ingress) {
      for (const port of rule.ports) t.ok(ports.includes(port.port), `it lets through to ${String(port.port)}, a port of the gateway`)
    }
  }
  for (const constraint of pod.topologySpreadConstraints ?? []) {
    t.ok(matches(constraint.labelSelector.matchLabels), 'the Pods are spread among themselves')
  }
  for (const one of all.filter(manifest => manifest.kind === 'HorizontalPodAutoscaler')) {
    t.same(one.spec.scaleTargetRef, { apiVersion: deployment.apiVersion, kind: deployment.kind, name: deployment.metadata.name })
    t.equal(deployment.spec.replicas, undefined, 'nobody else says how many there are')
    t.ok(one.spec.minReplicas <= one.spec.maxReplicas)
    t.ok(gatewayOf(pod).resources.requests.cpu !== undefined, 'a share of the CPU can be computed')
  }
  const account = pod.serviceAccountName
  if (account !== undefined) t.equal(only(all, 'ServiceAccount').metadata.name, account)
}

/** Checks that the ConfigMap is mounted at the expected path, passes `check`, and matches the Pod. */
export function configured (t: Test, all: readonly Manifest[]): Config {
  const pod = podOf(only(all, 'Deployment'))
  const gateway = gatewayOf(pod)
  const mount = gateway.volumeMounts.find((one: Tree) => one.mountPath === '/etc/a2a-gateway')
  t.equal(mount.subPath, undefined, 'a subPath mount is never updated')
  t.equal(gateway.env.find((one: Tree) => one.name === 'A2A_GATEWAY_CONFIG').value, `${String(mount.mountPath)}/gateway.yaml`)
  const map = only(all, 'ConfigMap')
  t.equal(pod.volumes.find((one: Tree) => one.name === mount.name).configMap.name, map.metadata.name)

  const folder = mkdtempSync(join(tmpdir(), 'configmap-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  for (const [name, text] of Object.entries(map.data as Record<string, string>)) writeFileSync(join(folder, name), text)
  t.match(
    execFileSync(process.execPath, [MAIN, 'check', '--config', join(folder, 'gateway.yaml')], { encoding: 'utf8' }),
    /^(?!.*warning:)/s,
    'check has nothing to say'
  )
  const loaded = parseConfig(map.data['gateway.yaml'], { file: 'gateway.yaml', baseDir: folder, env: {} })
  if (!loaded.ok) throw new Error(loaded.problems.map(formatDiagnostic).join('\n'))
  const { server, limits } = loaded.config
  const portOf = (name: RegExp): number => gateway.ports.find((one: Tree) => name.test(one.name)).containerPort
  t.equal(portOf(/^(?:http|gateway)$/), server.listen?.port)
  t.equal(portOf(/admin$/), server.admin.port)
  t.equal(portOf(/metrics$/), server.metrics?.port)
  t.equal(server.metrics?.host, '0.0.0.0', 'probes reach it')
  const stops = [gateway, ...pod.containers].map((one: Tree) => one.lifecycle?.preStop?.sleep?.seconds ?? 0)
  t.ok(Math.max(...stops) >= 5, 'Services hear that the Pod goes before it does')
  t.ok(
    pod.terminationGracePeriodSeconds >= Math.max(...stops) + server.drainTimeout / 1_000 + 10,
    'Kubernetes waits longer than a drain takes'
  )
  const memory = Number(/^(\d+)Mi$/.exec(gateway.resources.limits.memory)?.[1]) << 20
  // The formula of docs/how-to/size.md. V8 uses half of 512 MiB for its heap (measured in container.test.ts).
  t.ok(130e6 + 10 * limits.memory <= memory, 'an idle process, and all bodies at once, fit into the memory of the container')
  t.ok(5 * limits.memory <= memory / 2, 'all parsed bodies at once fit into the heap')
  return loaded.config
}

/**
 * Checks that a real gateway with this configuration responds to every probe as Kubernetes requires: alive without an agent, and not ready.
 */
export async function probed (t: Test, all: readonly Manifest[]): Promise<void> {
  const gateway = gatewayOf(podOf(only(all, 'Deployment')))
  const folder = mkdtempSync(join(tmpdir(), 'probed-'))
  const metrics = `127.0.0.1:${await freePort()}`
  const admin = `127.0.0.1:${await freePort()}`
  const configured: string = only(all, 'ConfigMap').data['gateway.yaml']
  writeFileSync(join(folder, 'gateway.yaml'), configured.replace('0.0.0.0:9902', metrics))
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--config', join(folder, 'gateway.yaml'), '--listen', '127.0.0.1:0', '--admin', admin],
    { env: { PATH: process.env.PATH }, stdio: 'ignore' }
  )
  const exited = once(child, 'exit')
  t.teardown(async () => { child.kill('SIGKILL'); await exited; rmSync(folder, { recursive: true }) })
  const ask = async (probe: Tree): Promise<number> => (await fetch(`http://${metrics}${String(probe.httpGet.path)}`)).status
  await until(async () => await ask(gateway.livenessProbe).catch(() => 0) === 200, 'the gateway to be alive', 60_000)
  t.equal(await ask(gateway.startupProbe), 200, 'it has started although no agent is there')
  t.equal(await ask(gateway.readinessProbe), 503)
  t.equal((await fetch(`http://${metrics}/metrics`)).status, 200)
  for (const path of ['/agents', '/console/']) t.equal((await fetch(`http://${metrics}${path}`)).status, 404, `${path} is not there`)
  for (const probe of ['livenessProbe', 'startupProbe', 'readinessProbe']) {
    t.equal(gateway[probe].httpGet.port, gateway.ports.find((one: Tree) => /metrics$/.test(one.name)).name, probe)
  }
}
