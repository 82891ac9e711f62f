/**
 * What agents of three languages read in hostile protobuf. The expectations are files, so that the tests of the reader need no other
 * language; A2A_TEST_RECORD=1 writes them.
 */
import type { Test } from 'tap'
import t from 'tap'
import { SendMessageRequest } from '@a2a-js/sdk'
import { CORPORA, LANGUAGES, hex, readExpected, readingOf, readingsOf, writeExpected } from '../differential/grpc/expected.js'
import type { CorpusName, Expected, Language, Reading } from '../differential/grpc/expected.js'
import { ROWS } from '../differential/grpc/rows.js'
import { quietSdk } from '../helpers/agents.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { RawGrpc, grpcMessage } from '../helpers/grpc-raw.js'
import { field, join, numberField } from '../helpers/protobuf-bytes.js'
import { SETUP_TIMEOUT, programs, startForeignGrpcAgent } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

interface Agent extends Reader {
  readonly url: string
}

interface Reader {
  readonly raw: RawGrpc
  /** Messages read so far, oldest first. */
  reads (): unknown[]
}

t.before(async () => {
  for (const sdk of ['py-1', 'go-2'] as const) await programs(sdk)
})

t.test('hostile protobuf', async t => {
  const readers: Readonly<Record<Language, Agent>> = {
    python: await foreign(t, 'py-1'), go: await foreign(t, 'go-2'), javascript: await javascript(t)
  }
  await t.test('through the gateway, all agents read the same', async t => {
    const [python, go, javascript] = await Promise.all(LANGUAGES.map(language => behindGateway(t, readers[language])))
    for (const corpus of ['corpus', 'generated'] as const) {
      const wrong: unknown[] = []
      let reached = 0
      for (const { name, readings } of await recorded(corpus, { python: python!, go: go!, javascript: javascript! })) {
        const reads = LANGUAGES.map(language => readingOf(readings, language).read)
        if (reads.some(read => read !== undefined)) reached++
        const excepted = ROWS.some(row => row.name === name && row.except !== undefined)
        if (new Set((excepted ? reads.slice(0, 2) : reads).map(read => JSON.stringify(read))).size > 1) wrong.push({ name, readings })
      }
      t.same(wrong, [], corpus)
      t.ok(reached > 20, `${corpus}: ${reached} messages reach the agents`)
    }
  })
  for (const corpus of ['corpus', 'generated'] as const) {
    const rows = await recorded(corpus, readers)
    if (process.env['A2A_TEST_RECORD'] === '1') writeExpected(corpus, rows)
    t.same(rows, readExpected(corpus), `${corpus}: the agents do what the file says; A2A_TEST_RECORD=1 writes it anew`)
  }
})

async function foreign (t: Test, sdk: 'py-1' | 'go-2'): Promise<Agent> {
  const agent = await startForeignGrpcAgent(t, sdk)
  const raw = await RawGrpc.to(agent.grpcAddress)
  t.teardown(() => { raw.close() })
  return { raw, reads: agent.reads, url: agent.url }
}

/** The same agent, called through a gateway. */
async function behindGateway (t: Test, { reads, url }: Agent): Promise<Reader> {
  const gateway = await grpcGatewayFor(t, { upstream: url })
  const raw = await RawGrpc.to(gateway.grpcAddress)
  t.teardown(() => { raw.close() })
  return { raw, reads }
}

async function javascript (t: Test): Promise<Agent> {
  const agent = await startGrpcAgent({ kind: 'v1' })
  const raw = await RawGrpc.to(agent.grpcAddress)
  t.teardown(async () => {
    raw.close()
    await agent.close()
  })
  const plain = (read: unknown): unknown => JSON.parse(JSON.stringify(SendMessageRequest.toJSON(read as SendMessageRequest)))
  return { raw, url: agent.url, reads: () => agent.grpcCalls.map(({ read }) => plain(read)) }
}

async function recorded (corpus: CorpusName, readers: Readonly<Record<Language, Reader>>): Promise<Expected[]> {
  const rows: Expected[] = []
  for (const { name, bytes } of CORPORA[corpus]()) {
    const [python, go, javascript] = await Promise.all(LANGUAGES.map(language => reading(readers[language], bytes)))
    rows.push({ name, bytes: hex(bytes), readings: readingsOf({ python: python!, go: go!, javascript: javascript! }) })
  }
  return rows
}

const MARKER = grpcMessage(field(2, join(field(1, 'marker'), numberField(4, 1), field(5, field(1, 'message')))))
const isMarker = (read: unknown): boolean => JSON.stringify(read).includes('"marker"')

/** Sends the message and then a marker, which arrives in the agent's log after all that the agent made of the message. */
async function reading ({ raw, reads }: Reader, bytes: Buffer): Promise<Reading> {
  const before = reads().length
  const { status } = await raw.call({ body: grpcMessage(bytes) })
  await raw.call({ body: MARKER })
  while (!reads().slice(before).some(isMarker)) await new Promise(resolve => { setTimeout(resolve, 5) })
  const [read] = reads().slice(before).filter(one => !isMarker(one))
  return read === undefined ? { status } : { status, read: sorted(read) }
}

/** Members in the order of their names, because each library has an order of its own. */
function sorted (json: unknown): unknown {
  if (Array.isArray(json)) return json.map(sorted)
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(Object.entries(json).sort(([a], [b]) => a < b ? -1 : 1).map(([key, one]) => [key, sorted(one)]))
}
