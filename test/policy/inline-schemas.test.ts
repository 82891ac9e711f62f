import t from 'tap'
import type { PolicyConfig, ResolvedPolicy } from '../../src/config/model.js'
import { inlineSchemaProblems } from '../../src/policy/inline-schemas.js'

const BAD = { type: 'strin' }
const bad: PolicyConfig = { uri: 'urn:x', request: [{ id: 'r', select: { header: 'h' }, schema: BAD }], methods: { m: { params: BAD } } }
const resolved = (layers: ResolvedPolicy['layers'], from: ResolvedPolicy['from']): ResolvedPolicy => ({ name: 'x', policy: bad, layers, from })

t.test('a schema that cannot be used is told once, in the layer that wrote it', async t => {
  const where = (agentPolicy: ResolvedPolicy): string[] => inlineSchemaProblems({ extensions: { x: bad }, agents: [{ name: 'a', policies: [agentPolicy] }] }).map(problem => problem.slice(0, problem.indexOf(' cannot')))
  const file = ['extensions.x.methods.m.params', 'extensions.x.request[0].schema']
  t.same(where(resolved(['file'], { request: 'file', 'methods.m': 'file' })), file)
  t.same(where(resolved(['file', 'agent'], { request: 'agent', 'methods.m': 'file' })), [...file, 'agent a: extensions.x.request[0].schema'])
  t.same(where(resolved(['file', 'agent'], { request: 'file', 'methods.m': 'agent' })), [...file, 'agent a: extensions.x.methods.m.params'])
})
