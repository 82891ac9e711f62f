/**
 * Exchanges whose responses a hand-made evaluator evaluates. The tests check how the gateway applies decisions, independent of how
 * decisions are made.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import type { Test } from 'tap'
import { Pool } from 'undici'
import type { Version, Binding } from '#a2a/versions.js'
import type { ResponseEvaluator, ResponseDecision } from '#policy/response/evaluator.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { Violation } from '#policy/violation.js'
import { rejectionOf, violation } from '#policy/violation.js'
import { AgentResponse } from '#front/http/agent-response.js'
import { HTTP } from '#front/http/plugin.js'
import { startExchange } from '#call/record.js'
import type { Services } from '#call/services.js'
import type { Snapshot } from '#agents/snapshot.js'
import type { Exchange } from '#call/exchange.js'
import { endForShutdown } from '#call/reply.js'
import { InFlight } from '#agents/in-flight.js'
import { MemoryBudget } from '#call/memory-budget.js'
import { Overload } from '#call/overload.js'
import { forward } from '#upstream/forward.js'
import { createAudit } from '#telemetry/audit.js'
import { createLogger } from '#telemetry/logging.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { linesOf } from '#telemetry/standard-output.js'
import { createTracing } from '#telemetry/traces/tracing.js'
import { sampleIn } from './samples.js'
import { NO_POLICY } from './response-driver.js'

export const FORWARD: ResponseDecision = {
  rejection: null,
  violations: [],
  edits: [],
  edited: [],
  annotations: [],
  attributes: [],
  measures: [],
  results: [],
  remember: null
}

export const found = (mode: 'enforce' | 'observe', rule = 'rule', path = 'result'): Violation => violation({
  mode,
  reason: 'INVALID_AGENT_RESPONSE',
  extension: 'policy',
  rule,
  path,
  message: 'is not as it must be'
})

/** A decision with one violation. */
export function broken (mode: 'enforce' | 'observe', more: Partial<ResponseDecision> = {}): ResponseDecision {
  const violations = [found(mode)]
  return { ...FORWARD, violations, rejection: rejectionOf(violations), ...more }
}

export const REMEMBER: ResponseDecision = { ...FORWARD, remember: { taskId: 't', fields: new Map([['state', 'working']]) } }

/** An evaluator that enforces and holds. By default it forwards everything. `seen` gets the text of each evaluated response. */
export function review (more: Partial<ResponseEvaluator> & { readonly seen?: string[] } = {}): ResponseEvaluator {
  const { seen = [], ...own } = more
  return {
    buffersBody: true,
    enforces: true,
    buffersHead: false,
    readsBody: true,
    quiet: false,
    echoed: () => {},
    shown: () => [],
    evaluate: bytes => {
      seen.push(bytes.toString())
      return FORWARD
    },
    end: () => null,
    activationReport: () => ({ confirmed: [], absent: [], unexpected: [] }),
    ...own,
    ...(own.evaluate === undefined
      ? {}
      : {
          evaluate: (bytes: Buffer, stream: boolean) => {
            seen.push(bytes.toString())
            return (own.evaluate as ResponseEvaluator['evaluate'])(bytes, stream)
          }
        })
  }
}

export interface Reviewed {
  readonly url: string
  readonly metrics: Metrics
  readonly live: InFlight
  audits (): Record<string, unknown>[]
  metric (sample: string): Promise<number>
}

export interface ReviewedOptions {
  readonly agent: string
  readonly review: () => ResponseEvaluator
  readonly response?: number
  readonly event?: number
  readonly binding?: Binding
  readonly version?: Version
  readonly outbound?: readonly string[]
  readonly remember?: (taskId: string, fields: TaskRecord) => Promise<unknown> | null
}

/** A listener that forwards every request as a call of SendStreamingMessage with the JSON-RPC id 7. */
export async function reviewed (t: Test, options: ReviewedOptions): Promise<Reviewed> {
  const metrics = new Metrics({ process: false })
  const log = createLogger({ level: 'silent', format: 'json' }, new PassThrough())
  const audit = new PassThrough()
  let lines = ''
  audit.on('data', (chunk: Buffer) => { lines += chunk.toString() })
  const live = new InFlight<Exchange>({ stop: endForShutdown })
  const overload = new Overload({ eventLoopDelay: 0, eventLoopUtilization: 0, heapUsed: 0, rss: 0, retryAfter: 5_000 }, log)
  const services = {
    metrics,
    log,
    inFlight: live,
    overload,
    heldBytes: new MemoryBudget(Infinity),
    decisions: null,
    requests: null,
    tracing: await createTracing({ enabled: false, version: '0', env: {}, log }),
    audit: createAudit({ enabled: true, lines: linesOf(audit) })
  } as unknown as Services
  const dispatcher = new Pool(options.agent)
  const server = createServer((request: IncomingMessage, response) => {
    request.resume()
    const target = { kind: 'a2a', agent: null, path: '', query: '', rejection: null, last: false } as const
    const exchange = startExchange({ request, response, services, snapshot: {} as Snapshot, transport: HTTP, target })
    exchange.label = 'SendStreamingMessage'
    exchange.binding = options.binding ?? 'JSONRPC'
    exchange.version = options.version ?? '1.0'
    exchange.asked = { version: exchange.version, stated: true, minor: null, problem: null }
    exchange.idToken = () => '7'
    const echo = { policy: NO_POLICY, headerName: 'A2A-Extensions', requested: [], outbound: options.outbound ?? [], injected: [], active: [], forbidden: null }
    exchange.forwarding = forward({ dispatcher, method: 'POST', path: '/', headers: [], body: null }, new AgentResponse(exchange, {
      echo,
      card: null,
      evaluation: { evaluator: options.review(), limits: { response: options.response ?? 1_000_000, event: options.event ?? 1_000_000 } },
      anyPage: false
    }, options.remember))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await dispatcher.destroy()
    metrics.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    metrics,
    live,
    audits: () => lines.split('\n').filter(Boolean).map(line => JSON.parse(line) as Record<string, unknown>),
    metric: async sample => sampleIn(await metrics.text(), sample)
  }
}
