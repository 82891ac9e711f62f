import t from 'tap'
import type { Mode, TaskStateConfig } from '#config/model/model.js'
import type { CompiledPolicy } from '#policy/compile/compiled.js'
import { checkTaskState, compileTaskState } from '#policy/task/state.js'
import type { TaskRecord } from '#policy/task/memory.js'
import { TaskMemory } from '#policy/task/memory.js'
import type { Violation } from '#policy/violation.js'
import { compiled, context, request, result, status } from './task-fixtures.js'

const FROM = { metadata: { in: ['message', 'status'], key: 's' } } as const

function policyOf (config: Partial<TaskStateConfig>, mode: Mode = 'enforce', responses: Mode = 'enforce'): CompiledPolicy {
  return compiled({ state: compileTaskState({ from: FROM, onViolation: 'reject', ...config }, mode, responses, context) })
}

type Move = readonly ['client' | 'agent', unknown, string?]

/** Applies moves to one task and returns the violations of each move. The other side does not see a rejected move. */
function play (
  policy: CompiledPolicy,
  moves: readonly Move[],
  record: TaskRecord | null | 'new' = 'new'
): { memory: TaskMemory; found: Violation[][] } {
  const memory = record === 'new' ? new TaskMemory(null, [policy.name]) : new TaskMemory(record)
  const found = moves.map(([who, s, state]) => {
    const violations: Violation[] = []
    if (who === 'client') checkTaskState(policy, request({ taskId: 't', metadata: { s } }), 'request', memory, violations)
    else checkTaskState(policy, status({ s }, state), 'response', memory, violations)
    return violations
  })
  return { memory, found }
}

const broken = (...args: Parameters<typeof play>): number[] =>
  play(...args).found.flatMap((violations, i) => (violations.length === 0 ? [] : [i]))

const X402: Partial<TaskStateConfig> = {
  taskStates: { 'payment-required': ['input-required'] },
  transitions: {
    '': ['payment-required'],
    'payment-required': ['payment-submitted', 'payment-rejected'],
    'payment-submitted': ['payment-completed', 'payment-failed'],
    'payment-completed': []
  }
}
const PAUSED = 'TASK_STATE_INPUT_REQUIRED'

t.test('transitions', async t => {
  const rows: [string, Move[], number[]][] = [
    [
      'the whole way',
      [
        ['agent', 'payment-required', PAUSED],
        ['client', 'payment-submitted'],
        ['agent', 'payment-completed']
      ],
      []
    ],
    [
      'repeated by updates and reads',
      [
        ['agent', 'payment-required', PAUSED],
        ['agent', 'payment-required', PAUSED],
        ['client', 'payment-submitted'],
        ['agent', 'payment-submitted'],
        ['agent', 'payment-completed'],
        ['agent', 'payment-completed']
      ],
      []
    ],
    ['paid before it is asked for', [['client', 'payment-submitted']], [0]],
    [
      'refused once, refused again',
      [
        ['client', 'payment-submitted'],
        ['client', 'payment-submitted'],
        ['agent', 'payment-required', PAUSED],
        ['client', 'payment-submitted']
      ],
      [0, 1]
    ],
    [
      'a step left out',
      [
        ['agent', 'payment-required', PAUSED],
        ['agent', 'payment-completed']
      ],
      [1]
    ],
    [
      'after the last',
      [
        ['agent', 'payment-required', PAUSED],
        ['client', 'payment-submitted'],
        ['agent', 'payment-completed'],
        ['agent', 'payment-failed']
      ],
      [3]
    ],
    [
      'after one that is not listed',
      [
        ['agent', 'payment-required', PAUSED],
        ['client', 'payment-rejected'],
        ['agent', 'whatever'],
        ['agent', 'more']
      ],
      []
    ],
    [
      'what is no string',
      [
        ['agent', 7],
        ['agent', null],
        ['agent', ['payment-required']]
      ],
      [0, 1, 2]
    ]
  ]
  for (const [name, moves, expected] of rows) t.same(broken(policyOf(X402), moves), expected, name)
})

