/** Conditions under which a gateway with several processes cannot start. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { fakeAgent } from '../helpers/raw.js'
import { MAIN } from '../helpers/paths.js'

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
    { code: 1, errors: 'a2a-gateway serve: no worker can start; the last one ended with exit code 7\n' })
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
