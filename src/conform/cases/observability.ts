/** Observability: traces and identifiers of requests go on. */
import type { Case, Check, Line } from '../model.js'
import { grpcRequest, responseOf } from '../protocol.js'
import type { Place, Row } from './build.js'
import { answering, casesOf, HTTP_1_0, JSONRPC_1_0, ONCE, withHeaders } from './build.js'

const PARENT = '00f067aa0ba902b7'
const TRACE: Line = ['traceparent', `00-4bf92f3577b34da6a3ce929d0e0e4736-${PARENT}-01`]
const SENT = answering('send_message', [])
const BASE = {
  group: 'observability', operation: 'send_message', on: HTTP_1_0, level: 'should', spec: 'W3C Trace Context §3; A2A enterprise topic'
} as const
const row = (id: string, name: string, lines: readonly Line[], check: Check, extra: Partial<Row> = {}): Row => ({
  ...BASE, id: `O-${id}`, name, request: withHeaders('send_message', ...lines), agent: SENT, expect: [ONCE, check], ...extra
})
const overGrpc = (...lines: readonly Line[]) => ([, version]: Place) => {
  const request = grpcRequest('send_message', version); return {
    ...request, metadata: [...request.metadata, ...lines]
  }
}
const GRPC_SENT = (): ReturnType<typeof responseOf> => responseOf('send_message', 'grpc', '1.0')

export const OBSERVABILITY_CASES: readonly Case[] = casesOf([
  row('TRACE', 'the trace of the caller goes on', [TRACE], { check: 'trace' }, { level: 'must' }),
  row(
    'TRACE-GRPC', 'the trace of the caller goes on over gRPC', [], { check: 'trace' },
    { level: 'must', on: [['grpc', '1.0']], request: overGrpc(TRACE), agent: GRPC_SENT }
  ),
  row('TRACE-STREAM', 'the trace of the caller goes on in a stream', [], { check: 'trace' }, {
    level: 'must',
    operation: 'send_streaming_message',
    request: withHeaders('send_streaming_message', TRACE),
    agent: answering('send_streaming_message', [])
  }),
  row(
    'TRACE-PARENT', 'a proxy that takes part in traces names its own span', [TRACE],
    { check: 'request-header', name: 'traceparent', as: 'not', value: PARENT },
    { claims: ['tracing'], level: 'must', spec: 'W3C Trace Context §3.4' }
  ),
  row(
    'TRACE-FUTURE', 'a traceparent of a later version reaches the agent as a trace',
    [['traceparent', `cc-4bf92f3577b34da6a3ce929d0e0e4736-${PARENT}-01-what`]],
    { check: 'request-header', name: 'traceparent', as: 'has', value: '4bf92f3577b34da6a3ce929d0e0e4736' },
    { level: 'may', spec: 'W3C Trace Context §4.3' }
  ),
  row(
    'TRACE-STATE', 'the state of other systems stays', [TRACE, ['tracestate', 'one=00f067aa0ba902b7,two=t61rcWkgMzE']],
    { check: 'request-header', name: 'tracestate', as: 'has', value: 'one=00f067aa0ba902b7,two=t61rcWkgMzE' },
    { spec: 'W3C Trace Context §3.3' }
  ),
  row(
    'BAGGAGE', 'baggage reaches the agent', [['baggage', 'user=alice;level=1,region=eu']],
    { check: 'request-header', name: 'baggage', as: 'same' }, { spec: 'W3C Baggage §3' }
  ),
  row(
    'REQUEST-ID', 'the identifier of a request reaches the agent', [['X-Request-Id', 'conform-request-1']],
    { check: 'request-header', name: 'X-Request-Id', as: 'same' }, { spec: 'profile O3' }
  ),
  row(
    'RESPONSE-ID', 'the identifier of a response reaches the client', [], { check: 'response-header', name: 'X-Request-Id', as: 'same' },
    { spec: 'profile O3', agent: answering('send_message', [['X-Request-Id', 'conform-response-1']]) }
  ),
  row(
    'SERVER-TIMING', 'Server-Timing reaches the client', [],
    { check: 'response-header', name: 'Server-Timing', as: 'has', value: 'db;dur=53' },
    { spec: 'W3C Server Timing', agent: answering('send_message', [['Server-Timing', 'db;dur=53']]), on: JSONRPC_1_0 }
  ),
  row('FORWARDED', 'the agent learns the address of the client', [], {
    check: 'either',
    of: [
      [{ check: 'request-header', name: 'X-Forwarded-For', as: 'present' }], [{ check: 'request-header', name: 'Forwarded', as: 'present' }]
    ]
  }, { spec: 'RFC 7239 §4', on: JSONRPC_1_0 }),
  row(
    'VIA', 'the agent learns that there is a proxy', [], { check: 'request-header', name: 'Via', as: 'present' },
    { spec: 'RFC 9110 §7.6.3', on: JSONRPC_1_0 }
  ),
  row(
    'VIA-KEPT', 'the proxies before this one stay in Via', [['Via', '1.1 first.example']],
    { check: 'request-header', name: 'Via', as: 'has', value: '1.1 first.example' }, { spec: 'RFC 9110 §7.6.3', on: JSONRPC_1_0 }
  )
])
