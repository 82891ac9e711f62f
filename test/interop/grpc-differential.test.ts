/**
 * What agents of three languages read in hostile protobuf. The expectations are files, so that the tests of the reader need no other
 * language; A2A_TEST_RECORD=1 writes them.
 */
import type { Test } from 'tap'
import t from 'tap'
import { grpcMethodOf } from '../../src/a2a/grpc/methods.js'
import { readProtobuf } from '../../src/wire/protobuf/read.js'
import { isDeepStrictEqual } from 'node:util'
import {
  CORPORA,
  CORPUS_NAMES,
  LANGUAGES,
  hex,
  normalised,
  readExpected,
  readingOf,
  readingsOf,
  versionOf,
  writeExpected
} from '../differential/grpc/expected.js'
import type { CorpusName, Expected, Language, Message, Reading } from '../differential/grpc/expected.js'
import { protoJsonOf } from '../differential/grpc/proto-json.js'
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
  reads (): readonly unknown[]
}

t.before(async () => {
  for (const sdk of ['py-1', 'go-2'] as const) await programs(sdk)
})

t.test('hostile protobuf', async t => {
  const readers: Readonly<Record<Language, Agent>> = {
    python: await foreign(t, 'py-1'), go: await foreign(t, 'go-2'), javascript: await javascript(t)
  }
  await t.test('through the gateway, all agents read what the gateway has read', async t => {
    const [python, go, javascript] = await Promise.all(LANGUAGES.map(language => behindGateway(t, readers[language])))
    for (const corpus of CORPUS_NAMES) {
      const wrong: unknown[] = []
      let reached = 0
      const rows = await recorded(corpus, { python: python!, go: go!, javascript: javascript! })
      for (const [i, message] of CORPORA[corpus]().entries()) {
        const { name, readings } = rows[i]!
        const reads = LANGUAGES.map(language => readingOf(readings, language).read)
        if (reads.every(read => read === undefined)) continue
        reached++
        const ours = gatewayReads(message)
        const others = LANGUAGES.filter((_, of) => !isDeepStrictEqual(reads[of], ours))
        if (!isDeepStrictEqual(others, message.except?.languages ?? [])) wrong.push({ name, ours, others, readings })
      }
      t.same(wrong, [], corpus)
      t.ok(reached > 20, `${corpus}: ${reached} messages reach the agents`)
    }
  })
  for (const corpus of CORPUS_NAMES) {
    const rows = await recorded(corpus, readers)
    if (process.env['A2A_TEST_RECORD'] === '1') writeExpected(corpus, rows)
    t.same(rows, readExpected(corpus), `${corpus}: the agents do what the file says; A2A_TEST_RECORD=1 writes it anew`)
  }
})

function gatewayReads ({ path, bytes }: Message): unknown {
  const result = readProtobuf(bytes, grpcMethodOf(path)!.request, { depth: 64, members: 100_000 })
  return result.ok ? normalised(JSON.parse(JSON.stringify(result.value))) : undefined
}

async function foreign (t: Test, sdk: 'py-1' | 'go-2'): Promise<Agent> {
  const agent = await startForeignGrpcAgent(t, sdk, ['--legacy'])
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
  const agent = await startGrpcAgent({ kind: 'dual' })
  const raw = await RawGrpc.to(agent.grpcAddress)
  t.teardown(async () => {
    raw.close()
    await agent.close()
  })
  const all: unknown[] = []
  const reads = (): readonly unknown[] => {
    for (const call of agent.grpcCalls.slice(all.length)) all.push(JSON.parse(JSON.stringify(protoJsonOf(call))))
    return all
  }
  return { raw, url: agent.url, reads }
}

async function recorded (corpus: CorpusName, readers: Readonly<Record<Language, Reader>>): Promise<Expected[]> {
  const rows: Expected[] = []
  for (const message of CORPORA[corpus]()) {
    const { name, bytes } = message
    const [python, go, javascript] = await Promise.all(LANGUAGES.map(language => reading(readers[language], message)))
    rows.push({ name, bytes: hex(bytes), readings: readingsOf({ python: python!, go: go!, javascript: javascript! }) })
  }
  return rows
}

const MARKER = grpcMessage(field(2, join(field(1, 'marker'), numberField(4, 1), field(5, field(1, 'message')))))
const isMarker = (read: unknown): boolean => JSON.stringify(read).includes('"marker"')

/** Sends the message and then a marker, which arrives in the agent's log after all that the agent made of the message. */
async function reading ({ raw, reads }: Reader, { path, bytes }: Message): Promise<Reading> {
  const before = reads().length
  const { status } = await raw.call({ path, headers: versionOf(path), body: grpcMessage(bytes) })
  await raw.call({ body: MARKER })
  while (!reads().slice(before).some(isMarker)) await new Promise(resolve => { setTimeout(resolve, 5) })
  const [read] = reads().slice(before).filter(one => !isMarker(one))
  return read === undefined ? { status } : { status, read: normalised(withContent(read, path)) }
}

/** The `.proto` file of the Go SDK for 0.3 has another name for the content of a message, and the same number. */
function withContent (read: unknown, path: string): unknown {
  const { message } = read as { message?: { parts?: unknown } }
  if (message?.parts === undefined || grpcMethodOf(path)?.version !== '0.3') return read
  const { parts: content, ...others } = message
  return { ...read as object, message: { ...others, content } }
}
