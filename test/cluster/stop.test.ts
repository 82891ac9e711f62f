/** How a gateway of several processes starts and stops. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { JSON_TYPE, MESSAGE, open, readAnswer, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { alive, cluster, load, more } from './kit.js'

const MAIN = join(import.meta.dirname, '../../dist/src/main.js')

t.test('SIGTERM to all processes at once, under load and with streams: what is in flight is finished', async t => {
  const streams: ServerResponse[] = []
  const agent = await fakeAgent(t, {
    answer: ({ body }, response) => {
      if (body.includes('Streaming')) {
        response.setHeader('content-type', 'text/event-stream')
        response.write('data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}\n\n')
        streams.push(response)
      } else {
        response.setHeader('content-type', 'application/json')
        response.end('{"jsonrpc":"2.0","id":1,"result":{}}')
      }
    }
  })
  const gateway = await cluster(t, oneAgent(agent.url), '30s')
  const opened = Array.from({ length: 8 }, () => {
    const request = open(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream'], body: rpcBody('SendStreamingMessage', { message: MESSAGE }) })
    request.end(rpcBody('SendStreamingMessage', { message: MESSAGE }))
    return once(request, 'response').then(([incoming]) => readAnswer(incoming))
  })
  await until(() => streams.length === 8, 'the streams', 30_000)
  t.equal(await gateway.metric(/^a2a_gateway_streams_active/), 8)
  const calls = load(`${gateway.url}/rpc`, 4)
  await more(calls)
  const pids = [...gateway.workers().values()]
  gateway.kill('SIGTERM')
  // As a terminal or a service manager does.
  for (const pid of pids) process.kill(pid, 'SIGTERM')
  await until(() => calls.bad.length > 0, 'nobody new to get in')
  await calls.stop()
  t.same(calls.bad.filter(one => one.what !== 'ECONNREFUSED' && one.what !== 'ECONNRESET'), [])
  t.equal((await fetch(`${gateway.adminUrl}/readyz`)).status, 503)
  for (const stream of streams) stream.end('data: {"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}}\n\n')
  for (const answer of await Promise.all(opened)) t.match(answer.text, /COMPLETED/)
  t.equal(await gateway.exited, 0)
  t.same(pids.filter(alive), [])
  t.equal(gateway.said(/^stopped$/).length, 1)
  t.same(gateway.said(/^worker \d+ ended/), [], 'none was mourned')
})

t.test('workers that die at once: an error that says so, and not for ever', async t => {
  const directory = t.testdir({ 'die.cjs': 'if (require("node:cluster").isWorker) process.exit(7)' })
  const agent = await fakeAgent(t)
  const child = spawn(process.execPath, [MAIN, 'serve', '--upstream', agent.url, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'],
    { env: { PATH: process.env.PATH, A2A_GATEWAY_WORKERS: '2', NODE_OPTIONS: `--require=${join(directory, 'die.cjs')}` }, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => { errors += chunk.toString() })
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.equal(errors, 'a2a-gateway: no worker can start; the last one ended with exit code 7\n')
})

t.test('a worker that says why it cannot start is not tried again', async t => {
  const agent = await fakeAgent(t)
  const file = join(t.testdir({ 'g.yaml': `version: 1\nserver: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", workers: 2}\ntelemetry: {traces: {enabled: true}}\n${oneAgent(agent.url)}\n` }), 'g.yaml')
  const child = spawn(process.execPath, [MAIN, 'serve', '--config', file], { env: { PATH: process.env.PATH, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => { errors += chunk.toString() })
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.match(errors, /^a2a-gateway: .*grpc/)
})

t.test('an address that is taken is told as it is with one process', async t => {
  const agent = await fakeAgent(t)
  const { port } = new URL(agent.url)
  const child = spawn(process.execPath, [MAIN, 'serve', '--upstream', agent.url, '--listen', `127.0.0.1:${port}`, '--admin', '127.0.0.1:0'], { env: { PATH: process.env.PATH, A2A_GATEWAY_WORKERS: '2' }, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => { errors += chunk.toString() })
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.match(errors, /is taken; choose another with --listen/)
})
