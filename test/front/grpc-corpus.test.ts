/** The corpus of hostile protobuf through a gateway: the agent gets the bytes of the client, and reads them as the gateway did. */
import t from 'tap'
import { isDeepStrictEqual } from 'node:util'
import { grpcMethodOf } from '../../src/a2a/grpc/methods.js'
import { readProtobuf } from '../../src/wire/protobuf/read.js'
import { CORPORA, CORPUS_NAMES, normalised, versionOf } from '../differential/grpc/expected.js'
import { protoJsonOf } from '../differential/grpc/proto-json.js'
import { quietSdk } from '../helpers/agents.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { RawGrpc, grpcMessage } from '../helpers/grpc-raw.js'

quietSdk()

const INVALID_ARGUMENT = 3
const plain = (value: unknown): unknown => normalised(JSON.parse(JSON.stringify(value)))

for (const corpus of CORPUS_NAMES) {
  t.test(corpus, async t => {
    const agent = await startGrpcAgent({ kind: 'dual' })
    t.teardown(() => agent.close())
    const gateway = await grpcGatewayFor(t, { upstream: agent.url })
    const raw = await RawGrpc.to(gateway.grpcAddress)
    t.teardown(() => { raw.close() })
    const wrong: unknown[] = []
    let reached = 0
    for (const { name, path, bytes, except } of CORPORA[corpus]()) {
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
      if (!call.bytes.equals(bytes)) wrong.push({ name, problem: 'other bytes', got: call.bytes.toString('hex') })
      const read = plain(protoJsonOf(call))
      if (!result.ok || !(except?.languages.includes('javascript') === true || isDeepStrictEqual(read, plain(result.value)))) wrong.push({ name, read, result })
    }
    t.same(wrong, [])
    t.ok(reached > 20, `${reached} messages reach the agent`)
  })
}
