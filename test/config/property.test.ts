/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
import fc from 'fast-check'
import t from 'tap'
import { stringify } from 'yaml'
import { CHECKS } from '#offline/configuration.js'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import type { LoadResult } from '#config/load.js'
import { configSchema } from '#config/schema/schema.js'
import { anyText } from '../helpers/any-text.js'
import { check } from '../helpers/seed.js'

// Whatever the text is, loading returns a result and never throws; a problem always has a place and a sentence.

const WORDS = [...new Set(JSON.stringify(configSchema).match(/[A-Za-z][\w-]*/g) ?? [])]

const parse = (text: string, env: NodeJS.ProcessEnv = {}, upstream?: string) =>
  parseConfig(text, { file: 'g.yaml', baseDir: '/nowhere', env, overrides: { upstream, listen: upstream }, checks: CHECKS })

function wellFormed (result: LoadResult): boolean {
  const list = result.ok ? result.warnings : result.problems
  return (result.ok || list.length > 0) && list.every((problem) => /^[^\p{Cc}]+: [^\p{Cc}]+$/u.test(formatDiagnostic(problem)))
}

const key = fc.oneof(fc.constantFrom(...WORDS), fc.string())
const scalar = fc.oneof(
  fc.constantFrom(...WORDS, '3s', '4MiB', '/a', 'http://h', '${A}', '${B:-1}', '*x', ':1'),
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null)
)
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof({ depthSize: 'medium' }, scalar, fc.array(tie('tree'), { maxLength: 4 }), fc.dictionary(key, tie('tree'), { maxKeys: 6 }))
}))

const section = (name: string, names: readonly string[]) =>
  fc.tuple(fc.constant(name), fc.dictionary(fc.constantFrom(...names), tree, { maxKeys: 4 }))
const configLike = fc
  .tuple(
    fc.array(fc.dictionary(fc.constantFrom(...Object.keys(configSchema.properties?.agents?.items?.properties ?? {})), tree), {
      maxLength: 3
    }),
    section('server', Object.keys(configSchema.properties?.server?.properties ?? {})),
    section('limits', Object.keys(configSchema.properties?.limits?.properties ?? {})),
    fc.dictionary(
      key,
      fc.record(
        {
          uri: tree,
          activation: tree,
          owns: tree,
          aliases: tree,
          methods: tree,
          request: fc.array(
            fc.record({ id: tree, on: tree, select: tree, when: tree, unless: tree, schema: tree, count: tree }, { requiredKeys: [] }),
            { maxLength: 3 }
          )
        },
        { requiredKeys: [] }
      ),
      { maxKeys: 3 }
    )
  )
  .map(([agents, server, limits, extensions]) => ({ version: 1, agents, ...Object.fromEntries([server, limits]), extensions }))

t.test('any value that YAML can write', t => {
  t.ok(check('config/property/any-value', fc.property(tree, (value) => wellFormed(parse(stringify(value)))), { numRuns: 200 }) > 0, 'inputs')
  t.end()
})

t.test('anything shaped like a configuration', t => {
  t.ok(check(
    'config/property/any-configuration',
    fc.property(configLike, fc.string(), (value, variable) => wellFormed(parse(stringify(value), { A: variable }, variable))),
    { numRuns: 80 }
  ) > 0, 'inputs')
  t.end()
})

t.test('any text', t => {
  const indicators = fc
    .array(
      fc.constantFrom(
        ...'[]{}:,-?&*!|>\'"%@`#\n $\t~<=',
        '\n  ',
        '- ',
        ': ',
        '? ',
        'a',
        '&a',
        '*a',
        '<<',
        '${',
        '---\n',
        '...\n',
        '\u0002',
        '\u001f',
        '\ufeff'
      ),
      { maxLength: 60 }
    )
    .map(list => list.join(''))
  t.ok(check(
    'config/property/any-text',
    fc.property(fc.oneof(indicators, anyText()), text => wellFormed(parse(text))),
    { numRuns: 1000 }
  ) > 0, 'inputs')
  t.end()
})
