/** Numbers that no double represents exactly, in data that rules compare: the gateway rejects them in requests and responses. */
import t from 'tap'
import { inexactConstant } from '#a2a/inexact-constants.js'
import type { PolicyConfig, RuleConfig } from '#config/model/model.js'
import { readYaml } from '#config/yaml/document.js'
import { withBudget } from '#jsonschema/evaluation.js'
import { compileSchema } from '#jsonschema/schema.js'
import { isExact } from '#wire/json/number.js'
import { parseStrict } from '#wire/json/json.js'
import { ChunkedBuffer } from '#wire/chunked-buffer.js'
import { judge, policyFor, V1 } from './responses.js'
import { declaring, policyOf, send } from './fixtures.js'

const URI = 'https://x.test/ext'
const EXACT = [
  '0',
  '-0',
  '0.0',
  '1',
  '1.0',
  '1.10',
  '-3.14',
  '0.1',
  '1e3',
  '1E3',
  '1.5e-7',
  '12345678901.5',
  '123456789012345',
  '9007199254740992',
  '9007199254740994',
  '1e21',
  '1E+22',
  '100000000000000000000',
  '0.30000000000000004',
  '5e-324',
  '1.7976931348623157e308',
  '0e400',
  '0.000000000000000000000001',
  '1.00000000000000000000'
]
const INEXACT = [
  '9007199254740993',
  '-9007199254740993',
  '12345678901234567890',
  '0.1000000000000000055511151231257827',
  '1e400',
  '-1e400',
  '1e-400',
  '1.00000000000000000001',
  '9007199254740992.5',
  '900719925474099300e-2',
  '0.30000000000000004001',
  '1e99999999999'
]

t.test('tokens that a double represents exactly', async t => {
  t.same(EXACT.filter(token => !isExact(token)), [])
  t.same(INEXACT.filter(token => isExact(token)), [])
  const limits = { depth: 64, members: 1_000 }
  for (const pieces of [false, true]) {
    const wrong: string[] = []
    for (const token of [...EXACT, ...INEXACT]) {
      const bytes = Buffer.from(`{"a":[ ${token}, "${token}\\u00e9",{"b":${token}}],"c":true}`)
      const parsed = parseStrict(pieces ? new ChunkedBuffer([bytes.subarray(0, 9), bytes.subarray(9)], bytes.length) : bytes, limits)
      if (!parsed.ok || (parsed.inexact?.has(Number(token)) ?? false) !== INEXACT.includes(token)) wrong.push(token)
    }
    t.same(wrong, [], pieces ? 'in pieces' : 'in one')
  }
  const prose = parseStrict(Buffer.from(JSON.stringify({ text: '12345678901234567890 1e400'.repeat(1_000), '1e400': 1 })), limits)
  t.ok(prose.ok && prose.inexact === undefined, 'texts hold no numbers')
})

/** Keywords that compare, each so that the double of the token would pass. */
const KEYWORDS: readonly (readonly [string, (double: number) => object])[] = [
  ['enum', double => ({ enum: [double] })],
  ['enum of an object', double => ({ enum: [{ n: double }] })],
  ['const', double => ({ const: double })],
  ['const of a list', double => ({ const: [double] })],
  ['minimum', () => ({ minimum: -1e300 })],
  ['maximum', () => ({ maximum: 1e308 })],
  ['exclusiveMinimum', () => ({ exclusiveMinimum: -1e300 })],
  ['exclusiveMaximum', () => ({ exclusiveMaximum: 1e308 })],
  ['multipleOf', () => ({ multipleOf: 5e-324 })],
  ['not const', double => ({ not: { const: double / 2 - 1 } })],
  ['anyOf', () => ({ anyOf: [{ minimum: 1e300 }, true] })],
  ['uniqueItems', () => ({ uniqueItems: true })]
]

function dataOf (keyword: string, token: string): string {
  return keyword === 'enum of an object'
    ? `{"n":${token}}`
    : keyword === 'const of a list' || keyword === 'uniqueItems'
      ? `[${token}]`
      : token
}

