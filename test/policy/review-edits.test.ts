/** Data that the gateway removes from responses: by rules, of inactive extensions, and secrets of the history. */
import t from 'tap'
import { declaring, policyOf } from './fixtures.js'
import type { Asking, Style } from './responses.js'
import { ask, edited, judge, outcome, policyFor, rule, EVERY_STYLE, URI, V1 } from './responses.js'

const good = { total: 1 }
const bad = { total: 'x' }
const strip = rule({ verdict: 'strip' })

for (const style of EVERY_STYLE) {
  t.test(style.name, async t => {
    const parts = (bytes: Buffer, more: Partial<Asking> = {}, policy = policyFor({ response: [strip] })): unknown => {
      const text = JSON.stringify(edited(bytes, judge(policy, bytes, { style, ...more }), style))
      return [...text.matchAll(/"total":("?\w+"?)|"text":"(\w+)"/g)].map(found => found[1] ?? found[2])
    }
    t.same(parts(style.task_('completed', { artifacts: [[style.part(good), style.part(bad), style.text('t')]] })), ['1', 't'])
    t.same(parts(style.task_('working', { message: style.message([style.text('t'), style.part(bad)]) })), ['t'])
    t.same(parts(style.artifact([style.part(bad), style.text('t')]), { operation: 'SendStreamingMessage' }), ['t'])
    t.same(
      parts(style.artifact([style.part(bad), style.text('t')], { append: true }), { operation: 'SendStreamingMessage' }),
      ['t'],
      'a stream appends each DataPart as a whole'
    )
    t.same(
      parts(
        style.task_('completed', {
          artifacts: [
            [style.part(bad), style.part(bad)],
            [style.part(bad), style.text('t')]
          ]
        })
      ),
      ['"x"', 't'],
      'the last part of an artifact stays'
    )
    t.same(
      parts(style.task_('working', { message: style.message([style.part(bad), style.text('t')], {}, 'user') })),
      ['"x"', 't'],
      'what the client wrote'
    )

    t.test('an extension that the client did not activate', async t => {
      const policy = policyFor({
        owns: { metadata: ['$uri', 'own.*'], dataKeys: ['own.*'], mediaTypes: ['application/own'] },
        activation: { signals: ['header'] },
        inactive: { response: 'strip' }
      })
      const bytes = style.task_('completed', {
        message: style.message([style.text('s')], { metadata: { [URI]: 1, other: 1 } }),
        artifacts: [[style.part({ 'own.a': 1, b: 2 }, 'a/b', { 'own.m': 1 }), style.part({ n: 1 }, 'application/own')]],
        metadata: { 'own.task': 1 }
      })
      const verdict = judge(policy, bytes, { style })
      const text = JSON.stringify(edited(bytes, verdict, style))
      t.notMatch(text, 'own')
      t.notMatch(text, URI)
      t.match(text, /"other":1.*"b":2/)
      t.same(verdict.edited, ['ext/inactive'])
      t.match(verdict.violations, [{ mode: 'observe', rule: 'inactive', path: /metadata/ }])
      t.same(judge(policy, bytes, { style, requested: [URI] }).edits, [], 'it did')
      const repeated = style.task_('working', {
        history: [
          style.message([style.text('u')], { metadata: { 'own.client': 1 } }, 'user'),
          style.message([style.text('a'), style.part({ n: 1 }, 'application/own')], { metadata: { 'own.past': 1 } }),
          style.message([style.part({ n: 2 }, 'application/own')])
        ]
      })
      const past = judge(policy, repeated, { style })
      t.notMatch(JSON.stringify(edited(repeated, past, style)), 'own.past', 'what the agent repeats in the history')
      t.match(
        JSON.stringify(edited(repeated, past, style)),
        /"own\.client":1.*"text":"a".*application\/own/,
        'not what the client wrote, nor the last part'
      )
      t.match(past.violations, [{ rule: 'inactive', path: /history\[1\]/ }, { rule: 'inactive', message: /stays/ }])
      const alone = style.task_('completed', { artifacts: [[style.part({ n: 1 }, 'application/own')]] })
      t.match(judge(policy, alone, { style }), {
        edits: [],
        violations: [{ rule: 'inactive' }, { rule: 'inactive', message: /stays: no part would be left/ }]
      })
    })

    t.test('redaction of the history', async t => {
      const policy = policyFor({ redact: ['$uri#/keys/*/secret', 'token', 'list#/*/0'] })
      const metadata = { [URI]: { keys: { a: { secret: 'Zq7', id: 1 }, b: { secret: 'Zq7' } } }, token: 'Zq7', list: { x: ['Zq7', 2] } }
      const bytes = style.task_('working', {
        metadata: { token: 'stays' },
        history: [
          style.message([style.part({ n: 1 }, 'a/b', { token: 'Zq7' })], { metadata }, 'user'),
          style.message([style.text('a')], { metadata: { token: 'Zq7' } })
        ]
      })
      const verdict = judge(policy, bytes, { style })
      const text = JSON.stringify(edited(bytes, verdict, style))
      t.notMatch(text, 'Zq7')
      t.match(text, '"keys":{"a":{"id":1},"b":{}}')
      t.match(text, '"list":{"x":[2]}')
      t.match(text, '"token":"stays"')
      t.same([verdict.edited, verdict.violations], [['ext/redact'], []])
    })
  })
}

