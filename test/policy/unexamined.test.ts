/** Data that a policy owns and no rule looked at: the author of the policy expected the data elsewhere. */
import t from 'tap'
import type { PolicyConfig } from '#config/model/model.js'
import { declaring, policyOf, send } from './fixtures.js'
import type { Sent } from './fixtures.js'

const URI = 'https://example.com/ext/v1'
const owns = { metadata: ['$uri', '$uri/*'], dataKeys: ['order'], headers: ['x-order'] }
const looked = (
  policies: Readonly<Record<string, PolicyConfig>>,
  body: object,
  sent: Sent = {}
): string[] => {
  const { unexamined } = send(policyOf(declaring(URI, 'urn:other'), policies), body, sent)
  return unexamined.map(({ extension, path }) => `${extension} ${path}`)
}
const part = (data: object): object => ({ message: { parts: [{ data, mediaType: 'application/json' }] } })
const rule = (more: object): PolicyConfig => ({
  uri: URI,
  owns,
  request: [{ id: 'r', select: { metadata: { in: ['message'], key: '$uri' } }, schema: true, ...more }]
})

t.test('metadata in another place, or in another form', async t => {
  const value = { [URI]: { a: 1 } }
  for (const side of [{ version: '1.0' }, { version: '0.3' }, { version: '1.0', binding: 'HTTP+JSON' }] as const) {
    const root = 'binding' in side ? '' : 'params.'
    const policies = { ext: rule({}) }
    t.strictSame(looked(policies, { message: { parts: [], metadata: value } }, side), [])
    t.strictSame(looked(policies, { message: { parts: [] }, metadata: value }, side), [`ext ${root}metadata["${URI}"]`])
    t.strictSame(looked(policies, { message: { parts: [], metadata: { [`${URI}/a`]: 1 } } }, side), [`ext ${root}message.metadata["${URI}/a"]`])
    t.strictSame(looked(policies, { message: { parts: [] } }, side), [])
  }
  t.strictSame(looked({ ext: rule({ select: { metadata: { key: '$uri', path: '/a' } } }) }, { message: { parts: [] }, metadata: value }), [], 'a part of it is enough')
  t.strictSame(looked({ ext: rule({ when: { taskId: 'present' } }) }, { message: { parts: [], metadata: value } }), [`ext params.message.metadata["${URI}"]`], 'a rule that does not apply looks at nothing')
})

t.test('data of parts, and headers', async t => {
  t.strictSame(looked({ ext: rule({}) }, part({ order: 1 })), ['ext params.message.parts[0].data.order'])
  t.strictSame(looked({ ext: rule({ select: { part: { data: true } } }) }, part({ order: 1 })), [])
  t.strictSame(looked({ ext: rule({ select: { part: { dataKey: 'ord' } } }) }, part({ order: 1 })), ['ext params.message.parts[0].data.order'], 'a longer name')
  t.strictSame(looked({ ext: rule({}) }, { message: { parts: [] } }, { headers: ['x-order', '1'] }), ['ext header x-order'])
  t.strictSame(looked({ ext: rule({ select: { header: 'x-order' } }) }, { message: { parts: [] } }, { headers: ['x-order', '1'] }), [])
})

t.test('rules of other policies, state and correlations look too', async t => {
  const body = { message: { parts: [], metadata: { [URI]: 'a' } } }
  const ext: PolicyConfig = { uri: URI, owns }
  const path = `ext params.message.metadata["${URI}"]`
  t.strictSame(looked({ ext }, body), [path])
  t.strictSame(looked({ ext, other: { uri: 'urn:other', request: [{ id: 'r', select: { metadata: { key: '*' } }, schema: true }] } }, body), [])
  const select = { metadata: { in: ['message' as const], key: '$uri' } }
  t.strictSame(looked({ ext: { ...ext, state: { from: select, maxVisits: { a: 3 } } } }, body), [])
  const correlate = [{ id: 'c', remember: { on: 'request' as const, select }, check: { on: 'response' as const, select, relation: 'member' as const } }]
  t.strictSame(looked({ ext: { ...ext, correlate } }, body), [])
})

t.test('bounded, and never a reason to reject', async t => {
  const metadata = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${URI}/${i}`, i]))
  t.equal(looked({ ext: rule({}) }, { message: { parts: [], metadata } }).length, 20)
  t.strictSame(looked({ ext: { ...rule({}), activation: { signals: ['header'] }, inactive: { request: 'strip' } } }, { message: { parts: [], metadata } }), [], 'removed')
})
