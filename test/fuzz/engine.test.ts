/** The engine finds hidden faults, distinguishes them from each other, and minimises their inputs. */
import t from 'tap'
import { random as seeded, SEED } from '../helpers/seed.js'
import { fuzz } from './engine/fuzz.js'
import { minimise } from './engine/minimise.js'
import { mutate } from './engine/mutate.js'
import type { Target } from './engine/target.js'

function toy (check: (text: string) => void, more: Partial<Target> = {}): Target {
  return { name: 'toy', maxBytes: 64, seeds: ['hello'], dictionary: [], check: bytes => check(bytes.toString('latin1')), ...more }
}

t.test('a run follows from its seed', async t => {
  const run = (seed: number): string[] => {
    const tried: string[] = []
    fuzz(toy(text => { tried.push(text) }), { seed, corpus: [], coverage: null, done: ({ executions }) => executions >= 500 })
    return tried
  }
  t.same(run(7), run(7))
  t.notSame(run(7), run(8))
})

t.test('every mutation stays within the limit, for any input', async t => {
  const random = seeded('fuzz/engine/mutations')
  const inputs = ['', '"', '{"a":[1,{}]}', '\n\n', '[[[', '\xff\\"'].map(text => Buffer.from(text, 'latin1'))
  let longest = 0
  for (let i = 0; i < 20_000; i++) {
    const length = mutate(random.pick(inputs), random, random.pick(inputs), ['word', 'é'], 32).length
    longest = Math.max(longest, length)
  }
  t.equal(longest, 32)
})

t.test('an input that breaks a promise is minimized, and stays the same finding', async t => {
  const target = toy(text => {
    if (text.includes('abc!')) throw new Error('the hidden one')
    if (text.includes('!')) throw new TypeError('another')
  })
  const bytes = Buffer.from(`{"x":[1,2,3]}${'y'.repeat(500)}abc!zzz`)
  let thrown: unknown
  try { target.check(bytes) } catch (error) { thrown = error }
  const { bytes: small, message } = minimise(target, bytes, thrown, undefined)
  t.equal(small.toString(), 'abc!')
  t.match(message, /the hidden one/)
})

t.test('different findings are separate, and a run ends when it has enough', async t => {
  const { found } = fuzz(toy(text => {
    if (text.includes('{')) throw new Error('a brace')
    if (text.includes('[')) throw new RangeError('a bracket')
  }, { dictionary: ['{', '['] }), { seed: SEED, corpus: [], coverage: null, done: ({ executions }) => executions > 5_000 })
  t.same(found.map(({ bytes }) => bytes.toString()).sort(), ['[', '{'])
})