t.test('data that an active extension also owns stays', async t => {
  const other = 'https://example.com/ext/v2'
  const own = {
    owns: { mediaTypes: ['application/own'], metadata: ['own.*'] },
    activation: { signals: ['header' as const] },
    inactive: { response: 'strip' as const }
  }
  const policy = policyOf(
    declaring(URI, other),
    { ext: { uri: URI, ...own }, newer: { uri: other, ...own, owns: { mediaTypes: ['application/own'] } } },
    { responses: 'enforce' }
  )
  const bytes = V1.task_('completed', { artifacts: [[V1.part(1, 'application/own'), V1.text('t')]], metadata: { 'own.task': 1 } })
  const text = (requested: readonly string[]): string => JSON.stringify(edited(bytes, judge(policy, bytes, { requested })))
  t.match(text([other]), 'application/own', 'the part is of the version that the client asked for')
  t.notMatch(text([other]), 'own.task', 'the metadata is not')
  t.notMatch(text([]), 'application/own')
})

t.test('nothing is removed from a history that clients read differently', async t => {
  const odd = V1.raw(
    V1.taskOf('working', { history: [V1.message([{ text: 'a', data: { total: 1 } }], { metadata: { token: 1 } }, 'user')] })
  )
  for (const [name, more] of [
    ['redact', { redact: ['token'] }],
    ['strip', { owns: { metadata: ['own.*'] }, activation: { signals: ['header'] as const }, inactive: { response: 'strip' as const } }]
  ] as const) {
    const given = { operation: 'GetTask', taskId: 't1' } as const
    const refused = judge(policyFor(more), odd, name === 'strip' ? { ...given, requested: [] } : given)
    t.equal(refused.rejection?.rule, 'gateway/answer-fields', name)
    t.match(judge(policyFor({ ...more, mode: 'observe' }), odd, given), { rejection: null }, name)
  }
  t.same(
    outcome(judge(policyFor({ response: [rule()] }), odd, { operation: 'GetTask', taskId: 't1' })),
    '',
    'where nothing is taken out, it is not read'
  )
})

t.test('redaction that is only observed is recorded once', async t => {
  const history = [
    V1.message([V1.text('a')], { metadata: { token: 1 } }, 'user'),
    V1.message([V1.text('a')], { metadata: { token: 1 } }, 'user')
  ]
  for (const policy of [policyFor({ redact: ['token'] }, { responses: 'observe' }), policyFor({ mode: 'observe', redact: ['token'] })]) {
    const verdict = judge(policy, V1.raw(V1.taskOf('working', { history })), { operation: 'GetTask', taskId: 't1' })
    t.same(outcome(verdict), 'ext/redact result.history[0].metadata.token should be removed: the history repeats it')
    t.same(verdict.edits, [])
  }
  t.match(ask(policyFor({ redact: ['token'] })).review, { buffersBody: true, enforces: true })
})