t.test('a substate is allowed in some states of the task, if a result contains one', async t => {
  const policy = policyOf({ taskStates: { asked: ['input-required', 'auth-required'] } })
  const rows: [Move, boolean][] = [
    [['agent', 'asked', PAUSED], true],
    [['agent', 'asked', 'TASK_STATE_AUTH_REQUIRED'], true],
    [['agent', 'asked', 'TASK_STATE_WORKING'], false],
    [['agent', 'asked', 'TASK_STATE_NONSENSE'], true],
    [['agent', 'other', 'TASK_STATE_WORKING'], true],
    [['client', 'asked'], true]
  ]
  for (const [move, holds] of rows) t.same(broken(policy, [move]), holds ? [] : [0], JSON.stringify(move))
  t.same(broken(policy, [['agent', 'asked', PAUSED], ['agent', 'asked', 'TASK_STATE_WORKING']]), [1], 'also where it is only repeated')
})

t.test('visits are counted when a substate is entered', async t => {
  const policy = policyOf({ maxVisits: { asked: 2 } })
  const { memory, found } = play(policy, [
    ['agent', 'asked'],
    ['agent', 'asked'],
    ['client', 'told'],
    ['agent', 'asked'],
    ['client', 'told'],
    ['agent', 'asked'],
    ['agent', 'asked']
  ])
  t.same(found.map(one => one.length), [0, 0, 0, 0, 0, 1, 1], 'the third is refused, and is not one when it is sent again')
  t.match(found[5], [
    {
      path: 'result.statusUpdate.status.message.metadata.s',
      message: 'is entered too often: at most 2 times in one task',
      reason: 'INVALID_AGENT_RESPONSE',
      rule: 'state',
      mode: 'enforce'
    }
  ])
  t.same(new Map(memory.take() ?? []), new Map([['s:p', 'told'], ['v:p:asked', '2'], ['b', 'p']]))
  t.same(
    broken(policyOf({ maxVisits: { asked: 2 } }, 'observe'), [
      ['agent', 'asked'],
      ['agent', 'a'],
      ['agent', 'asked'],
      ['agent', 'a'],
      ['agent', 'asked'],
      ['agent', 'asked'],
      ['agent', 'a'],
      ['agent', 'asked']
    ]),
    [4, 7],
    'observed: the task has moved on'
  )
})

t.test('numbers must not decrease', async t => {
  const policy = policyOf({ monotonic: FROM, from: { metadata: { key: 'none' } } })
  const rows: [string, unknown[], number[]][] = [
    ['numbers', [1, 2, 2, 3.5, 3, 4], [4]],
    ['strings', ['1', '2', '10', '9'], [3]],
    ['both', [1, '2', 3, '2.5'], [3]],
    ['more digits than a number has', ['9007199254740993', '9007199254740994', '9007199254740993'], [2]],
    ['negative', [-2, -1, '-3'], [2]],
    ['large', [1e21, 2e21, 1e21, 1e300], [2]],
    ['refused, then going on', [5, 3, 4, 6], [1, 2]],
    ['what is no number', ['x', true, null, {}, '', '1x', ' 1', '0x10', '1'.repeat(100), 'Infinity', 1], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]
  ]
  for (const [name, values, expected] of rows) t.same(broken(policy, values.map(value => ['agent', value])), expected, name)
  t.same(
    broken(
      policyOf({ monotonic: FROM, from: { metadata: { key: 'none' } } }, 'observe'),
      [5, 3, 4, 6].map(value => ['agent', value])
    ),
    [1, 2],
    'observed'
  )
})

t.test('a task that repeats all its numbers counts by the greatest', async t => {
  const policy = policyOf({ from: { metadata: { key: 'none' } }, monotonic: { metadata: { in: ['artifact'], key: 's' } } })
  const memory = new TaskMemory(null)
  const violations: Violation[] = []
  const artifact = (s: number): object => ({ artifactId: String(s), parts: [{ text: 'x' }], metadata: { s } })
  for (const one of [1, 2, 3]) {
    checkTaskState(policy, result({ artifactUpdate: { taskId: 't', artifact: artifact(one) } }), 'response', memory, violations)
  }
  checkTaskState(
    policy,
    result({ task: { id: 't', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [artifact(1), artifact(3), artifact(2)] } }),
    'response',
    memory,
    violations
  )
  t.same(violations, [])
  checkTaskState(
    policy,
    result({ task: { id: 't', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [artifact(1), artifact(2)] } }),
    'response',
    memory,
    violations
  )
  t.equal(violations.length, 1)
})

