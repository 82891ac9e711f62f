/** Each key of `expect` passes when it should, and fails when it should, with the actual value. */
import t from 'tap'
import { one, runFiles } from './kit.js'

const ORDERS = 'extensions: [https://e.test/orders]'
const GOOD = `{${ORDERS}, message: {extensions: [https://e.test/orders], metadata: {polite: true}, parts: [{data: {order: {quantity: 1}}}]}, headers: {X-Team: blue}}`
const BAD = `{${ORDERS}, message: {parts: [{data: {order: {}}}]}}`

/** Key, request, what holds, what does not, and what the report says came. */
const CASES: readonly (readonly [key: string, request: string, holds: string, fails: string, got: string])[] = [
  ['decision', GOOD, 'decision: forward', 'decision: reject', '"forward"'],
  ['rule', BAD, 'decision: reject, rule: orders/order', 'decision: reject, rule: orders/other', '"orders/order"'],
  [
    'reason',
    BAD,
    'decision: reject, reason: EXTENSION_DATA_INVALID',
    'decision: reject, reason: EXTENSION_CONFLICT',
    '"EXTENSION_DATA_INVALID"'
  ],
  [
    'path',
    BAD,
    'decision: reject, path: "params.message.parts[0].data.order.quantity"',
    'decision: reject, path: params.message',
    '"params.message.parts[0].data.order.quantity"'
  ],
  [
    'message',
    BAD,
    'decision: reject, message: quantity',
    'decision: reject, message: quality',
    '"params.message.parts[0].data.order.quantity is required'
  ],
  ['status', BAD, 'decision: reject, status: 200', 'decision: reject, status: 400', '200'],
  [
    'violations',
    BAD,
    'decision: reject, violations: [orders/polite, orders/order]',
    'decision: reject, violations: [orders/order]',
    '["orders/order","orders/polite"]'
  ],
  [
    'declared',
    GOOD,
    'decision: forward, declared: [https://e.test/other, https://e.test/orders]',
    'decision: forward, declared: []',
    '["https://e.test/orders","https://e.test/other"]'
  ],
  [
    'requested',
    GOOD,
    'decision: forward, requested: [https://e.test/orders]',
    'decision: forward, requested: [https://e.test/other]',
    '["https://e.test/orders"]'
  ],
  ['listed', GOOD, 'decision: forward, listed: [https://e.test/orders]', 'decision: forward, listed: []', '["https://e.test/orders"]'],
  [
    'evidenced',
    GOOD,
    'decision: forward, evidenced: [https://e.test/orders]',
    'decision: forward, evidenced: []',
    '["https://e.test/orders"]'
  ],
  [
    'active',
    GOOD,
    'decision: forward, active: [https://e.test/other, https://e.test/orders]',
    'decision: forward, active: [https://e.test/other]',
    '["https://e.test/orders","https://e.test/other"]'
  ],
  ['injected', GOOD, 'decision: forward, injected: [https://e.test/other]', 'decision: forward, injected: []', '["https://e.test/other"]'],
  [
    'missing',
    '{message: {parts: [{text: hi}]}}',
    'decision: reject, missing: [https://e.test/orders]',
    'decision: reject, missing: []',
    '["https://e.test/orders"]'
  ],
  [
    'headers.A2A-Extensions',
    GOOD,
    "decision: forward, headers: {A2A-Extensions: 'https://e.test/orders, https://e.test/other'}",
    'decision: forward, headers: {A2A-Extensions: https://e.test/orders}',
    '"https://e.test/orders,https://e.test/other"'
  ],
  ['headers.x-team', GOOD, 'decision: forward, headers: {x-team: blue}', 'decision: forward, headers: {x-team: red}', '"blue"'],
  ['headers.X-None', GOOD, 'decision: forward, headers: {X-None: null}', 'decision: forward, headers: {X-None: a}', '(absent)'],
  [
    'body /message/parts/0/data',
    GOOD,
    'decision: forward, body: {/message/parts/0/data: {order: {quantity: 1}}}',
    'decision: forward, body: {/message/parts/0/data: {order: {quantity: 2}}}',
    '{"order":{"quantity":1}}'
  ],
  [
    'body /message/taskId',
    GOOD,
    'decision: forward, body: {/message/taskId: null}',
    'decision: forward, body: {/message/taskId: t1}',
    '(absent)'
  ],
  [
    'body /message/role',
    GOOD,
    'decision: forward, body: {/message/role: ROLE_USER}',
    'decision: forward, body: {/message/role: null}',
    '"ROLE_USER"'
  ],
  ['unchanged', GOOD, 'decision: forward, unchanged: true', 'decision: forward, unchanged: false', 'true']
]

for (const [key, request, holds, fails, got] of CASES) {
  t.test(`expect.${key}`, async t => {
    const passed = runFiles(t, { 'a.test.yaml': one(request, `{${holds}}`) })
    t.equal(passed.code, 0, passed.out + passed.err)
    const failed = runFiles(t, { 'b.test.yaml': one(request, `{${fails}}`) })
    t.equal(failed.code, 1, failed.out + failed.err)
    t.ok(failed.out.includes(`        ${key}\n`), failed.out)
    t.ok(failed.out.includes(`          got       ${got}`), failed.out)
  })
}

t.test('a failure shows the rule that rejected the request, and all violations', async t => {
  const { out } = runFiles(t, { 'a.test.yaml': one(BAD, '{decision: forward}') })
  t.match(out, /rejected by orders\/order: params\.message\.parts\[0\]\.data\.order\.quantity is required/)
  t.match(out, /violations\n +orders\/order \(enforce\) .*\n +orders\/polite \(observe\) params\.message/)
})

t.test('A2A-Extensions means the spelling of the forwarded version', async t => {
  const text = one(
    GOOD,
    "{decision: forward, headers: {A2A-Extensions: 'https://e.test/orders,https://e.test/other', X-A2A-Extensions: 'https://e.test/orders, https://e.test/other'}}"
  ).replace("['1.0']", "['0.3']")
  const { code, out } = runFiles(t, { 'a.test.yaml': text })
  t.equal(code, 0, out)
})

t.test('forwarded values are compared completely, not by their first digits', async t => {
  const text = one(
    '{params: {message: {messageId: m, role: ROLE_USER, metadata: {polite: 1, n: 1.5}, parts: []}}, extensions: [https://e.test/orders]}',
    '{decision: forward, body: {/message/metadata: {polite: 1, n: 1}}}'
  )
  t.equal(runFiles(t, { 'a.test.yaml': text }).code, 1)
})