t.test('a number that cannot be compared exactly differs from each value of another type', async t => {
  // Data with an infinite number conforms to no schema.
  for (const token of INEXACT.filter(token => Number.isFinite(Number(token)))) {
    const parsed = parseStrict(Buffer.from(`{"n":${token}}`), { depth: 64, members: 1_000 })
    const conforms = (n: object): boolean | null => {
      const compiled = compileSchema({ properties: { n } })
      return parsed.ok && compiled.ok ? withBudget(parsed.inexact ?? null, () => compiled.schema.matches(parsed.value)) : null
    }
    for (const schema of [{ not: { const: 'a' } }, { not: { enum: ['a', null, { n: 1 }] } }, { not: { const: [1] } }]) {
      t.equal(conforms(schema), true, `${token} ${JSON.stringify(schema)}`)
    }
    for (const schema of [{ const: 'a' }, { enum: ['a', true] }]) t.equal(conforms(schema), false, `${token} ${JSON.stringify(schema)}`)
    for (const schema of [{ const: 7 }, { not: { enum: ['a', 7] } }]) t.equal(conforms(schema), null, `${token} ${JSON.stringify(schema)}`)
  }
})

t.test('schemas: keywords, tokens, requests and responses', async t => {
  const wrong: string[] = []
  const tokens = ['0', '-0', '1.0', '1.10', '1e3', '9007199254740992', '1e21', '0.30000000000000004', ...INEXACT.slice(0, 8)]
  for (const [keyword, schemaOf] of KEYWORDS) {
    for (const token of tokens) {
      const double = Number(token)
      // No JSON schema holds it.
      if (!Number.isFinite(double) && /enum|const/.test(keyword)) continue
      const inexact = INEXACT.includes(token)
      const schema = { type: 'object', properties: { n: schemaOf(double) } }
      const data = `{"n":${dataOf(keyword, token)}}`
      const rule = { id: 'r', select: { part: { data: true } }, schema } as const
      const { rejection: refusal } = send(
        policyOf(declaring(URI), { ext: { uri: URI, request: [rule] } }),
        `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[{"data":${data}}]}}}`
      )
      if ((refusal?.message.includes('cannot be compared exactly') ?? false) !== inexact || (!inexact && refusal !== null)) {
        wrong.push(`request ${keyword} ${token}: ${refusal?.message}`)
      }
      if (inexact && !/^params\.message\.parts\[0\]\.data\.n/.test(refusal?.message ?? '')) {
        wrong.push(`request ${keyword} ${token} at ${refusal?.message}`)
      }
      const answer = Buffer.from(V1.task_('completed', { artifacts: [[V1.part('DATA')]] }).toString().replace('"DATA"', data))
      for (const responses of ['enforce', 'observe'] as const) {
        const verdict = judge(policyFor({ response: [{ ...rule, verdict: 'reject' }] }, { responses }), answer)
        if ((verdict.rejection !== null) !== (inexact && responses === 'enforce')) {
          wrong.push(`${responses} ${keyword} ${token}: ${verdict.rejection?.message}`)
        }
        if (verdict.violations.some(one => one.message.includes('compared exactly')) !== inexact) {
          wrong.push(`${responses} ${keyword} ${token}: not noted`)
        }
        if (verdict.rejection !== null && verdict.rejection.reason !== 'INVALID_AGENT_RESPONSE') {
          wrong.push(`${responses} ${keyword} ${token}: ${verdict.rejection.reason}`)
        }
      }
    }
  }
  t.same(wrong, [])
})

