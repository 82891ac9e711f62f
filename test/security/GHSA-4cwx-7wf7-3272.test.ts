/**
 * undici's shared cache leaked responses of one caller to another below 7.29. The gateway caches no response, even when the response
 * declares that it is cacheable.
 */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { fakeAgent } from '../helpers/raw.js'
import { send } from './kit.js'

t.test('each caller gets its own response', async (t) => {
  const agent = await fakeAgent(t, {
    answer: (request, response) => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'cache-control': 'public, max-age=3600, s-maxage=3600',
        etag: '"1"',
        expires: new Date(Date.now() + 3_600_000).toUTCString()
      })
      response.end(JSON.stringify({ for: request.headers.authorization }))
    }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/files]']) })
  for (const path of ['/rest/tasks/t', '/files/x', '/rest/extendedAgentCard']) {
    for (const caller of ['Bearer a', 'Bearer b', 'Bearer a']) {
      const before = agent.received.length
      const answer = await send(gateway.url, { method: 'GET', path, headers: [['Authorization', caller], ['A2A-Version', '1.0']] })
      t.equal(agent.received.length, before + 1, `${path}: the agent was asked`)
      t.equal(agent.received[before]?.headers.authorization, caller)
      if (answer.status === 200) t.same(answer.json, { for: caller }, path)
    }
  }
})
