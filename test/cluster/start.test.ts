/** Conditions under which a gateway with several processes cannot start. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { freePort, until } from '../helpers/http.js'
import { MAIN } from '../helpers/paths.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'

const ANY_PORT = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']

async function ended (
  t: Test,
  args: readonly string[],
  env: NodeJS.ProcessEnv
): Promise<{ readonly code: number; readonly errors: string }> {
  const child = spawn(process.execPath, [MAIN, 'serve', ...args], {
    env: { PATH: process.env.PATH, A2A_GATEWAY_WORKERS: '2', ...env },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, errors }
}

t.test('workers that die at once: an error after a few attempts', async t => {
  const agent = await fakeAgent(t)
  const directory = t.testdir({ 'die.cjs': 'if (require("node:cluster").isWorker) process.exit(7)' })
  t.same(await ended(t, ['--upstream', agent.url, ...ANY_PORT], { NODE_OPTIONS: `--require=${join(directory, 'die.cjs')}` }),
    { code: 1, errors: 'a2a-gateway serve: no worker can start; the last one ended with exit code 7 [A2AGW_ERR_WORKER]\n' })
})

t.test('a worker that reports why it cannot start is not started again', async t => {
  const agent = await fakeAgent(t)
  const directory = t.testdir({ 'g.yaml': `version: 1\ntelemetry: {traces: {enabled: true}}\n${oneAgent(agent.url)}\n` })
  t.match(await ended(t, ['--config', join(directory, 'g.yaml'), ...ANY_PORT], { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), {
    code: 1,
    errors: /^a2a-gateway serve: .*"grpc"/
  })
})

t.test('an address in use is reported as with one process', async t => {
  const agent = await fakeAgent(t)
  t.match(await ended(t, ['--upstream', agent.url, '--listen', new URL(agent.url).host, '--admin', '127.0.0.1:0'], {}), {
    code: 1,
    errors: /is already in use; choose another with --listen/
  })
})

/** Another process that takes the port of the main listener as soon as the primary has made it available to the workers. */
const THIEF = `
const cluster = require('node:cluster')
const net = require('node:net')
if (cluster.isPrimary) {
  const { close } = net.Server.prototype
  let left = Number(process.env.PORTS_TO_TAKE)
  net.Server.prototype.close = function (...args) {
    const at = this.address()
    if (left === 0 || at === null) return close.apply(this, args)
    left--
    this.once('close', () => { net.createServer().listen(at.port, at.address).unref() })
    return close.apply(this, args)
  }
}`

t.test('a port of the system that another process takes before the workers listen: the gateway starts with another port', async t => {
  const directory = t.testdir({ 'thief.cjs': THIEF })
  const flags = ['--require', join(directory, 'thief.cjs')]
  const agent = await fakeAgent(t)
  const gateway = await serve(t, oneAgent(agent.url), { A2A_GATEWAY_WORKERS: '2', PORTS_TO_TAKE: '1' }, { flags })
  t.equal((await fetch(`${gateway.url}/.well-known/agent-card.json`)).status, 200)
  t.equal((await gateway.heard(/^worker \d+ ended: .*EADDRINUSE/, 2)).length, 2, 'the workers could not listen at first')
})

t.test('a configured port that another process takes before the workers listen is reported', async t => {
  const directory = t.testdir({ 'thief.cjs': THIEF })
  const agent = await fakeAgent(t)
  const { code, errors } = await ended(t, ['--upstream', agent.url, '--listen', `127.0.0.1:${await freePort()}`, '--admin', '127.0.0.1:0'], {
    PORTS_TO_TAKE: '1',
    NODE_OPTIONS: `--require=${join(directory, 'thief.cjs')}`
  })
  t.equal(code, 1)
  t.match(errors, /EADDRINUSE/)
})

t.test('no other process can take the port while the gateway reads its cards', async t => {
  const port = await freePort()
  const attempts: Promise<boolean>[] = []
  const listens = async (): Promise<boolean> => {
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(() => true, () => false)
    if (isFree) server.close()
    return isFree
  }
  const agent = await fakeAgent(t, {
    card: url => {
      attempts.push(listens())
      return plainCard(url)
    }
  })
  const flags = ['--upstream', agent.url, '--listen', `127.0.0.1:${port}`, '--admin', '127.0.0.1:0']
  const child = spawn(process.execPath, [MAIN, 'serve', ...flags], { env: { PATH: process.env.PATH, A2A_GATEWAY_WORKERS: '2' }, stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  await until(() => attempts.length > 0, 'the gateway to read a card')
  t.equal(await attempts[0], false)
})
