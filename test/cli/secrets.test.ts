/**
 * No output repeats the value of a variable: errors at the start of `serve`, reloads that fail, `/agents`, and `check --live`. The values
 * are in keys that take secrets, and in texts that are not valid there.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { runCheck } from '#cli/check.js'
import { MAIN } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'

const SECRET = 'TopSecret-4711'
const SHOWN = /topsecret|4711/i
const ENV = { SECRET, PASSWORD: `${SECRET}-p`, WRONG: `${SECRET} (x` }

/* eslint-disable no-template-curly-in-string -- ${VAR} is the configuration's own syntax */
/** An agent with secrets for its card. */
const AGENT = (url: string): string => `agents:
  - name: agent
    upstream: {url: "${url}"}
    card: {headers: {authorization: {env: SECRET, prefix: "Bearer "}, x-key: {env: PASSWORD}}}
`
/** Settings with secrets, that are valid. */
const VALID = (url: string): string => `state: {store: "redis://user:\${PASSWORD}@127.0.0.1:1"}\n${AGENT(url)}`
/** Settings that are not valid, each with a value of a variable in its message's place. */
const INVALID: readonly string[] = [
  'limits: {body: "${WRONG}"}', 'telemetry: {logs: {level: "${WRONG}"}}', 'state: {store: "${WRONG}"}', 'state: {store: "redis://u:${PASSWORD}@[bad"}',
  'identity: {sources: {s: {jwt: {issuer: "${WRONG}", audience: [a]}}}}', 'identity: {sources: {s: {apiKeys: {file: "${SECRET}/missing.yaml"}}}}',
  'extensions: {p: {uri: "https://a.test/e", rules: [{id: r, schema: {pattern: "(${WRONG}"}}]}}'
]
/* eslint-enable no-template-curly-in-string */

/** An agent whose card cannot be read. */
const withoutCard = { card: () => 'broken' }

t.test('errors at the start of serve', async t => {
  const agent = await fakeAgent(t)
  for (const text of INVALID) {
    const directory = t.testdir({ 'g.yaml': `version: 1\n${text}\nagents: [{name: agent, upstream: {url: "${agent.url}"}}]\n` })
    const child = spawn(process.execPath, [MAIN, 'serve', '--config', join(directory, 'g.yaml'), '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'], {
      env: { PATH: process.env.PATH, ...ENV }, stdio: ['ignore', 'pipe', 'pipe']
    })
    t.teardown(() => child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => { output += chunk.toString() })
    const [code] = (await once(child, 'close')) as [number]
    t.not(code, 0, text)
    t.match(output, /g\.yaml:\d+:\d+/, text)
    t.notMatch(output, SHOWN, text)
  }
})

t.test('reloads that fail, the log, /agents and /metrics', async t => {
  const agent = await fakeAgent(t)
  const gateway = await serve(t, AGENT(agent.url), ENV)
  for (const [at, text] of INVALID.entries()) {
    gateway.rewrite(`${text}\nagents: [{name: agent, upstream: {url: "${agent.url}"}}]\n`)
    gateway.kill('SIGHUP')
    t.equal((await gateway.heard(/^the gateway does not use the new configuration/, at + 1)).length, at + 1, text)
  }
  for (const path of ['/agents', '/metrics', '/readyz', '/console/api/status', '/console/api/agent?name=agent']) {
    t.notMatch(await (await fetch(gateway.adminUrl + path)).text(), SHOWN, path)
  }
  t.notMatch(gateway.output(), SHOWN)
})

t.test('check, and check --live', async t => {
  const agent = await fakeAgent(t, withoutCard)
  for (const live of [false, true]) {
    for (const text of [VALID(agent.url), ...INVALID.map(one => `${one}\nagents: [{name: agent, upstream: {url: "${agent.url}"}}]\n`)]) {
      const directory = t.testdir({ 'g.yaml': `version: 1\n${text}` })
      const lines: string[] = []
      const add = (line: string): void => { lines.push(line) }
      await runCheck({ config: join(directory, 'g.yaml'), live, env: ENV }, { out: add, err: add })
      t.ok(lines.length > 0)
      t.notMatch(lines.join('\n'), SHOWN, `${live ? '--live, ' : ''}${text}`)
    }
  }
})
