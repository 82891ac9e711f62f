/** Picks the handler of a response body from its status and content type. */
import type { UnreadableReason } from '../../../pipeline/response-problems.js'
import { isEncoded, unreadByHeader } from '../../../pipeline/response-problems.js'
import type { Exchange } from '../exchange.js'
import { agentFailed } from './agent-failure.js'
import type { ResponsePlan } from './agent-response.js'
import type { ResponseBody } from './body.js'
import { countEcho } from './count-activations.js'
import { pushEcho, shownEcho, takeEcho } from '../../../pipeline/echo.js'
import { ExtendedCardBody } from './extended-card.js'
import { isEmpty, isEventStream, valueOf } from '../../../pipeline/response-head.js'
import { HeldJson } from './held-json.js'
import { HeldStream } from './held-stream.js'
import { ObservedJson } from './observed-json.js'
import { ObservedStream } from './observed-stream.js'
import { RelayedBody } from './relay.js'
import { ResponseEnforcement } from './enforcement.js'
import { UntypedBody } from './untyped.js'

/** @returns null when the agent's response is not used, because the gateway has responded */
export function pickBody (exchange: Exchange, plan: ResponsePlan, status: number, headers: string[]): ResponseBody | null {
  const { echo, evaluator } = plan
  const success = status >= 200 && status <= 299
  if (echo !== null) {
    const echoed = takeEcho(headers)
    if (success && evaluator !== null) return enforced(exchange, new ResponseEnforcement(exchange, evaluator, echo, echoed), status, headers)
    pushEcho(headers, echo, shownEcho(echo, echoed))
    if (status < 400) countEcho(exchange, echo, echoed)
  }
  // Errors of the agent are forwarded unchanged.
  if (plan.card === null || !success) return relayed(exchange, status, headers)
  if (!isEncoded(headers)) return new ExtendedCardBody(exchange, status, headers, plan.card)
  agentFailed(exchange, 'protocol')
  return null
}

function enforced (exchange: Exchange, enforcement: ResponseEnforcement, status: number, headers: string[]): ResponseBody | null {
  if (!enforcement.reads || isEmpty(status, headers)) return unlooked(exchange, enforcement, status, headers)
  const stream = isEventStream(valueOf(headers, 'content-type'))
  const unread = unreadable(headers, stream, enforcement)
  if (unread === 'content_type' && enforcement.enforces && !stream) return new UntypedBody(exchange, status, headers, enforcement)
  if (unread !== null) return enforcement.unread(unread) ? null : unlooked(exchange, enforcement, status, headers)
  if (stream) return new (enforcement.holds ? HeldStream : ObservedStream)(exchange, status, headers, enforcement)
  return new (enforcement.holds ? HeldJson : ObservedJson)(exchange, status, headers, enforcement)
}

function unreadable (headers: readonly string[], stream: boolean, { limits }: ResponseEnforcement): UnreadableReason | null {
  const unread = unreadByHeader(headers, stream)
  if (unread !== null || stream) return unread
  return Number(valueOf(headers, 'content-length') ?? 0) > limits.response ? 'too_large' : null
}

/** Forwards the response without evaluation. The extension header follows from the agent's header alone. */
function unlooked (exchange: Exchange, enforcement: ResponseEnforcement, status: number, headers: string[]): ResponseBody {
  enforcement.pushEcho(headers)
  return relayed(exchange, status, headers)
}

function relayed (exchange: Exchange, status: number, headers: string[]): ResponseBody {
  return new RelayedBody(exchange, status, headers, isEventStream(valueOf(headers, 'content-type')))
}
