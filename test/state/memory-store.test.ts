import t from 'tap'
import fc from 'fast-check'
import { MemoryStore } from '#state/memory-store.js'
import { MAX_FIELDS, MAX_LENGTH, recordKey } from '#state/record-key.js'
import type { TaskKey } from '#state/store.js'
import { check } from '../helpers/seed.js'

const key = (taskId: string, tenant: string | null = null, agent = 'a'): TaskKey => ({ agent, tenant, taskId })
const record = (fields: Record<string, string>): Map<string, string> => new Map(Object.entries(fields))

t.test('written values are readable at once', async t => {
  const store = new MemoryStore({ ttl: 1000, maxTasks: 10 })
  t.equal(store.read(key('t')), 'unknown')
  t.equal(store.write(key('t'), record({ state: 'working', x: '1' })), null)
  t.equal(store.write(key('t'), record({ state: 'completed' })), null)
  const read = store.read(key('t'))
  t.same(read, record({ state: 'completed', x: '1' }))
  store.write(key('t'), record({ state: 'failed' }))
  t.same(read, record({ state: 'completed', x: '1' }), 'a copy')
  await store.close()
  t.equal(store.read(key('t')), 'unknown')
  t.equal(store.size, 0)
})

t.test('no two tasks share a record', async t => {
  const keys = [
    key('t'),
    key('t', ''),
    key('t', 'x'),
    key('t', null, 'b'),
    key('t", "x'),
    key('x","t'),
    key('t', 'x","t'),
    key('\ud800'),
    key('\ufffd'),
    key('null'),
    key('', null),
    key('a:t'),
    key('__proto__'),
    key('x'.repeat(1_000_000))
  ]
  const store = new MemoryStore({ ttl: 1000, maxTasks: 100 })
  keys.forEach((one, i) => store.write(one, record({ i: String(i) })))
  keys.forEach((one, i) => t.same(store.read(one), record({ i: String(i) })))
  for (const one of keys) t.match(recordKey(one), /^task:[ab]:[\w-]{43}$/)
})

t.test('a task is forgotten after the time to live', async t => {
  let now = 0
  const store = new MemoryStore({ ttl: 100, maxTasks: 10 }, () => now)
  for (const one of ['read', 'written', 'neither']) store.write(key(one), record({ a: '1' }))
  now = 99
  store.read(key('read'))
  store.write(key('written'), record({ b: '2' }))
  now = 100
  t.equal(store.size, 2)
  t.equal(store.read(key('neither')), 'unknown')
  now = 198
  t.same(store.read(key('written')), record({ a: '1', b: '2' }))
  now = 200
  t.equal(store.read(key('read')), 'unknown')
  t.equal(store.size, 1)
})

t.test('a record is limited, and a field that no longer fits is removed', async t => {
  const store = new MemoryStore({ ttl: 1000, maxTasks: 10 })
  const half = 'x'.repeat(MAX_LENGTH / 2)
  t.equal(store.write(key('t'), record({ a: half, state: 'working' })), null)
  t.equal(await store.write(key('t'), record({ b: half, state: 'completed' })), false)
  t.same(store.read(key('t')), record({ a: half, state: 'completed' }), 'what fits is kept')
  t.equal(await store.write(key('t'), record({ a: half + half })), false)
  t.same(store.read(key('t')), record({ state: 'completed' }))
  t.equal(store.write(key('t'), record({ b: half })), null, 'there is room again')
  const many = record(Object.fromEntries(Array.from({ length: MAX_FIELDS + 1 }, (_, i) => [`f${i}`, ''])))
  t.equal(await store.write(key('u'), many), false)
  const kept = store.read(key('u'))
  t.equal(kept instanceof Map && kept.size, MAX_FIELDS)
  t.equal(store.write(key('u'), record({ f0: 'new' })), null, 'fields that are there can be replaced')
})

t.test('all records together are bounded', async t => {
  const store = new MemoryStore({ ttl: 1000, maxTasks: 1_000_000 }, () => 0, 100_000)
  for (let i = 0; i < 1000; i++) store.write(key(String(i)), record({ a: 'x'.repeat(1000) }))
  t.ok(store.size > 50 && store.size <= 100, String(store.size))
  t.equal(store.read(key('0')), 'unknown')
  t.type(store.read(key('999')), Map)
})

t.test('property: it behaves like a simple model', async t => {
  const ids = ['a', 'b', 'c', 'd', 'e']
  const step = fc.oneof(
    fc.record({ do: fc.constant('read' as const), id: fc.constantFrom(...ids) }),
    fc.record({
      do: fc.constant('write' as const),
      id: fc.constantFrom(...ids),
      field: fc.constantFrom('x', 'y'),
      value: fc.constantFrom('1', '2')
    }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 6 }) })
  )
  t.ok(check('state/memory-store/model', fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (maxTasks, steps) => {
    let now = 0
    const store = new MemoryStore({ ttl: 10, maxTasks }, () => now)
    /** Oldest first. */
    let model: { id: string, seen: number, fields: Record<string, string> }[] = []
    for (const one of steps) {
      if (one.do === 'wait') now += one.ms
      model = model.filter(({ seen }) => now - seen < 10)
      if (one.do === 'wait') continue
      const known = model.find(({ id }) => id === one.id)
      model = model.filter(({ id }) => id !== one.id)
      if (one.do === 'write') {
        model.push({ id: one.id, seen: now, fields: { ...known?.fields, [one.field]: one.value } })
        if (model.length > maxTasks) model.shift()
        if (store.write(key(one.id), record({ [one.field]: one.value })) !== null) return false
      } else {
        if (known !== undefined) model.push({ ...known, seen: now })
        const read = store.read(key(one.id))
        if (
          known === undefined
            ? read !== 'unknown'
            : !(read instanceof Map) ||
              JSON.stringify(Object.fromEntries([...read].sort())) !==
                JSON.stringify(Object.fromEntries(Object.entries(known.fields).sort()))
        ) { return false }
      }
      if (store.size !== model.length) return false
    }
    return true
  }), { numRuns: 1000 }) > 0, 'inputs')
})
