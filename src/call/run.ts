/** Runs the steps of a call in the order of their list (`steps.ts`). */
import type { Exchange } from './exchange.js'

/** The call needs no further step: the client has its response, or is gone. */
export const END = Symbol('end')
/** The step is not over: it calls `proceed` when it is. Costs less than a promise, for steps that wait for bytes. */
export const WAIT = Symbol('wait')

export type Result = typeof END | typeof WAIT | void
/** One step. Returns nothing when the next step may run. */
export type Step = (exchange: Exchange) => Result | Promise<Result>

/** Starts a call with a list of steps. */
export function start (exchange: Exchange, steps: readonly Step[]): void {
  exchange.steps = steps
  run(exchange)
}

/**
 * Runs steps until one ends the call or waits. A step that returns a value costs no turn of the event loop. An error of a step ends the
 * call as a fault of the gateway.
 */
function run (exchange: Exchange): void {
  try {
    for (let step = exchange.steps[exchange.position++]; step !== undefined; step = exchange.steps[exchange.position++]) {
      const result = step(exchange)
      if (result === undefined) continue
      if (result === WAIT) return
      if (result === END) break
      result.then(result => { resume(exchange, result) }, (error: unknown) => { exchange.failed(error) })
      return
    }
    exchange.release()
  } catch (error) {
    exchange.failed(error)
  }
}

function resume (exchange: Exchange, result: Result): void {
  if (result === undefined) proceed(exchange)
  else if (result === END) exchange.release()
}

/** Goes on after a step that has waited, unless the client has disconnected meanwhile. */
export function proceed (exchange: Exchange): void {
  if (exchange.response.destroyed) exchange.release()
  else run(exchange)
}

type Then<T> = (exchange: Exchange, value: T) => Result | Promise<Result>

/** Calls `then` with a value, or with the value of a promise unless the client disconnects before. */
export function after<T> (exchange: Exchange, value: T | Promise<T>, then: Then<T>): Result | Promise<Result> {
  if (!(value instanceof Promise)) return then(exchange, value)
  return value.then(value => exchange.response.destroyed ? END : then(exchange, value))
}

/** As {@link after}, also when the client is gone: for a value that something must be done about. */
export function always<T> (exchange: Exchange, value: T | Promise<T>, then: Then<T>): Result | Promise<Result> {
  return value instanceof Promise ? value.then(value => then(exchange, value)) : then(exchange, value)
}
