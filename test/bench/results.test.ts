import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { GOALS, PARTIES, capacityRatio, verdict } from '../../bench/goals.js'
import { CASES } from '../../bench/cases/all.js'
import { READINGS, SIZES } from '../../bench/cases/configurations.js'
import { ALONE, ANONYMOUS, FLOODED, QUIET, REMEMBERED, WITH_STREAMS, GRPC_JS_PROXY, HTTP2_PROXY } from '../../bench/names.js'
import { KINDS } from '../../bench/parties/all.js'
import { foreignLoad, render } from '../../bench/render.js'
import type { Results, Row, Sample } from '../../bench/results.js'
import { VERSION } from '../../bench/results.js'
import { packageRoot } from '#config/paths.js'

const RESULTS = join(packageRoot(), 'bench')
const results = JSON.parse(readFileSync(join(RESULTS, 'results.json'), 'utf8')) as Results
const row = (party: string, ...samples: Sample[]): Row => ({ party, samples })

t.test('RESULTS.md matches results.json', async t => {
  t.equal(
    readFileSync(join(RESULTS, 'RESULTS.md'), 'utf8'),
    render(results),
    'otherwise run "npm run bench", or "npm run build" where only the page is old'
  )
})

const skipped = (): string | false => {
  if (results.version !== VERSION) return 'they are of an earlier set of cases'
  return foreignLoad(results.conditions) > 0.5 ? 'they are of a busy machine' : false
}

t.test(
  'the stored results are of a complete run: each goal has its figure, unless the party is not installed',
  { skip: skipped() },
  async t => {
    const absent = results.parties.filter(({ version }) => version === null).map(({ name }) => name)
    for (const goal of GOALS) {
      if (absent.some(name => goal.against === PARTIES[name])) continue
      t.ok(goal.measure(results), `${goal.work}, ${goal.against}`)
    }
    t.notOk(
      results.measured.some(({ rows }) => rows.some(one => one.broken !== undefined && one.party.startsWith('gateway'))),
      'no answer of the gateway was wrong'
    )
  }
)

t.test('every goal names cases, works, parties and configurations that exist, and is alone with its work and its comparison', async t => {
  const figures: Sample = {
    perSecond: 1, cpuPerCall: 1, busy: 1, p50: 1, p99: 1, rss: 1, spread: 1, without: 0, milliseconds: 1, cpu: 1, idle: 1
  }
  const configurations = [ALONE, WITH_STREAMS, ANONYMOUS, REMEMBERED, QUIET, FLOODED, HTTP2_PROXY, GRPC_JS_PROXY]
  const names = [...KINDS.map(({ name }) => name), ...Object.keys(SIZES), ...Object.keys(READINGS), ...configurations]
  const whole: Results = {
    ...results,
    measured: CASES.flatMap(({ name, about, works }) =>
      works.map(work => ({ case: name, about, work, rows: names.map(party => row(party, figures)) })))
  }
  for (const goal of GOALS) t.ok(goal.measure(whole), `${goal.work}, ${goal.against}`)
  const titles = GOALS.map(({ work, against }) => `${work}, ${against}`)
  t.equal(new Set(titles).size, titles.length)
  for (const without of CASES) {
    const rest = { ...whole, measured: whole.measured.filter(one => one.case !== without.name) }
    t.doesNotThrow(() => render(rest), `a run without ${without.name} has a page`)
  }
})

t.test('a party that is not the bottleneck is compared by CPU', async t => {
  const ours = row('gateway', { perSecond: 100, cpuPerCall: 20, busy: 0.95 })
  t.same(capacityRatio(ours, row('a', { perSecond: 50, cpuPerCall: 30, busy: 0.99 })), { median: 2, low: 2, high: 2 })
  t.match(capacityRatio(ours, row('b', { perSecond: 150, cpuPerCall: 5, busy: 0.3 })), { median: 0.25, note: 'by CPU' })
})

t.test('a goal is met at its bound, and missed below', async t => {
  const [atLeast] = GOALS.filter(({ kind }) => kind === 'at least')
  const [atMost] = GOALS.filter(({ kind }) => kind === 'at most')
  if (atLeast === undefined || atMost === undefined) throw new Error('no goals')
  t.equal(verdict(atLeast, atLeast.bound), 'met, by 0%')
  t.equal(verdict(atLeast, atLeast.bound * 0.999), '**missed**, by 1%')
  t.equal(verdict(atLeast, atLeast.bound * 1.5), 'met, by 50%')
  t.equal(verdict(atLeast, atLeast.bound / 4), '**missed**: 4 times too little')
  t.equal(verdict(atMost, atMost.bound * 0.25), 'met, by 75%')
  t.equal(verdict(atMost, atMost.bound * 1.3), '**missed**, by 30%')
  t.equal(verdict(atMost, atMost.bound * 10), '**missed**: 10 times too much')
})

t.test('a broken party has no figures, only a reason', async t => {
  const text = render({
    ...results,
    measured: [
      {
        case: 'throughput',
        about: 'calls',
        work: '400 B',
        rows: [row('gateway', { perSecond: 1, cpuPerCall: 1, busy: 1 }), { party: 'nginx', samples: [], broken: 'status 502: a|b' }]
      }
    ]
  })
  t.match(text, /^\| nginx \| \*\*wrong responses\*\*: status 502: a\\\|b \|/m)
  t.match(text, /^\| calls of 400 B \| bare `node:http` and undici \| ≥ 0.75× \| not measured \|/m)
})
