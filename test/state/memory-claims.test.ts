/** Claimed values in memory: once within the window, by an injected clock, within the bound. */
import t from 'tap'
import { MemoryClaims, MemoryStore } from '#state/memory-store.js'

const of = (key: string, window = 100): { key: string, window: number } => ({ key, window })

t.test('a value is new once in its window', async t => {
  let now = 0
  const store = new MemoryStore({ ttl: 10, maxTasks: 1 }, () => now)
  t.same(store.claim('a', [of('1'), of('2', 50)]), ['new', 'new'])
  t.same(store.claim('b', [of('1')]), ['new'], 'of another agent')
  t.same(store.claim('a', [of('2', 50), of('3'), of('1')]), ['seen', 'new', 'seen'])
  now = 49
  t.same(store.claim('a', [of('2', 50)]), ['seen'], 'a repetition does not prolong the window')
  now = 50
  t.same(store.claim('a', [of('2', 50), of('1')]), ['new', 'seen'])
  now = 99
  t.same(store.claim('a', [of('1'), of('2', 50)]), ['seen', 'seen'])
  now = 100
  t.same(store.claim('a', [of('1'), of('2', 50)]), ['new', 'new'])
  t.same(store.claim('a', [of('1', 7)]), ['seen'], 'the window of the rule has changed since')
  t.equal(store.size, 0, 'tasks are counted apart')
  await store.close()
  t.same(store.claim('a', [of('1')]), ['new'])
})

t.test('released values may be claimed again', async t => {
  const claims = new MemoryClaims(() => 0, 2)
  for (let i = 0; i < 5; i++) {
    t.same(claims.claim('a', [of('1'), of('2', 50)]), ['new', 'new'])
    claims.release('a', [of('1'), of('2', 50), of('never')])
  }
})

t.test('a full memory forgets nothing: further values are unavailable until others expire', async t => {
  let now = 0
  const claims = new MemoryClaims(() => now, 2)
  t.same(claims.claim('a', [of('1'), of('2', 200), of('3')]), ['new', 'new', 'unavailable'])
  t.same(claims.claim('a', [of('1'), of('3')]), ['seen', 'unavailable'])
  now = 100
  t.same(claims.claim('a', [of('3'), of('1'), of('2', 200)]), ['new', 'unavailable', 'seen'])
})