t.test('numbers that no rule compares pass', async t => {
  const policy = policyOf(declaring(URI), {
    ext: {
      uri: URI,
      request: [
        {
          id: 'r',
          select: { part: { data: true } },
          schema: {
            type: 'object',
            properties: { n: { type: 'number' }, list: { items: { type: 'number' } }, m: { minimum: 1 } },
            required: ['n']
          }
        }
      ]
    }
  })
  const sent = (data: string, metadata = '{}'): string | null =>
    send(policy, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"metadata":${metadata},"parts":[{"data":${data}}]}}}`)
      .rejection?.message ?? null
  t.equal(
    sent('{"n":9007199254740993,"list":[0.1000000000000000055511151231257827],"other":12345678901234567890,"m":2}', '{"x":1e400}'),
    null
  )
  t.match(
    sent('{"n":1,"m":9007199254740993}'),
    /data\.m is a number that cannot be compared exactly, because a double does not keep all its digits; send fewer digits, or a string/
  )
})

t.test('equality of policies', async t => {
  const equals = (request: RuleConfig): PolicyConfig => ({ uri: URI, request: [request] })
  const rule = equals({ id: 'r', select: { metadata: { key: 'k', equals: 9007199254740992 } }, count: { max: 1 } })
  const send1 = (token: string): string | null =>
    send(
      policyOf(declaring(URI), { ext: rule }),
      `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"metadata":{"k":${token}},"parts":[]}}}`
    ).rejection?.message ?? null
  t.equal(send1('9007199254740992'), null)
  t.equal(send1('7'), null)
  t.match(send1('9007199254740993'), /metadata\.k cannot be evaluated: is a number that cannot be compared exactly/)
})

t.test('a card or a schema file that compares with such a number is unusable; limits and other members are allowed', async t => {
  const found = (text: string): string | null => {
    const parsed = parseStrict(Buffer.from(text), { depth: 64, members: 1_000 })
    return parsed.ok ? inexactConstant(parsed.value, parsed.inexact) : 'not JSON'
  }
  const wrong: unknown[] = []
  for (const token of INEXACT) {
    for (const [path, text] of [
      ['schemas.a.enum[1]', `{"schemas":{"a":{"enum":[7,${token}]}}}`], ['schemas.a.const.n', `{"schemas":{"a":{"const":{"n":${token}}}}}`],
      [null, `{"schemas":{"a":{"maximum":${token}}},"params":{"n":${token}}}`]
    ] as const) if (found(text) !== path) wrong.push({ token, text, found: found(text) })
  }
  for (const token of EXACT) if (found(`{"enum":[${token}]}`) !== null) wrong.push({ token })
  t.same(wrong, [])
  t.match(compileSchema({ maximum: Number.POSITIVE_INFINITY }), {
    ok: false,
    problem: { pointer: '/maximum', message: 'the number is outside the range of doubles' }
  })
})

/** A reference to an environment variable of the file. */
const VARIABLE = ['$', '{N}'].join('')

t.test(
  'a YAML file that compares with such a number is unusable; exact numbers in YAML forms and limits of schemas are allowed',
  async t => {
    const problems = (text: string): string[] => readYaml(text, {}).problems.map(one => one.message)
    const wrong: unknown[] = []
    for (const token of INEXACT) {
      for (const text of [
        `enum: [7, ${token}]`,
        `const: {n: ${token}}`,
        `enum: &n [${token}]\nother: *n`,
        `equals: ${token}`,
        `maximum: &n ${token}\nconst: *n`,
        `{"const": +${token}}`.replace('+-', '-'),
        `const: ${VARIABLE}`
      ]) {
        const found = readYaml(text, { N: token }).problems.map(one => one.message)
        if (!/^a double cannot represent this number exactly/.test(found[0] ?? '')) wrong.push({ text, token, found })
      }
      for (const keyword of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']) {
        if (problems(`${keyword}: ${token}`).length > 0) wrong.push({ keyword, token })
      }
      if (problems(`const: "${token}"`).length > 0) wrong.push({ text: token })
    }
    for (const token of [...EXACT, '+7', '.5', '5.', '-.5', '0o17', '0x1F', '0x20000000000000', '1.e3', '.inf', '-.inf', '.nan']) {
      if (problems(`const: ${token}`).length > 0) wrong.push({ token, found: problems(`const: ${token}`) })
    }
    if (problems('const: 0x20000000000001').length === 0) wrong.push('hexadecimal')
    t.same(wrong, [])
  }
)
