/**
 * The gateway's reader against what agents of three languages read in the same bytes: accepted bytes have one reading, the gateway's. The
 * readings come from the files that test/interop/grpc-differential.test.ts writes.
 */
import t from 'tap'
import { grpcMethodOf } from '../../src/a2a/grpc/methods.js'
import { isDeepStrictEqual } from 'node:util'
import { readProtobuf } from '../../src/wire/protobuf/read.js'
import type { ProtobufResult } from '../../src/wire/protobuf/read.js'
import { SEND_MESSAGE } from '../helpers/grpc-raw.js'
import { CORPORA, LANGUAGES, hex, readExpected, readingOf } from './grpc/expected.js'
import type { CorpusName, Language, Readings } from './grpc/expected.js'
import { ROWS } from './grpc/rows.js'

const table = grpcMethodOf(SEND_MESSAGE)!.request
const LIMITS = { depth: 100, members: 10_000 }
const read = (bytes: Buffer): ProtobufResult => readProtobuf(bytes, table, LIMITS)

/** Languages that read the bytes otherwise than the gateway, or that do not read them. */
function otherwise (value: unknown, readings: Readings, except?: Language): string[] {
  return LANGUAGES.filter(language => language !== except && !isDeepStrictEqual(plain(readingOf(readings, language).read), plain(value)))
}

/** Without prototypes, which deepStrictEqual compares too. */
const plain = (value: unknown): unknown => value === undefined ? undefined : JSON.parse(JSON.stringify(value))

t.test('the files hold these messages', async t => {
  for (const corpus of ['corpus', 'generated'] as CorpusName[]) {
    t.same(
      readExpected(corpus).map(({ name, bytes }) => ({ name, bytes })),
      CORPORA[corpus]().map(({ name, bytes }) => ({ name, bytes: hex(bytes) })),
      `A2A_TEST_RECORD=1 npm run test:interop writes test/differential/grpc/${corpus}.json`
    )
  }
})

t.test('written messages', async t => {
  const expected = new Map(readExpected('corpus').map(row => [row.name, row.readings]))
  const wrong: unknown[] = []
  for (const { name, bytes, ours, except } of ROWS) {
    const result = read(bytes)
    const decided = result.ok ? 'accept' : 'reject'
    if (ours !== 'either' && decided !== ours) wrong.push({ name, decided, why: result.ok ? '' : result.problem.message })
    if (!result.ok) continue
    const others = otherwise(result.value, expected.get(name)!, except?.language)
    if (others.length > 0) wrong.push({ name, read: result.value, others })
  }
  t.same(wrong, [])
})

t.test('generated messages', async t => {
  const messages = CORPORA.generated()
  const wrong: unknown[] = []
  let accepted = 0
  for (const [i, { readings }] of readExpected('generated').entries()) {
    const result = read(messages[i]!.bytes)
    if (!result.ok) continue
    accepted++
    const others = otherwise(result.value, readings)
    if (others.length > 0) wrong.push({ i, read: result.value, others })
  }
  t.same(wrong, [])
  t.ok(accepted > messages.length / 4, `${accepted} of ${messages.length} are accepted`)
})
