/** Response rules: the results that they select, the violations that they find, and the effect on the response. */
import t from 'tap'
import { writeRejection } from '#a2a/errors.js'
import type { PolicyConfig } from '#config/model/model.js'
import type { ResponseDecision } from '#policy/response/evaluator.js'
import { MAX_VIOLATIONS } from '#policy/violation.js'
import type { Asking } from './responses.js'
import { ask, judge, outcome, policyFor, rule, EVERY_STYLE, STYLES, TYPE, URI, V1 } from './responses.js'

const good = { total: 1 }
const bad = { total: 'Zq7Secret' }

for (const style of EVERY_STYLE) {
  t.test(style.name, async t => {
    const data = style.version === '0.3' && style.binding !== 'JSONRPC' ? 'data.data' : 'data'
    const policy = policyFor({ response: [rule()] })
    const says = (bytes: Buffer, more: Partial<Asking> = {}, on = policy): string => outcome(judge(on, bytes, { style, ...more }))

    t.equal(says(style.task_('completed', { artifacts: [[style.part(good)]] })), '', 'valid')
    const broken = style.task_('completed', { artifacts: [[style.text('x')], [style.text('x'), style.part(bad)]] })
    t.equal(
      says(broken),
      `refused: The agent's response violates the rule "ext/r": ${style.task}.artifacts[1].parts[1].${data}.total must be a number (the schema of the rule).`
    )
    const message = style.body('message', style.message([style.part(bad)]))
    t.match(says(message), /^refused: .*(message|msg|result|body)\S*\.(parts|content)\[0\]\.data(\.data)?\.total must be a number/)
    t.match(
      says(style.task_('working', { message: style.message([style.part(bad)]) })),
      /^refused: .*status\.(message|update)\.(parts|content)\[0\]/
    )

    t.equal(says(style.task_('working', { message: style.message([style.part(bad)], {}, 'user') })), '', 'what the client wrote')
    t.match(
      says(style.body('message', style.message([style.part(bad)], {}, 'user'))),
      /^refused/,
      'the agent wrote it, whatever role it says'
    )
    t.equal(says(style.task_('working', { history: [style.message([style.part(bad)])] })), '', 'history')

    const observed = policyFor({ response: [rule()] }, { responses: 'observe' })
    t.match(
      judge(observed, broken, { style }),
      { rejection: null, edits: [], annotations: [], violations: [{ mode: 'observe', rule: 'r', reason: 'INVALID_AGENT_RESPONSE' }] },
      'observed'
    )
    t.equal(ask(policyFor({ response: [rule()] }, { responses: 'off' }), { style }).review, null, 'off')
    t.match(
      judge(policyFor({ mode: 'observe', response: [rule()] }), broken, { style }),
      { rejection: null, violations: [{ mode: 'observe' }] },
      'the policy observes'
    )

    t.test('streams: each event separately; chunks are only observed', async t => {
      const appended = (...parts: object[]): Buffer => style.artifact(parts, { append: true })
      const pieces = appended(style.part(bad))
      const whole = style.artifact([style.part(bad)])
      const text = rule({ select: { part: { match: { properties: { text: { pattern: '^no' } }, required: ['text'] } } }, count: { max: 0 } })
      const stream = (on: typeof policy, ...events: Buffer[]): string[] => {
        const { review } = ask(on, { style, operation: 'SendStreamingMessage' })
        return events.map(event => outcome(review?.evaluate(event, true) as ResponseDecision))
      }
      t.match(
        stream(policy, style.task_('working'), style.status('working', { message: style.message([style.part(good)]) }), whole),
        ['', '', /^refused/]
      )
      t.match(stream(policy, appended(style.part(good)), appended(style.text('x')), pieces), ['', '', /^refused.*parts\[0\]/], 'a DataPart is whole')
      t.match(stream(policy, appended(style.text('x'), style.part(bad))), [/^refused.*parts\[1\]/], 'also beside text')
      const textPolicy = policyFor({ response: [text] })
      t.match(stream(textPolicy, appended(style.text('not yet')), style.artifact([style.text('not yet')])), [/^ext\/r .*parts\[0\]/, /^refused/])
      const fragments = Array.from({ length: MAX_VIOLATIONS + 5 }, () => style.text('no'))
      const each = policyFor({ response: [rule({ select: { part: {} }, schema: { type: 'object', required: ['total'] } })] })
      t.match(stream(each, appended(...fragments, style.part({}))), [/^refused/], 'fragments that break a rule hide no whole value')
      for (const [chunked, expected] of [[false, /^refused/], [true, /^ext\/r /]] as const) {
        t.match(stream(policyFor({ response: [rule({ chunked })] }), pieces), [expected])
        t.match(stream(policyFor({ response: [{ ...text, chunked }] }), appended(style.text('no'))), [expected])
      }
      const two = appended(style.part(good), style.part(good))
      t.match(stream(policyFor({ response: [rule({ count: { max: 1 } })] }), two), [/^refused/], 'too many here are too many for the whole')
      t.match(stream(policyFor({ response: [rule({ count: { min: 1 } })] }), appended(style.text('x'))), [/^ext\/r /], 'others may follow')
      t.match(stream(policyFor({ response: [rule({ verdict: 'strip' })] }), appended(style.text('x'), style.part(bad))), [/^edited ext\/r/])
      t.match(stream(policyFor({ response: [rule({ verdict: 'annotate' })] }), pieces), [/^annotated ext\/r/])
      t.match(stream(policyFor({ response: [{ ...text, verdict: 'annotate' }] }), appended(style.text('no'))), [/^ext\/r /])
      const added = style.artifact([style.text('x')], {
        append: true,
        artifact: { artifactId: 'a', parts: [style.text('x')], metadata: { total: 'x' } }
      })
      const onMetadata = { select: { metadata: { in: ['artifact' as const], key: 'total' } }, schema: { type: 'number' } }
      t.match(stream(policyFor({ response: [rule(onMetadata)] }), added), [/^refused/], 'metadata does not come in pieces')
      t.match(stream(policyFor({ response: [rule({ ...onMetadata, chunked: true })] }), added), [/^ext\/r /])
      t.match(
        stream(
          policyFor({ response: [rule({ select: { metadata: { in: ['artifact'], key: 'none' } }, schema: true, count: { min: 1 } })] }),
          added
        ),
        [/^ext\/r /],
        'a piece need not repeat what the first said'
      )
    })
  })
}