t.test('data keys, metadata, and surplus', async t => {
  const keys = policyFor({
    response: [
      { id: 'k', select: { part: { dataKey: 'secret*' } }, count: { max: 0 }, verdict: 'strip' },
      {
        id: 'm',
        select: { metadata: { in: ['task', 'artifact', 'part'], key: 'k', path: '/a/0' } },
        schema: { type: 'string' },
        verdict: 'strip'
      }
    ]
  })
  const bytes = V1.task_('completed', {
    artifacts: [[V1.part({ secret1: 1, secret2: 2, open: 3 }, 'a/b', { k: { a: [1, 2] } })]],
    metadata: { k: { a: ['ok'] } }
  })
  t.match(edited(bytes, judge(keys, bytes)), {
    result: { task: { artifacts: [{ parts: [{ data: { open: 3 }, metadata: { k: { a: [2] } } }] }], metadata: { k: { a: ['ok'] } } } }
  })
  t.notMatch(JSON.stringify(edited(bytes, judge(keys, bytes))), 'secret')
  const most = policyFor({ response: [{ id: 'most', select: { part: { data: true } }, count: { max: 1 }, verdict: 'strip' }] })
  const three = V1.task_('completed', { artifacts: [[V1.part(1), V1.part(2)], [V1.part(3), V1.text('t')]] })
  t.match(
    (edited(three, judge(most, three)) as { result: { task: { artifacts: { parts: unknown[] }[] } } }).result.task.artifacts.map(
      one => one.parts.length
    ),
    [1, 1]
  )
})

t.test('a result itself is never removed', async t => {
  const policy = policyFor({ response: [{ id: 'r', select: { event: 'first' }, schema: false, verdict: 'strip' }] })
  t.match(judge(policy, V1.task_('working')), { edits: [], violations: [{ rule: 'r' }, { message: /stays/ }] })
})

t.test('an extension that only the gateway requested, without expose, is not activated by the client', async t => {
  const ours = (expose: boolean, signals: readonly ('header' | 'listed' | 'always')[] = ['header']): ReturnType<typeof policyFor> =>
    policyFor({
      owns: { metadata: ['k'] },
      activation: { signals, default: 'inject', expose },
      inactive: { response: 'strip' },
      response: [{ id: 'r', select: { metadata: { in: ['task'], key: 'k' } }, schema: false }]
    })
  const bytes = V1.task_('working', { metadata: { k: 1 } })
  const run = (policy: ReturnType<typeof policyFor>, more: Asking = {}): unknown => {
    const verdict = judge(policy, bytes, more)
    return [verdict.edited.join(), verdict.violations.map(one => one.rule).join()]
  }
  t.same(run(ours(false)), ['ext/inactive', 'inactive,r'], 'rules look at it: it is active')
  t.same(run(ours(true)), ['', 'r'])
  t.same(run(ours(false), { requested: [URI] }), ['', 'r'])
  t.same(run(ours(false, ['header', 'listed']), { message: { extensions: [URI] } }), ['', 'r'])
  t.same(run(ours(false, ['always'])), ['', 'r'])
})

t.test('lists: each task keeps its own parts', async t => {
  const style: Style = V1
  const bytes = style.raw({
    tasks: [
      style.taskOf('completed', { artifacts: [[style.part(bad)]] }),
      style.taskOf('completed', { artifacts: [[style.part(bad), style.text('t')]] })
    ]
  })
  const verdict = judge(policyFor({ response: [strip] }), bytes, { operation: 'ListTasks' })
  t.same(verdict.edits.map(one => one.path), [['result', 'tasks', 1, 'artifacts', 0, 'parts', 0]])
})
