/**
 * The stored calls of the console: rejections and findings always, other calls only while a viewer is connected, and never more than the
 * limit.
 */
import t from 'tap'
import { Decisions, Ring, withFindings } from '#console/decisions.js'
import { decisionEntryOf } from '#console/entry.js'
import { violation } from '#policy/violation.js'
import { ended, REFUSED } from './decisions-kit.js'

t.test('a call over gRPC shows its status', t => {
  t.match(decisionEntryOf('1', ended({ binding: 'GRPC', grpcStatus: 'NOT_FOUND', outcome: 'agent_error' })), { status: 200, grpcStatus: 'NOT_FOUND' })
  t.end()
})

t.test('a ring keeps the newest', t => {
  const ring = new Ring<number>(3)
  for (const one of [1, 2, 3, 4, 5]) ring.push(one)
  t.same([...ring.newest()], [5, 4, 3])
  ring.clear()
  ring.push(6)
  t.same([...ring.newest()], [6])
  t.end()
})

t.test('calls without findings are kept only while a page is connected', t => {
  const decisions = new Decisions(10)
  t.teardown(() => { decisions.close() })
  decisions.add(ended())
  decisions.add(REFUSED)
  t.equal(decisions.watched, false)
  const first = decisions.since(-1)
  t.same(first.entries.map(one => one.outcome), ['rejected'])
  t.equal(decisions.watched, true, 'who looked may look again')
  decisions.add(ended())
  decisions.add(ended({ outcome: 'client_aborted' }))
  const second = decisions.since(first.last)
  t.same(second.entries.map(one => one.outcome), ['forwarded', 'client_aborted'], 'in their order')
  t.equal(second.missed, 0)
  t.same(decisions.since(second.last).entries, [])
  t.end()
})

t.test('dropped entries are counted, and forwarded calls do not replace rejections', t => {
  const decisions = new Decisions(3)
  t.teardown(() => { decisions.close() })
  const { last } = decisions.since(-1)
  decisions.add(REFUSED)
  for (let i = 0; i < 10; i++) decisions.add(ended())
  const page = decisions.since(last)
  t.same(page.entries.map(one => one.outcome), ['rejected', 'forwarded', 'forwarded', 'forwarded'])
  t.equal(page.missed, 7)
  t.equal(decisions.since(-1).missed, 0, 'who comes later has missed nothing')
  t.end()
})

t.test('one page has no more than 500, the newest', t => {
  const decisions = new Decisions(2_000)
  t.teardown(() => { decisions.close() })
  for (let i = 0; i < 700; i++) decisions.add({ ...REFUSED, requestId: String(i) })
  const { entries } = decisions.since(-1)
  t.equal(entries.length, 500)
  t.equal(entries.at(-1)?.requestId, '699')
  t.end()
})

t.test('findings are bounded in number and length', t => {
  const one = violation({
    mode: 'observe',
    reason: 'EXTENSION_DATA_INVALID',
    extension: 'x',
    rule: 'r',
    path: `params.${'k'.repeat(1_000_000)}`,
    message: 'is required'
  })
  let found = withFindings(null, { phase: 'request', violations: Array.from({ length: 40 }, () => one), edited: [] })
  t.equal(found[0]?.violations.length, 20)
  t.ok((found[0]?.violations[0]?.path.length ?? Infinity) <= 501)
  const short = { phase: 'response' as const, violations: [{ ...one, path: 'x' }], edited: [] }
  for (let i = 0; i < 100; i++) found = withFindings(found, short)
  t.equal(found.length, 20)
  t.equal(found[1], short, 'what is short is kept as it is, not copied')
  t.end()
})

t.test('an entry names the deciding rule', t => {
  const decisions = new Decisions(3)
  t.teardown(() => { decisions.close() })
  const observed = violation({
    mode: 'observe',
    reason: 'EXTENSION_DATA_INVALID',
    extension: 'x',
    rule: 'soft',
    path: 'params.a',
    message: 'must be a string'
  })
  decisions.add(ended({ found: [{ phase: 'request', violations: [observed], edited: [] }] }))
  decisions.add(ended({ found: [{ phase: 'request', violations: [observed], edited: ['x/soft'] }] }))
  t.match(decisions.since(-1).entries, [
    {
      outcome: 'observed',
      rule: 'x/soft',
      reason: 'EXTENSION_DATA_INVALID',
      message: null,
      correction: null,
      violations: [{ mode: 'observe', path: 'params.a' }]
    },
    { outcome: 'edited', edited: ['x/soft'] }
  ])
  t.end()
})