t.test('the rejection', async t => {
  const { rejection: refusal } = judge(policyFor({ response: [rule()] }), V1.task_('completed', { artifacts: [[V1.part(bad)]] }))
  t.match(refusal, {
    reason: 'INVALID_AGENT_RESPONSE',
    rule: 'ext/r',
    helpUri: URI,
    metadata: { rule: 'r', extension: URI },
    fields: [{ field: 'result.task.artifacts[0].parts[0].data.total', description: 'must be a number (the schema of the rule)' }]
  })
  if (refusal === null) return
  const wire = writeRejection(refusal, {
    binding: 'JSONRPC',
    version: '1.0',
    id: '1',
    eventStream: false,
    statedVersion: true,
    mediaType: null
  })
  t.equal(wire.status, 200)
  t.match(JSON.parse(wire.body.toString()), { id: 1, error: { code: -32006 } })
  t.notMatch(wire.body.toString(), 'Zq7Secret')
  const own = judge(
    policyFor({ response: [rule({ error: { message: 'orders have a total', reason: 'NO_TOTAL' } })] }),
    V1.task_('completed', { artifacts: [[V1.part(bad)]] })
  )
  t.match(own.rejection, {
    reason: 'INVALID_AGENT_RESPONSE',
    customReason: 'NO_TOTAL',
    message: 'The agent\'s response violates the rule "ext/r": result.task.artifacts[0].parts[0].data.total: orders have a total.'
  })
})

