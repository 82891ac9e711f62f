/** The changes that a caller would have to make to a rejected request, derived from the rejection alone. */
import t from 'tap'
import { correctionOf, stepsOf } from '#console/correction.js'
import type { EntryViolation } from '#console/correction.js'

function broken (path: string, message: string, phase: EntryViolation['phase'] = 'request'): EntryViolation {
  return { phase, mode: 'enforce', extension: 'x', rule: 'r', reason: 'EXTENSION_DATA_INVALID', path, message }
}

const REFUSAL = { reason: 'EXTENSION_DATA_INVALID', message: '', rule: 'x/r' } as const

t.test('paths', t => {
  t.same(stepsOf('params.message.parts[0].data["odd \\"name"].b'), ['params', 'message', 'parts', 0, 'data', 'odd "name', 'b'])
  t.same(stepsOf(''), [])
  for (const none of ['query parameter x', 'a..b', 'a[b]', 'a["unfinished']) t.equal(stepsOf(none), null, none)
  t.end()
})

t.test('a missing extension is a header line', t => {
  const correction = correctionOf(
    { ...REFUSAL, reason: 'EXTENSION_SUPPORT_REQUIRED', metadata: { missingExtensions: 'urn:a,urn:b' } },
    [broken('header A2A-Extensions', 'must name the required extension urn:a')],
    '1.0'
  )
  t.same(correction, {
    headers: [{ name: 'A2A-Extensions', value: 'urn:a,urn:b' }],
    without: [],
    body: null,
    notes: [],
    allow: null,
    retryAfter: null
  })
  t.match(correctionOf({ ...REFUSAL, metadata: { missingExtensions: 'urn:a' } }, [], '0.3')?.headers, [{ name: 'X-A2A-Extensions' }])
  t.end()
})

t.test('a version is one header line to send, or one to remove', t => {
  t.match(correctionOf({ ...REFUSAL, metadata: { supportedVersions: '0.3,1.0' } }, [broken('header A2A-Version', 'no')], '1.0'), {
    headers: [{ name: 'A2A-Version', value: '1.0' }],
    notes: []
  })
  t.match(correctionOf({ ...REFUSAL, metadata: { supportedVersions: '0.3' } }, [broken('header A2A-Version', 'no')], '1.0'), {
    headers: [],
    without: ['A2A-Version'],
    notes: []
  })
  t.end()
})

t.test('data is an outline of the expected values', t => {
  const correction = correctionOf(
    REFUSAL,
    [
      broken('params.parts[0].data.a', 'is required'),
      broken('params.parts[0].data.c', 'is not a property the schema allows'),
      broken('query parameter', 'is odd')
    ],
    '1.0'
  )
  t.match(correction?.notes, [{ path: 'query parameter', expected: 'is odd' }])
  const [[, params] = []] = correction?.body?.members ?? []
  const [[, parts] = []] = params?.members ?? []
  t.equal(parts?.list, true)
  const [[, part] = []] = parts?.members ?? []
  t.match(part?.members[0]?.[1].members, [
    ['a', { expected: 'is required', remove: false }],
    ['c', { expected: 'is not a property the schema allows', remove: true }]
  ])
  t.end()
})

t.test('waiting and verbs; no fix for errors that the caller did not cause', t => {
  t.match(correctionOf({ ...REFUSAL, retryAfter: 5 }, [], '1.0'), { retryAfter: 5 })
  t.match(correctionOf({ ...REFUSAL, allow: 'POST' }, [], '1.0'), { allow: 'POST' })
  t.equal(correctionOf(REFUSAL, [broken('result.a', 'is required', 'response')], '1.0'), null)
  t.equal(correctionOf(REFUSAL, [], '1.0'), null)
  t.end()
})
