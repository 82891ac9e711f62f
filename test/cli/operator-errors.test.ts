/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
/** Every code of src/operator-errors.ts, each provoked once as an operator meets it: with a command, or with the plugin. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fastify } from 'fastify'
import t from 'tap'
import type { Test } from 'tap'
import type { ErrorCode } from '#operator-errors.js'
import { ERROR_HELP, listenCode } from '#operator-errors.js'
import { a2aGateway, a2aGatewayAdmin } from 'a2a-extension-gateway'
import type { A2aGatewayError } from 'a2a-extension-gateway'
import { commandLine } from '../helpers/command-line.js'
import { MAIN } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'

const AGENT = '{name: a, upstream: {url: "http://127.0.0.1:1"}}'
const agentWith = (keys: string): string => `version: 1\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, ${keys}}]\n`
const FILES = {
  'good.yaml': `version: 1\nagents: [${AGENT}]\n`,
  'syntax.yaml': 'version: [1\n',
  'variable.yaml': 'version: 1\nagents: [{name: a, upstream: {url: "${NOT_SET}"}}]\n',
  'unknown-key.yaml': agentWith('pathh: /'),
  'missing-key.yaml': 'version: 1\n',
  'value.yaml': agentWith('mode: 5'),
  'inconsistent.yaml': `version: 1\nagents: [${AGENT}, ${AGENT}]\n`,
  'file.yaml': agentWith('card: {file: none.json}'),
  'secret.yaml': agentWith('card: {headers: {x-key: {env: NOT_SET}}}'),
  'schema.yaml': agentWith('access: {allow: [{id: a, on: [all], when: {match: {type: str}}}]}'),
  'source.yaml': 'version: 1\nagents: []\nagentSources: [{name: s, admit: all, allowPrivate: [127.0.0.1/32], catalog: "http://127.0.0.1:1/c.json", agent: {path: "/{name}"}}]\n',
  locked: { 'gateway.yaml': `version: 1\nagents: [${AGENT}]\n`, 'agents.lock': '[]' },
  'call.http': 'POST http://127.0.0.1:1/\n\n{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}}\n',
  'card.http': 'POST http://127.0.0.1:1/\nA2A-Version: 1.0\n\n{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"parts": [{"text": "x"}]}}}\n',
  'broken.http': 'hello there\n',
  'bad.test.yaml': 'tests: 1\n',
  'taken.yaml': '',
  'die.cjs': 'if (require("node:cluster").isWorker) process.exit(7)'
}

type Provoke = (t: Test, directory: string) => Promise<string[]>

/** Runs a command twice: its text has the code in brackets, and its JSON in each problem. */
function command (...args: readonly string[]): Provoke {
  return async (t, directory) => {
    const plain = await commandLine(args, { cwd: directory })
    const json = await commandLine([...args, '--json'], { cwd: directory })
    const { problems } = JSON.parse(json.out) as { readonly problems: ReadonlyArray<{ readonly code?: string }> }
    t.match(plain.out + plain.err, ` [${problems[0]?.code ?? 'no code'}]\n`, 'the text has the code of the JSON')
    return problems.flatMap(({ code }) => code ?? [])
  }
}

/** Listens where no listener can. */
async function listen (port: number, host: string): Promise<string[]> {
  const server = createServer()
  const error = await new Promise(resolve => { server.on('error', resolve).listen({ port, host }) })
  return [listenCode(error) ?? 'no code']
}

