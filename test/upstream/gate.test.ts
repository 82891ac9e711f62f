/** Calls that wait for room in a pool: the queue starts them in order, and skips calls whose client has disconnected. */
import { EventEmitter } from 'node:events'
import t from 'tap'
import { ConnectionQueue } from '#upstream/connection-queue.js'

t.test('disconnected callers are skipped, and waiting ones keep their order within the limit', async t => {
  const pool = new EventEmitter()
  const gate = new ConnectionQueue(pool, 60_000)
  const begun: string[] = []
  let room = 1
  const waiter = (name: string): { begin: () => boolean, expired: () => void } => ({
    begin: () => {
      begun.push(name)
      return --room > 0
    },
    expired: () => { t.fail(name) }
  })
  const [a, b, c, d, e] = [...'abcde'].map(waiter) as [
    ReturnType<typeof waiter>,
    ReturnType<typeof waiter>,
    ReturnType<typeof waiter>,
    ReturnType<typeof waiter>,
    ReturnType<typeof waiter>
  ]
  for (const one of [a, b, c, d, e]) gate.beginOrWait(one)
  t.same(begun, ['a'], 'the last place is taken')
  gate.leave(b)
  gate.leave(b)
  gate.leave(a)
  room = 2
  pool.emit('drain')
  t.same(begun, ['a', 'c', 'd'])
  room = 3
  pool.emit('drain')
  t.same(begun, ['a', 'c', 'd', 'e'])
  gate.beginOrWait(b)
  t.equal(begun.at(-1), 'b', 'there is room left')
})
