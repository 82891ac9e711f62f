/** `upstream.credentials` with several processes: files of secrets and keys change without a restart, in all of them. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { JSONWebKeySet } from 'jose'
import t from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import { call, rpc, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { identityKeys } from '../identity/signing-keys.js'
import { tokenEndpoint } from '../identity/token-endpoint.js'
import { cluster } from './kit.js'

t.test('a secret, a client secret and a signing key', async t => {
  const [agent, endpoint, keys] = [await fakeAgent(t), await tokenEndpoint(t), await identityKeys()]
  const dir = t.testdir({ 'keys.yaml': `- {id: k, sha256: ${keyDigest('k')}, client: acme}`, static: 'one', client: 'a', 'key.pem': keys.ec })
  const at = (name: string): string => JSON.stringify(join(dir, name))
  const put = (name: string, text: string): void => {
    writeFileSync(join(dir, `${name}.new`), text)
    renameSync(join(dir, `${name}.new`), join(dir, name))
  }
  const gateway = await cluster(t, [
    `agents: [{name: agent, upstream: {url: "${agent.url}", credentials: {send: [`,
    `  {header: x-agent-key, fromSecret: {file: ${at('static')}}},`,
    `  {clientCredentials: {endpoint: "${endpoint.url}", client: {id: gw, secret: {file: ${at('client')}}}}}],`,
    `  identity: {key: {file: ${at('key.pem')}}}}}}]`,
    `identity: {sources: {s: {apiKey: {header: x-api-key, keys: {file: ${at('keys.yaml')}}}}}}`
  ].join('\n'), { publicUrl: 'https://agents.example.com' })
  const ask = async (): Promise<void> => { t.equal((await rpc(`${gateway.url}/rpc`, 'SendMessage', undefined, ['x-api-key', 'k'])).status, 200) }
  for (let i = 0; i < 8; i++) await ask()
  t.ok(endpoint.calls.length >= 1 && endpoint.calls.length <= 2, 'each process has its own tokens')
  const before = endpoint.calls.length
  put('static', 'two')
  put('client', 'b')
  put('key.pem', keys.ed)
  await until(async () => {
    await ask()
    return agent.received.slice(-8).every(({ headers }) => headers['x-agent-key'] === 'two')
  }, 'the new secret in all processes', 60_000)
  await until(async () => {
    await ask()
    return endpoint.calls.length > before
  }, 'a token with the new client secret', 60_000)
  t.equal(Buffer.from((endpoint.calls.at(-1)?.headers.authorization ?? '').slice(6), 'base64').toString(), 'gw:b')
  const set = (await call(`${gateway.url}/.well-known/jwks.json`)).json() as unknown as JSONWebKeySet
  t.match(set.keys, [{ alg: 'EdDSA' }])
  const { payload } = await jwtVerify(String(agent.received.at(-1)?.headers['gateway-identity']), createLocalJWKSet(set), { audience: 'agent' })
  t.match(payload, { iss: 'https://agents.example.com', sub: 'acme' })
})