/** Starts `serve` in a process of its own, with workers that end at once. Its only line has the code in brackets. */
async function serveWithoutWorkers (t: Test, directory: string): Promise<string[]> {
  const child = spawn(process.execPath, [MAIN, 'serve', '--upstream', 'http://127.0.0.1:1', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'], {
    env: { PATH: process.env.PATH, A2A_GATEWAY_WORKERS: '2', NODE_OPTIONS: `--require=${join(directory, 'die.cjs')}` },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => { text += chunk.toString() })
  t.same(await once(child, 'close'), [1, null])
  t.match(text, /^a2a-gateway serve: [^\n]*\n$/)
  return [...text.matchAll(/ \[(\w+)\]\n$/g)].map(([, code = '']) => code)
}

/** Registers the plugin. Its error has the code as a property. */
function plugin (options: object, { application = {}, env = {} } = {}): Provoke {
  return async t => {
    const app = fastify(application)
    t.teardown(() => app.close())
    const register = async (): Promise<void> => { await app.register(a2aGateway, { env, ...options } as Parameters<typeof a2aGateway>[1]) }
    const error: A2aGatewayError = await register()
      .then(() => { throw new Error('the plugin starts') }, error => error)
    t.ok(error instanceof Error)
    t.match(error.message, /^(?:a2aGateway|OTEL_)/)
    return [error.code]
  }
}

const CONFIG = { version: 1, agents: [{ name: 'a', upstream: { url: 'http://127.0.0.1:1' } }] }

/** A code without an entry does not compile. */
const PROVOKED: Readonly<Record<ErrorCode, Provoke>> = {
  A2AGW_ERR_CONFIG_UNREADABLE: command('check', 'none.yaml'),
  A2AGW_ERR_CONFIG_SYNTAX: command('check', 'syntax.yaml'),
  A2AGW_ERR_CONFIG_VARIABLE: command('check', 'variable.yaml'),
  A2AGW_ERR_CONFIG_UNKNOWN_KEY: command('check', 'unknown-key.yaml'),
  A2AGW_ERR_CONFIG_MISSING_KEY: command('check', 'missing-key.yaml'),
  A2AGW_ERR_CONFIG_VALUE: command('check', 'value.yaml'),
  A2AGW_ERR_CONFIG_INCONSISTENT: command('check', 'inconsistent.yaml'),
  A2AGW_ERR_CONFIG_FILE: command('check', 'file.yaml'),
  A2AGW_ERR_CONFIG_SECRET: command('check', 'secret.yaml'),
  A2AGW_ERR_CONFIG_SCHEMA: command('check', 'schema.yaml'),
  A2AGW_ERR_CONFIG_INVALID: plugin({ config: { ...CONFIG, agents: 1 } }),
  A2AGW_ERR_LOCK_FILE: command('agents', 'diff', '--config', 'locked/gateway.yaml'),
  A2AGW_ERR_CARD: command('check', '--live', 'good.yaml'),
  A2AGW_ERR_AGENT_SOURCE: command('check', '--live', 'source.yaml'),
  A2AGW_ERR_TELEMETRY: plugin({ config: { ...CONFIG, telemetry: { traces: { enabled: true } } } }, { env: { OTEL_TRACES_EXPORTER: 'zipkin' } }),
  // gateway/serve-cli.test.ts has the line of `serve`.
  A2AGW_ERR_ADDRESS_IN_USE: async t => await listen(Number(new URL((await fakeAgent(t)).url).port), '127.0.0.1'),
  A2AGW_ERR_ADDRESS_UNUSABLE: async () => await listen(0, '192.0.2.1'),
  A2AGW_ERR_WORKER: serveWithoutWorkers,
  A2AGW_ERR_USAGE: command('check', '--dance'),
  A2AGW_ERR_OUTPUT: command('init', '--from', 'card.http', '--output', 'taken.yaml'),
  A2AGW_ERR_RECORDING: command('explain', 'broken.http'),
  A2AGW_ERR_NOT_EXPLAINED: command('explain', 'call.http'),
  A2AGW_ERR_TEST_FILE: async (t, directory) => {
    const { out } = await commandLine(['test', '--json', 'bad.test.yaml'], { cwd: directory })
    const { files } = JSON.parse(out) as { readonly files: ReadonlyArray<{ readonly problems: ReadonlyArray<{ readonly code: string }> }> }
    t.match((await commandLine(['test', '--format', 'pretty', 'bad.test.yaml'], { cwd: directory })).out, '[A2AGW_ERR_TEST_FILE]')
    return files.flatMap(({ problems }) => problems.map(({ code }) => code))
  },
  A2AGW_ERR_CONFORM_FILE: command('conform', 'diff', 'a.json', 'b.json'),
  A2AGW_ERR_CONFORM_TARGET: command('conform', '--direct', 'http://127.0.0.1:1', '--through', 'http://127.0.0.1:1'),
  A2AGW_ERR_NOT_ALIVE: command('health', '--admin', '127.0.0.1:1'),
  A2AGW_ERR_PLUGIN_OPTIONS: plugin({}),
  A2AGW_ERR_PLUGIN_APPLICATION: async t => {
    const app = fastify()
    t.teardown(() => app.close())
    const error = await (async () => { await app.register(a2aGatewayAdmin) })().then(() => ({ code: 'none' }), error => error)
    return [error.code, ...await plugin({ config: CONFIG }, { application: { http: { insecureHTTPParser: true } } })(t, '')]
  }
}

t.test('each code, provoked once', async t => {
  const directory = t.testdir(FILES)
  t.same(Object.keys(PROVOKED).sort(), Object.keys(ERROR_HELP).sort())
  for (const [code, provoke] of Object.entries(PROVOKED)) {
    t.test(code, async t => {
      const codes = await provoke(t, directory)
      t.same([...new Set(codes)], [code])
    })
  }
})

t.test('problems of a configuration: the error for an application has each with its place and code', async t => {
  const directory = t.testdir({ 'g.yaml': FILES['unknown-key.yaml'] })
  const app = fastify()
  t.teardown(() => app.close())
  const error: A2aGatewayError = await (async () => { await app.register(a2aGateway, { config: join(directory, 'g.yaml'), env: {} }) })()
    .then(() => { throw new Error('the plugin starts') }, error => error)
  t.match(error.problems, [{ file: join(directory, 'g.yaml'), line: 2, col: 59, code: 'A2AGW_ERR_CONFIG_UNKNOWN_KEY', hint: 'did you mean "path"?' }])
  t.match(error.message, /g\.yaml:2:59: unknown key "pathh".* \[A2AGW_ERR_CONFIG_UNKNOWN_KEY\]$/)
})

t.test('a warning has no code', async t => {
  const directory = t.testdir({ 'g.yaml': agentWith('access: {allow: []}') })
  const { out } = await commandLine(['check', '--json', 'g.yaml'], { cwd: directory })
  const { problems } = JSON.parse(out) as { readonly problems: readonly object[] }
  t.match(problems, [{ severity: 'warning' }])
  t.notOk(problems.some(one => 'code' in one))
})

t.test('help describes each code', async t => {
  for (const [code, { cause, fix }] of Object.entries(ERROR_HELP)) {
    t.match((await commandLine(['help', code])).out, `${code}\n\nCause  ${cause}\nFix    ${fix}\n`)
  }
})
