/**
 * Stands for `docker`, `kind` and `kubectl` in the test of a page: `node cluster.js STATE PROGRAM ARGUMENTS`. Renders with the real
 * kustomize, validates each object, and runs the containers of Deployments as processes of this machine. STATE is a folder that keeps what
 * the commands have done.
 */
import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { kustomized } from '../helpers/deploy-tools.js'
import type { Manifest, Tree } from '../helpers/kubernetes.js'
import { kindOf, problemsOf, VERSIONS } from '../helpers/kubernetes.js'
import { MAIN } from '../helpers/paths.js'

const [state = '', tool = '', ...args] = process.argv.slice(2)

function fail (message: string): never {
  console.error(`${tool}: ${message}`)
  process.exit(1)
}

/** Names that a file of the state lists. */
const listed = (file: string): string[] => existsSync(join(state, file)) ? readFileSync(join(state, file), 'utf8').trim().split('\n') : []
const list = (file: string, name: string): void => { appendFileSync(join(state, file), `${name}\n`) }
const valueOf = (flag: string): string | undefined => args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined

function docker (): void {
  if (args[0] === 'build') {
    const file = valueOf('-f') ?? 'Dockerfile'
    if (!existsSync(file)) fail(`there is no ${file}`)
    return list('built', valueOf('-t') ?? fail('no -t'))
  }
  // docker run --rm -v FOLDER:/c:ro IMAGE ARGUMENTS
  const [folder = '', target = ''] = (valueOf('-v') ?? '').split(':')
  const image = args.findIndex(one => listed('built').includes(one))
  if (args[0] !== 'run' || image < 0) fail(`no image was built for: ${args.join(' ')}`)
  const { stdout, stderr, status } = spawnSync(process.execPath, [MAIN, ...args.slice(image + 1).map(one => one.replace(target, folder))], { encoding: 'utf8' })
  process.stdout.write(stdout.replaceAll(folder, target) + stderr.replaceAll(folder, target))
  process.exitCode = status ?? 1
}

function kind (): void {
  if (args[0] === 'create') return
  if (args[0] !== 'load') fail(`unknown command ${args.join(' ')}`)
  for (const image of args.slice(2)) {
    if (!listed('built').includes(image)) fail(`image "${image}" was not built`)
    list('loaded', image)
  }
}

/** Writes the data as the kubelet does: into a new folder, to which a link then leads. */
function mount (map: Manifest): string {
  const folder = join(state, 'volumes', String(map.metadata.name))
  mkdirSync(folder, { recursive: true })
  const version = mkdtempSync(join(folder, '..v'))
  for (const [name, text] of Object.entries(map.data as Record<string, string>)) {
    writeFileSync(join(version, name), text)
    if (!existsSync(join(folder, name))) symlinkSync(join('..data', name), join(folder, name))
  }
  symlinkSync(version, `${version}.link`)
  renameSync(`${version}.link`, join(folder, '..data'))
  return folder
}

function background (name: string, program: string, argv: readonly string[], env: Record<string, string> = {}): void {
  const log = openSync(join(state, `${name}.log`), 'a')
  spawn(program, argv, { env: { ...process.env, ...env }, stdio: ['ignore', log, log] }).unref()
}

const envOf = (container: Tree, mounts: ReadonlyMap<string, string>): Record<string, string> =>
  Object.fromEntries((container.env ?? []).map(({ name, value }: Tree) => {
    const [path = '', folder = ''] = [...mounts].find(([path]) => String(value).startsWith(`${path}/`)) ?? []
    return [name, path === '' ? value : String(value).replace(path, folder)]
  }))

