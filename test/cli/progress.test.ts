/** Progress of slow work, on a terminal only. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { withProgress } from '#cli/command-line/progress.js'

t.test('slow work on a terminal shows a line, which is erased', async t => {
  const written: string[] = []
  const terminal = { isTTY: true, write: (text: string) => { written.push(text) } }
  t.equal(await withProgress('loading', sleep(1_200, 'done'), terminal), 'done')
  t.same(written, ['loading ...', '\r\x1b[K'])
  await t.rejects(withProgress('loading', sleep(1_200).then(() => { throw new Error('no') }), terminal), { message: 'no' })
  t.equal(written.length, 4, 'also when the work fails')
})

t.test('fast work, and work without a terminal, shows nothing', async t => {
  const written: string[] = []
  const write = (text: string): void => { written.push(text) }
  t.equal(await withProgress('loading', Promise.resolve(1), { isTTY: true, write }), 1)
  t.equal(await withProgress('loading', sleep(1_200, 2), { write }), 2)
  t.same(written, [])
})
