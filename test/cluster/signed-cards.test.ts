/** Signed cards with several processes: the primary verifies, each worker signs, and clients see one gateway. */
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk'
import t from 'tap'
import type { JsonObject } from '#wire/json/object.js'
import { call, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { cluster } from './kit.js'

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string

t.test('workers get the verified card, and sign it', async t => {
  const vendor = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  let served: JsonObject = {}
  const agent = await fakeAgent(t, { card: () => served })
  const card = { ...plainCard(agent.url), skills: [{ id: 's', name: 's', description: 's', tags: ['t'] }] }
  const signed = await generateAgentCardSignature(vendor.privateKey, { alg: 'ES256', kid: 'v', typ: 'JOSE' })(AgentCard.fromJSON(card))
  served = { ...card, schemas: { order: true }, signatures: (AgentCard.toJSON(signed) as JsonObject)['signatures'] }
  const dir = t.testdir({
    'vendor.json': JSON.stringify({ keys: [vendor.publicKey.export({ format: 'jwk' })] }),
    'card.pem': pem(own.privateKey)
  })
  const gateway = await cluster(t, [
    'agents:',
    `  - name: agent\n    upstream: {url: "${agent.url}"}`,
    `    card: {refresh: 200ms, verify: {keys: {file: ${join(dir, 'vendor.json')}}}, signature: resign, sign: {key: {file: ${join(dir, 'card.pem')}}, kid: gw}}`
  ].join('\n'), { publicUrl: 'https://agents.example.com' })
  // Each call has a connection of its own, so both workers respond.
  const answers = await Promise.all(Array.from({ length: 20 }, () => call(`${gateway.url}/.well-known/agent-card.json`, { headers: V1 })))
  t.same([...new Set(answers.map(({ status }) => status))], [200])
  t.equal(new Set(answers.map(({ headers }) => headers['etag'])).size, 1, 'one ETag')
  const keys = async (): Promise<{ keys: JsonObject[] }> => JSON.parse((await call(`${gateway.url}/.well-known/jwks.json`)).text) as { keys: JsonObject[] }
  const [key = {}] = (await keys()).keys
  const verify = verifyAgentCardSignature(async () => key)
  for (const { text } of answers) {
    const received = JSON.parse(text) as AgentCard
    t.notOk('schemas' in received, 'no worker serves what the signature does not cover')
    await t.resolves(verify(received))
  }
  t.ok(await gateway.metric('a2a_gateway_card_signatures_total{agent="agent",outcome="partial"}') > 0)

  const before = answers[0]?.text ?? ''
  served = { ...served, name: 'forged' }
  await until(async () => /no signature of the card is valid/.test(await (await fetch(`${gateway.adminUrl}/agents`)).text()))
  const after = await Promise.all(Array.from({ length: 10 }, () => call(`${gateway.url}/.well-known/agent-card.json`, { headers: V1 })))
  t.same([...new Set(after.map(({ text }) => (JSON.parse(text) as { name: string }).name))], [(JSON.parse(before) as { name: string }).name], 'the last good card stays')

  writeFileSync(join(dir, 'card.pem'), pem(generateKeyPairSync('ed25519').privateKey))
  await until(async () => (await keys()).keys[0]?.['alg'] === 'EdDSA', 'the new key, without a restart', 30_000)
})
