import t from 'tap'
import type { ResponseSelectorConfig } from '#config/model/model.js'
import { compileResponseSelector, compileBothSides, selectOn } from '#policy/selectors/response.js'
import { context, request, result } from './task-fixtures.js'

const part = (data: unknown): object => ({ data, mediaType: 'application/json' })
const message = (data: unknown, metadata = {}): object => ({ role: 'ROLE_AGENT', parts: [part(data)], metadata })
const subjects = {
  message: result({ message: message(1, { k: 'm' }) }),
  working: result(
    { statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_WORKING', message: message(2, { k: 's' }) }, metadata: { k: 'e' } } },
    false
  ),
  ended: result(
    {
      task: {
        id: 't',
        status: { state: 'TASK_STATE_FAILED', message: message(3) },
        artifacts: [{ artifactId: 'a', parts: [part(4)], metadata: { k: 'a' } }],
        metadata: { k: 't' }
      }
    },
    false
  ),
  artifact: result({ artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [part(5)] } } }, false)
}
type Name = keyof typeof subjects

t.test('values that are selected from results', async t => {
  const rows: [ResponseSelectorConfig, Partial<Record<Name, unknown[]>>][] = [
    [{ part: { data: true } }, { message: [1], working: [2], ended: [3, 4], artifact: [5] }],
    [{ part: { in: ['artifact'], data: true } }, { ended: [4], artifact: [5] }],
    [{ metadata: { key: 'k' } }, { message: ['m'] }],
    [{ metadata: { in: ['status', 'artifact', 'task', 'event', 'params'], key: 'k' } }, { working: ['s', 'e'], ended: ['a', 't'] }]
  ]
  for (const [config, expected] of rows) {
    for (const name of Object.keys(subjects) as Name[]) {
      t.same(
        compileResponseSelector(config, context)
          .select(subjects[name])
          .map(one => one.value),
        expected[name] ?? [],
        `${JSON.stringify(config)} ${name}`
      )
    }
  }
})

t.test('events', async t => {
  const meant = { first: ['message'], terminal: ['message', 'ended'], last: ['message', 'working', 'ended', 'artifact'] } as const
  for (const [event, names] of Object.entries(meant)) {
    const selector = compileResponseSelector({ event: event as keyof typeof meant }, context, true)
    for (const name of Object.keys(subjects) as Name[]) {
      const found = selector.select(subjects[name])
      t.equal(found.length, (names as readonly string[]).includes(name) ? 1 : 0, `${event} ${name}`)
      if (found[0] !== undefined) {
        t.match(found[0], { value: subjects[name].normalised, path: subjects[name].result.path, at: subjects[name].result.steps })
      }
    }
  }
})

t.test('both sides', async t => {
  const sent = request({ metadata: { k: 'r' }, parts: [part(9)] })
  const values = (config: ResponseSelectorConfig, side: 'request' | 'response'): unknown[] =>
    selectOn(compileBothSides(config, context), side === 'request' ? sent : subjects.working, side).map(one => one.value)
  t.same(values({ metadata: { in: ['message', 'status'], key: 'k' } }, 'request'), ['r'])
  t.same(values({ metadata: { in: ['message', 'status'], key: 'k' } }, 'response'), ['s'])
  t.same(values({ metadata: { in: ['status', 'task', 'event', 'artifact'], key: 'k' } }, 'request'), [], 'places of answers')
  t.same(values({ part: { data: true } }, 'request'), [9])
  t.same(values({ part: { in: ['status'], data: true } }, 'request'), [])
  t.same(values({ event: 'last' }, 'request'), [])
})
