/** Clients of the Python and Go SDKs find the schemes of the gateway in the served card; their own interceptors attach the credentials. */
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { TestAgent } from '../helpers/agents.js'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import { jwtSource } from '../identity/issuer.js'
import { ACME, keyFiles, PARTNERS, yamlOf } from '../identity/kit.js'
import { privateKey, provider } from '../identity/provider.js'
import { SDK_VERSIONS, SETUP_TIMEOUT, programs, runClient } from './toolchains.js'
import type { ForeignStory } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

t.before(async () => {
  for (const sdk of ['py-1', 'go-2'] as const) await programs(sdk)
})

interface Scene { readonly agent: TestAgent, readonly gateway: TestGateway, readonly token: string }

async function scene (t: Test, extra: readonly string[] = []): Promise<Scene> {
  const issuer = await provider(t, [await privateKey('key', 'ES256')])
  const agent = await startAgent({ kind: 'v1' })
  t.teardown(() => agent.close())
  const yaml = yamlOf(agent.url, { sources: [jwtSource('corp', issuer.url), PARTNERS], extra })
  return { agent, gateway: await gatewayFor(t, { yaml, baseDir: keyFiles(t) }), token: await issuer.token() }
}

const works = (story: ForeignStory): readonly unknown[] => (['message', 'send', 'stream', 'get'] as const).filter(one => story[one]?.value === undefined)

// Go reads the requirements of cards in a form of its own: docs/how-to/security-schemes.md.
for (const [sdk, extra] of [['py-1', []], ['py-1', ['card: {securityForm: list}']], ['go-2', []]] as const) {
  for (const transport of ['JSONRPC', 'HTTP+JSON'] as const) {
    t.test(`${sdk} ${SDK_VERSIONS[sdk]}, ${transport}${extra.join()}`, async t => {
      const { gateway, agent, token } = await scene(t, extra)
      const run = { url: gateway.url, transport }
      for (const [name, credentials] of [['a token', { corp: token }], ['a key', { partners: ACME }], ['both, of which one is sent', { corp: token, partners: ACME }]] as const) {
        t.same(works(await runClient(sdk, { ...run, credentials })), [], name)
      }
      const oidc = await runClient(sdk, { ...run, credentials: { 'corp-oidc': token } })
      if (sdk === 'py-1') t.same(works(oidc), [], 'OpenID Connect')
      else t.match(oidc.message?.error, /requires credentials/, 'Go attaches nothing for OpenID Connect: so the card has the http scheme')
      t.ok(agent.calls().every(({ headers }) => headers.authorization === undefined && headers['x-api-key'] === undefined))
      const calls = agent.calls().length
      for (const [name, credentials, shown] of [
        ['no credentials', {}, /requires credentials/],
        ['a wrong key', { partners: 'wrong' }, /credentials are not valid here/],
        ['a scheme of the agent', { mine: token }, /requires credentials/]
      ] as const) {
        const { message } = await runClient(sdk, { ...run, credentials })
        // Of JSON-RPC, Go shows the reason phrase of the status line only.
        t.match(message?.error, shown, name)
        t.notOk(message?.value)
      }
      t.equal(agent.calls().length, calls)
    })
  }
}

t.test('Go cannot read requirements as A2A 1.0 writes them, from any agent', async t => {
  const { gateway, agent } = await scene(t, ['card: {securityForm: list}'])
  t.match((await runClient('go-2', { url: gateway.url })).card?.error, /cannot unmarshal object/)
  t.equal(agent.calls().length, 0)
})
