/** `explain` shows which headers of a client do not reach the agent because only the gateway writes them, and never a secret. */
import t from 'tap'
import { fakeAgent } from '../helpers/raw.js'
import { explaining, http, SECRET, SPELLINGS } from './explain-kit.js'

t.test('headers that only the gateway writes', async t => {
  const agent = await fakeAgent(t)
  const send = '{header: X-Agent-Key, fromSecret: {env: KEY}}, {header: x-other, fromSecret: {env: KEY}, for: [s]}'
  const explain = explaining({
    yaml: [
      `agents: [{name: a, upstream: {url: "${agent.url}", credentials: {send: [${send}]}}}]`,
      'identity: {sources: {s: {jwt: {issuer: "https://idp.example.com", audience: [a], keys: discover}}}}'
    ].join('\n'),
    env: { KEY: 'the-secret' }
  })
  const [{ lines, path, body }] = SPELLINGS as [(typeof SPELLINGS)[number]]
  const { forwarded } = await explain(http('one', `POST ${path}`, [...lines, `X_Agent_Key: ${SECRET}`, `X-Other: ${SECRET}`], body({})))
  t.same(forwarded?.dropped.toSorted(), ['connection', 'x-other', 'x_agent_key'])
  t.same(forwarded?.headers.filter(({ name }) => name.startsWith('x-agent') || name === 'x-other'), [{ name: 'x-agent-key', value: '***', change: 'added' }])
  t.notMatch(JSON.stringify(forwarded), /the-secret/)
})
