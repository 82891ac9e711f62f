/** An error that no guard catches: the process drains, whatever else fails meanwhile, and ends with exit code 1. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { call, MESSAGE, rpcBody, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'

/** Lets a signal that the gateway does not use stand for a fault in a listener. */
const FAULT = "data:text/javascript,process.on('SIGWINCH', () => { setImmediate(() => { throw new Error('nobody expected this') }) })"

for (const workers of [1, 2]) {
  t.test(`calls in flight end, with ${workers} process${workers === 1 ? '' : 'es'}`, async t => {
    let release = (): void => {}
    let reached = 0
    const held = new Promise<void>(resolve => { release = resolve })
    const agent = await fakeAgent(t, {
      card: plainCard,
      answer: (_request, response) => {
        reached++
        held.then(() => { response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}') }, () => {})
      }
    })
    const gateway = await serve(t, `agents: [{name: agent, upstream: {url: "${agent.url}"}}]`, {}, {
      flags: ['--import', FAULT], drainTimeout: '20s', server: [`workers: ${workers}`]
    })
    const response = call(`${gateway.url}/rpc`, {
      headers: ['content-type', 'application/json', 'a2a-version', '1.0'], body: rpcBody('SendMessage', { message: MESSAGE })
    })
    await until(() => reached === 1, 'the call to reach the agent')
    const children = (): number[] => readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8').trim().split(' ').map(Number)
    const pids = workers === 1 ? [gateway.pid] : children()
    t.ok(pids.length >= workers, `the processes: ${pids.join(' ')}`)
    for (const pid of pids) process.kill(pid, 'SIGWINCH')
    await until(() => gateway.output().includes('nobody expected this'), 'the log to have the error')
    // The second error comes while the process drains.
    for (const pid of pids) process.kill(pid, 'SIGWINCH')
    await sleep(500)
    release()
    t.equal((await response).status, 200, 'the call in flight has its response')
    if (workers === 1) t.equal(await gateway.exited, 1, 'exit code')
    else await until(async () => (await gateway.metric('a2a_gateway_worker_restarts_total')) >= 1, 'another worker to take over')
  })
}
