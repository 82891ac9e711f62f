/**
 * Timers of messages that arrive in parts. Nearly all messages are complete at the end of the turn of the event loop in which they begin,
 * and need no timer.
 */

import { guarded, ownerOf } from '#guard.js'

/** A message that may still arrive. */
export interface Timed {
  /** Starts the timer, unless the message is complete. Never throws. */
  startTimer (): void
}

const LATER = ownerOf('grpc')
let arriving: Timed[] = []

/** Calls `startTimer` at the end of the turn. */
export function startTimerLater (message: Timed): void {
  if (arriving.push(message) === 1) setImmediate(guarded(LATER, startTimers))
}

function startTimers (): void {
  const messages = arriving
  arriving = []
  for (const message of messages) message.startTimer()
}
