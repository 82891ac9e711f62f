/**
 * The official SDKs of other languages: environments are made once, under node_modules/.cache/interop, with the ordinary clients of the
 * package registries. A missing toolchain fails the test with what to install.
 */
import type { Test } from 'tap'
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'

const run = promisify(execFile)
const HERE = inTests('interop')
const CACHE = join(HERE, '../../node_modules/.cache/interop')

/** The first use downloads and compiles; a machine may be slow at both. */
export const SETUP_TIMEOUT = 600_000

export type Sdk = 'py-1' | 'py-0.3' | 'go-2' | 'go-0.3'
/** The newest release of the Java SDK in the registry that is no preview. */
export const JAVA_VERSION = '0.3.3.Final'
export const JAVA_V1 = '1.2.0.Final'
export const SDK_VERSIONS: Readonly<Record<Sdk, string>> = { 'py-1': '1.3.0', 'py-0.3': '0.3.26', 'go-2': 'v2.3.1', 'go-0.3': 'v0.3.3' }

const PYTHON: Partial<Record<Sdk, readonly string[]>> = {
  'py-1': ['a2a-sdk[http-server,grpc]==1.3.0', 'uvicorn'],
  'py-0.3': ['a2a-sdk[http-server]==0.3.26', 'uvicorn']
}

/** Command lines of the client and the agent of an SDK; sets the SDK up where it is not yet. */
export async function programs (sdk: Sdk): Promise<Readonly<Record<'client' | 'agent', readonly string[]>>> {
  const requirements = PYTHON[sdk]
  if (requirements !== undefined) {
    const python = join(await venv(requirements), 'bin/python')
    const suffix = sdk === 'py-1' ? 'v1' : 'v03'
    const script = (name: string): string[] => [python, join(HERE, 'python', `${name}_${suffix}.py`)]
    return { client: script('client'), agent: script('agent') }
  }
  const directory = await goBuild(sdk === 'go-2' ? 'v2' : 'v03')
  return { client: [join(directory, 'client')], agent: [join(directory, 'agent')] }
}

/** Makes a virtual environment with packages of PyPI, once. @returns its directory */
export async function venv (requirements: readonly string[]): Promise<string> {
  return await madeOnce(`venv-${digest(requirements.join('\n'))}`, async directory => {
    await tool('python3', ['-m', 'venv', directory], 'install Python 3.10 or later with venv (Debian: python3-venv)')
    await tool(
      join(directory, 'bin/pip'),
      ['install', '--quiet', '--disable-pip-version-check', ...requirements],
      'pip could not install the SDK; is PyPI reachable?'
    )
  })
}

async function goBuild (module: 'v2' | 'v03'): Promise<string> {
  const source = join(HERE, 'go', module)
  const files = await Promise.all(['go.mod', 'go.sum', 'client/main.go', 'agent/main.go'].map(file => readFile(join(source, file))))
  return await madeOnce(`go-${module}-${digest(Buffer.concat(files))}`, async directory => {
    await tool('go', ['build', '-o', `${directory}/`, './...'], 'install Go 1.25 or later; is the module proxy reachable?', source)
  })
}

/**
 * A local repository of Maven with the release {@link JAVA_V1} of the Java SDK, which the registry does not have.
 * docs/contributing/interoperability.md describes how to build it.
 */
const JAVA_REPOSITORY = process.env.A2A_JAVA_REPOSITORY ?? ''
/** The reason why the Java SDK for 1.0 is not there; false when it is. */
export const NO_JAVA_V1 = JAVA_REPOSITORY === '' &&
  'set A2A_JAVA_REPOSITORY to a local repository of Maven with the Java SDK for 1.0: see docs/contributing/interoperability.md'