t.test('the number of recorded violations is limited; observed ones do not crowd out enforced ones', async t => {
  const many = V1.task_('completed', { artifacts: [Array.from({ length: 1_000 }, () => V1.part(bad))] })
  const { rejection: refusal, violations } = judge(policyFor({ response: [rule({ id: 'first', verdict: 'warn' }), rule()] }), many)
  t.equal(violations.length, 2 * MAX_VIOLATIONS)
  t.equal(refusal?.fields?.length, MAX_VIOLATIONS)
  t.ok((refusal?.message.length ?? 0) < 1_000)
  const told = judge(
    policyFor({ response: [rule({ id: 'first', verdict: 'warn' }), rule({ verdict: 'annotate' }), rule({ id: 'out', verdict: 'strip' })] }),
    many
  )
  t.equal(told.violations.length, MAX_VIOLATIONS)
  t.same(told.annotations, ['ext/r'])
  t.equal(told.edits.length, 999)
})

t.test('verdicts', async t => {
  const bytes = V1.task_('completed', { artifacts: [[V1.part(bad)]] })
  const found = 'ext/r result.task.artifacts[0].parts[0].data.total must be a number (the schema of the rule)'
  const plain = { id: 'r', select: { part: { data: true } }, schema: { properties: { total: { type: 'number' } } } } as const
  t.equal(outcome(judge(policyFor({ response: [plain] }), bytes)), found, 'warn is the default')
  t.equal(outcome(judge(policyFor({ response: [rule({ verdict: 'annotate' })] }), bytes)), `annotated ext/r; ${found}`)
  t.equal(outcome(judge(policyFor({ response: [rule({ verdict: 'annotate' })] }, { responses: 'observe' }), bytes)), found)
  t.match(ask(policyFor({ response: [plain] })).review, { buffersBody: false, enforces: false, readsBody: true })
  t.match(ask(policyFor({ response: [rule({ verdict: 'annotate' })] })).review, { buffersBody: true, enforces: false })
  t.match(ask(policyFor({ response: [rule()] })).review, { buffersBody: true, enforces: true })
  t.match(ask(policyFor({ response: [rule()] }, { responses: 'observe' })).review, { buffersBody: false, enforces: false })
  t.equal(ask(policyFor({ response: [rule({ on: ['GetTask'] })] })).review, null, 'for other operations')
  t.equal(ask(policyFor({ response: [rule()] }), { operation: 'GetExtendedAgentCard' }).review, null, 'answers without messages and tasks')
})

t.test('count: of results that have one of the places', async t => {
  const policy = policyFor({ response: [rule({ select: { part: { in: ['artifact'], data: true } }, count: { min: 1, max: 2 } })] })
  const says = (artifacts: readonly (readonly object[])[]): string => outcome(judge(policy, V1.task_('completed', { artifacts })))
  const part = V1.part(good)
  t.equal(says([]), '')
  t.equal(says([[part]]), '')
  t.equal(
    says([[V1.text('x')]]),
    'refused: The agent\'s response violates the rule "ext/r": result.task must contain at least 1 of the values that rule "r" selects.'
  )
  t.equal(
    says([[part], [part, part]]),
    'refused: The agent\'s response violates the rule "ext/r": result.task.artifacts[1].parts[1].data is one too many: at most 2 allowed.'
  )
  const key = policyFor({
    response: [{ id: 'r', select: { metadata: { in: ['status'], key: '$uri' } }, count: { min: 1 }, verdict: 'reject' }]
  })
  t.equal(
    outcome(judge(key, V1.task_('working', { message: V1.message([]) }))),
    `refused: The agent's response violates the rule "ext/r": result.task.status.message.metadata["${URI}"] is required.`
  )
  t.equal(outcome(judge(key, V1.task_('working', { message: V1.message([], { metadata: { [URI]: 1 } }) }))), '')
  t.equal(outcome(judge(key, V1.task_('working'))), '')
})

