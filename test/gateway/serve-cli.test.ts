/** The command line, as a process. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { commandLine } from '../helpers/command-line.js'
import type { Ran } from '../helpers/command-line.js'
import { freePort, freePorts, rpc, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { MAIN } from '../helpers/paths.js'
import { start } from '../helpers/started.js'

if (!existsSync(MAIN)) throw new Error('dist/ is not built: run "npm run build"')

interface Run {
  readonly output: () => string
  readonly errors: () => string
  readonly exited: Promise<number | null>
  readonly stop: (signal: NodeJS.Signals) => void
}

function run (t: Test, args: readonly string[], env: NodeJS.ProcessEnv = {}): Run {
  const child = start(t, process.execPath, [MAIN, ...args], { env: { PATH: process.env.PATH, ...env }, cwd: tmpdir() })
  return { output: child.output, errors: child.errors, exited: child.exited.then(([code]) => code), stop: child.kill }
}

async function ended (
  t: Test,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {}
): Promise<{ code: number | null; out: string; err: string }> {
  const child = run(t, args, env)
  const code = await child.exited
  return { code, out: child.output(), err: child.errors() }
}

/** A command line that does not serve. */
const command = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> => commandLine(args, { env, cwd: tmpdir() })

function configFile (t: Test, text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'serve-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const file = join(directory, 'gateway.yaml')
  writeFileSync(file, text)
  return file
}

const listening = (child: Run): Promise<void> =>
  until(() => child.output().includes('"msg":"listening"') || child.errors() !== '', `the gateway to listen: ${child.errors()}`, 30_000)

t.test('help and version', async t => {
  for (const flag of ['--help', '-h', 'help']) t.match(await command([flag]), { code: 0, out: /a2a-gateway serve/, err: '' }, flag)
  t.match(await command(['serve', '--help']), { code: 0, out: /--upstream/ })
  t.match(await command(['--version']), { code: 0, out: /^\d+\.\d+\.\d+\n$/ })
  t.match(await command([]), { code: 2, out: '', err: /Environment/ })
})

t.test('invalid arguments are reported, with the valid ones', async t => {
  t.match(await command(['dance']), { code: 2, out: '', err: /no command "dance".*serve, check/ })
  t.match(await command(['constructor']), { code: 2, err: /no command/ })
  t.match(await command(['serve', '--upstraem', 'x']), { code: 2, err: /--upstraem.*--upstream/ })
  t.match(await command(['serve', '--listen']), { code: 2, err: /--listen/ })
  t.match(await command(['serve', 'file.yaml', 'other.yaml']), { code: 2, err: /other\.yaml/ })
  t.match(await command(['schema', '--config', 'x']), { code: 2, err: /its flags are --tests, --json/ })
})

t.test('a problem of the configuration is file:line:col, and exit code 1', async t => {
  const file = configFile(t, 'version: 1\nagents:\n  - name: a\n    upstream: {url: "http://127.0.0.1:1"}\n    pathh: /x\n')
  t.match(await ended(t, ['serve', '--config', file]), { code: 1, err: /gateway\.yaml:5:5: .*"pathh".*did you mean "path"/ })
  t.match(await ended(t, ['serve', '--config', join(file, 'none')]), { code: 2, err: /none/ })
  t.match(await ended(t, ['serve']), { code: 2, err: /upstream/i })
  t.match(await ended(t, ['serve', '--upstream', 'not a url']), { code: 2, err: /--upstream/ })
  t.match(await ended(t, ['serve'], { A2A_GATEWAY_UPSTREAM: 'nope' }), { code: 2, err: /A2A_GATEWAY_UPSTREAM/ })
})

t.test('init and check --live as commands', async t => {
  const agent = await fakeAgent(t)
  const made = await command(['init', agent.url])
  t.match(made, { code: 0, err: '' })
  const file = configFile(t, made.out)
  t.match(await command(['check', '--live', '--config', file]), { code: 0, out: /ok: 1 agent/ })
  t.match(await command(['init']), { code: 2, out: '', err: /URL of an agent is required/ })
  t.match(await command(['init', agent.url, 'x']), { code: 2, out: '', err: /must be an absolute http or https URL/ })
  t.match(await command(['init', '--output', file, agent.url]), { code: 1, err: /exists already/ })
  t.match(await command(['check', '--live'], { A2A_GATEWAY_UPSTREAM: 'http://127.0.0.1:1' }), {
    code: 1,
    out: /^agent agent: card http:\/\/127\.0\.0\.1:1\/.*cannot be reached/
  })
})

