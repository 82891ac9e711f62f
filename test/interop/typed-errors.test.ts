/**
 * The error that official clients throw for each rejection by a rule, in every binding: an error of A2A that their callers can tell apart,
 * and never an internal error, which invites retries of a request that cannot succeed.
 */
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk } from '../helpers/agents.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import type { GrpcGateway } from '../helpers/grpc-gateway.js'
import { grpcGatewayFor } from '../helpers/grpc-gateway.js'
import { connect } from '../helpers/sdk-clients.js'
import { SETUP_TIMEOUT, programs, runClient } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

const URI = 'https://example.com/ext/a/v1'
const OTHER = 'https://example.com/ext/b/v1'
const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const
type Binding = typeof BINDINGS[number]

interface Case {
  /** The gateway's own reason. */
  readonly reason: string
  readonly policy: readonly string[]
  readonly extensions: readonly string[]
  readonly kind: 'INVALID_PARAMS' | 'UNSUPPORTED_OPERATION'
}

const part = (error: string): string => `    request: [{id: data, select: {part: {data: true}}, schema: {required: [b]}, error: {${error}}}]`

const CASES: readonly Case[] = [
  { reason: 'EXTENSION_DATA_INVALID', policy: [part('class: invalid')], extensions: [URI], kind: 'INVALID_PARAMS' },
  { reason: 'OWN_REASON', policy: [part('class: invalid, reason: OWN_REASON')], extensions: [URI], kind: 'INVALID_PARAMS' },
  { reason: 'INVALID_PARAMS', policy: [part('class: invalid, reason: INVALID_PARAMS')], extensions: [URI], kind: 'INVALID_PARAMS' },
  { reason: 'EXTENSION_CONFLICT', policy: [part('class: conflict')], extensions: [URI], kind: 'INVALID_PARAMS' },
  {
    reason: 'STRUCTURED_INPUT_TASK_RUNNING',
    policy: [part('class: conflict, reason: STRUCTURED_INPUT_TASK_RUNNING')],
    extensions: [URI],
    kind: 'INVALID_PARAMS'
  },
  { reason: 'EXTENSION_DEPENDENCY_MISSING', policy: ['    activation: {requires: [b]}'], extensions: [URI], kind: 'INVALID_PARAMS' },
  { reason: 'EXTENSION_NOT_ALLOWED', policy: [part('class: forbidden')], extensions: [URI], kind: 'UNSUPPORTED_OPERATION' }
]

/** The errors of the SDKs. JavaScript has one class for both kinds of invalid parameters, with the reason of A2A. */
const PYTHON = { INVALID_PARAMS: 'InvalidParamsError', UNSUPPORTED_OPERATION: 'UnsupportedOperationError' } as const
const GO = { INVALID_PARAMS: 'ErrInvalidParams', UNSUPPORTED_OPERATION: 'ErrUnsupportedOperation' } as const
/** Over gRPC, the Go SDK knows UNSUPPORTED_OPERATION only with the code FAILED_PRECONDITION, and this rejection is PERMISSION_DENIED. */
const GO_UNKNOWN = 'ErrInternalError'

t.before(async () => {
  for (const sdk of ['py-1', 'go-2'] as const) await programs(sdk)
})

async function javascript ({ url }: GrpcGateway, transport: Binding, extensions: readonly string[]): Promise<string> {
  const client = await connect({ client: 'v1', cardUrl: `${url}/.well-known/agent-card.json`, transport, extensions })
  try {
    await client.send('data', { data: { a: 1 }, mediaType: 'application/json' })
    return 'no error'
  } catch (error) {
    return String((error as { reason?: unknown }).reason)
  }
}

async function foreign (sdk: 'py-1' | 'go-2', { url, grpcAddress }: GrpcGateway, transport: Binding, extensions: readonly string[]): Promise<string> {
  const { sendData } = await runClient(sdk, { url, grpcAddress, transport, extensions, data: { a: 1 } })
  return sdk === 'go-2' ? sendData?.kind ?? 'no kind' : sendData?.error?.replace(/:.*/s, '') ?? 'no error'
}

async function gatewayOf (t: Test, { policy }: Case): Promise<GrpcGateway> {
  const upstream = await startGrpcAgent({ kind: 'v1', card: { extensions: [{ uri: URI }, { uri: OTHER }] } })
  t.teardown(() => upstream.close())
  return await grpcGatewayFor(t, {
    upstream: upstream.url,
    agent: ['extensions: [a, b]'],
    root: ['extensions:', '  a:', `    uri: ${URI}`, '    mode: enforce', ...policy, '  b:', `    uri: ${OTHER}`, '    mode: enforce']
  })
}

for (const one of CASES) {
  t.test(one.reason, async t => {
    const gateway = await gatewayOf(t, one)
    for (const binding of BINDINGS) {
      const { kind, extensions } = one
      const [js, python, go] = await Promise.all([
        javascript(gateway, binding, extensions), foreign('py-1', gateway, binding, extensions), foreign('go-2', gateway, binding, extensions)
      ])
      t.same({ js, python, go }, {
        js: kind,
        python: PYTHON[kind],
        go: kind === 'UNSUPPORTED_OPERATION' && binding === 'GRPC' ? GO_UNKNOWN : GO[kind]
      }, binding)
    }
  })
}
