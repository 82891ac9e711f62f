/**
 * The same check as for the corpus, for random responses and streams built from elements that readers are known to interpret differently.
 */
import fc from 'fast-check'
import t from 'tap'
import { quietSdk } from '../helpers/agents.js'
import { checkAsync, runs } from '../helpers/seed.js'
import { nameOf } from '../security/kit.js'
import type { ReadingPair } from './responses/bench.js'
import { answerBench } from './responses/bench.js'
import type { Entry, FormName, PlaceName } from './responses/corpus.js'
import { answersOf, formName } from './responses/corpus.js'
import { answerFaults } from './responses/faults.js'

quietSdk()
t.setTimeout(1_200_000)

const RUNS = 40

type Member = readonly [name: string, text: string]
const member = (names: readonly string[], texts: readonly string[]): fc.Arbitrary<Member> =>
  fc.tuple(fc.constantFrom(...names), fc.constantFrom(...texts))
const members = (one: fc.Arbitrary<Member>, maxLength: number): fc.Arbitrary<Member[]> => fc.array(one, { maxLength })
const texts = (list: readonly Member[]): string => list.map(([name, text]) => `,"${name}":${text}`).join('')
const object = (list: readonly Member[]): string => `{${texts(list).slice(1)}}`

const SCALARS = ['null', '""', '"a"', '5', 'false', '["a"]', '{"a":1}']

const odd = members(
  fc.oneof(
    member(['kind'], ['"data"', '"text"', '"file"', 'null', '"other"']),
    member(
      ['data', 'data', 'Data', '__proto__'],
      ['{"a":1}', '{"data":{"a":1}}', '{"data":{"a":1},"b":2}', '{"value":[1]}', '{"value":1,"a":2}', ...SCALARS]
    ),
    member(['text', 'raw', 'url', 't\\u0065xt'], SCALARS),
    member(['file'], ['{"uri":"https://f.test/a"}', '{"bytes":"aGk=","mimeType":"a/b"}', '{"fileWithUri":"https://f.test/a"}', ...SCALARS]),
    member(['mediaType', 'media_type'], ['"a/b"', ...SCALARS]),
    member(['metadata'], ['{"mimeType":"a/b"}', '{"data_part_compat":true}', ...SCALARS])
  ),
  3
)
const HEALTHY = [
  'TEXT',
  'DATA',
  '{"kind":"data","data":{"a":1}}',
  '{"data":{"data":{"a":1}}}',
  '{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}}'
]
const part = fc.oneof({ weight: 1, arbitrary: odd.map(object) }, { weight: 3, arbitrary: fc.constantFrom(...HEALTHY) })

const content = members(fc.oneof(
  member(['taskId', 'task_id', 'contextId', 'Context_Id', 'artifact_id', 'name'], ['"t"', ...SCALARS]),
  member(['metadata'], ['{"x":{"y":1}}', '[{"x":1}]', ...SCALARS]),
  member(['extensions'], ['["https://e.test/a"]', '["https://e.test/a",null]', ...SCALARS]),
  member(['parts', 'content'], ['null', '[]', '[DATA]'])
), 1).map(texts)
const around = members(
  fc.oneof(
    member(['metadata', 'Metadata'], ['{"x":1}', '[{"x":1}]', ...SCALARS]),
    member(
      ['append', 'final', 'context_id', 'message', 'update', 'msg', 'history', 'artifacts'],
      ['true', '[MESSAGE]', 'MESSAGE', 'ARTIFACT', ...SCALARS]
    )
  ),
  1
).map(texts)

const PLACES: readonly PlaceName[] = ['message', 'status', 'artifact', 'history', 'got', 'statusUpdate', 'artifactUpdate']
const answer: fc.Arbitrary<Entry> = fc
  .record({ place: fc.constantFrom(...PLACES), parts: fc.array(part, { minLength: 1, maxLength: 3 }), members: content, around })
  .map(({ place, parts, members, around }) => ({ name: 'generated', places: [place], parts, members, around }))

const BLANKS = ['', '', '', '', '', ' ', '\t', '\u00a0', '\uFEFF', '\u2003', '\r', '\v']
const LINES = [
  'data: ANSWER',
  'data: EVIL',
  'data:EVIL',
  'data: OPEN',
  'data: RESULT',
  'data: CLOSE',
  'data:',
  'data',
  ': data: EVIL',
  ':',
  'event: error',
  'event: message',
  'id: 5',
  '',
  '',
  ''
]
const ENDS = ['\n', '\n', '\n', '\r\n', '\r']
const stream: fc.Arbitrary<Entry> = fc
  .array(fc.tuple(fc.constantFrom(...BLANKS), fc.constantFrom(...LINES), fc.constantFrom(...ENDS)), { minLength: 1, maxLength: 8 })
  .map(lines => ({ name: 'generated', events: `${lines.flat().join('')}\n\n` }))

t.test('responses and as many streams for each client', async t => {
  const bench = await answerBench(t)
  const faultless = async (pair: ReadingPair, name: FormName, entry: Entry): Promise<number> => {
    const [made] = answersOf('', { ...entry, forms: [name] })
    if (made === undefined) return 0
    const seen = await bench.run(pair, made)
    const [fault] = answerFaults(pair, made, seen, new Set())
    if (fault !== undefined) {
      throw new Error(`${nameOf(pair.form)}, ${pair.kind}: ${fault}\n${JSON.stringify(entry)}\n${JSON.stringify(made.body)}`)
    }
    return seen.client.results.length
  }
  for (const pair of bench.clients) {
    const name = formName(pair.form)
    let read = 0
    for (const kind of [answer, stream]) {
      await checkAsync(
        'differential/responses-generated/answers',
        fc.asyncProperty(kind, async entry => {
          read += await faultless(pair, name, entry)
        }),
        { numRuns: RUNS, endOnFailure: true }
      )
    }
    t.ok(read > runs(RUNS) / 4, `${nameOf(pair.form)}, ${pair.kind}: ${read} results were read`)
  }
})
