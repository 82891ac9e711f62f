/** `card.changes: hold` with several processes: the primary decides about cards, and workers use what it has agreed on. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cardDigest } from '#a2a/card/digest.js'
import { lockText } from '#agents/lock/lock-file.js'
import { rpc, until, untilSame } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { cluster } from './kit.js'

const EXT = 'https://example.com/ext/consent/v1'

t.test('all workers enforce the agreed card, follow a new lock file, and reject calls when the agreement is gone', async t => {
  let required = true
  const card = (url: string): Record<string, unknown> => plainCard(url, { capabilities: { extensions: [{ uri: EXT, required }] } })
  const agent = await fakeAgent(t, { card })
  const lock = (pinned: boolean): string => {
    const entry = { url: agent.url, digest: cardDigest(card(agent.url)), requires: [], pinnedAt: '2026-11-28T12:00:00Z', pinnedBy: 'ada', card: card(agent.url) }
    return lockText(pinned ? { agent: entry } : {})
  }
  const yaml = `agents:\n  - {name: agent, upstream: {url: "${agent.url}"}, card: {changes: hold, refresh: 50ms}}\ntelemetry: {audit: {enabled: true}}`
  const gateway = await cluster(t, yaml, { files: { 'agents.lock': lock(true) } })
  const pin = (pinned: boolean): void => { writeFileSync(join(gateway.directory, 'agents.lock'), lock(pinned)) }
  /** The distinct statuses of calls that reach both workers. */
  const statuses = async (): Promise<number[]> => {
    const found = new Set<number>()
    for (let i = 0; i < 8; i++) found.add((await rpc(`${gateway.url}/rpc`)).status)
    return [...found]
  }
  const rejected = (await rpc(`${gateway.url}/rpc`)).text
  t.match(rejected, /requires/)
  required = false
  await until(async () => await gateway.metric('a2a_gateway_cards_held{agent="agent"}') === 1, 'the changed card waits')
  for (let i = 0; i < 8; i++) t.match((await rpc(`${gateway.url}/rpc`)).text, /requires/)
  t.equal(agent.received.length, 0, 'nothing has reached the agent')
  t.match(gateway.output(), /"phase":"card".*"decision":"held"/)
  pin(true)
  await until(async () => (await rpc(`${gateway.url}/rpc`)).status === 200 && !(await rpc(`${gateway.url}/rpc`)).text.includes('requires'), 'the new lock file')
  await untilSame(t, statuses, [200])
  t.equal(await gateway.metric('a2a_gateway_cards_held{agent="agent"}'), 0)
  pin(false)
  await untilSame(t, statuses, [503])
})