/** Command line of the client of the Java SDK for a version. */
export async function javaClient (version: 'v03' | 'v1' = 'v03'): Promise<readonly string[]> {
  const source = join(HERE, 'java', version)
  const repository = version === 'v1' ? [`-Dmaven.repo.local=${JAVA_REPOSITORY}`] : []
  const files = await Promise.all(['pom.xml', 'Client.java'].map(file => readFile(join(source, file))))
  const directory = await madeOnce(`java-${version}-${digest(Buffer.concat(files))}`, async directory => {
    const lib = join(directory, 'lib')
    await tool(
      'mvn',
      ['-B', '-q', ...repository, '-f', join(source, 'pom.xml'), 'dependency:copy-dependencies', `-DoutputDirectory=${lib}`],
      'install Maven (Debian: maven); is its registry reachable?'
    )
    await tool('javac', ['-d', directory, '-cp', join(lib, '*'), join(source, 'Client.java')], 'install a JDK, 17 or later (Debian: default-jdk-headless)')
  })
  return ['java', '-cp', `${directory}:${join(directory, 'lib')}/*`, 'Client']
}

/** Makes a directory once, whole or not at all, even when two tests want it at the same time. */
async function madeOnce (name: string, make: (directory: string) => Promise<void>): Promise<string> {
  const directory = join(CACHE, name)
  const lock = `${directory}.lock`
  await mkdir(CACHE, { recursive: true })
  for (const end = Date.now() + SETUP_TIMEOUT; !existsSync(join(directory, '.done')); await sleep(200)) {
    try {
      await mkdir(lock)
    } catch {
      if (Date.now() > end) throw new Error(`${lock} is held by another test, or was left behind by one: delete it`)
      continue
    }
    try {
      if (existsSync(join(directory, '.done'))) break
      await rm(directory, { recursive: true, force: true })
      await mkdir(directory)
      await make(directory)
      await mkdir(join(directory, '.making'))
      await rename(join(directory, '.making'), join(directory, '.done'))
    } finally {
      await rm(lock, { recursive: true, force: true })
    }
  }
  return directory
}

async function tool (command: string, args: readonly string[], advice: string, cwd = HERE): Promise<void> {
  try {
    await run(command, args, { cwd, timeout: SETUP_TIMEOUT })
  } catch (error) {
    const { message, stderr = '' } = error as Error & { stderr?: string }
    throw new Error(`${advice}\n${message}\n${stderr.slice(-2_000)}`)
  }
}

function digest (text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}

// ---- agents ----

export interface ForeignAgent {
  readonly url: string
  /** What it printed, access log included. */
  output (): string
  /** Lines of its log that tell of a request other than for the card. */
  calls (): string[]
}

export interface ForeignGrpcAgent extends ForeignAgent {
  /** `127.0.0.1:PORT`, as the card names it. */
  readonly grpcAddress: string
  /** The request messages that arrived by gRPC, as the agent's protobuf library prints them; a text where it cannot print them. */
  reads (): readonly unknown[]
}

/** Starts an agent of Python 1.3.0 or Go v2 that serves gRPC too. */
export async function startForeignGrpcAgent (t: Test, sdk: 'py-1' | 'go-2', args: readonly string[] = []): Promise<ForeignGrpcAgent> {
  const port = await freePort()
  const agent = await startForeignAgent(t, sdk, ['--grpc-port', String(port), ...args])
  // Each line is parsed once: there are thousands.
  const all: unknown[] = []
  let parsed = 0
  const reads = (): readonly unknown[] => {
    const output = agent.output()
    const end = output.lastIndexOf('\n') + 1
    for (const line of output.slice(parsed, end).split('\n')) if (line.startsWith('READ ')) all.push(JSON.parse(line.slice(5)))
    parsed = Math.max(parsed, end)
    return all
  }
  return { ...agent, grpcAddress: `127.0.0.1:${port}`, reads }
}

/** Starts an agent and waits for its card. */
export async function startForeignAgent (t: Test, sdk: Sdk, args: readonly string[] = []): Promise<ForeignAgent> {
  const { agent: [command = '', ...rest] } = await programs(sdk)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(command, [...rest, '--port', String(port), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PYTHONUNBUFFERED: '1' }
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => { output += chunk.toString() })
  const gone = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await gone
  })
  for (const end = Date.now() + 60_000; ; await sleep(50)) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`the ${sdk} agent does not start:\n${output}`)
    const ok = await fetch(`${url}/.well-known/agent-card.json`).then(async response => {
      await response.text()
      return response.ok
    }, () => false)
    if (ok) break
  }
  return {
    url,
    output: () => output,
    calls: () => output.split('\n').filter(line => /\b(?:GET|POST|DELETE) \//.test(line) && !line.includes('/.well-known/'))
  }
}

