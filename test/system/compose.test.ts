/**
 * Checks deploy/compose.yaml with the library of Docker Compose, and runs its gateway and agents as processes, with the commands and
 * variables of the file. Needs Go, the Debian package `prometheus`, and `npm run build`. The test does not run images of others (Grafana,
 * Jaeger, the collector), networks and confinement, because these need an engine and a registry.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { parse, stringify } from 'yaml'
import { FORTUNE_CONSENT } from '../../examples/eightball.js'
import type { Service } from '../helpers/compose.js'
import { commandOf, mounted, readCompose } from '../helpers/compose.js'
import { freePort, rpc, until } from '../helpers/http.js'
import { MISSING, startPrometheus, until as soon } from '../helpers/prometheus.js'

const COMPOSE_GO = 'github.com/compose-spec/compose-go/v2/cmd@v2.16.2'
const { services } = readCompose()

interface Run { readonly status: number | null, readonly stdout: string, readonly stderr: string }

/** Both outputs stay apart: `go run` writes `go: downloading …` to stderr when its cache is cold. */
function tool (program: string, args: string[], missing: string, cwd = process.cwd()): Run {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', GOFLAGS: '-mod=mod' }
  })
  if (error !== undefined) throw new Error(`${program} ${missing}: ${error.message}`)
  return { status, stdout, stderr }
}

t.test('Docker Compose accepts the file, and rejects unknown keys', async t => {
  const read = (folder: string): ReturnType<typeof tool> => tool('go', ['run', COMPOSE_GO, 'compose.yaml'], 'not found: install Go', folder)
  const found = read('deploy')
  t.equal(found.status, 0, found.stderr)
  const project = parse(found.stdout) as { services: Record<string, { read_only: boolean }> }
  t.same(Object.keys(project.services).toSorted(), Object.keys(services).toSorted())
  t.ok(Object.values(project.services).every(service => service.read_only))
  const demo = read('.')
  t.equal(demo.status, 0, demo.stderr)
  const { services: ofDemo, networks, volumes } = parse(demo.stdout) as Record<string, unknown>
  t.match(parse(found.stdout), { services: ofDemo, networks, volumes }, 'compose.yaml in the root is the same demo')
  t.same(Object.keys(ofDemo as object).toSorted(), Object.keys(services).toSorted())

  const folder = mkdtempSync(join(tmpdir(), 'compose-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  cpSync('deploy', folder, { recursive: true })
  const text = readFileSync('deploy/compose.yaml', 'utf8')
  for (const [from, to] of [['read_only: true', 'readonly: true'], ['mem_limit: 512m', 'mem_limit: [512m]']] as const) {
    t.ok(text.includes(from))
    writeFileSync(join(folder, 'compose.yaml'), text.replace(from, to))
    t.not(read(folder).status, 0, to)
  }
})

t.test('promtool accepts the configuration of Prometheus', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  cpSync('deploy/prometheus', folder, { recursive: true })
  const file = join(folder, 'prometheus.yaml')
  // In the container the rules are beside it, too.
  writeFileSync(file, readFileSync(file, 'utf8').replace('/etc/prometheus/', ''))
  const { status, stdout, stderr } = tool('promtool', ['check', 'config', file], MISSING)
  t.equal(status, 0, stderr)
  t.match(stdout, /SUCCESS: \d+ rules found/)
  writeFileSync(file, stringify({ ...parse(readFileSync(file, 'utf8')) as object, scrapes: [] }))
  t.not(tool('promtool', ['check', 'config', file], MISSING).status, 0, 'an unknown key is noticed')
})

/** The service as a process, heard on loopback. @returns what it has written so far */
function run (t: Test, service: Service, overrides: NodeJS.ProcessEnv): () => string {
  const { args, env } = commandOf(service)
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env, ...service.environment, ...overrides },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => { output += chunk.toString() })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    const late = setTimeout(() => { child.kill('SIGKILL') }, 10_000)
    await exited
    clearTimeout(late)
  })
  return () => {
    if (child.exitCode !== null) throw new Error(`it has stopped: ${output}`)
    return output
  }
}

