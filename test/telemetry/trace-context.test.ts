import t from 'tap'
import { formatTraceParent, parseTraceParent } from '#telemetry/traces/trace-context.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

t.test('reads valid W3C trace context', async t => {
  t.same(parseTraceParent(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, parentId: SPAN, sampled: true })
  t.same(parseTraceParent(`00-${TRACE}-${SPAN}-00`), { traceId: TRACE, parentId: SPAN, sampled: false })
  t.equal(parseTraceParent(`00-${TRACE}-${SPAN}-03`)?.sampled, true, 'other flags are ignored')
  t.equal(parseTraceParent(`00-${TRACE}-${SPAN}-02`)?.sampled, false)
  t.ok(parseTraceParent(`cc-${TRACE}-${SPAN}-01`), 'a later version')
  t.ok(parseTraceParent(`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`), 'a later version with more fields')
})

t.test('starts a new trace if it is invalid', async t => {
  const invalid: Array<string | string[] | undefined> = [
    undefined, '', 'x',
    [`00-${TRACE}-${SPAN}-01`],
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01,`,
    `00-${TRACE}-${SPAN}-01-extra`,
    `00-${TRACE}-${SPAN}-01-`,
    `cc-${TRACE}-${SPAN}-01.extra`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN.toUpperCase()}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-0g`,
    `0-${TRACE}-${SPAN}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
    `cc-${TRACE}-${SPAN}-01-${'x'.repeat(600)}`
  ]
  for (const header of invalid) t.equal(parseTraceParent(header), null, JSON.stringify(header))
})

t.test('writes version 00', async t => {
  t.equal(formatTraceParent(TRACE, SPAN, true), `00-${TRACE}-${SPAN}-01`)
  t.equal(formatTraceParent(TRACE, SPAN, false), `00-${TRACE}-${SPAN}-00`)
})
