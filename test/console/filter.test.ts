/** The search over decisions: every kept call is found by what the page shows of it, before the page is cut. */
import t from 'tap'
import { Decisions } from '#console/decisions.js'
import { decisionEntryOf } from '#console/entry.js'
import { matches, readFilter } from '#console/filter.js'
import { violation } from '#policy/violation.js'
import { ended, REFUSED } from './decisions-kit.js'
import type { Ended } from '#console/entry.js'

const filterOf = (query: string) => readFilter(new URLSearchParams(query))

const OBSERVED: Partial<Ended> = {
  agent: 'b',
  requestId: '1f0c9a3e-2k',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  taskId: 'task-77',
  contextId: 'context-78',
  extensions: ['https://example.com/ext/v1'],
  caller: { source: 'corp', id: 'ada' },
  found: [
    {
      phase: 'request',
      violations: [
        violation({
          mode: 'observe',
          reason: 'EXTENSION_DATA_INVALID',
          extension: 'x402',
          rule: 'amount',
          path: 'params.message.metadata.amount',
          message: 'must be a string'
        })
      ],
      edited: []
    }
  ]
}

t.test('each text of a decision finds it, and all words must occur', t => {
  const entry = decisionEntryOf('1', ended(OBSERVED))
  for (const words of [
    'x402/amount', '1F0C9A3E-2k', '4bf92f35', 'task-77', 'context-78', 'ext/v1', 'ada', 'SendMessage', 'metadata.amount', 'must be a string',
    'data_invalid', 'amount ada'
  ]) {
    const filter = filterOf(`q=${encodeURIComponent(words)}`)
    t.ok(filter !== null && matches(entry, filter), words)
  }
  for (const query of ['q=amount+bob', 'q=x403', 'agent=a', 'outcome=rejected', 'agent=b&outcome=forwarded']) {
    const filter = filterOf(query)
    t.notOk(filter === null || matches(entry, filter), query)
  }
  for (const query of ['agent=b', 'outcome=observed', 'outcome=!', 'outcome=would-reject', 'agent=b&outcome=observed&q=+ada+']) {
    const filter = filterOf(query)
    t.ok(filter !== null && matches(entry, filter), query)
  }
  t.equal(filterOf('q=+&agent=&outcome='), null, 'no filter')
  t.end()
})

t.test('a search reaches decisions beyond one page, and later reads keep the filter', t => {
  const decisions = new Decisions(2_000)
  t.teardown(() => { decisions.close() })
  decisions.add({ ...REFUSED, taskId: 'the-first' })
  for (let i = 0; i < 700; i++) decisions.add({ ...REFUSED, requestId: `id-${i}` })
  const found = decisions.since(-1, filterOf('q=the-first'))
  t.same(found.entries.map(one => one.taskId), ['the-first'])
  t.equal(found.last, 701)
  decisions.add({ ...REFUSED, taskId: 'the-first', requestId: 'later' })
  decisions.add(REFUSED)
  const next = decisions.since(found.last, filterOf('q=the-first'))
  t.same([next.entries.map(one => one.requestId), next.missed], [['later'], 0])
  t.end()
})
