/** Two values have the same text only if a program cannot tell them apart, and every reader gives an outcome for any bytes. */
import t from 'tap'
import { random, runs } from '../helpers/seed.js'
import { mutate } from '../fuzz/engine/mutate.js'
import { exact, outcomeOf } from './exact.js'
import { READERS } from './readers.js'

t.test('different values have different texts', async t => {
  const values = [
    undefined, null, true, 0, -0, NaN, 1, 1n, '', '1', 'undefined', '\u00e9', 'e\u0301', '\ud800', '"', '\\', [], [undefined], [null], [[]], {}, { a: 1 }, { a: undefined }, { b: 1, a: 1 },
    { a: 1, b: 1 }, { __proto__: null, a: 2 }, JSON.parse('{"__proto__":1}') as unknown, Buffer.from('a'), Buffer.from('b'), new Map([['a', 1]]), new Map([['a', 2]]), new Set(['a']), new Date(0), new Date(1),
    new Error('a'), new Error('b'), new TypeError('a'), { error: 'a' }, /a/, /a/i, outcomeOf(() => 1), outcomeOf(() => { throw new Error('1') })
  ]
  const texts = values.map(exact)
  t.equal(new Set(texts).size, values.length, texts.filter((text, i) => texts.indexOf(text) !== i).join('; '))
})

t.test('equal values have the same text, also in a circle', async t => {
  const circle = (): unknown => {
    const one: Record<string, unknown> = { a: [1, { b: 'x' }] }
    return Object.assign(one, { one })
  }
  t.equal(exact(circle()), exact(circle()))
  t.equal(exact(new SyntaxError('one engine')), exact(new SyntaxError('another engine')), 'messages of the engine are left out')
})

t.test('every reader has an outcome for any bytes, the same each time', async t => {
  for (const [name, load] of Object.entries(READERS)) {
    // These two listen and respond later: the comparison itself reads with them.
    if (name === 'listener' || name === 'frames') continue
    const reader = await load()
    const numbers = random(`runtimes/${name}`)
    const seeds = reader.seeds.map(seed => Buffer.from(seed))
    for (let i = 0; i < runs(5); i++) {
      const bytes = mutate(numbers.pick(seeds), numbers, numbers.pick(seeds), reader.dictionary, reader.maxBytes)
      const read = (): string => exact(outcomeOf(() => reader.read(bytes)))
      // V8 reads the same text differently the second time: see `control`.
      if (name !== 'control') t.equal(read(), read(), `${name}: ${JSON.stringify(bytes.toString('latin1'))}`)
    }
    await reader.close?.()
  }
})
