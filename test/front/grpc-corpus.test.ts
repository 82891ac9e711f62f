/**
 * The corpus of hostile protobuf through a gateway: the agent gets the bytes of the client, with an explicit null for a Value without a
 * kind, and reads them as the gateway did.
 */
import t from 'tap'
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc'
import { A2AService as ServiceV03 } from 'a2a-sdk-03/server/grpc'
import { isDeepStrictEqual } from 'node:util'
import { grpcMethodOf } from '#a2a/grpc/methods.js'
import { withExplicitNulls } from '#wire/protobuf/nulls.js'
import { readProtobuf } from '#wire/protobuf/read.js'
import { CORPORA, CORPUS_NAMES, normalised, versionOf } from '../differential/grpc/expected.js'
import { protoJsonOf } from '../differential/grpc/proto-json.js'
import { quietSdk } from '../helpers/agents.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { RawGrpc, grpcMessage } from '../helpers/grpc-raw.js'

quietSdk()

const INVALID_ARGUMENT = 3
const plain = (value: unknown): unknown => normalised(JSON.parse(JSON.stringify(value)))

const AGENTS = CORPUS_NAMES.flatMap(corpus => [
  { corpus, sdk: '1.3.0', kind: 'dual', legacy: LegacyA2AService } as const,
  ...corpus === 'corpus' || corpus === 'generated' ? [] : [{ corpus, sdk: '0.3.14', kind: 'v03', legacy: ServiceV03 } as const]
])

/** Agents of SDK 0.3.14 read null in a Struct as the number 0. */
const nullAsZero = (value: unknown): unknown => JSON.parse(JSON.stringify(value, (_, one: unknown) => one === null ? 0 : one))

for (const { corpus, sdk, kind, legacy } of AGENTS) {
  t.test(`${corpus}, agent of SDK ${sdk}`, async t => {
    const agent = await startGrpcAgent({ kind })
    t.teardown(() => agent.close())
    const gateway = await grpcGatewayFor(t, { upstream: agent.url })
    const raw = await RawGrpc.to(gateway.grpcAddress)
    t.teardown(() => { raw.close() })
    const wrong: unknown[] = []
    let reached = 0
    for (const { name, path, bytes, except } of CORPORA[corpus]()) {
      if (kind === 'v03' && grpcMethodOf(path)?.version !== '0.3') continue
      agent.grpcCalls.length = 0
      const { status, message, trailersOnly, reset } = await raw.call({ path, headers: versionOf(path), body: grpcMessage(bytes) })
      const [call] = agent.grpcCalls
      const result = readProtobuf(bytes, grpcMethodOf(path)!.request, { depth: 64, members: 100_000 })
      if (call === undefined) {
        if (result.ok) wrong.push({ name, status, message, problem: 'rejected, although the reader accepts the message' })
        else if (status !== INVALID_ARGUMENT || !trailersOnly || reset !== 0) wrong.push({ name, status, message, trailersOnly, reset })
        continue
      }
      reached++
      const forwarded = result.ok && result.nulls !== undefined ? withExplicitNulls(bytes, result.nulls) : bytes
      if (!call.bytes.equals(forwarded)) wrong.push({ name, problem: 'other bytes', got: call.bytes.toString('hex') })
      const read = plain(protoJsonOf(call, legacy))
      if (!result.ok) {
        wrong.push({ name, read, result })
        continue
      }
      const ours = kind === 'v03' ? nullAsZero(plain(result.value)) : plain(result.value)
      if (except?.languages.includes('javascript') !== true && !isDeepStrictEqual(read, ours)) wrong.push({ name, read, ours })
    }
    t.same(wrong, [])
    t.ok(reached > 20, `${reached} messages reach the agent`)
  })
}