t.test('event: the first, those that end a task, the last', async t => {
  const on = (event: 'first' | 'terminal' | 'last'): ReturnType<typeof policyFor> =>
    policyFor({
      response: [
        {
          id: 'r',
          select: { event },
          schema: { properties: { state: { const: 'completed' }, type: { const: 'task' } } },
          verdict: 'reject'
        }
      ]
    })
  const events = [V1.task_('working'), V1.status('working'), V1.status('failed')]
  const run = (event: 'first' | 'terminal' | 'last', stream: readonly Buffer[] = events): readonly number[] => {
    const { review } = ask(on(event), { operation: 'SendStreamingMessage' })
    const verdicts = [...stream.map(bytes => review?.evaluate(bytes, true) ?? null), review?.end() ?? null]
    return verdicts.flatMap((verdict, i) => verdict?.rejection == null ? [] : [i])
  }
  t.same(run('first'), [0])
  t.same(run('terminal'), [2])
  t.same(run('last'), [3])
  t.same(run('last', [V1.task_('working'), V1.task_('completed')]), [])
  t.same(run('terminal', [V1.body('message', V1.message([]))]), [0], 'a Message ends the exchange')
  for (const event of ['first', 'last'] as const) {
    t.match(outcome(judge(on(event), V1.task_('working'))), /^refused: .* result\.task\.state must be "completed"/, `${event} of a call`)
    t.equal(outcome(judge(on(event), V1.task_('completed'))), '')
  }
  const list = V1.raw({ tasks: [V1.taskOf('working'), V1.taskOf('failed'), V1.taskOf('completed')] })
  const paths = (event: 'first' | 'terminal' | 'last'): unknown =>
    judge(on(event), list, { operation: 'ListTasks' }).violations.map(one => one.path)
  t.same(paths('first'), ['result.tasks[0].state'])
  t.same(paths('terminal'), ['result.tasks[1].state'])
  t.same(paths('last'), [])
  t.equal(ask(policyFor({ response: [rule()] }), { operation: 'SendStreamingMessage' }).review?.end(), null, 'no rule asks for the last')
})

t.test('lists of tasks: each separately', async t => {
  const list = V1.raw({
    tasks: [V1.taskOf('completed', { artifacts: [[V1.part(good)]] }), V1.taskOf('completed', { artifacts: [[V1.part(bad)]] })]
  })
  t.match(judge(policyFor({ response: [rule()] }), list, { operation: 'ListTasks' }), {
    rejection: { fields: [{ field: 'result.tasks[1].artifacts[0].parts[0].data.total' }] },
    remember: null
  })
})

t.test('evaluated responses: the extension is active, its data is present, or no signals', async t => {
  const signals: Partial<PolicyConfig> = {
    activation: { signals: ['header'] },
    owns: { mediaTypes: ['application/x'] },
    response: [rule()]
  }
  const ours = V1.task_('completed', { artifacts: [[V1.part(bad, 'application/x')]] })
  const others = V1.task_('completed', { artifacts: [[V1.part(bad, 'application/y')]] })
  t.equal(outcome(judge(policyFor(signals), others)), '')
  t.match(outcome(judge(policyFor(signals), others, { requested: [URI] })), /^refused/)
  t.match(outcome(judge(policyFor(signals), ours)), /^refused/)
  t.match(outcome(judge(policyFor({ response: [rule()] }), others)), /^refused/)
  t.same(
    judge(
      policyFor({ ...signals, inactive: { response: 'strip' } }),
      V1.task_('completed', { artifacts: [[V1.text('t'), V1.part(bad, 'application/x')]] })
    ).edited,
    ['ext/inactive'],
    'what is taken out is not judged'
  )
  t.equal(ask(policyFor({ ...signals, owns: {} })).review, null, 'it cannot become active any more')
})

