import t from 'tap'
import type { ResponseSelectorConfig, ObserveConfig } from '#config/model/model.js'
import type { CompiledPolicy } from '#policy/compile/compiled.js'
import { compileObserve, observe } from '#policy/observe.js'
import { TaskMemory } from '#policy/task/memory.js'
import { answers, compiled, context, result, status } from './task-fixtures.js'

const at = (key: string): ResponseSelectorConfig => ({ metadata: { in: ['status', 'task', 'message', 'artifact'], key } })
const policyOf = (config: ObserveConfig): CompiledPolicy => compiled({ responses: answers(compileObserve(config, context)) })
const values = (policy: CompiledPolicy, sent: unknown[], memory: TaskMemory | null): number[][] =>
  sent.map(n => observe(policy, status({ n }), memory).measures.map(one => one.value))

t.test('attributes are short scalars', async t => {
  const policy = policyOf({ spanAttributes: { 'ext.a': at('a'), 'ext.b': at('b') } })
  const rows: [object, unknown[]][] = [
    [{ a: 'x' }, [{ name: 'ext.a', value: 'x' }]],
    [{ a: 0, b: false }, [{ name: 'ext.a', value: 0 }, { name: 'ext.b', value: false }]],
    [{ a: '', b: 'y'.repeat(256) }, [{ name: 'ext.a', value: '' }, { name: 'ext.b', value: 'y'.repeat(256) }]],
    [{ a: 'y'.repeat(257), b: null }, []],
    [{ a: { x: 1 }, b: ['x'] }, []],
    [{}, []]
  ]
  for (const [metadata, expected] of rows) {
    t.same(observe(policy, status(metadata), null), { attributes: expected, measures: [] }, JSON.stringify(metadata).slice(0, 40))
  }
  const whole = policyOf({ spanAttributes: { e: { event: 'last' } } })
  t.same(observe(whole, status({}), null).attributes, [], 'a result is an object')
})

t.test('a counter adds only the increase, however often a task is read', async t => {
  const policy = policyOf({ metrics: [{ name: 'tokens', type: 'counter', from: at('n') }] })
  const memory = new TaskMemory(null)
  t.same(values(policy, [10, 10, 25, 20, 25, 26], memory), [[10], [], [15], [], [], [1]])
  t.equal(memory.get('o:p/tokens'), '26')
  const later = new TaskMemory(memory.take())
  t.same(values(policy, [26, 30], later), [[], [4]], 'also of a later request')
  t.same(values(policy, [10, 10], null), [[], []], 'a task of which nothing is remembered, such as one of a list, is not counted')
  t.same(values(policy, [10, 12], new TaskMemory(null)), [[10], [2]], 'of a task that nobody knows the whole')
  t.same(
    observe(policy, result({ message: { parts: [{ text: 'x' }], metadata: { n: 5 } } }), later).measures.map(one => one.value),
    [5],
    'a message is no task'
  )
  t.same(values(policy, [-1, NaN, 2 ** 60, '7', null, true, 0, {}], new TaskMemory(null)), [[], [], [], [], [], [], [], []])
  const artifact = (n: number): object => ({ artifactId: 'a', parts: [{ text: 'x' }], metadata: { n } })
  const task = result({ task: { id: 't', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [artifact(1), artifact(-5), artifact(2)] } })
  const fresh = new TaskMemory(null)
  t.same(
    [observe(policy, task, fresh), observe(policy, task, fresh)].map(one => one.measures.map(found => found.value)),
    [[3], []],
    'several of one result add up'
  )
})

t.test('a gauge is the last value', async t => {
  const policy = policyOf({ metrics: [{ name: 'level', type: 'gauge', from: at('n') }] })
  t.same(values(policy, [3, -2.5, 0, 'x', 2 ** 60], new TaskMemory(null)), [[3], [-2.5], [0], [], []])
})

t.test('labels come from the policy', async t => {
  const policy = policyOf({
    metrics: [
      { name: 'tokens', type: 'counter', from: at('n'), by: { from: at('model'), values: ['small', '7', 'true'] } },
      { name: 'n', type: 'gauge', from: at('n') }
    ]
  })
  const rows: [unknown, string][] = [
    ['small', 'small'],
    [7, '7'],
    [true, 'true'],
    ['large', 'other'],
    ['', 'other'],
    [{ small: 1 }, 'other'],
    [undefined, 'other'],
    [null, 'other']
  ]
  for (const [model, by] of rows) {
    t.same(observe(policy, status({ n: 1, ...(model === undefined ? {} : { model }) }), new TaskMemory(null)).measures, [
      { extension: 'p', metric: 'tokens', type: 'counter', by, value: 1 },
      { extension: 'p', metric: 'n', type: 'gauge', by: '', value: 1 }
    ], JSON.stringify(model))
  }
})

t.test('a policy that observes nothing creates nothing', async t => {
  const policy = policyOf({})
  t.equal(observe(policy, status({ n: 1 }), null), observe(compiled({}), status({ n: 1 }), null))
})
