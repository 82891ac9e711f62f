/** The shutdown of a gateway with several processes. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { oneAgent } from '../helpers/gateway.js'
import { JSON_TYPE, MESSAGE, open, readAnswer, rpcBody, until, V1 } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { alive, cluster, load, more } from './kit.js'

t.test('SIGTERM to all processes at once, under load and with streams: calls in flight are finished', async t => {
  const streams: ServerResponse[] = []
  const agent = await fakeAgent(t, {
    answer: ({ body }, response) => {
      if (body.includes('Streaming')) {
        response.setHeader('content-type', 'text/event-stream')
        response.write(
          'data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}}\n\n'
        )
        streams.push(response)
      } else {
        response.setHeader('content-type', 'application/json')
        response.end('{"jsonrpc":"2.0","id":1,"result":{}}')
      }
    }
  })
  const gateway = await cluster(t, oneAgent(agent.url), { drainTimeout: '30s' })
  const opened = Array.from({ length: 8 }, () => {
    const request = open(`${gateway.url}/rpc`, {
      headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream'],
      body: rpcBody('SendStreamingMessage', { message: MESSAGE })
    })
    request.end(rpcBody('SendStreamingMessage', { message: MESSAGE }))
    return once(request, 'response').then(([incoming]) => readAnswer(incoming))
  })
  await until(() => streams.length === 8, 'the streams', 30_000)
  t.equal(await gateway.metric('a2a_gateway_streams_active'), 8)
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
  for (const stream of streams) {
    stream.end(
      'data: {"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}}\n\n'
    )
  }
  for (const answer of await Promise.all(opened)) t.match(answer.text, /COMPLETED/)
  t.equal(await gateway.exited, 0)
  t.same(pids.filter(alive), [])
  t.match(await gateway.heard(/^stopped$/, 1), [{ level: 'info' }])
  t.same(await gateway.heard(/^worker \d+ ended/, 0), [], 'none was mourned')
})
