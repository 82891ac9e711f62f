import t from 'tap'
import { createStore } from '#state/create-store.js'
import type { CountedStore, StoreEvent } from '#state/create-store.js'
import { until } from '../helpers/http.js'

const KEY = { agent: 'a', tenant: null, taskId: 't' }
const CONFIG = { ttl: 1000, maxTasks: 10, timeout: 100, prefix: '' }

function open (store: string): { store: CountedStore, events: StoreEvent[], lines: string[] } {
  const events: StoreEvent[] = []
  const lines: string[] = []
  const log = (_fields: object, message: string): void => { lines.push(message) }
  return {
    store: createStore(
      { ...CONFIG, store },
      {
        log: { info: log, warn: log },
        onEvent: event => {
          events.push(event)
        }
      }
    ),
    events,
    lines
  }
}

t.test('memory: every call is counted, and completes at once', async t => {
  const { store, events } = open('memory')
  t.equal(store.read(KEY), 'unknown')
  t.equal(store.write(KEY, new Map([['state', 'working']])), null)
  t.type(store.read(KEY), Map)
  t.equal(store.remembered(), 1)
  t.equal(await store.write(KEY, new Map([['x', 'x'.repeat(40_000)]])), false)
  t.same(
    events.map(one => `${one.kind} ${one.agent} ${one.outcome}`),
    ['lookup a unknown', 'write a kept', 'lookup a known', 'write a lost']
  )
  await store.close()
  t.equal(store.remembered(), 0)
})

t.test('an unreachable server', async t => {
  const { store, events, lines } = open('redis://127.0.0.1:1')
  t.equal(store.read(KEY), 'unavailable')
  t.equal(await store.write(KEY, new Map([['state', 'working']])), false)
  t.equal(store.remembered(), null)
  t.same(events.map(one => one.outcome), ['unavailable', 'lost'])
  await until(() => lines.length > 0, 'a log line')
  t.same(lines, ['state: no connection to the store; tasks are unknown until the gateway connects again'])
  await store.close()
})
