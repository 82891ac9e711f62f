/** `identity` with several processes: all of them know the same callers, by the same names, and take a changed key file. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import { oneAgent } from '../helpers/gateway.js'
import { call, rpc, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { issuerFor, jwtSource, keyOf } from '../identity/issuer.js'
import { cluster } from './kit.js'

t.test('keys, and their change', async t => {
  const agent = await fakeAgent(t)
  const file = join(t.testdir(), 'keys.yaml')
  const put = (key: string): void => {
    writeFileSync(`${file}.new`, `- {id: ${key}, sha256: ${keyDigest(key)}, client: acme}\n`)
    renameSync(`${file}.new`, file)
  }
  put('first')
  const gateway = await cluster(t, oneAgent(agent.url, [], [`identity: {sources: {s: {apiKey: {header: x-api-key, keys: {file: "${file}"}}}}}`]))
  const ask = async (key: string): Promise<number> => (await rpc(`${gateway.url}/rpc`, 'SendMessage', undefined, ['x-api-key', key])).status
  for (let i = 0; i < 6; i++) t.equal(await ask('first'), 200)
  t.equal(await ask('second'), 401)
  put('second')
  await until(() => gateway.said(/^the sources of callers have changed/).length >= 3, 'primary and workers', 60_000)
  for (let i = 0; i < 6; i++) t.equal(await ask('second'), 200)
  for (let i = 0; i < 6; i++) t.equal(await ask('first'), 401)
  t.equal(await gateway.metric('a2a_gateway_authentications_total{agent="agent",source="s",outcome="ok"}'), 12)
  for (const pid of gateway.workers().values()) process.kill(pid, 'SIGKILL')
  await until(() => gateway.said(/^worker \d+ ended/).length === 2 && gateway.workers().size === 2, 'two other processes', 60_000)
  t.equal(await ask('second'), 200)
  t.equal(await ask('first'), 401)
  t.equal(agent.received.length, 13)
})

t.test('access tokens, verified by every process of the built gateway', async t => {
  const agent = await fakeAgent(t)
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const gateway = await cluster(t, oneAgent(agent.url, [], [`identity: {sources: {${jwtSource('corp', issuer.url)}}}`]))
  const ask = async (token: string): Promise<number> => (await rpc(`${gateway.url}/rpc`, 'SendMessage', undefined, ['authorization', `Bearer ${token}`])).status
  const token = await issuer.token(key)
  for (let i = 0; i < 8; i++) t.equal(await ask(token), 200)
  const next = await keyOf('b', 'RS256')
  issuer.keys = [key.jwk, next.jwk]
  const rotated = await issuer.token(next)
  for (let i = 0; i < 8; i++) t.equal(await ask(rotated), 200)
  t.equal(await ask(`${token}x`), 401)
  t.equal(agent.received.length, 16)
})

t.test('server.adminAccess in the primary, also after a reload', async t => {
  const agent = await fakeAgent(t)
  const file = join(t.testdir(), 'keys.yaml')
  writeFileSync(file, ['first', 'second'].map(key => `- {id: ${key}, sha256: ${keyDigest(key)}}\n`).join(''))
  const yaml = oneAgent(agent.url, [], [`identity: {sources: {s: {apiKey: {header: x-api-key, keys: {file: "${file}"}}}}}`])
  const gateway = await cluster(t, yaml, { adminAccess: '{sources: [s], allow: [{subject: [first]}]}' })
  const expect = async (path: string, ...expected: readonly number[]): Promise<void> => {
    const found: number[] = []
    for (const headers of [[], ['x-api-key', 'first'], ['x-api-key', 'second']]) found.push((await call(`${gateway.adminUrl}${path}`, { headers })).status)
    t.same(found, expected, path)
  }
  const reloaded = async (access: string, times: number): Promise<void> => {
    gateway.rewrite(yaml, access)
    await until(() => gateway.said(/^configuration reloaded/).length === times, 'the reload', 60_000)
  }
  for (const path of ['/agents', '/console/api/status']) await expect(path, 401, 200, 403)
  await reloaded('{sources: [s], allow: [{subject: [second]}]}', 1)
  for (const path of ['/agents', '/console/api/status']) await expect(path, 401, 403, 200)
  await reloaded('null', 2)
  for (const path of ['/agents', '/console/api/status']) await expect(path, 200, 200, 200)
})
