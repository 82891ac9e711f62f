/** The two agents of the demo behave as their cards describe, in both generations and bindings. */
import t from 'tap'
import { cheat, fortune, FORTUNE_CONSENT, KONAMI_CODE, startEightball } from '../../examples/eightball.js'
import { COMPARISON, OBJECT_SCHEMAS, outcome, RESPONSE, startFight } from '../../examples/fight.js'
import { quietSdk } from '../helpers/agents.js'
import { connect } from '../helpers/sdk-clients.js'
import { clients, transports } from './matrix.js'

quietSdk()

const QUESTION = 'Oh magic 8-ball, will it rain today?'

async function all (events: AsyncIterable<unknown>): Promise<unknown[]> {
  const list = []
  for await (const event of events) list.push(event)
  return list
}

for (const client of clients) {
  for (const transport of transports) {
    t.test(`client ${client}, ${transport}`, async (t) => {
      const eightball = await startEightball({ port: 0 })
      const fight = await startFight({ port: 0 })
      t.teardown(() => Promise.all([eightball.close(), fight.close()]))
      const ask = (extensions: string[]) => connect({
        cardUrl: `${eightball.url}/.well-known/agent-card.json`, client, transport, extensions
      })

      t.equal(eightball.requests(), 0)
      const plain = JSON.stringify(await (await ask([FORTUNE_CONSENT])).send(QUESTION))
      t.ok(plain.includes(fortune(QUESTION)), 'the same question has the same answer')
      t.equal(eightball.requests(), 1, 'card fetches are not counted')

      const metadata = { [`${KONAMI_CODE}/code`]: 'motherlode' }
      const both = await ask([FORTUNE_CONSENT, KONAMI_CODE])
      t.ok(JSON.stringify(await both.send(QUESTION, { metadata })).includes(JSON.stringify(cheat('motherlode')).slice(1, -1)))
      const unasked = JSON.stringify(await (await ask([FORTUNE_CONSENT])).send(QUESTION, { metadata }))
      t.ok(unasked.includes(fortune(QUESTION)), 'a code without activation unlocks nothing')

      const fighter = await connect({
        cardUrl: `${fight.url}/.well-known/agent-card.json`,
        client,
        transport,
        extensions: [OBJECT_SCHEMAS]
      })
      const winner = JSON.stringify(outcome({ a: 'Lion', b: 'Tiger' }).winner)
      const answer = JSON.stringify(await fighter.send('', { data: { a: 'Lion', b: 'Tiger' }, mediaType: COMPARISON }))
      t.ok(answer.includes(winner))
      if (client === 'v1' || transport === 'JSONRPC') t.ok(answer.includes(RESPONSE), 'the answer names its schema')

      const events = await all(fighter.stream('commentary: Lion vs Tiger'))
      t.match(JSON.stringify(events), /Lion enters the ring.*Tiger strikes first.*Lion strikes back.*probability/)
      t.match(JSON.stringify(await fighter.send('hello')), /Who fights/)
    })
  }
}

t.test('the cards', async (t) => {
  const eightball = await startEightball({ port: 0 })
  const fight = await startFight({ port: 0 })
  t.teardown(() => Promise.all([eightball.close(), fight.close()]))
  const card = async (url: string, version?: string): Promise<unknown> => {
    const response = await fetch(`${url}/.well-known/agent-card.json`, version === undefined ? {} : { headers: { 'a2a-version': version } })
    return await response.json()
  }
  t.match(await card(eightball.url, '1.0'), {
    capabilities: { extensions: [{ uri: FORTUNE_CONSENT, required: true }, { uri: KONAMI_CODE }] }
  })
  t.match(await card(eightball.url), {
    url: `${eightball.url}/a2a/jsonrpc`,
    capabilities: { extensions: [{ uri: FORTUNE_CONSENT, required: true }, { uri: KONAMI_CODE }] }
  })
  for (const version of [undefined, '0.3', '1.0']) {
    t.match(await card(fight.url, version), { schemas: { fightComparison: { required: ['a', 'b'] }, fightResponse: { type: 'object' } } })
  }
})

t.test('a port in use is reported', async (t) => {
  const eightball = await startEightball({ port: 0 })
  t.teardown(() => eightball.close())
  await t.rejects(startFight({ port: Number(new URL(eightball.url).port) }), { code: 'EADDRINUSE' })
})