// ---- clients ----

export interface ClientRun {
  /** Base address of the agent: its own or the gateway's. */
  readonly url: string
  readonly transport?: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'
  /** Address of the gRPC interface in the card; replaced in results. */
  readonly grpcAddress?: string
  readonly extensions?: readonly string[]
  /** Sends this DataPart and nothing else. */
  readonly data?: unknown
  readonly mediaType?: string
  /** For the authentication interceptor of the SDK, by the name of the security scheme. Python 1 and Go v2 only. */
  readonly credentials?: Readonly<Record<string, string>>
  /** Python 1 and Go v2 only: speak 0.3. */
  readonly legacy?: boolean
  /** Python 1 and Go v2 only: all operations. */
  readonly all?: boolean
}

export type Operation =
  | 'card' | 'message' | 'send' | 'sendData' | 'stream' | 'get' | 'getUnknown' | 'sendLong' | 'cancel' | 'extendedCard'
  | 'list' | 'pushCreate' | 'pushGet' | 'pushList' | 'pushDelete' | 'pushGetDeleted' | 'subscribeFinished' | 'sendAgain' | 'subscribe'
/** What the SDK gave its caller, or the text of what it threw. */
export interface Outcome {
  readonly value?: unknown
  readonly error?: string
  /** Go v2 only: the error of the SDK that it is. */
  readonly kind?: string
}
export type ForeignStory = Partial<Record<Operation, Outcome>>

async function commandOf (sdk: Sdk | 'java-0.3' | 'java-1'): Promise<readonly string[]> {
  if (sdk === 'java-0.3') return await javaClient()
  return sdk === 'java-1' ? await javaClient('v1') : (await programs(sdk)).client
}

/** Runs the client of an SDK through its operations; ids, times and addresses in the results are replaced. */
export async function runClient (sdk: Sdk | 'java-0.3' | 'java-1', options: ClientRun): Promise<ForeignStory> {
  const [command = '', ...rest] = await commandOf(sdk)
  const args = [...rest]
  if (options.transport !== undefined && sdk !== 'go-0.3') args.push('--transport', options.transport)
  for (const uri of options.extensions ?? []) args.push('--extension', uri)
  if (options.data !== undefined) args.push('--data', JSON.stringify(options.data))
  if (options.mediaType !== undefined) args.push('--media-type', options.mediaType)
  for (const [scheme, value] of Object.entries(options.credentials ?? {})) args.push('--credential', `${scheme}=${value}`)
  if (options.legacy === true) args.push('--legacy')
  if (options.all === true) args.push('--all')
  args.push(options.url)
  const { stdout, stderr } = await run(command, args, { timeout: 120_000, maxBuffer: 1 << 24 }).catch(
    (error: Error & { stdout?: string; stderr?: string }) => {
      throw new Error(`the ${sdk} client failed: ${error.message}\n${error.stdout ?? ''}\n${error.stderr ?? ''}`)
    }
  )
  if (stdout === '') throw new Error(`the ${sdk} client said nothing: ${stderr}`)
  const story: ForeignStory = {}
  const text = options.grpcAddress === undefined ? stdout : stdout.replaceAll(options.grpcAddress, '<grpc>')
  for (const line of normalise(text, options.url).split('\n')) {
    if (line === '') continue
    const { operation, ...outcome } = JSON.parse(line) as Outcome & { operation: Operation }
    story[operation] = outcome
  }
  return settled(story)
}

/** A task that was not waited for may have come any distance. */
export function settled (story: ForeignStory): ForeignStory {
  const begun = Object.fromEntries((['sendLong', 'sendAgain'] as const).flatMap(one =>
    story[one]?.value === undefined ? [] : [[one, { value: 'a task' }]]))
  return { ...story, ...begun }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g

/** With ids, times and the address replaced, so that two stories can be compared. */
export function normalise (text: string, base: string): string {
  const ids = new Map<string, string>()
  return text.replaceAll(base, '<agent>').replace(TIME, '<time>').replace(UUID, id => {
    if (!ids.has(id)) ids.set(id, `<id-${ids.size + 1}>`)
    return ids.get(id)!
  })
}