t.test('unknown tasks', async t => {
  const moves: Move[] = [['client', 'payment-submitted'], ['agent', 'payment-completed'], ['agent', 'payment-failed']]
  t.same(broken(policyOf(X402), moves, null), [2], 'allowed, and remembered from then on')
  t.same(broken(policyOf({ ...X402, onUnknown: 'reject' }), moves, null), [0, 1, 2])
  t.same(broken(policyOf({ ...X402, onUnknown: 'reject' }, 'observe'), moves, null), [0, 2], 'observed: it is known then')
  t.same(
    broken(policyOf({ ...X402, onUnknown: 'reject' }), [['agent', 'payment-required', PAUSED]]),
    [],
    'a new task is not one that nobody knows'
  )
  const monotonic = { from: { metadata: { key: 'none' } }, monotonic: FROM }
  t.same(broken(policyOf(monotonic), [['agent', 3], ['agent', 2]], null), [1])
  t.same(broken(policyOf({ ...monotonic, onUnknown: 'reject' }), [['agent', 3]], null), [0])
  t.same(broken(policyOf({ maxVisits: { a: 1 } }), [['agent', 'a'], ['agent', 'b'], ['agent', 'a']], null), [2])
})

t.test('a record continues where it ended', async t => {
  const first = play(policyOf(X402), [['agent', 'payment-required', PAUSED]]).memory.take()
  t.same(first, new Map([['s:p', 'payment-required'], ['b', 'p']]))
  t.same(broken(policyOf(X402), [['client', 'payment-submitted']], first), [])
  t.same(broken(policyOf(X402), [['agent', 'payment-completed']], first), [0])
})

t.test('a record that does not include the beginning of the task determines nothing about missing substates', async t => {
  const late = new Map([['state', 'working']])
  t.same(broken(policyOf(X402), [['agent', 'payment-completed']], late), [])
  t.same(broken(policyOf({ ...X402, onUnknown: 'reject' }), [['agent', 'payment-completed']], late), [0])
  t.same(broken(policyOf(X402), [['agent', 'payment-completed']], new Map([['b', 'other']])), [], 'nor one from before the policy')
})