t.test('a schema that does not compile prevents the start, with its place', async t => {
  const file = configFile(
    t,
    'version: 1\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [p]}]\nextensions:\n  p:\n    uri: urn:p\n    request: [{id: r, select: {part: {}}, schema: {type: 5}}]\n'
  )
  for (const name of ['serve', 'check']) {
    const args = [name, '--config', file]
    const result = name === 'serve' ? await ended(t, args) : await command(args)
    t.match(
      [result.code, result.out + result.err],
      [1, /gateway\.yaml:6:58: extensions\.p\.request\[0\]\.schema cannot be used: \/type/],
      name
    )
  }
})

t.test('--upstream alone serves one agent; health checks it; SIGINT stops it', async t => {
  const agent = await fakeAgent(t)
  const [listen, admin] = (await freePorts(2)).map(port => `127.0.0.1:${port}`) as [string, string]
  const child = run(t, ['serve', '--upstream', agent.url, '--listen', listen, '--admin', admin])
  await listening(child)
  await until(async () => (await fetch(`http://${admin}/readyz`)).ok)
  t.equal((await rpc(`http://${listen}/rpc`)).status, 200)
  t.match(await command(['health', '--admin', admin]), { code: 0, out: 'live\n' })
  t.match(await command(['health'], { A2A_GATEWAY_ADMIN: admin }), { code: 0 })
  t.match(await command(['health', '--admin', `127.0.0.1:${await freePort()}`]), {
    code: 1,
    err: /nothing listens there; set the gateway's admin listener with --admin HOST:PORT/
  })
  t.match(await command(['health', '--admin', 'nonsense::x']), { code: 2 })

  const taken = await ended(t, ['serve', '--upstream', agent.url, '--listen', listen, '--admin', '127.0.0.1:0'])
  t.match(taken, { code: 1, err: /is already in use; choose another with --listen or --admin \[A2AGW_ERR_ADDRESS_IN_USE\]\n$/ })
  t.notMatch(taken.err, / at /, 'no stack')
  t.match(await ended(t, ['serve', '--upstream', agent.url, '--listen', '127.0.0.1:0', '--admin', admin]), {
    code: 1,
    err: /is already in use/
  })

  child.stop('SIGINT')
  t.equal(await child.exited, 0)
  t.equal(child.errors(), '')
})

t.test('--upstream sends spans when the environment asks for traces', async t => {
  const agent = await fakeAgent(t)
  for (const [env, traced] of [[{}, false], [{ OTEL_TRACES_EXPORTER: 'console' }, true]] as const) {
    const [listen, admin] = (await freePorts(2)).map(port => `127.0.0.1:${port}`) as [string, string]
    const child = run(t, ['serve', '--upstream', agent.url, '--listen', listen, '--admin', admin], env)
    await listening(child)
    await until(async () => (await fetch(`http://${admin}/readyz`)).ok)
    t.equal((await rpc(`http://${listen}/rpc`)).status, 200)
    child.stop('SIGTERM')
    t.equal(await child.exited, 0)
    t.equal(child.output().includes('"span":true'), traced, `spans with ${JSON.stringify(env)}`)
    t.equal(agent.received.at(-1)?.headers.traceparent !== undefined, traced, 'trace context for the agent')
  }
})

t.test('flags win over the environment, the environment over the file', async t => {
  const agent = await fakeAgent(t)
  const [fromFile, fromEnvironment, fromFlag, admin] = await freePorts(4)
  const file = configFile(
    t,
    `version: 1\nserver: {listen: "127.0.0.1:${fromFile}", admin: "127.0.0.1:${admin}"}\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}}]\ntelemetry: {logs: {level: error}}\n`
  )
  const env = { A2A_GATEWAY_CONFIG: file, A2A_GATEWAY_UPSTREAM: agent.url, A2A_GATEWAY_LOG_LEVEL: 'info' }
  for (const [args, more, port] of [
    [[], {}, fromFile],
    [[], { A2A_GATEWAY_LISTEN: `127.0.0.1:${fromEnvironment}` }, fromEnvironment],
    [['--listen', `127.0.0.1:${fromFlag}`], { A2A_GATEWAY_LISTEN: `127.0.0.1:${fromEnvironment}` }, fromFlag]
  ] as const) {
    const child = run(t, ['serve', ...args], { ...env, ...more })
    await listening(child)
    t.equal(child.errors(), '')
    t.match(child.output(), `"url":"http://127.0.0.1:${port}"`)
    await until(async () => (await rpc(`http://127.0.0.1:${port}/rpc`)).status === 200, 'the agent of the environment')
    child.stop('SIGTERM')
    t.equal(await child.exited, 0)
  }
})

t.test('a signal while the gateway starts still ends it', async t => {
  const child = run(t, ['serve', '--upstream', 'http://127.0.0.1:1', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'])
  await new Promise(resolve => setTimeout(resolve, 100))
  child.stop('SIGTERM')
  const code = await child.exited
  t.ok(code === 0 || code === null, `ended by the handler or by the signal itself, not with ${code}`)
  t.equal(child.errors(), '')
})
