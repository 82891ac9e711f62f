/** Automata of patterns: on ASCII text they match as the matcher of `regexp.ts` does. */
import { ok, strictEqual as equal } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import type { Automaton } from '#jsonschema/bytes/automaton.js'
import { ACCEPTS, automatonOf } from '#jsonschema/bytes/automaton.js'
import { SURE } from '#jsonschema/bytes/scalars.js'
import { knownFormats } from '#jsonschema/code.js'
import { compilePattern } from '#jsonschema/regexp.js'
import { Random } from '../fuzz/engine/random.js'
import { check } from '../helpers/seed.js'

function matches ({ classes, width, table, start }: Automaton, text: string): boolean {
  let state = start
  for (const character of text) state = table[(state & ~ACCEPTS) * width + (classes[character.charCodeAt(0)] as number)] as number
  return (state & ACCEPTS) !== 0
}

const ATOMS = ['a', 'b', '-', '_', '0', '.', '\\d', '\\w', '\\S', '\\.', '\\-', '\\/', '[ab]', '[^a]', '[a-z0-9]', '[\\w.-]', '[^\\d-]', 'é', '\\b', '\\p{L}', '(?=a)', ']']
const REPEATS = ['', '', '', '', '*', '+', '?', '{2}', '{1,3}', '{0}', '{2,}', '*?', '{']

function pattern (random: Random, depth: number): string {
  const alternatives = Array.from({ length: random.chance(3) ? 2 : 1 }, () => {
    const parts = Array.from({ length: random.below(4) }, () => {
      const atom = depth > 0 && random.chance(4) ? `${random.pick(['(', '(?:', '(?:', '(?<n>'])}${pattern(random, depth - 1)})` : random.pick(ATOMS)
      return atom + random.pick(REPEATS)
    })
    return `${random.chance(3) ? '^' : ''}${parts.join('')}${random.chance(3) ? '$' : ''}`
  })
  return alternatives.join('|')
}

t.test('an automaton matches as the matcher does', t => {
  let [patterns, automata, found] = [0, 0, 0]
  t.ok(check('policy/bytes-automaton/same', fc.property(fc.nat(), seed => {
    const random = new Random(seed)
    const text = pattern(random, 2)
    let matcher: ReturnType<typeof compilePattern>
    try {
      matcher = compilePattern(text)
    } catch {
      return
    }
    patterns++
    const automaton = automatonOf(text)
    if (automaton === null) return
    automata++
    for (let i = 0; i < 20; i++) {
      const value = Array.from({ length: random.below(7) }, () => random.pick(['a', 'b', 'c', '-', '_', '0', '9', '.', ' ', 'A', '/'])).join('')
      const expected: boolean = matcher.test(value)
      if (expected) found++
      equal(matches(automaton, value), expected, `${text} on "${value}"`)
    }
  }), { numRuns: 400, endOnFailure: true }) > 0)
  t.ok(automata > patterns / 3, `${automata} of ${patterns} patterns have an automaton`)
  t.ok(found > automata, `${found} matches`)
  t.end()
})

t.test('patterns without an automaton, and a bound on the work', t => {
  for (const text of [
    'é', '\\bx', '\\p{L}', '(?<n>a)', '(?=a)', 'a**', '[]', '[^]', '[a-\\d]', '{', 'a{2', ']', '(a', 'a)', '\\u0041', `${'a'.repeat(501)}`, '(?:a?){250}b{250}',
    '(?:(?:a{50}){50}){50}', '(a|b)*a(a|b){14}'
  ]) t.equal(automatonOf(text), null, text.slice(0, 30))
  const begin = performance.now()
  for (const text of ['(?:a|b|c|d){200}', '(?:[a-z]+-?){60}', '(a|b)*a(a|b){7}']) automatonOf(text)
  t.ok(performance.now() - begin < 1_000)
  t.end()
})

t.test('what a sure format accepts, ajv-formats accepts', t => {
  const formats = knownFormats()
  const pieces = [
    '2026', '2024', '-', '-', '01', '02', '11', '12', '28', '29', '30', '31', 'T', 't', ' ', ':', ':', '00', '23', '59', '60', 'Z', '+', '.', '5', '@', 'a', 'b-c', '!',
    'example', '10', '255', '256', 'https://', 'http:', '/', '?', '#', '=', '123e4567', '-e89b', '-42d3', '-a456', '-426614174000', 'urn:uuid:', '', '_', '~', '%20'
  ]
  const wholes = [
    '2026-11-28', '2024-02-29', '2026-11-28T12:00:00Z', '2026-12-31T23:59:59.5+01:00', '12:00:00Z', 'a.b@example.com', '10.0.255.1', 'https://a.b/c?d=e#f',
    '123e4567-e89b-42d3-a456-426614174000'
  ]
  const accepted = new Map<string, number>()
  for (const [name, text] of Object.entries(SURE)) {
    const definition = formats[name] as RegExp | ((value: string) => boolean) | { readonly validate: RegExp | ((value: string) => boolean) }
    const test = typeof definition === 'object' && 'validate' in definition ? definition.validate : definition
    const automaton = automatonOf(text)
    ok(automaton, name)
    check(`policy/bytes-automaton/${name}`, fc.property(fc.nat(), seed => {
      const random = new Random(seed)
      let value = random.chance(2) ? random.pick(wholes) : Array.from({ length: 1 + random.below(9) }, () => random.pick(pieces)).join('')
      if (random.chance(2)) {
        const at = random.below(value.length + 1)
        value = value.slice(0, at) + random.pick(pieces) + value.slice(at + random.below(3))
      }
      if (!matches(automaton, value)) return
      accepted.set(name, (accepted.get(name) ?? 0) + 1)
      ok(test instanceof RegExp ? test.test(value) : test(value), `${name} "${value}"`)
    }), { numRuns: 400, endOnFailure: true })
    t.ok((accepted.get(name) ?? 0) > 5, `${name}: ${accepted.get(name) ?? 0} texts accepted`)
  }
  t.end()
})
