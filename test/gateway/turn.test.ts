/**
 * Work at the end of an event loop turn: the waiting work, its order, and the point at which a call is over: when its client can know the
 * response.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import t from 'tap'
import type { Kind } from '#call/event-loop-batch.js'
import { schedule as batch } from '#call/event-loop-batch.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { MESSAGE, readAnswer, rpcBody } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'

const turn = (): Promise<void> => new Promise(resolve => { setImmediate(resolve) })

/** Schedules work of named owners, and collects the errors of their work. */
function owners (): { schedule: (kind: Kind, name: string, run: () => void) => void, failed: string[] } {
  const failed: string[] = []
  const fail = (name: string, error: unknown): void => { failed.push(`${name}: ${(error as Error).message}`) }
  return { failed, schedule: (kind, name, run) => { batch(kind, name, run, fail) } }
}

t.test('kind by kind, each in its order of arrival, and nothing before the end of the turn', async t => {
  const done: string[] = []
  const { schedule } = owners()
  const job = (kind: Kind, name: string): void => { schedule(kind, name, () => { done.push(`${kind} ${name}`) }) }
  for (const name of ['a', 'b']) for (const kind of ['record', 'evaluate', 'decide', 'respond'] as const) job(kind, name)
  await Promise.resolve()
  await new Promise<void>(resolve => { process.nextTick(resolve) })
  t.same(done, [])
  await turn()
  t.same(done, ['respond a', 'respond b', 'decide a', 'decide b', 'evaluate a', 'evaluate b', 'record a', 'record b'])
})

t.test('the effects of the end of a response are recorded in the same turn', async t => {
  const done: string[] = []
  const { schedule } = owners()
  schedule('respond', 'a', () => {
    done.push('answered')
    // As Node tells of a response that is closed.
    process.nextTick(() => { schedule('record', 'a', () => { done.push('recorded') }) })
  })
  await turn()
  t.same(done, ['answered', 'recorded'])
})

t.test('work that creates work: of a later kind at once, of the same kind in the same turn or the next, none lost', async t => {
  const done: string[] = []
  const { schedule } = owners()
  schedule('decide', 'a', () => {
    done.push('decided')
    schedule('decide', 'a', () => { done.push('again') })
    schedule('evaluate', 'a', () => { done.push('reviewed') })
  })
  schedule('record', 'a', () => {
    done.push('recorded')
    schedule('respond', 'b', () => { done.push('next turn') })
  })
  await turn()
  t.same(done, ['decided', 'reviewed', 'again', 'recorded'])
  await turn()
  t.equal(done.at(-1), 'next turn')
})

t.test('failed work ends its own exchange, and no other exchange waits for it', async t => {
  const done: string[] = []
  const { schedule, failed } = owners()
  schedule('decide', 'a', () => { throw new Error('no') })
  schedule('decide', 'b', () => { done.push('b') })
  schedule('record', 'c', () => { throw new Error('neither') })
  schedule('record', 'd', () => { done.push('d') })
  await turn()
  t.same(done, ['b', 'd'])
  t.same(failed, ['a: no', 'c: neither'])
})

t.test('a client with its response can call again at once, even if only one call is allowed, and its call is counted', async t => {
  const agent = await fakeAgent(t, {})
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['concurrency: {requests: 1, streams: 1}']) })
  const connection = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => { connection.destroy() })
  const counted = 'a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="forwarded"}'
  const wrong: string[] = []
  for (let i = 1; i <= 50; i++) {
    const outgoing = request(`${gateway.url}/rpc`, {
      method: 'POST',
      agent: connection,
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' }
    })
    outgoing.end(rpcBody('SendMessage', { message: MESSAGE }))
    const [incoming] = await once(outgoing, 'response') as [IncomingMessage]
    const answer = await readAnswer(incoming)
    if (answer.status !== 200) wrong.push(`call ${i}: ${answer.status} ${answer.text}`)
    const calls = await gateway.metric(counted)
    if (calls !== i) wrong.push(`after call ${i}: ${calls} counted`)
  }
  t.same(wrong, [])
})
