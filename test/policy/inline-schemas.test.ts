import t from 'tap'
import type { PolicyConfig, ResolvedPolicy } from '#config/model/model.js'
import { inlineSchemaProblems } from '#policy/compile/inline-schemas.js'

const BAD = { type: 'strin' }
const bad: PolicyConfig = { uri: 'urn:x', request: [{ id: 'r', select: { header: 'h' }, schema: BAD }], methods: { m: { params: BAD } } }
const resolved = (layers: ResolvedPolicy['layers'], from: ResolvedPolicy['from']): ResolvedPolicy => ({
  name: 'x',
  policy: bad,
  layers,
  from
})

t.test('an unusable schema is reported once, in the layer that contains it', async t => {
  const where = (agentPolicy: ResolvedPolicy): string[] =>
    inlineSchemaProblems({ extensions: { x: bad }, agents: [{ name: 'a', policies: [agentPolicy] }] }).map(problem =>
      problem.slice(0, problem.indexOf(' cannot'))
    )
  const file = ['extensions.x.methods.m.params', 'extensions.x.request[0].schema']
  t.same(where(resolved(['file'], { request: 'file', 'methods.m': 'file' })), file)
  t.same(where(resolved(['file', 'agent'], { request: 'agent', 'methods.m': 'file' })), [
    ...file,
    'agent a: extensions.x.request[0].schema'
  ])
  t.same(where(resolved(['file', 'agent'], { request: 'file', 'methods.m': 'agent' })), [...file, 'agent a: extensions.x.methods.m.params'])
})

t.test('every place with a schema for responses is checked, in each layer', async t => {
  const part = { part: { match: BAD } }
  const answers: PolicyConfig = {
    uri: 'urn:x',
    response: [{ id: 'r', select: part, schema: BAD, when: { match: BAD }, unless: { match: BAD } }],
    state: { from: part, monotonic: part },
    correlate: [
      {
        id: 'c',
        remember: { on: 'response', select: part },
        check: { on: 'request', select: part, relation: 'subset' },
        when: { match: BAD },
        unless: { match: BAD }
      }
    ],
    observe: {
      spanAttributes: { 'acme.zone': part },
      metrics: [{ name: 'n', type: 'gauge', from: part, by: { from: part, values: ['v'] } }]
    }
  }
  const places = [
    'response[0].schema', 'response[0].select.part.match', 'response[0].when.match', 'response[0].unless.match',
    'state.from.part.match', 'state.monotonic.part.match',
    'correlate[0].remember.select.part.match', 'correlate[0].check.select.part.match', 'correlate[0].when.match',
    'correlate[0].unless.match',
    'observe.spanAttributes["acme.zone"].part.match', 'observe.metrics[0].from.part.match', 'observe.metrics[0].by.from.part.match'
  ]
  const where = (layer: 'file' | 'agent'): string[] => {
    const policy: ResolvedPolicy = {
      name: 'x',
      policy: answers,
      layers: ['file', 'agent'],
      from: { response: layer, state: layer, correlate: layer, observe: layer }
    }
    return inlineSchemaProblems({ extensions: layer === 'file' ? { x: answers } : {}, agents: [{ name: 'a', policies: [policy] }] }).map(
      problem => problem.slice(0, problem.indexOf(' cannot'))
    )
  }
  t.same(where('file'), places.map(place => `extensions.x.${place}`))
  t.same(where('agent'), places.map(place => `agent a: extensions.x.${place}`))
})
