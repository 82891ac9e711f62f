/** Asks policy servers for one call, whatever its front. A client that leaves cancels the questions of its call. */
import { listen } from '#guard.js'
import type { Answered, Asking } from '#pipeline/external/settle.js'
import type { Exchange } from './exchange.js'
import { watchQuestion } from './telemetry/external-telemetry.js'

/** Asks for the answers. @returns a promise, which never rejects, when a server must be asked */
export function askFor (exchange: Exchange, asks: readonly Asking[]): readonly Answered[] | Promise<readonly Answered[]> {
  const points = exchange.snapshot.decisionPoints
  // The configuration names every server that an agent asks, so that this is a fault of the gateway. It must not let a call pass.
  if (points === null) throw new Error('an agent asks a policy server that is not in use')
  const answers = points.known(asks)
  if (answers !== null) return answers
  const startedAt = performance.now()
  const phase = asks[0]?.phase ?? 'request'
  const enforced = asks.some(({ mode }) => mode === 'enforce')
  return points.ask(asks, {
    requestId: exchange.id,
    signal: goneSignal(exchange),
    watch: (use, url) => watchQuestion(exchange, use, url)
  }).then(answered => {
    if (enforced) {
      exchange.services.metrics.observe(
        'external_decision_duration_seconds', (performance.now() - startedAt) / 1_000, null, exchange.agentName, phase
      )
    }
    return answered
  })
}

/** The signal that the client has disconnected. One for a call: a stream asks about each event. */
function goneSignal (exchange: Exchange): AbortSignal {
  if (exchange.gone === null) {
    const controller = new AbortController()
    exchange.gone = controller.signal
    listen(exchange, exchange.response, 'close', () => { controller.abort() })
    if (exchange.response.destroyed) controller.abort()
  }
  return exchange.gone
}
