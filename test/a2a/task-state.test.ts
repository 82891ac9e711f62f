import t from 'tap'
import { isTerminal, TASK_STATES, taskStateOf } from '#a2a/task-state.js'

t.test('states of both generations have the names of 0.3', async t => {
  for (const state of TASK_STATES) {
    t.equal(taskStateOf(state), state)
    if (state !== 'unknown') t.equal(taskStateOf(`TASK_STATE_${state.toUpperCase().replace('-', '_')}`), state)
  }
  t.equal(taskStateOf('TASK_STATE_UNSPECIFIED'), 'unknown')
  for (const text of ['TASK_STATE_CANCELLED', 'cancelled']) t.equal(taskStateOf(text), 'canceled', text)
  t.same(
    [0, 1, 2, 3, 4, 5, 6, 7, 8].map(taskStateOf),
    ['unknown', 'submitted', 'working', 'completed', 'failed', 'canceled', 'input-required', 'rejected', 'auth-required'],
    'numbers of proto 1.0.1'
  )
  for (const value of [undefined, null, '', 'on', 'COMPLETED', 'TASK_STATE_', 9, -1, 1.5, NaN, true, {}, ['completed'], 'constructor']) {
    t.equal(taskStateOf(value), null, String(value))
  }
})

t.test('a task in a terminal state never changes again', async t => {
  t.same(TASK_STATES.filter(isTerminal), ['completed', 'canceled', 'failed', 'rejected'])
  t.equal(isTerminal(null), false)
})
