/** What becomes of an answer's body, by its status and content type. */
import type { Unread } from '../../agent/answer-problems.js'
import { isEncoded, unreadByHeader } from '../../agent/answer-problems.js'
import type { Exchange } from '../exchange.js'
import { agentFailed } from './agent-failure.js'
import type { AnswerPlan } from './answer.js'
import type { AnswerBody } from './body.js'
import { countEcho } from './count-activations.js'
import { pushEcho, shownEcho, takeEcho } from '../../agent/echo.js'
import { ExtendedCardBody } from './extended-card.js'
import { isEmpty, isEventStream, valueOf } from '../../agent/answer-head.js'
import { HeldJson } from './held-json.js'
import { HeldStream } from './held-stream.js'
import { ObservedJson } from './observed-json.js'
import { ObservedStream } from './observed-stream.js'
import { RelayedBody } from './relay.js'
import { Reviewing } from './reviewing.js'
import { UntypedBody } from './untyped.js'

/** @returns null where the answer is not taken: the gateway has answered */
export function pickBody (exchange: Exchange, plan: AnswerPlan, status: number, headers: string[]): AnswerBody | null {
  const { echo, review } = plan
  const success = status >= 200 && status <= 299
  if (echo !== null) {
    const echoed = takeEcho(headers)
    if (success && review !== null) return reviewed(exchange, new Reviewing(exchange, review, echo, echoed), status, headers)
    pushEcho(headers, echo, shownEcho(echo, echoed))
    if (status < 400) countEcho(exchange, echo, echoed)
  }
  // Errors of the agent are passed on as they are.
  if (plan.card === null || !success) return relayed(exchange, status, headers)
  if (!isEncoded(headers)) return new ExtendedCardBody(exchange, status, headers, plan.card)
  agentFailed(exchange, 'protocol')
  return null
}

function reviewed (exchange: Exchange, reviewing: Reviewing, status: number, headers: string[]): AnswerBody | null {
  if (!reviewing.reads || isEmpty(status, headers)) return unlooked(exchange, reviewing, status, headers)
  const stream = isEventStream(valueOf(headers, 'content-type'))
  const unread = unreadable(headers, stream, reviewing)
  if (unread === 'content_type' && reviewing.enforces && !stream) return new UntypedBody(exchange, status, headers, reviewing)
  if (unread !== null) return reviewing.unread(unread) ? null : unlooked(exchange, reviewing, status, headers)
  if (stream) return new (reviewing.holds ? HeldStream : ObservedStream)(exchange, status, headers, reviewing)
  return new (reviewing.holds ? HeldJson : ObservedJson)(exchange, status, headers, reviewing)
}

function unreadable (headers: readonly string[], stream: boolean, { limits }: Reviewing): Unread | null {
  const unread = unreadByHeader(headers, stream)
  if (unread !== null || stream) return unread
  return Number(valueOf(headers, 'content-length') ?? 0) > limits.response ? 'too_large' : null
}

/** Forwarded, with the header that is shown by what the agent's header alone proves. */
function unlooked (exchange: Exchange, reviewing: Reviewing, status: number, headers: string[]): AnswerBody {
  reviewing.pushEcho(headers)
  return relayed(exchange, status, headers)
}

function relayed (exchange: Exchange, status: number, headers: string[]): AnswerBody {
  return new RelayedBody(exchange, status, headers, isEventStream(valueOf(headers, 'content-type')))
}
