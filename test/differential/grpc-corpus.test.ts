/**
 * The gateway's reader against what agents of three languages read in the same bytes: accepted bytes have one reading, the gateway's. The
 * readings come from the files that test/interop/grpc-differential.test.ts writes.
 */
import t from 'tap'
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import { isDeepStrictEqual } from 'node:util'
import { withExplicitNulls } from '#wire/protobuf/nulls.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import type { ProtobufResult } from '#wire/protobuf/read.js'
import { CORPORA, CORPUS_NAMES, LANGUAGES, hex, normalised, readExpected, readingOf } from './grpc/expected.js'
import type { Language, Message, Readings } from './grpc/expected.js'

const LIMITS = { depth: 100, members: 10_000 }
const read = ({ path, bytes }: Message): ProtobufResult => readProtobuf(bytes, grpcMethodOf(path)!.request, LIMITS)

/** Languages that read the bytes otherwise than the gateway, or that do not read them. */
function otherwise (value: unknown, readings: Readings): Language[] {
  return LANGUAGES.filter(language => !isDeepStrictEqual(plain(readingOf(readings, language).read), plain(value)))
}

/** Without prototypes, which deepStrictEqual compares too. */
const plain = (value: unknown): unknown => value === undefined ? undefined : normalised(JSON.parse(JSON.stringify(value)))

for (const corpus of CORPUS_NAMES) {
  t.test(corpus, async t => {
    const messages = CORPORA[corpus]()
    const expected = readExpected(corpus)
    t.same(
      expected.map(({ name, bytes }) => ({ name, bytes })),
      messages.map(({ name, bytes }) => ({ name, bytes: hex(bytes) })),
      `A2A_TEST_RECORD=1 npm run test:interop -- interop/grpc-differential writes test/differential/grpc/${corpus}.json`
    )
    const wrong: unknown[] = []
    let accepted = 0
    for (const [i, message] of messages.entries()) {
      const { name, ours, except, forwarded } = message
      const result = read(message)
      const decided = result.ok ? 'accept' : 'reject'
      if (ours !== 'either' && decided !== ours) wrong.push({ name, decided, why: result.ok ? '' : result.problem.message })
      if (!result.ok) continue
      accepted++
      if (result.nulls !== undefined) {
        const explicit = withExplicitNulls(message.bytes, result.nulls)
        const again = read({ ...message, bytes: explicit })
        if (!isDeepStrictEqual(again, { ok: true, value: result.value, unknown: result.unknown })) wrong.push({ name, again })
        if (forwarded !== undefined && !forwarded.equals(explicit)) wrong.push({ name, explicit: explicit.toString('hex') })
        // Agents never get these bytes: test/interop/grpc-differential.test.ts shows what they read of the others.
        continue
      }
      if (forwarded !== undefined) wrong.push({ name, why: 'it is forwarded as it is' })
      const others = otherwise(result.value, expected[i]!.readings)
      if (!isDeepStrictEqual(others, except?.languages ?? [])) wrong.push({ name, read: result.value, others })
    }
    t.same(wrong, [])
    t.ok(accepted > messages.length / 8, `${accepted} of ${messages.length} are accepted`)
  })
}
