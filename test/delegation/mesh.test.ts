/** Chains of callers and budgets where a proxy of a mesh carries the calls. */
import t from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import { MESSAGE, rpcBody } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import type { Got, Lines, Sent } from '../front/mesh-kit.js'
import { envoyFor } from '../front/mesh-kit.js'
import { ACME, keyFiles, PARTNERS } from '../identity/kit.js'
import { identityKeys } from '../identity/signing-keys.js'
import { claimsIn, HEADER } from './kit.js'

const HEAD: Lines = [['content-type', 'application/json'], ['a2a-version', '1.0'], ['x-api-key', ACME]]
const BODY = rpcBody('SendMessage', { message: MESSAGE })

t.test('ext_authz and ext_proc', async t => {
  const backend = await fakeAgent(t)
  const gateway = await gatewayFor(t, {
    yaml: [
      'server: {listen: "127.0.0.1:0", publicUrl: "https://agents.test", admin: "127.0.0.1:0", drainTimeout: 200ms, mesh: {listen: "127.0.0.1:0"}}',
      `agents: [{name: agent, upstream: {url: "${backend.url}"}, access: {delegation: {maxDepth: 1, as: {client: agent}}}}]`,
      'delegation: {gateway: east, trustDomain: test, key: {file: key.pem}}',
      `identity: {sources: {${PARTNERS}}}`
    ].join('\n'),
    baseDir: keyFiles(t, { 'key.pem': (await identityKeys()).ed })
  })
  const envoy = envoyFor(t, gateway.mesh ?? '')
  const ways: Readonly<Record<string, (sent: Sent) => Promise<Got>>> = {
    ext_authz: async sent => await envoy.check(sent, {}),
    ext_proc: async sent => await envoy.process(sent, { headers: [['content-type', 'application/json']], chunks: ['{"jsonrpc":"2.0","id":1,"result":{}}'] }, {})
  }
  for (const [way, ask] of Object.entries(ways)) {
    const passed = await ask({ path: '/rpc', headers: [...HEAD, ['a2a-budget', 'tokens=7']], body: BODY })
    const sent = passed.agent?.headers.filter(([name]) => name === HEADER || name === 'a2a-budget') ?? []
    t.same(sent.map(([name]) => name).toSorted(), ['a2a-budget', HEADER], way)
    const chain = sent.find(([name]) => name === HEADER)?.[1] ?? ''
    t.match(claimsIn(chain), { hops: ['east/agent'], initiator: { client: 'acme' }, budgets: { tokens: [7, 7] } }, way)
    const stolen = await ask({ path: '/rpc', headers: [...HEAD, [HEADER, chain]], body: BODY })
    t.match([stolen.agent, stolen.own, stolen.status], [null, true, 403], `${way}: the chain of the agent`)
    t.match(stolen.body, /belongs to another agent/)
  }
})
