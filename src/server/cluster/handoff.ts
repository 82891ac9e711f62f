/**
 * Passes connections on that a worker got but never accepted, because the worker has ended or drains.
 *
 * The primary accepts connections and passes each to the next free worker, which the worker confirms. Node keeps a connection without a
 * confirmation for ever when the worker ends: the client gets no response and no end (measured with Node 20 and 24). At most one connection
 * per worker is in this state. This module gives Node the confirmation "not accepted", and Node then chooses another worker.
 *
 * The messages are Node's own, and not documented. With other messages, this module does nothing; test/cluster/spread.test.ts would fail.
 */
import type { Worker } from 'node:cluster'

/** Milliseconds between two looks at the channel of a process that has ended. */
const CHANNEL_END = 5

interface Passed { readonly seq: number, readonly connection: { close (): void } }

/** @param hasOthers tells whether another worker serves */
export function passOnUnaccepted (worker: Worker, hasOthers: () => boolean): void {
  const { process: child } = worker
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  let last: Passed | null = null
  child.send = (...args: unknown[]): boolean => {
    last = passedBy(args) ?? last
    return send(...args)
  }
  // A worker that drains does not accept the connection. Without another worker, Node would keep it open until the primary ends.
  child.on('internalMessage', (message: { readonly ack?: unknown, readonly accepted?: unknown }) => {
    if (last !== null && message.ack === last.seq && message.accepted === false && !hasOthers()) last.connection.close()
  })
  let disconnected = false
  worker.once('disconnect', () => { disconnected = true })
  const passOn = (): void => {
    // All confirmations have arrived when the end of the channel has.
    if (child.connected) {
      setTimeout(passOn, CHANNEL_END)
      return
    }
    if (last === null) return
    // Node waits for a confirmation before it reports the end of the channel, and would go on to use the worker.
    if (!disconnected) child.emit('disconnect')
    // Node ignores the message when the connection was accepted. Closing it twice does no harm either.
    if (hasOthers()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: last.seq, accepted: false })
    else last.connection.close()
  }
  worker.once('exit', passOn)
}

function passedBy ([message, connection]: readonly unknown[]): Passed | null {
  if (typeof message !== 'object' || message === null || typeof connection !== 'object' || connection === null) return null
  const { act, seq } = message as { readonly act?: unknown, readonly seq?: unknown }
  return act === 'newconn' && typeof seq === 'number' && 'close' in connection ? { seq, connection: connection as Passed['connection'] } : null
}
