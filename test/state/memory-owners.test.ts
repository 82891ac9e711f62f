import t from 'tap'
import { MemoryOwners } from '#state/memory-owners.js'
import type { OwnedName } from '#state/store.js'

const task = (id: string): OwnedName => ({ kind: 'task', id })

t.test('the first owner stays, and a look claims nothing', async t => {
  const owners = new MemoryOwners(() => 0, 1_000, 10)
  t.same(owners.owners('a', [task('1')], null), [null])
  t.same(owners.owners('a', [task('1'), task('1'), { kind: 'context', id: '1' }], 'x'), ['x', 'x', 'x'])
  t.same(owners.owners('a', [task('1'), task('2')], 'y'), ['x', 'y'])
  t.same(owners.owners('b', [task('1')], null), [null], 'of another agent')
  t.equal(owners.size, 3)
  owners.clear()
  t.same(owners.owners('a', [task('1')], null), [null])
})

t.test('owners expire after their last use', async t => {
  let now = 0
  const owners = new MemoryOwners(() => now, 100, 10)
  owners.owners('a', [task('1'), task('2')], 'x')
  now = 60
  owners.owners('a', [task('1')], null)
  now = 120
  t.same(owners.owners('a', [task('1'), task('2')], null), ['x', null])
  now = 220
  t.same(owners.owners('a', [task('1')], null), [null])
  t.equal(owners.size, 0)
})

t.test('the least recently used owner is forgotten first', async t => {
  const owners = new MemoryOwners(() => 0, 100, 2)
  owners.owners('a', [task('1'), task('2')], 'x')
  owners.owners('a', [task('1')], null)
  owners.owners('a', [task('3')], 'x')
  t.same(owners.owners('a', [task('1'), task('2'), task('3')], null), ['x', null, 'x'])
})
