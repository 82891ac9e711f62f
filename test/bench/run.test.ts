import t from 'tap'
import { CASES } from '../../bench/cases/all.js'
import { WrongAnswer, interleave } from '../../bench/bench.js'
import type { Bench } from '../../bench/bench.js'
import { HELP, UsageError, benchOptions, wantsCase, wantsWork } from '../../bench/options.js'
import { render } from '../../bench/render.js'
import { run } from '../../bench/run.js'
import { WHOLE } from '../helpers/seed.js'

/** The cases that run, with the lines that they print, and whether only the nightly suite runs them: all take 36 s of processor time. */
const SHORT: readonly (readonly [only: string, lines: readonly string[], isNightly?: true])[] = [
  ['core:400 B', ['core 400 B: gateway | gateway, oldest Node | direct'], true],
  ['bodies:4 kB of json', ['bodies 4 kB of JSON in a string: gateway | direct']],
  ['responses:4 kB of data', ['responses 4 kB of data: gateway | gateway, responses enforced | direct'], true],
  ['stream', ['stream 50 events: gateway | direct']],
  ['latency', ['latency 400 B: gateway | direct'], true],
  ['cold', ['cold first 2,000 calls: gateway | direct', 'cold after 24,000 more: gateway | direct'], true],
  ['spread', ['spread 32 connections, 2 workers: gateway'], true],
  ['start', ['start start to ready: gateway']]
]

/** The figure that shows the CPU of a case whose work is not calls, or that it has been measured. */
const CPU: Readonly<Record<string, string>> = { spread: 'spread', start: 'cpu' }

t.test('cases run for a short time', async t => {
  const said: string[] = []
  const short = SHORT.filter(([, , isNightly]) => isNightly !== true || WHOLE)
  const results = await run(
    {
      only: short.map(([only]) => only),
      parties: ['gateway', 'direct'],
      rounds: 1,
      seconds: 0.1,
      quick: true,
      pin: false,
      tool: 'autocannon',
      rate: 50
    },
    line => said.push(line)
  )
  t.same(
    results.measured.map(({ case: name, work, rows }) => `${name} ${work}: ${rows.map(({ party }) => party).join(' | ')}`),
    short.flatMap(([, lines]) => lines)
  )
  for (const { work, rows } of results.measured) {
    for (const { party, broken, samples } of rows) {
      t.match({ broken, rounds: samples.length }, { broken: undefined, rounds: 1 }, `${party} at ${work}`)
    }
  }
  const own = results.measured.map(({ case: name, rows }) => [name, rows[0]?.samples[0] ?? {}] as const)
  for (const [name, sample] of own) t.ok((sample[CPU[name] ?? 'cpuPerCall'] ?? 0) > 0, `${name} has the CPU of its work`)
  t.ok((own[0]?.[1]['perSecond'] ?? 0) > 0)
  t.notOk(
    results.measured[0]?.rows.find(({ party }) => party === 'direct')?.samples[0]?.['cpuPerCall'],
    'there is no proxy whose CPU could be told'
  )
  t.match(render(results), /^\| direct \|/m)
  t.ok(said.some(line => /^stream: round 1 of 1$/.test(line)))
})

t.test('each party goes first equally often, and a party with wrong responses is excluded', async t => {
  const order: string[] = []
  const rows = await interleave(
    { rounds: 3, say: () => {} } as unknown as Bench,
    'title',
    ['a', 'b', 'c'].map(name => ({ name, of: name })),
    async name => {
      order.push(name)
      if (name === 'b' && order.length > 3) throw new WrongAnswer('status 500')
      return { figure: order.length }
    }
  )
  t.equal(order.join(''), 'abcbcaca')
  t.same(
    rows.map(({ party, samples, broken }) => [party, samples.length, broken]),
    [
      ['a', 3, undefined],
      ['b', 0, 'status 500'],
      ['c', 3, undefined]
    ]
  )
  await t.rejects(
    interleave({ rounds: 1, say: () => {} } as unknown as Bench, 'title', [{ name: 'a', of: null }], async () => {
      throw new Error('the harness itself')
    }),
    /the harness itself/
  )
})

t.test('flags', async t => {
  t.match(benchOptions([], '/own'), { rounds: 5, seconds: 1, quick: false, only: null, out: '/own' })
  t.match(benchOptions(['--quick'], '/own'), { rounds: 2, quick: true, out: null }, 'a rough run does not replace the results')
  t.match(benchOptions(['--only=latency,start', '--rounds=3', '--seconds=0.5', '--out=/there'], '/own'), {
    only: ['latency', 'start'],
    rounds: 3,
    seconds: 0.5,
    out: '/there'
  })
  t.equal(benchOptions(['--only=latency'], '/own')?.out, null)
  t.equal(benchOptions(['--help'], '/own'), null)
  for (const [args, message] of [
    [['--only=lattency'], /--only: there is no "lattency"; choose of core, throughput/],
    [['--only=bodies:50 kB of nothing'], /--only: bodies has no "50 kB of nothing"; choose of 4 kB of Markdown, /],
    [['--rounds=0'], /--rounds must be a number above 0/],
    [['--fast'], /--fast/],
    [['--parties=apache'], /there is no "apache"/]
  ] as const) {
    t.throws(() => benchOptions(args, '/own'), message)
    try {
      benchOptions(args, '/own')
    } catch (error) {
      t.ok(error instanceof UsageError)
    }
  }
  const only = benchOptions(['--only=bodies:markdown,latency'], '/own')?.only ?? null
  t.same(['bodies', 'latency', 'responses'].map(name => wantsCase(only, name)), [true, true, false])
  const wants = (quick: boolean, name: string, work: string, main = false): boolean => wantsWork({ only, quick }, name, work, main)
  t.ok(wants(true, 'bodies', '1 MB of Markdown'), 'a chosen work is measured, also in a quick run')
  t.notOk(wants(false, 'bodies', '1 MB of data', true))
  t.same([wants(false, 'latency', '400 B'), wants(true, 'latency', '400 B'), wants(true, 'latency', '400 B', true)], [true, false, true])
  for (const { name } of CASES) t.match(HELP, `  ${name} `)
})
