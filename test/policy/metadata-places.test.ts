/** `select.metadata` without `in`: the metadata of the message and of the request, because clients use both. */
import t from 'tap'
import type { PolicyConfig, RuleConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import { declaring, policyOf, send } from './fixtures.js'
import type { Sent } from './fixtures.js'

const URI = 'https://example.com/ext/v1'
const SIDES: readonly Sent[] = [
  { version: '1.0' },
  { version: '0.3' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'HTTP+JSON' }
]
const policyFor = (rule: Partial<RuleConfig>, more: Partial<PolicyConfig> = {}): AgentPolicy =>
  policyOf(declaring(URI), { ext: { uri: URI, request: [{ id: 'r', select: { metadata: { key: '$uri/*' } }, ...rule }], ...more } })
const inMessage = (metadata: object): object => ({ message: { parts: [], metadata } })
const inParams = (metadata: object): object => ({ message: { parts: [] }, metadata })
const fields = ({ rejection }: Decision): unknown => rejection?.fields?.map(one => one.field) ?? []
const under = ({ binding }: Sent, path: string): string => binding === 'HTTP+JSON' ? path : `params.${path}`

t.test('the data is validated wherever the client puts it', async t => {
  const policy = policyFor({ schema: { type: 'number' } })
  const key = `["${URI}/code"]`
  for (const side of SIDES) {
    t.strictSame(fields(send(policy, inMessage({ [`${URI}/code`]: 'x' }), side)), [under(side, `message.metadata${key}`)])
    t.strictSame(fields(send(policy, inParams({ [`${URI}/code`]: 'x' }), side)), [under(side, `metadata${key}`)])
    const both = { message: { parts: [], metadata: { [`${URI}/code`]: 'x' } }, metadata: { [`${URI}/code`]: 'y' } }
    t.strictSame(fields(send(policy, both, side)), [under(side, `message.metadata${key}`), under(side, `metadata${key}`)])
    for (const body of [inMessage, inParams]) t.equal(send(policy, body({ [`${URI}/code`]: 1 }), side).rejection, null)
  }
})

t.test('one place is enough, and the rejection names the message when there is none', async t => {
  const policy = policyFor({ select: { metadata: { key: 'grant' } }, count: { min: 1, max: 1 } })
  for (const side of SIDES) {
    for (const body of [inMessage, inParams]) t.equal(send(policy, body({ grant: 1 }), side).rejection, null)
    t.match(send(policy, { message: { parts: [] } }, side).rejection?.fields, [
      { field: under(side, 'message.metadata.grant'), description: 'is required' }
    ])
    t.match(fields(send(policy, { message: { parts: [], metadata: { grant: 1 } }, metadata: { grant: 2 } }, side)), [under(side, 'metadata.grant')])
  }
})

t.test('in still chooses', async t => {
  for (const place of ['message', 'params'] as const) {
    const policy = policyFor({ select: { metadata: { in: [place], key: 'm' } }, count: { max: 0 } })
    t.equal(send(policy, inMessage({ m: 1 })).rejection === null, place === 'params')
    t.equal(send(policy, inParams({ m: 1 })).rejection === null, place === 'message')
  }
})

t.test('strip removes from both, and what the platform adds to either counts', async t => {
  const strip = policyFor({ select: { metadata: { key: 'm' } }, count: { max: 0 }, verdict: 'strip' })
  t.strictSame(
    send(strip, { message: { parts: [], metadata: { m: 1 } }, metadata: { m: 2 } }).edits.map(one => one.path),
    [['params', 'message', 'metadata', 'm'], ['params', 'metadata', 'm']]
  )
  for (const place of [undefined, 'message', 'params'] as const) {
    const policy = policyFor({ select: { metadata: { key: 'k' } }, count: { min: 1 } }, {
      activation: { signals: ['always'] },
      inject: [{ metadata: 'k', value: 1, ...(place === undefined ? {} : { in: place }) }]
    })
    t.equal(send(policy, { message: { parts: [] } }).rejection, null, place ?? 'default')
  }
})

t.test('requests without a message have metadata too', async t => {
  const policy = policyFor({ on: ['GetTask'], schema: { type: 'number' } })
  t.strictSame(fields(send(policy, { id: 't', metadata: { [`${URI}/code`]: 'x' } }, { method: 'GetTask' })), [`params.metadata["${URI}/code"]`])
})
