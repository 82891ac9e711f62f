/**
 * Cards contain text of strangers. For every card, the data that the console sends to its page is bounded, and the page treats it as data.
 */
import t from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import { call, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { consoleFor, hostileCard, SERVER } from './kit.js'

t.test('a hostile card reaches the page as bounded data', async t => {
  const { api } = await consoleFor(t, '{tryIt: true}', ', extensions: [object-schemas]', hostileCard())
  const sizes: Record<string, number> = {}
  for (const path of ['overview', 'extensions', 'agent?name=agent', 'card?name=agent', 'policy?name=agent', 'form?name=agent']) {
    const answer = await api(`api/${path}`)
    t.equal(answer.status, 200, path)
    t.equal(answer.headers['content-type'], 'application/json; charset=utf-8', 'a browser never takes it for a page')
    sizes[path] = answer.bytes.length
    answer.json()
  }
  t.ok(Object.values(sizes).every(size => size < 700_000), JSON.stringify(sizes))
  const overview = (await api('api/overview')).text
  t.ok(overview.length < 30_000)
  t.match((await api('api/extensions')).json(), { rows: { length: 64 }, omitted: 0 }, 'each of its extensions')
})

t.test('an unusable card is reported with a bounded message', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, hostileCard(500)) })
  const gateway = await gatewayFor(t, { yaml: `${SERVER}\nagents: [{name: agent, upstream: {url: "${agent.url}"}}]` }, false)
  const api = (path: string) => call(`${gateway.adminUrl}/console/api/${path}`)
  await until(async () => (await api('overview')).text.includes('more than 64 extensions'), 'the reason', 30_000)
  t.match((await api('overview')).json(), { ready: false, agents: [{ ready: false, card: { problem: /more than 64 extensions/ } }] })
  t.match((await api('card?name=agent')).json(), { diff: null })
  t.match((await api('form?name=agent')).json(), { interfaces: [] })
  t.match((await api('extensions')).json(), { rows: [{ policy: 'object-schemas', declared: null }] })
})
