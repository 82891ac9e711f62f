import t from 'tap'
import { MemoryStore } from '#state/memory-store.js'
import { pushChanges } from '../helpers/push-changes.js'

t.test('changes of the configurations of a task', async t => {
  await pushChanges(t, new MemoryStore({ ttl: 60_000, maxTasks: 10 }))
})

t.test('tasks expire, and the least recently used is forgotten first', async t => {
  let now = 0
  const store = new MemoryStore({ ttl: 100, maxTasks: 2 }, () => now)
  const reserve = (taskId: string, entry = 'e') => store.pushConfigs({ agent: 'a', taskId, kind: 'reserve', entries: [entry], token: 't', max: 1 })
  reserve('1')
  now = 60
  t.equal(reserve('1', 'other'), 'full')
  now = 120
  t.equal(reserve('1', 'other'), 'full', 'a rejected request is a use')
  now = 221
  t.same(reserve('1', 'other'), [true], 'expired')
  reserve('2')
  reserve('1')
  reserve('3')
  t.same(reserve('1', 'other'), [false])
  t.same(reserve('2', 'new'), [true], 'forgotten')
})
