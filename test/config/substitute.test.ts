/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
import fc from 'fast-check'
import t from 'tap'
import { parse } from 'yaml'
import { readYaml } from '#config/yaml/document.js'
import { retype, substitute } from '#config/yaml/substitute.js'
import { check } from '../helpers/seed.js'

const env = {
  HOST: 'h.example',
  EMPTY: '',
  PORT: '8080',
  FLAG: 'false',
  NULL: 'null',
  LIST: '[1, 2]',
  NEST: '${HOST}',
  MULTI: 'a: 1\nb: 2'
}

t.test('references', t => {
  const cases: Record<string, string> = {
    'http://${HOST}:${PORT}/': 'http://h.example:8080/',
    '${EMPTY}': '',
    '${EMPTY:-x}': 'x',
    '${NOT_SET:-}': '',
    '${NOT_SET:-a:-b c}': 'a:-b c',
    '$${HOST}': '${HOST}',
    $$$: '$$',
    '$$${PORT}': '$8080',
    '^a$': '^a$',
    $HOST: '$HOST',
    '${NEST}': '${HOST}'
  }
  for (const [text, expected] of Object.entries(cases)) t.same(substitute(text, env), { text: expected }, text)
  for (const text of ['${}', '${1}', '${A B}', '${A-x}', '${A', '${NOT_SET}', '${toString}', '${__proto__}']) {
    t.equal('message' in substitute(text, env), true, text)
  }
  t.end()
})

t.test('a plain scalar is typed after substitution, a quoted one stays a string', t => {
  const read = (text: string) => readYaml(text, env).root?.value
  t.same(read('- ${PORT}\n- "${PORT}"\n- ${FLAG}\n- ${NULL}\n- ${EMPTY}\n- "${EMPTY}"\n- >-\n  ${PORT}\n'), [
    8080,
    '8080',
    false,
    null,
    null,
    '',
    '8080'
  ])
  t.same(read('- $5\n- 1$\n'), ['$5', '1$'])
  t.end()
})

t.test('a variable adds no structure, and keys are not replaced', t => {
  const read = (text: string) => readYaml(text, env).root?.value
  t.same(read('- ${LIST}\n- ${MULTI}\n'), ['[1, 2]', 'a: 1\nb: 2'])
  t.same(read('"${HOST}": ${HOST}\n'), { '${HOST}': 'h.example' })
  t.end()
})

t.test('scalars are typed exactly as the YAML parser types them', t => {
  const samples = [
    '',
    '~',
    'null',
    'NULL',
    'nUll',
    'true',
    'TRUE',
    'yes',
    'off',
    '0',
    '-0',
    '+12',
    '007',
    '0o17',
    '0x1F',
    '0b1',
    '1_000',
    '1.',
    '.5',
    '-.5',
    '1e3',
    '1.5E-3',
    'e3',
    '.',
    '.inf',
    '-.INF',
    '.nan',
    '1:30',
    '2020-01-01',
    'v1',
    '...',
    '---'
  ]
  // In a list, where "..." and "---" are text: alone they end and begin a document.
  const asYaml = (text: string): unknown => (parse(`- ${text}`, { schema: 'core' }) as unknown[])[0]
  t.same(samples.filter(sample => !Object.is(retype(sample), asYaml(sample))), [])
  check('config/substitute/scalar-types', fc.property(fc.stringMatching(/^[0-9a-fox+._eE-]{1,6}$/), text => {
    const parsed = asYaml(text)
    return (parsed !== null && typeof parsed === 'object') || Object.is(parsed, retype(text))
  }))
  t.end()
})
