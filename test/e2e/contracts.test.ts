/** Official clients and agents with extensions whose requests select a contract of the card: schema contracts and AdCP. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { packageRoot } from '#config/paths.js'
import type { TestPart } from '../helpers/agents.js'
import { behind, FOUR, isRefusedAnswer, told } from './responses-kit.js'

interface Declared { readonly uri: string, readonly params?: Record<string, unknown> }

/** The declaration in the card of a policy's own tests. */
function declared (policy: string): { readonly extension: Declared, readonly skills: unknown } {
  const { card } = parse(readFileSync(join(packageRoot(), 'config/extensions', `${policy}.test.yaml`), 'utf8')) as {
    card: { capabilities: { extensions: [Declared] }, skills?: unknown }
  }
  return { extension: card.capabilities.extensions[0], skills: card.skills }
}

const V1 = FOUR.filter(({ version }) => version === '1.0')

for (const combination of V1) {
  t.test(`schema contracts: ${combination.name}`, async t => {
    const { extension } = declared('schema-contracts')
    const { uri } = extension
    const invoice = 'urn:reference:invoice:1'
    const identity = (direction: string, representationId: string): Record<string, unknown> =>
      ({ [uri]: { contractId: invoice, direction, representationId, role: 'primary' } })
    let total: unknown
    const { agent, client } = await behind(t, combination, {
      agent: {
        card: { extensions: [extension] },
        behaviour: turn => {
          total = turn.data === null ? null : (turn.data.quantity as number) * (turn.data.unitPrice as number)
          const part: TestPart = { data: { total: turn.text === 'wrong' ? 'much' : total }, mediaType: 'application/json', metadata: identity('output', 'compact') }
          turn.task('completed', { metadata: { [uri]: { contractId: invoice, outputRepresentationId: 'compact' } }, artifacts: { invoice: [part] } })
        }
      },
      responses: 'enforce',
      policies: '[{schema-contracts: {mode: enforce, response: [{id: output, select: {part: {in: [artifact], captures: {contract: /metadata/$uri/contractId, representation: /metadata/$uri/representationId}}}, schema: {fromCard: ["/capabilities/extensions/{self}/params/catalog/inline/contracts/{id=contract}/output/representations/{id=representation}/schema/inline"]}, verdict: reject}]}}]'
    })
    const caller = await client({ extensions: [uri] })
    const send = (data: Record<string, unknown>, { text = 'hi', contractId = invoice } = {}) => told(caller.send(text, {
      data,
      mediaType: 'application/json',
      partMetadata: identity('input', 'json'),
      metadata: { [uri]: { contractId, inputRepresentationId: 'json' } }
    }))
    const good = { quantity: 3, unitPrice: 7, label: null }
    const accepted = await send(good)
    t.equal(accepted.failure, null)
    t.match(JSON.stringify(accepted.values), '"total":21')
    const before = agent.calls().length
    t.match((await send({ ...good, quantity: 101 })).failure?.text, /quantity must be .*100/, 'the client learns where')
    t.match((await send(good, { contractId: 'urn:reference:invoice:2' })).failure?.text, /no contract of that version/)
    t.equal(agent.calls().length, before, 'neither reaches the agent')
    isRefusedAnswer(t, combination, (await send(good, { text: 'wrong' })).failure, 'schema-contracts/output', 'a wrong total')
  })

  t.test(`AdCP: ${combination.name}`, async t => {
    const { extension, skills } = declared('adcp')
    const { agent, client } = await behind(t, combination, {
      agent: {
        card: { extensions: [{ ...extension, required: true }], extra: { skills } },
        behaviour: turn => {
          turn.task('completed', { artifacts: { 'adcp-result': [{ data: { status: 'completed', products: [] }, mediaType: 'application/json' }] } })
        }
      },
      responses: 'enforce',
      policies: '[{adcp: {mode: enforce}}]'
    })
    const input = { buying_mode: 'brief', brief: 'Premium CTV inventory' }
    const invocation = (data: Record<string, unknown>) => ({ data, mediaType: 'application/json' })
    const caller = await client({ extensions: [extension.uri] })
    t.match(JSON.stringify((await told(caller.send('AdCP task: get_products', invocation({ skill: 'get_products', input })))).values), '"products":[]')
    const before = agent.calls().length
    for (const [data, words] of [
      [{ skill: 'get_products', parameters: input }, /input is required/],
      [{ skill: 'Get products', input }, /skill must be one of/]
    ] as const) t.match((await told(caller.send('x', invocation(data)))).failure?.text, words)
    const unaware = await client()
    t.match((await told(unaware.send('x', invocation({ skill: 'get_products', input })))).failure?.text, extension.uri, 'the profile must be activated')
    t.equal(agent.calls().length, before)
  })
}