t.test('requestMatched: a rule of the request that selected a value and accepted it', async t => {
  const request: PolicyConfig['request'] = [
    { id: 'asked', select: { metadata: { key: 'q' } }, schema: { type: 'string' }, verdict: 'warn' }
  ]
  const policy = policyFor({ request, response: [rule({ when: { requestMatched: 'asked' } })] })
  const bytes = V1.task_('completed', { artifacts: [[V1.part(bad)]] })
  t.same([...policy.noted], ['ext/asked'])
  t.match(outcome(judge(policy, bytes, { message: { metadata: { q: 'x' } } })), /^refused/)
  t.equal(outcome(judge(policy, bytes, { message: { metadata: { q: 1 } } })), '', 'broken')
  t.equal(outcome(judge(policy, bytes)), '', 'found nothing')
  t.same([...ask(policy, { message: { metadata: { q: 'x' } } }).decision.matched], ['ext/asked'])
  t.same([...ask(policyFor({ request, response: [rule()] }), { message: { metadata: { q: 'x' } } }).decision.matched], [], 'nobody asks')
})

t.test('conditions on the state in a result', async t => {
  const policy = policyFor({
    response: [rule({ when: { taskState: ['input-required'] } }), rule({ id: 'un', unless: { taskState: ['input-required', 'working'] } })]
  })
  const rules = (bytes: Buffer): unknown => [
    ...new Set(judge(policy, bytes, { operation: 'SendStreamingMessage' }).violations.map(one => one.rule))
  ]
  const message = V1.message([V1.part(bad)])
  t.same(rules(V1.task_('input-required', { message })), ['r'])
  t.same(rules(V1.task_('working', { message })), [])
  t.same(rules(V1.task_('failed', { message })), ['un'])
  t.same(rules(V1.body('message', message)), ['un'], 'a Message without a task has no state')
})

t.test(
  'invalid responses, and responses that clients might read differently: rejected if something is enforced, otherwise recorded',
  async t => {
    const enforced = policyFor({ response: [rule()] })
    const observed = policyFor({ response: [rule()] }, { responses: 'observe' })
    const task = JSON.stringify(V1.taskOf('completed'))
    const rpc = (result: string): Buffer => Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
    const rows: readonly (readonly [string, Buffer, string, RegExp])[] = [
      [
        'two members of one oneof',
        rpc(`{"task":${task},"message":${JSON.stringify(V1.message([]))}}`),
        'answer-fields',
        /result\.message occurs together with "task"/
      ],
      [
        'two kinds in one part',
        V1.task_('completed', { artifacts: [[{ text: 'x', data: good }]] }),
        'answer-fields',
        /parts\[0\] contains both "text" and "data"/
      ],
      [
        'twin spellings',
        V1.task_('completed', { artifacts: [[{ data: good, mediaType: TYPE, media_type: 'a/b' }]] }),
        'answer-fields',
        /media_type occurs together with "mediaType"/
      ],
      ['another letter case', rpc(`{"Task":${task},"task":${task}}`), 'answer-fields', /Task is read as "task"/],
      ['duplicate members', rpc(`{"task":${task},"task":${task}}`), 'answer-json', /body is not acceptable JSON: duplicate member "task"/],
      ['no JSON', Buffer.from('<html>'), 'answer-json', /body is not acceptable JSON/],
      ['too deep', rpc(`{"task":${'['.repeat(100)}${']'.repeat(100)}}`), 'answer-json', /deeper than 64/],
      [
        'another id',
        Buffer.from(`{"jsonrpc":"2.0","id":2,"result":{"task":${task}}}`),
        'answer-envelope',
        /: id is not the id of the request/
      ],
      ['no result', Buffer.from('{"jsonrpc":"2.0","id":1}'), 'answer-envelope', /: body has neither/],
      ['something else', rpc('{"x":1}'), 'answer-envelope', /: result is neither/]
    ]
    for (const [name, bytes, id, message] of rows) {
      const { rejection: refusal, remember } = judge(enforced, bytes)
      t.match(refusal, { reason: 'INVALID_AGENT_RESPONSE', rule: `gateway/${id}`, message }, name)
      t.match(refusal?.message, /^The agent's response cannot be read reliably: /)
      t.equal(remember, null)
      t.match(
        judge(observed, bytes),
        { rejection: null, edits: [], violations: [{ mode: 'observe', extension: 'gateway', rule: id }] },
        name
      )
    }
    t.same(
      judge(enforced, Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"x"}}')).violations,
      [],
      'errors are not judged'
    )
  }
)

