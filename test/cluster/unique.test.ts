/** Workers share the values of `unique`: the primary keeps them. */
import t from 'tap'
import { fakeAgent } from '../helpers/raw.js'
import { nonceCard, nonceGateway, sendAtOnce, sendNonce } from '../helpers/unique.js'
import { cluster } from './kit.js'

t.test('of 50 equal requests at once on two workers, one passes', async t => {
  const agent = await fakeAgent(t, { card: nonceCard })
  const gateway = await cluster(t, `${nonceGateway(agent.url)}\ntelemetry: {logs: {level: debug}}`)
  for (const nonce of ['a', 'b', 'c']) {
    t.match((await sendNonce(gateway.url, nonce, 1)).text, /"rule":"text"/, 'a rejected request claims nothing')
    const { passed, rejections } = await sendAtOnce([gateway.url], nonce)
    t.equal(passed, 1)
    t.equal(rejections.filter(text => text.includes('was accepted before')).length, 49)
  }
  t.equal(agent.received.length, 3)
  t.equal(new Set((await gateway.heard(/^request$/, 153)).map(line => line.worker)).size, 2, 'both workers took part')
})
