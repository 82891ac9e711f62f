/** Rules on the console: violations, lines, and what enforce mode would reject; and the contents of policies on the page of extensions. */
import t from 'tap'
import type { ExplainedEntry } from '#console/rules/explained.js'
import { JSON_TYPE, call, MESSAGE, rpc, rpcBody, until, V1 } from '../helpers/http.js'
import { gatewayFor } from '../helpers/gateway.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { SERVER, tail } from './kit.js'

const URI = 'https://example.com/ext/notes/v1'
const BARE = 'https://example.com/ext/bare/v1'

const POLICY = `extensions:
  notes:
    uri: ${URI}
    owns: {metadata: ["${URI}/note", "${URI}/other"]}
    methods:
      notes/list: {need: none}
    routes:
      - {verb: GET, path: "/notes/{id}", need: none}
    request:
      - id: has-note
        select: {metadata: {key: "${URI}/note"}}
        required: true
      - id: soft
        select: {metadata: {key: "${URI}/soft"}}
        required: true
        verdict: warn
      - id: quiet
        select: {metadata: {key: "${URI}/quiet"}}
        schema: {type: string}
  idle:
    uri: urn:not-declared
    request:
      - {id: never, select: {metadata: {key: k}}, required: true}`

t.test('rules, their places, and what enforce would reject', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: URI }, { uri: BARE }] } }) })
  const gateway = await gatewayFor(t, {
    yaml: `${SERVER}\nagents: [{name: agent, mode: observe, upstream: {url: "${agent.url}"}, extensions: [notes, idle]}]\n${POLICY}`
  })
  const api = async (path: string) => (await call(`${gateway.adminUrl}/console/api/${path}`)).json()
  const send = () => rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, ['a2a-extensions', URI])
  await send()
  await send()
  await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: rpcBody('notes/list', {}) })
  const { entries } = await tail(t, gateway.adminUrl)
  await until(() => entries.length >= 2)
  const [first] = entries as ExplainedEntry[]
  t.match(first, { outcome: 'observed', wouldReject: true, extensions: [URI], taskId: null })
  const line = (id: string) => `test.yaml:${SERVER.split('\n').length + 4 + POLICY.split('\n').findIndex(text => text.includes(`id: ${id}`))}`
  t.match(first?.violations.find(one => one.rule === 'has-note'), {
    wouldReject: true,
    place: { policy: 'notes', key: 'request.has-note', at: line('has-note'), mode: 'observe', effect: 'reject', needs: ['mode: enforce'] }
  })
  t.match(first?.violations.find(one => one.rule === 'soft'), { wouldReject: false, place: { effect: 'warn' } }, 'a rule that only warns')

  const { rows } = await api('rules') as unknown as { rows: { rule: string }[] }
  const row = (rule: string) => rows.find(one => one.rule === rule)
  t.match(row('has-note'), { agent: 'agent', extension: 'notes', phase: 'request', enforced: 0, observed: 2, wouldReject: 2 })
  t.match(row('soft'), { observed: 2, wouldReject: 0, effect: 'warn' })
  t.match(row('quiet'), { enforced: 0, observed: 0, wouldReject: 0, at: line('quiet') }, 'rules without violations are listed')
  t.match(row('never'), { extension: 'idle', observed: 0 })

  const search = await tail(t, gateway.adminUrl, '?outcome=would-reject&q=has-note')
  await until(() => search.text().includes('data: '), 'the first event')
  t.equal(search.entries.length, 2)
  const none = await tail(t, gateway.adminUrl, '?q=no-such-text')
  await until(() => none.text().includes('data: '), 'the first event')
  t.same(none.entries, [], 'an empty result is told')

  const extensions = await api('extensions') as unknown as { rows: { uri: string }[] }
  const of = (uri: string) => extensions.rows.find(one => one.uri === uri)
  t.match(of(URI), {
    policy: 'notes',
    mode: 'observe',
    has: { rules: 3, methods: 1, routes: 1, evidence: 2, offered: 2 },
    seen: { client: 2, additions: 1 }
  })
  t.match(of(BARE), { declared: 'card', policy: null, mode: null, has: null }, 'nothing is evaluated without a policy')
  t.match(of('urn:not-declared'), { declared: null, has: { rules: 1, offered: 0 } })

  const policy = await api('policy?name=agent') as unknown as { policies: { lines: { key: string }[] }[] }
  t.match(policy.policies[0]?.lines.find(one => one.key === 'request.has-note'), { from: 'file', at: line('has-note'), value: /required: true/ })
})

t.test('an agent that cannot be reached is no fault of the gateway', async t => {
  const gateway = await gatewayFor(t, { yaml: `${SERVER}\nagents: [{name: gone, upstream: {url: "http://127.0.0.1:1"}}]` }, false)
  const api = async (path: string) => (await call(`${gateway.adminUrl}/console/api/${path}`)).json()
  await until(async () => JSON.stringify(await api('overview')).includes('ECONNREFUSED'), 'the reason')
  await rpc(`${gateway.url}/rpc`)
  t.match(await api('status'), { ready: false, problems: [], unavailable: 1, reasons: [/^agent gone: /] })
  t.match(await api('overview'), { totals: { upstream_error: 1 }, agents: [{ counts: { agentFailed: 1, gatewayFailed: 0 } }] })
  const { entries } = await tail(t, gateway.adminUrl)
  await until(() => entries.length === 1)
  t.match(entries[0], { outcome: 'upstream_error', reason: 'AGENT_NOT_READY', rule: 'gateway/no-card' })
})
