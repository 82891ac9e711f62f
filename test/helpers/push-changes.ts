/** What every store of task state does with the push notification configurations of a task. */
import type { Test } from 'tap'
import type { PushChange, PushCounted, TaskStore } from '#state/store.js'

export async function pushChanges (t: Test, store: Pick<TaskStore, 'pushConfigs'>): Promise<void> {
  const change = async (kind: PushChange['kind'], entries: readonly string[], token: string, taskId = 't'): Promise<PushCounted> =>
    await store.pushConfigs({ agent: 'a', taskId, kind, entries, token, max: 3 })
  const reserve = (entries: readonly string[], token = 'r', taskId = 't') => change('reserve', entries, token, taskId)

  t.same(await reserve(['1', '2']), [true, true])
  t.equal(await reserve(['3', '4']), 'full', 'all or none')
  t.same(await reserve(['2', '3']), [false, true], 'a known one does not count')
  t.equal(await reserve(['4']), 'full')
  t.same(await reserve(['1', '2', '3']), [false, false, false], 'a full task takes what it has')
  t.same(await reserve(['4'], 'r', 'other'), [true], 'of another task')

  await change('free', ['1'], 'somebody')
  t.equal(await reserve(['4']), 'full', 'another token frees nothing')
  await change('mark', ['1'], 'd')
  await change('mark', ['9'], 'd')
  await change('free', ['1', '9'], 'd')
  t.same(await reserve(['4'], 'c'), [true], 'a mark adds nothing; its token frees')
  await change('mark', ['4'], 'd2')
  await change('keep', ['4'], 'k')
  await change('free', ['4'], 'd2')
  t.equal(await reserve(['5']), 'full', 'what was kept after the mark is not freed')
  await change('keep', ['6'], 'k')
  t.same(await reserve(['6']), [false], 'keep has no maximum')

  const found = await Promise.all(Array.from({ length: 50 }, (_, i) => reserve([`p${i}`], 'p', 'parallel')))
  t.equal(found.filter(one => one !== 'full').length, 3, '3 of 50 at once')
}
