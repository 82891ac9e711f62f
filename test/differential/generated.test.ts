/** The same check as for the corpus, for random messages built from elements that readers are known to interpret differently. */
import fc from 'fast-check'
import t from 'tap'
import { quietSdk } from '../helpers/agents.js'
import type { AgentKind } from '../helpers/agents.js'
import { checkAsync } from '../helpers/seed.js'
import { FORMS, nameOf, textPart } from '../security/kit.js'
import { benchFor } from './bench.js'
import { faultsOf } from './faults.js'
import { requestOf } from './requests.js'

quietSdk()
t.setTimeout(1_200_000)

const RUNS = 30

type Member = readonly [name: string, text: string]
const member = (names: readonly string[], texts: readonly string[]): fc.Arbitrary<Member> =>
  fc.tuple(fc.constantFrom(...names), fc.constantFrom(...texts))
const members = (one: fc.Arbitrary<Member>, maxLength: number): fc.Arbitrary<Member[]> => fc.array(one, { maxLength })
const object = (list: readonly Member[]): string => `{${list.map(([name, text]) => `"${name}":${text}`).join(',')}}`

const SCALARS = ['null', '""', '"a"', '5', 'false', '["a"]', '{"a":1}']
const DATA = ['{"a":1}', '{"data":{"a":1}}', '{"value":[1]}', '{"value":1,"a":2}', ...SCALARS]

const odd = members(fc.oneof(
  member(['kind'], ['"data"', '"text"', '"file"', '"d\\u0061ta"', 'null', '"other"']),
  member(['data', 'data', 'Data', '__proto__'], DATA),
  member(['text', 'raw', 'url', 't\\u0065xt'], SCALARS),
  member(['file'], ['{"uri":"https://f.test/a"}', '{"bytes":"aGk=","mimeType":"a/b"}', '{"fileWithUri":"https://f.test/a"}', ...SCALARS]),
  member(['mediaType', 'media_type'], ['"a/b"', ...SCALARS]),
  member(['metadata'], ['{"mimeType":"a/b"}', '{"data_part_compat":true}', ...SCALARS])
), 3)

/** Parts that are healthy in at least one form, so that the gateway does not reject every message. */
const HEALTHY: readonly (readonly Member[])[] = [
  [['kind', '"text"'], ['text', '"a"']],
  [['kind', '"data"'], ['data', '{"a":1}']],
  [['data', '{"data":{"a":1}}']],
  [['kind', '"data"'], ['data', '{"value":[1]}'], ['metadata', '{"data_part_compat":true}']],
  [['url', '"https://f.test/a"'], ['mediaType', '"a/b"']]
]
const part = fc.oneof(
  { weight: 1, arbitrary: odd.map(object) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...HEALTHY), fc.boolean(), odd)
      .map(([healthy, more, [one]]) => object(more && one !== undefined ? [...healthy.filter(([name]) => name !== one[0]), one] : healthy))
  }
)

const message = fc.tuple(fc.array(part, { maxLength: 3 }), fc.boolean(), members(fc.oneof(
  member(['taskId', 'task_id', 'contextId', 'context_id', 'TaskId'], ['"t"', ...SCALARS]),
  member(['metadata', 'meta\\u0064ata'], ['{"x":{"y":1}}', ...SCALARS]),
  member(['extensions'], ['["https://e.test/a"]', '["https://e.test/a",null]', ...SCALARS]),
  member(['role'], ['"ROLE_AGENT"', '"agent"', '1', ...SCALARS]),
  member(['parts', 'content'], ['null', '[]'])
), 1))

const headers = fc.array(
  fc.constantFrom(
    'A2A-Extensions: https://e.test/a',
    'X-A2A-Extensions: https://e.test/b',
    'A2A-Extensions: , https://e.test/b ,',
    'a2a-extensions: \u00a0https://e.test/a',
    'A2A-Version: 1.0',
    'Content-Type: application/json; charset=utf-8'
  ),
  { maxLength: 2 }
)
const request = fc.constantFrom('', '', '', ',"tenant":"one"', ',"tenant":5', ',"metadata":[1]', ',"metadata":{"x":1}', ',"request":null')

for (const kind of ['v1', 'dual', 'v03'] as const satisfies readonly AgentKind[]) {
  t.test(kind, async t => {
    const bench = await benchFor(t, kind)
    let read = 0
    for (const form of FORMS.filter(({ version }) => kind === 'dual' || (kind === 'v1') === (version === '1.0'))) {
      const whole = fc.tuple(message, request, headers).map(([[parts, healthy, more], request, headers]) => requestOf(nameOf(form), form, {
        // A healthy part keeps the message readable for agents that require a part.
        parts: healthy ? [textPart(form), ...parts] : parts,
        members: more.map(([name, text]) => `,"${name}":${text}`).join(''),
        request,
        headers
      }))
      const slug = nameOf(form).replaceAll(/\W+/g, '-')
      await checkAsync(`differential/generated/${kind}-${slug}`, fc.asyncProperty(whole, async request => {
        const seen = await bench.run(request)
        if (seen.through !== null) read++
        const [fault] = faultsOf(bench, request, seen, new Set())
        if (fault !== undefined) throw new Error(`${nameOf(form)}: ${fault}\n${request.headers.join('\n')}\n${String(request.body)}`)
      }), { numRuns: RUNS, endOnFailure: true })
    }
    t.ok(read > 5, `${read} of them were read`)
  })
}
