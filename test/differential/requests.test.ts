/** The agent reads exactly what the gateway has evaluated. Official agents read every odd request of the corpus. */
import t from 'tap'
import { quietSdk } from '../helpers/agents.js'
import type { AgentKind } from '../helpers/agents.js'
import { NIGHTLY_ONLY, partOf } from '../helpers/seed.js'
import { benchFor } from './bench.js'
import type { Bench } from './bench.js'
import { compare } from './compare.js'
import { faultsOf } from './faults.js'
import { JUSTIFIED } from './justified.js'
import { corpus } from './requests.js'

quietSdk()
t.setTimeout(1_200_000)

const used = new Set<string>()
const requests = partOf(corpus())

for (const kind of ['v1', 'dual', 'v03'] as const satisfies readonly AgentKind[]) {
  t.test(`${requests.length} requests, ${kind}`, async t => {
    const bench: Bench = await benchFor(t, kind)
    let compared = 0
    for (const request of requests) {
      const seen = await bench.run(request)
      if (seen.through !== null) compared++
      const faults = faultsOf(bench, request, seen, used)
      if (faults.length > 0) t.same(faults, [], request.name)
    }
    // If every agent rejected these requests, the corpus would show nothing.
    t.ok(compared > requests.length / 6, `${compared} of them were read`)
  })
}

t.test('every justified difference occurs', { skip: NIGHTLY_ONLY }, async t => {
  for (const { why } of JUSTIFIED) t.ok(used.has(why), why)
})

t.test('a different reading is found', async t => {
  const reading = {
    operation: 'SendMessage',
    tenant: null,
    taskId: 't',
    requested: ['urn:a'],
    metadata: undefined,
    message: {
      role: 'user',
      contextId: null,
      metadata: {},
      extensions: [],
      parts: [{ kind: 'data', value: { a: 1 }, mediaTypes: ['a/b'], metadata: null }]
    }
  } as const
  const part = reading.message.parts[0]
  t.same(compare(reading, reading), [])
  for (const [path, other] of [
    ['operation', { ...reading, operation: 'GetTask' }],
    ['tenant', { ...reading, tenant: 'one' }],
    ['taskId', { ...reading, taskId: 'u' }],
    ['requested', { ...reading, requested: [] }],
    ['metadata', { ...reading, metadata: { a: 1 } }],
    ['message', { ...reading, message: null }],
    ['message.role', { ...reading, message: { ...reading.message, role: 'agent' } }],
    ['message.extensions', { ...reading, message: { ...reading.message, extensions: ['urn:a'] } }],
    ['message.parts[0].value', { ...reading, message: { ...reading.message, parts: [{ ...part, value: { a: '1' } }] } }],
    ['message.parts[0].mediaType', { ...reading, message: { ...reading.message, parts: [{ ...part, mediaTypes: ['a/c'] }] } }],
    ['message.parts[1].kind', { ...reading, message: { ...reading.message, parts: [part, { ...part, value: undefined }] } }]
  ] as const) t.equal(compare(reading, other)[0]?.path, path, path)
})
