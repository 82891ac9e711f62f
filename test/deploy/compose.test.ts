/**
 * deploy/compose.yaml is consistent: files, names, ports and networks. test/system/compose.test.ts parses the file and runs parts of it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { FOLDER, instructions, mounted, readCompose } from '../helpers/compose.js'

const { services, networks, volumes } = readCompose()
const entries = Object.entries(services)
const find = (name: string): NonNullable<typeof services[string]> => {
  const service = services[name]
  if (service === undefined) throw new Error(`no service ${name}`)
  return service
}

t.test('every service is confined: read-only, no privileges, not root, reachable on this machine only', async t => {
  t.same(Object.keys(services).toSorted(), ['eightball', 'fight', 'gateway', 'grafana', 'jaeger', 'otel-collector', 'prometheus'])
  for (const [name, service] of entries) {
    t.equal(service.read_only, true, `${name}: read-only`)
    t.same(service.cap_drop, ['ALL'], `${name}: no capabilities`)
    t.same(service.security_opt, ['no-new-privileges:true'], name)
    t.match(service.user, /^[1-9]\d*:\d+$/, `${name}: not root`)
    t.match(service.image, /:v?\d+\.\d+\.\d+$/, `${name}: a version, not a moving tag`)
    for (const port of service.ports ?? []) t.match(port, /^127\.0\.0\.1:\d+:\d+$/, name)
  }
})

t.test('every service has a health check, except the one whose image has no program for it', async t => {
  for (const [name, { build, healthcheck }] of entries) {
    const own = build !== undefined && instructions(join(FOLDER, build.context, build.dockerfile)).some(one => one.name === 'HEALTHCHECK')
    t.equal(own || healthcheck !== undefined, name !== 'otel-collector', name)
  }
})

t.test('only the gateway reaches the agents', async t => {
  const on = (network: string): string[] =>
    entries
      .filter(([, service]) => service.networks?.includes(network))
      .map(([name]) => name)
      .toSorted()
  t.same(on('agents'), ['eightball', 'fight', 'gateway'])
  for (const name of ['eightball', 'fight']) {
    t.same(find(name).networks, ['agents'])
    t.equal(find(name).ports, undefined)
  }
  t.equal(networks.agents?.internal, true)
  t.equal(networks.telemetry?.internal, true)
  for (const [name, service] of entries) {
    for (const network of service.networks ?? []) t.ok(network in networks, `${name}: ${network}`)
    if (service.ports !== undefined) t.ok(service.networks?.includes('published'), `${name}: ports of internal networks are not published`)
  }
})

t.test('mounted and built files exist', async t => {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n')
  for (const [name, service] of entries) {
    for (const volume of service.volumes ?? []) {
      const [source = '', , mode] = volume.split(':')
      if (!source.startsWith('.')) t.ok(source in volumes, `${name}: ${source}`)
      else {
        t.ok(existsSync(join(FOLDER, source)), `${name}: ${source}`)
        t.equal(mode, 'ro', `${name}: ${source}`)
      }
    }
    if (service.build === undefined) continue
    const dockerfile = join(FOLDER, service.build.context, service.build.dockerfile)
    for (const { text } of instructions(dockerfile).filter(one => one.name === 'COPY' && !one.text.startsWith('--from'))) {
      for (const source of text.split(/\s+/).slice(0, -1)) t.ok(existsSync(source) && !ignored.includes(source), `${dockerfile}: ${source}`)
    }
  }
})

t.test('the gateway starts with its file, at the ports that are published, and finds its agents', async t => {
  const gateway = find('gateway')
  const file = mounted(gateway, gateway.environment?.A2A_GATEWAY_CONFIG ?? '')
  const loaded = parseConfig(readFileSync(file, 'utf8'), { file, baseDir: dirname(file), env: {} })
  t.equal(loaded.ok ? '' : loaded.problems.map(formatDiagnostic).join('\n'), '')
  if (!loaded.ok) return
  const { server, agents, telemetry } = loaded.config
  t.same(gateway.ports, [`127.0.0.1:${server.listen?.port}:${server.listen?.port}`, `127.0.0.1:${server.admin.port}:${server.admin.port}`])
  t.equal(server.publicUrl, `http://localhost:${server.listen?.port}`)
  t.ok(telemetry.traces.enabled && telemetry.audit.enabled)
  for (const { upstream } of agents) {
    const { hostname, port } = new URL(upstream.url)
    t.equal(new URL(find(hostname).environment?.URL ?? '').origin, new URL(upstream.url).origin)
    t.equal(port, instructions('deploy/agents.Dockerfile').find(one => one.name === 'EXPOSE')?.text)
  }
})

t.test('spans go from the gateway to the collector, and from there to the viewer', async t => {
  interface Collector {
    receivers: { otlp: { protocols: Record<string, { endpoint: string }> } }
    processors: object
    exporters: { otlp_grpc: { endpoint: string } }
    service: {
      pipelines: Record<string, Record<'receivers' | 'processors' | 'exporters', string[]>>
      telemetry: { metrics: { readers: { pull: { exporter: { prometheus: { port: number } } } }[] } }
    }
  }
  const service = find('otel-collector')
  const config = parse(readFileSync(mounted(service, service.command?.[0]?.split('=')[1] ?? ''), 'utf8')) as Collector
  t.same(Object.keys(config), ['receivers', 'processors', 'exporters', 'service'])
  for (const [name, pipeline] of Object.entries(config.service.pipelines)) {
    for (const kind of ['receivers', 'processors', 'exporters'] as const) {
      t.same(pipeline[kind], Object.keys(config[kind]), `${name}: ${kind} are used, all of them`)
    }
  }
  const endpoint = new URL(find('gateway').environment?.OTEL_EXPORTER_OTLP_ENDPOINT ?? '')
  t.equal(endpoint.hostname, 'otel-collector')
  t.equal(config.receivers.otlp.protocols.http?.endpoint, `0.0.0.0:${endpoint.port}`)
  t.equal(config.exporters.otlp_grpc.endpoint, 'jaeger:4317')
  t.ok(find('jaeger').networks?.includes('telemetry'))
  const { port } = config.service.telemetry.metrics.readers[0]?.pull.exporter.prometheus ?? {}
  t.match(readFileSync('deploy/prometheus/prometheus.yaml', 'utf8'), `otel-collector:${port}`)
})

t.test('Prometheus scrapes existing services, and has the rules; Grafana finds Prometheus and the dashboard', async t => {
  const prometheus = find('prometheus')
  const file = mounted(prometheus, prometheus.command?.find(one => one.startsWith('--config.file='))?.split('=')[1] ?? '')
  const config = parse(readFileSync(file, 'utf8')) as {
    rule_files: string[]
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[]
  }
  t.same(config.rule_files.map(rules => mounted(prometheus, rules)), ['deploy/prometheus/alerts.yaml'])
  for (const target of config.scrape_configs.flatMap(one => one.static_configs).flatMap(one => one.targets)) {
    const [host = ''] = target.split(':')
    if (host !== 'localhost') t.ok(find(host).networks?.includes('telemetry'), target)
  }
  t.match(config.scrape_configs[0], { job_name: /a2a-gateway/, static_configs: [{ targets: ['gateway:9902'] }] })
  const grafana = find('grafana')
  const { datasources } = parse(readFileSync(mounted(grafana, '/etc/grafana/provisioning/datasources/prometheus.yaml'), 'utf8')) as {
    datasources: { url: string }[]
  }
  for (const { url } of datasources) t.ok(find(new URL(url).hostname).networks?.some(network => grafana.networks?.includes(network)), url)
  const { providers } = parse(readFileSync(mounted(grafana, '/etc/grafana/provisioning/dashboards/a2a-gateway.yaml'), 'utf8')) as {
    providers: { options: { path: string } }[]
  }
  for (const { options } of providers) t.ok(existsSync(mounted(grafana, `${options.path}/a2a-gateway.json`)))
  t.ok(existsSync(mounted(grafana, grafana.environment?.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH ?? '')))
})