t.test('long substates are stored as digests, and distinguished', async t => {
  const long = 'x'.repeat(129)
  const policy = policyOf({ transitions: { [long]: ['a'], '#b': ['a'] } })
  const { memory } = play(policy, [['agent', long]])
  t.match(memory.get('s:p'), /^#[\w+/]{16}$/)
  t.same(broken(policy, [['agent', long], ['agent', long], ['agent', `${long}y`]]), [2])
  t.same(broken(policy, [['agent', long], ['agent', 'a']]), [])
  t.same(broken(policy, [['agent', '#b'], ['agent', 'c']]), [1])
})

t.test('modes: evaluation on each side', async t => {
  const moves: Move[] = [['client', 'bad'], ['agent', 'bad2']]
  const transitions = { '': ['good'], bad: [] }
  const rows: [Mode, Mode, TaskStateConfig['onViolation'], (string | undefined)[]][] = [
    ['enforce', 'enforce', 'reject', ['enforce', 'enforce']],
    ['enforce', 'enforce', 'warn', ['observe', 'observe']],
    ['enforce', 'enforce', undefined, ['observe', 'observe']],
    ['enforce', 'observe', 'reject', ['enforce', 'observe']],
    ['enforce', 'off', 'reject', ['enforce', undefined]],
    ['observe', 'enforce', 'reject', ['observe', 'observe']],
    ['off', 'enforce', 'reject', [undefined, undefined]]
  ]
  for (const [mode, responses, onViolation, expected] of rows) {
    const config: TaskStateConfig = { from: FROM, transitions, ...(onViolation === undefined ? {} : { onViolation }) }
    const policy = compiled({ state: compileTaskState(config, mode, responses, context) })
    t.same(play(policy, moves).found.map(found => found[0]?.mode), expected, `${mode} ${responses} ${onViolation}`)
  }
})

t.test('messages contain only names of the policy', async t => {
  const secret = 'client-secret'
  const policy = policyOf({ transitions: { '': ['a', 'b'], a: ['c'], c: [] }, taskStates: { [secret]: ['working'] } })
  const found = play(policy, [['client', secret], ['client', 'a'], ['client', secret], ['client', 'c'], ['client', secret]]).found.flat()
  t.same(found.map(one => one.message), [
    'must begin with "a", "b"',
    'must not follow the current state of the task; allowed are "c"',
    'must not change: the task is in its last state'
  ])
  for (const one of found) {
    t.match(one, {
      path: 'params.message.metadata.s',
      reason: 'EXTENSION_DATA_INVALID',
      extension: 'p',
      uri: 'urn:ext',
      isStandalone: false
    })
  }
  const own = policyOf({ transitions: { '': [] }, error: { class: 'conflict', message: 'Pay first.', reason: 'PAY_FIRST' } })
  t.match(play(own, [['client', 'a'], ['client', 7]]).found, [
    [{ message: 'Pay first.', isStandalone: true, reason: 'EXTENSION_CONFLICT', customReason: 'PAY_FIRST' }],
    [{ message: 'must be a string', isStandalone: false, customReason: null }]
  ])
})

t.test('places that a side does not have are skipped', async t => {
  const policy = policyOf({ from: { metadata: { in: ['status'], key: 's' } }, transitions: { '': [] } })
  t.same(broken(policy, [['client', 'a'], ['agent', 'a']]), [1])
})

t.test('a state for each key', async t => {
  const select = (path: string) => ({ metadata: { in: ['message', 'status', 'artifact'], key: 's', path } }) as const
  const policy = policyOf({
    from: select('/phase'),
    key: select('/id'),
    transitions: { '': ['started'], started: ['completed', 'failed'], completed: [], failed: [] },
    monotonic: select('/step'),
    maxVisits: { failed: 1 }
  })
  const call = (id: unknown, phase: string, step = 0): Move => ['agent', { id, phase, step }]
  t.same(broken(policy, [call('a', 'started'), call('b', 'started'), call('b', 'failed'), call('a', 'completed')]), [])
  t.same(broken(policy, [call('a', 'started'), call('b', 'completed'), call('a', 'completed'), call('a', 'failed')]), [1, 3], 'each begins by itself')
  t.same(broken(policy, [call('1', 'started'), call(1, 'started'), call(1, 'completed'), call('1', 'completed')]), [], 'a number is another key')
  t.same(broken(policy, [call('a', 'started', 5), call('b', 'started', 1), call('a', 'started', 4)]), [2], 'numbers too')
  t.same(broken(policy, [['client', { id: 'a', phase: 'started' }], call('a', 'started'), call('a', 'completed')], null), [], 'unknown tasks')
  for (const id of [null, {}, [], true]) t.match(play(policy, [call(id, 'started')]).found[0]?.[0], { message: 'must be a string or a number' })
  t.match(play(policy, [['agent', { phase: 'started' }]]).found[0]?.[0], { message: /0 keys for 1 values/ })
  t.same(broken(policy, [['agent', { id: 'a' }]]), [], 'a key without a state')

  const memory = new TaskMemory(null, ['p'])
  const found: Violation[] = []
  const tell = (to: TaskMemory, id: unknown, phase: string): void => {
    checkTaskState(policy, status({ s: { id, phase, step: 0 } }), 'response', to, found)
  }
  for (let i = 0; i < 1_000 && found.length === 0; i++) tell(memory, `call-${i}`, 'started')
  t.match(found, [{ message: /^is one too many/ }])
  const record = memory.take()
  t.ok((record?.size ?? 99) < 5, 'all keys share a field: a record has 64')
  t.ok([...record ?? []].every(([field, value]) => field.length + value.length < 16_384), 'and 32 KiB')
  tell(memory, 'call-7', 'completed')
  t.equal(found.length, 1, 'known keys go on')

  const here = new TaskMemory(null, ['p'])
  here.recallBy(() => record)
  found.length = 0
  tell(here, 'call-7', 'completed')
  t.same(found, [], 'a key that another connection has seen')
})