t.test('gateway and agents, as the file starts them: a call is rejected, one is forwarded, both are counted and traced', async t => {
  const find = (name: string): Service => services[name] ?? (() => { throw new Error(`no service ${name}`) })()
  const spans: string[] = []
  const collector = createServer((request, response) => {
    request.resume().once('end', () => {
      spans.push(request.url ?? '')
      response.end()
    })
  }).listen(0, '127.0.0.1')
  await once(collector, 'listening')
  t.teardown(() => { collector.closeAllConnections(); collector.close() })

  const urls: Record<string, string> = {}
  for (const name of ['eightball', 'fight']) {
    const port = String(await freePort())
    const output = run(t, find(name), { HOST: '127.0.0.1', PORT: port })
    await until(() => output().includes(`${name} listens on`), name, 30_000)
    t.match(output(), `its card names ${find(name).environment?.URL}`)
    urls[`${name.toUpperCase()}_URL`] = `http://127.0.0.1:${port}`
  }
  const gateway = find('gateway')
  const admin = `127.0.0.1:${await freePort()}`
  const output = run(t, gateway, {
    ...urls,
    A2A_GATEWAY_CONFIG: mounted(gateway, gateway.environment?.A2A_GATEWAY_CONFIG ?? ''),
    A2A_GATEWAY_LISTEN: '127.0.0.1:0',
    A2A_GATEWAY_ADMIN: admin,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_BSP_SCHEDULE_DELAY: '100'
  })
  await until(async () => output().includes('"listening"') && (await fetch(`http://${admin}/readyz`)).ok, 'the gateway', 60_000)
  const { url = '', metrics = '' } =
    output()
      .split('\n')
      .filter(line => line.includes('"listening"'))
      .map(line => JSON.parse(line) as { url: string; metrics: string })[0] ?? {}

  const address = `${url}/agents/eightball/a2a/jsonrpc`
  const refused = await rpc(address)
  t.equal(refused.headers['gateway-decision'], `reject;rule="${FORTUNE_CONSENT}/required"`)
  const forwarded = await rpc(
    address,
    'SendMessage',
    { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Will it rain?' }] } },
    ['a2a-extensions', FORTUNE_CONSENT]
  )
  t.match(forwarded.json(), { result: { message: { role: 'ROLE_AGENT' } } })
  t.equal(forwarded.headers['gateway-decision'], undefined)
  t.match(output().split('\n').find(line => line.includes('"audit":true')), FORTUNE_CONSENT)
  await until(() => spans.includes('/v1/traces'), 'spans', 30_000)

  await t.test('the commands of the page work', async t => {
    const [, block = ''] =
      /^## With the monitoring stack\n[^]*?The gateway rejects the first of these calls and forwards the second:\n\n```sh\n([^]*?)```/m.exec(
        readFileSync('docs/how-to/run.md', 'utf8')
      ) ?? []
    const commands = block.replaceAll('\\\n', ' ').trim().split('\n').map(command => command.replace('http://localhost:8080', url))
    const answers = commands.map(command => tool('sh', ['-c', command], 'not found').stdout)
    t.equal(answers.length, 2)
    t.match(answers[0], /^gateway-decision: reject;/m)
    t.match(answers[1], /"role":"ROLE_AGENT"/)
  })

  const {
    scrape_configs: [job]
  } = parse(readFileSync('deploy/prometheus/prometheus.yaml', 'utf8')) as {
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[]
  }
  t.same(job?.static_configs[0]?.targets, ['gateway:9902'])
  const prometheus = await startPrometheus(t, metrics.replace(/^http:\/\//, ''), {
    job: job?.job_name ?? '',
    rules: ['deploy/prometheus/alerts.yaml']
  })
  const outcomes = await soon('both calls', 30, async () => {
    const found = await prometheus.query('sum by (outcome) (a2a_gateway_requests_total{agent="eightball"})')
    return found.length === 2 && found.every(({ value }) => value[1] === '2') ? found : null
  })
  t.same(Object.fromEntries(outcomes.map(({ metric, value }) => [metric.outcome, value[1]])), { forwarded: '2', rejected: '2' })
})
