/** The console of a gateway with workers shows the outcomes of the calls of all workers on one page. */
import t from 'tap'
import { tail } from '../console/kit.js'
import { oneAgent } from '../helpers/gateway.js'
import { call, MESSAGE, rpc, rpcBody, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'

const REQUIRED = 'https://example.com/ext/required/v1'

t.test('decisions, counts and charts of all workers', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: REQUIRED, required: true }] } }) })
  const gateway = await serve(t, oneAgent(agent.url), { A2A_GATEWAY_WORKERS: '2' }, { console: '{tryIt: true, playground: true, requests: 1000}' })
  await until(() => gateway.said(/^worker \d+ serves$/).length === 2, 'both workers', 60_000)
  const workers = (seen: readonly { readonly id: string }[]): number => new Set(seen.map(one => one.id.split('-')[0])).size
  const { entries } = await tail(t, gateway.adminUrl)
  let calls = 0
  // Which worker takes a connection is the system's choice.
  await until(async () => {
    await Promise.all(Array.from({ length: 8 }, () => rpc(`${gateway.url}/rpc`)))
    calls += 8
    await until(() => entries.length === calls, 'all of them in the tail', 60_000)
    return workers(entries) === 2
  }, 'decisions of both', 60_000)
  t.ok(entries.every(one => one.outcome === 'rejected' && one.correction?.headers[0]?.value === REQUIRED))
  const api = async (path: string) => (await call(`${gateway.adminUrl}/console/api/${path}`)).json()
  t.match(await api('overview'), {
    workers: 2,
    ready: true,
    totals: { rejected: calls },
    agents: [{ name: 'agent', counts: { rejected: calls }, card: { state: 'ok' } }]
  })
  t.match(await api('card?name=agent'), { diff: { changed: 4 } })
  t.match(await api('policy?name=agent'), { settings: [{ key: 'mode', from: 'default' }] })
  await until(async () => {
    const { slots } = await api('series') as unknown as { slots: { rows: Record<string, { rejected: number }> }[] }
    return slots.reduce((sum, slot) => sum + (slot.rows['']?.rejected ?? 0), 0) === calls
  }, 'the charts to hold them all', 60_000)

  const replayed = await call(`${gateway.adminUrl}/console/api/playground/replay`, {
    headers: ['content-type', 'application/json', 'origin', gateway.adminUrl],
    body: JSON.stringify({ agent: 'agent', policy: 'agents: [{name: agent, mode: observe}]' })
  })
  const evaluated = Math.min(calls, 200)
  t.match(replayed.json(), { replay: { evaluated, newlyForwarded: evaluated } }, 'the requests of both are replayed')

  const tried = await call(`${gateway.adminUrl}/console/api/try`, {
    headers: ['content-type', 'application/json', 'origin', gateway.adminUrl],
    body: JSON.stringify({
      agent: 'agent',
      binding: 'JSONRPC',
      version: '1.0',
      extensions: [REQUIRED],
      body: rpcBody('SendMessage', { message: MESSAGE })
    })
  })
  t.match(tried.json(), { problem: null, answer: { status: 200 }, decision: { outcome: 'forwarded' } })
})