t.test('what A2A does not define is recorded, and never rejected', async t => {
  for (const style of STYLES) {
    const seen = (bytes: Buffer): string[] => {
      const decision = judge(policyFor({ response: [rule()] }), bytes, { style })
      t.equal(decision.rejection, null)
      return decision.violations.map(one => `${one.mode} ${one.extension}/${one.rule} ${one.path}`)
    }
    t.strictSame(seen(style.task_('completed', { cost: 1 })), [`observe gateway/answer-unknown ${style.task}.cost`.replace(/ \./, ' ')])
    const role = style.body('message', style.message([], { role: 'system' }))
    t.match(seen(role), [/^observe gateway\/answer-unknown .*role$/])
    t.match(seen(style.body('task', { ...style.taskOf('working'), status: { state: 'paused' } })), [/^observe gateway\/answer-unknown .*status\.state$/])
    if (style.version === '0.3') continue
    const bare = style.raw(style.taskOf('completed', { artifacts: [[style.part(good)]] }))
    t.strictSame(seen(bare), [`observe gateway/answer-unwrapped ${style.binding === 'JSONRPC' ? 'result' : 'body'}`])
    const broken = judge(policyFor({ response: [rule()] }), style.raw(style.taskOf('completed', { artifacts: [[style.part(bad)]] })), { style })
    t.match(broken.rejection, { rule: 'ext/r' }, 'and rules apply')
  }
})

t.test('attributes and measures', async t => {
  const policy = policyFor({
    observe: {
      spanAttributes: { 'x.total': { part: { dataKey: 'total' } } },
      metrics: [{ name: 'n', type: 'gauge', from: { part: { dataKey: 'total' } } }]
    }
  })
  t.match(judge(policy, V1.task_('completed', { artifacts: [[V1.part({ total: 7 })]] })), {
    attributes: [{ name: 'x.total', value: 7 }],
    measures: [{ extension: 'ext', metric: 'n', value: 7 }]
  })
})

t.test('a tracer gets every policy and rule, per result', async t => {
  const told: unknown[] = []
  const tracer: Asking['tracer'] = {
    policy: () => {},
    skipped: () => {},
    evaluated: () => {},
    responsePolicy: (policy, result, evidence, judged) => {
      told.push([policy.name, result.path, evidence, judged])
    },
    responseRule: (_policy, { id }, result, outcome) => {
      told.push([id, result.path, 'skipped' in outcome ? outcome.skipped : [outcome.selected, outcome.found.length]])
    }
  }
  const policy = policyFor({
    owns: { dataKeys: ['total'] },
    response: [
      rule(),
      rule({ id: 'other', on: ['SendMessage'] }),
      rule({ id: 'when', when: { taskState: ['failed'] } }),
      rule({ id: 'event', select: { event: 'terminal' }, schema: true }),
      rule({ id: 'last', select: { event: 'last' }, schema: true })
    ]
  })
  const { review } = ask(policy, { operation: 'SendStreamingMessage', tracer })
  review?.evaluate(V1.task_('working', { artifacts: [[V1.part(bad)]] }), true)
  review?.end()
  t.same(told, [
    ['ext', 'result.task', 'result.task.artifacts[0].parts[0].data.total', true],
    ['r', 'result.task', [1, 1]],
    ['other', 'result.task', 'operation'],
    ['when', 'result.task', 'condition'],
    ['event', 'result.task', 'event'],
    ['last', 'result.task', [1, 0]]
  ])
})
