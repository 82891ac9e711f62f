import t from 'tap'
import { NEW_TASK, TaskMemory } from '../../src/policy/task-memory.js'

t.test('what is set lies over the record, and is taken once', async t => {
  const record = new Map([['a', '1'], ['b', '2']])
  const memory = new TaskMemory(record)
  t.ok(memory.known)
  t.equal(memory.take(), null)
  memory.set('a', '1')
  t.equal(memory.take(), null, 'nothing new')
  memory.set('a', '3')
  memory.set('c', '4')
  t.same(['a', 'b', 'c', 'd'].map(field => memory.get(field)), ['3', '2', '4', null])
  t.same(memory.take(), new Map([['a', '3'], ['c', '4']]))
  t.equal(memory.take(), null)
  t.same(['a', 'b', 'c'].map(field => memory.get(field)), ['3', '2', '4'], 'still remembered')
  memory.set('c', '4')
  t.equal(memory.take(), null)
  memory.set('c', '5')
  memory.set('a', '1')
  const taken = memory.take()
  t.same(taken, new Map([['c', '5'], ['a', '1']]), 'also back to what the record says')
  memory.set('c', '6')
  t.equal(taken?.get('c'), '5', 'what was taken stays as it was')
  t.same([...record], [['a', '1'], ['b', '2']], 'so does the record')
})

t.test('known and unknown', async t => {
  const unknown = new TaskMemory(null)
  unknown.set('a', '1')
  t.notOk(unknown.known)
  t.equal(unknown.get('a'), '1')
  t.ok(new TaskMemory(NEW_TASK).known)
})
