/** The same seed gives the same inputs, another seed gives others, and a failing input can be kept. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { inTests } from './paths.js'
import { check, checkAsync, factorOf, random, runs, seedOf } from './seed.js'

/** All inputs of a property, in order. */
function inputsOf (seed: number | undefined): unknown[] {
  const seen: unknown[] = []
  check(
    'helpers/seed/same',
    fc.property(fc.array(fc.string()), fc.integer(), (...input) => {
      seen.push(input)
    }),
    { numRuns: 50, ...(seed === undefined ? {} : { seed }) }
  )
  return seen
}

function failureOf (act: () => void): string {
  try {
    act()
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

t.test('the same seed gives the same inputs, and another seed gives others', async t => {
  t.same(inputsOf(undefined), inputsOf(undefined))
  t.same(inputsOf(7), inputsOf(7))
  t.notSame(inputsOf(7), inputsOf(8))
  const numbers = (name: string, seed?: number): number[] => {
    const chance = random(name, seed)
    return Array.from({ length: 20 }, () => chance.below(1_000))
  }
  t.same(numbers('a'), numbers('a'))
  t.notSame(numbers('a'), numbers('b'), 'two users of the same seed')
  t.notSame(numbers('a', 7), numbers('a', 8))
  t.ok(random('a', 7).bytes(100).equals(random('a', 7).bytes(100)))
  t.notOk(random('a', 7).bytes(100).equals(random('a', 8).bytes(100)))
  const asynchronous = async (): Promise<unknown[]> => {
    const seen: unknown[] = []
    await checkAsync('helpers/seed/asynchronous', fc.asyncProperty(fc.string(), async text => { seen.push(text) }), { numRuns: 20 })
    return seen
  }
  t.same(await asynchronous(), await asynchronous())
})

t.test('the environment chooses the seed and the number of inputs', async t => {
  t.same([seedOf(undefined), seedOf(''), seedOf('42'), seedOf('-3')], [1, 1, 42, -3])
  t.not(seedOf('random'), seedOf('random'))
  for (const text of ['x', '1.5', '9999999999', 'Random']) {
    t.throws(() => seedOf(text), /A2A_TEST_SEED must be "random" or an integer/, text)
  }
  t.same([factorOf(undefined), factorOf('10'), factorOf('0.1')], [1, 10, 0.1])
  for (const text of ['', '0', '-1', 'many']) t.throws(() => factorOf(text), /A2A_TEST_RUNS must be a number above 0/, text)
  t.equal(inputsOf(undefined).length, runs(50))
})

t.test('a failure shows how to repeat it and how to keep its input', async t => {
  const below10 = fc.property(fc.nat(1_000), n => { if (n >= 10) throw new Error(`${n} is too large`) })
  const text = failureOf(() => check('helpers/seed/below-10', below10, { seed: 5 }))
  t.match(text, /the property helpers\/seed\/below-10 fails after \d+ inputs: 10 is too large/)
  t.match(text, /repeat: {2}A2A_TEST_SEED=5 .*npm test -- helpers\/seed\n/)
  t.match(text, 'add this line to the array in test/regressions/helpers/seed/below-10.json')
  t.match(text, '{"input":[10],"why":"10 is too large"}')
  t.match(
    failureOf(() =>
      check(
        'helpers/seed/false',
        fc.property(fc.boolean(), () => false)
      )
    ),
    /fails after 1 inputs: Property failed by returning false/
  )
  const bytes = fc.property(fc.uint8Array({ minLength: 3 }), list => { if (list.length > 2) throw new Error('too long') })
  t.match(
    failureOf(() => check('helpers/seed/bytes', bytes, { seed: 5 })),
    /\{"seed":5,"path":"[\d:]+","why":"too long"\}/,
    'what JSON cannot write is kept as a path'
  )
  await t.rejects(
    checkAsync(
      'helpers/seed/rejected',
      fc.asyncProperty(fc.nat(), async () => {
        throw new Error('no')
      })
    ),
    /the property helpers\/seed\/rejected fails after 1 inputs: no/
  )
})

t.test('stored inputs run first', async t => {
  const name = 'helpers/seed/kept'
  const file = inTests('regressions', `${name}.json`)
  mkdirSync(dirname(file), { recursive: true })
  t.teardown(() => { rmSync(inTests('regressions/helpers'), { recursive: true }) })
  const seen: number[] = []
  const property = fc.property(fc.nat(1_000), n => {
    seen.push(n)
    if (n > 1_000 || n === 17) throw new Error(`not ${n}`)
  })
  writeFileSync(file, '[{"input": [2000], "why": "beyond what is generated"}]')
  t.match(failureOf(() => check(name, property)), 'not 2000')
  t.equal(seen[0], 2_000)
  // The path of one generated input, from a failure with this input.
  rmSync(file)
  const nth = fc.property(fc.nat(1_000), n => { if (n > 500) throw new Error('found') })
  const path = /path "([\d:]+)"/.exec(failureOf(() => check(name, nth, { seed: 3, endOnFailure: true })))?.[1]
  writeFileSync(file, JSON.stringify([{ seed: 3, path }]))
  const again: number[] = []
  check(name, fc.property(fc.nat(1_000), n => { again.push(n) }), { numRuns: 1 })
  t.equal(again.length, 1 + runs(1))
  t.ok((again[0] ?? 0) > 500, 'the input at the path')
})

t.test('each property has a unique name below its file, and each regression file has a property', async t => {
  const problems: string[] = []
  const names = new Map<string, string>()
  const root = inTests()
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter(one => one.endsWith('.test.ts') && one !== join('helpers', 'seed.test.ts'))) {
    for (const [, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(/\bcheck(?:Async)?\(\s*['`]([^'`]+)['`],\s*fc\./g)) {
      if (!name.startsWith(`${file.slice(0, -'.test.ts'.length)}/`)) problems.push(`${file}: ${name} does not begin with the file's name`)
      if (names.has(name)) problems.push(`${file}: ${name} is also in ${names.get(name)}`)
      names.set(name, file)
    }
  }
  t.ok(names.size > 40, `${names.size} properties`)
  const known = [...names.keys()].map(name => new RegExp(`^${name.replaceAll(/[.*+?^()|[\]\\]/g, '\\$&').replaceAll(/\$\{.*?\}/g, '.+')}$`))
  for (const file of files.filter(
    one => one.startsWith('regressions/') && one.endsWith('.json') && !one.startsWith('regressions/helpers/')
  )) {
    const name = file.slice('regressions/'.length, -'.json'.length)
    if (!known.some(one => one.test(name))) problems.push(`test/${file}: no property has the name ${name}`)
  }
  t.same(problems, [])
})