/** Starts the containers of a Deployment, in their order: init containers that stay, then the others. */
function start (deployment: Manifest, folders: ReadonlyMap<string, string>): void {
  const { initContainers = [], containers, volumes = [] } = deployment.spec.template.spec
  for (const container of [...initContainers, ...containers] as Tree[]) {
    const local = listed('loaded').includes(container.image)
    if (!local && (!container.image.includes('/') || container.image.includes('a2a-gateway'))) fail(`ErrImagePull: ${container.image} is not in the cluster`)
    const mounts = new Map<string, string>((container.volumeMounts ?? []).map(({ name, mountPath }: Tree) =>
      [mountPath, folders.get(volumes.find((one: Tree) => one.name === name)?.configMap?.name) ?? join(state, name)]))
    const env = envOf(container, mounts)
    if (container.image.startsWith('a2a-gateway-agents:')) background(container.name, process.execPath, ['dist/examples/agent.js', ...container.args], env)
    else if (container.image.startsWith('a2a-gateway:')) background(container.name, process.execPath, [MAIN, 'serve'], env)
    else startPrometheus(container, mounts)
  }
}

/** There is no DNS: the target is the metrics port of this machine. */
function startPrometheus (container: Tree, mounts: ReadonlyMap<string, string>): void {
  const [flag = '', data = ''] = container.args as string[]
  const [path = '', folder = ''] = [...mounts][0] ?? []
  const text = readFileSync(flag.slice('--config.file='.length).replace(path, folder), 'utf8')
  const [dns = '', port = ''] = / {4}dns_sd_configs:\n.*port: (\d+).*\n/.exec(text) ?? fail('no dns_sd_configs')
  const config = join(state, 'prometheus.yml')
  writeFileSync(config, text.replace(dns, `    static_configs: [{targets: ["127.0.0.1:${port}"]}]\n`))
  background('prometheus', 'prometheus', [`--config.file=${config}`, data.replace('/data', join(state, 'data')), '--web.listen-address=127.0.0.1:9090'])
}

function apply (folder: string): void {
  const all = kustomized(folder)
  for (const one of all) for (const version of VERSIONS) for (const problem of problemsOf(one, version)) fail(`${kindOf(one)}: ${problem}`)
  const folders = new Map(all.filter(one => one.kind === 'ConfigMap').map(one => [String(one.metadata.name), mount(one)]))
  for (const one of all) {
    const name = `${String(one.kind).toLowerCase()}${one.apiVersion === 'v1' ? '' : `.${String(one.apiVersion).split('/')[0] ?? ''}`}/${String(one.metadata.name)}`
    const known = listed('objects').includes(name)
    if (!known) {
      list('objects', name)
      if (one.kind === 'Deployment') start(one, folders)
    }
    console.log(`${name} ${known ? 'configured' : 'created'}`)
  }
}

/** The address of the readiness probe, which the kubelet would call. */
const PROBES: Readonly<Record<string, string>> = { 'deployment/my-agent': 'http://127.0.0.1:9902/readyz', 'deployment/prometheus': 'http://127.0.0.1:9090/-/ready' }

async function kubectl (): Promise<void> {
  const [command = '', ...rest] = args.filter((one, index) => one !== '--namespace' && args[index - 1] !== '--namespace')
  switch (command) {
    case 'apply': return apply(valueOf('-k') ?? fail('no -k'))
    case 'delete': return kustomized(valueOf('-k') ?? fail('no -k')).forEach(one => { console.log(`${String(one.kind)} "${String(one.metadata.name)}" deleted`) })
    case 'logs': return process.stdout.write(readFileSync(join(state, `${valueOf('--container') ?? ''}.log`))) ? undefined : undefined
    case 'rollout': {
      const probe = PROBES[rest[1] ?? ''] ?? fail(`no deployment ${rest[1] ?? ''}`)
      for (let tries = 0; tries < 300; tries++) {
        if (await fetch(probe).then(({ ok }) => ok, () => false)) return console.log(`deployment "${rest[1]?.split('/')[1] ?? ''}" successfully rolled out`)
        await sleep(100)
      }
      return fail(`${rest[1] ?? ''} is not ready after 30 s`)
    }
    // The containers listen on this machine already.
    case 'port-forward': return await sleep(600_000)
    default: fail(`unknown command ${args.join(' ')}`)
  }
}

const TOOLS: Readonly<Record<string, () => void | Promise<void>>> = { docker, kind, kubectl }
await (TOOLS[tool] ?? (() => fail('unknown program')))()
