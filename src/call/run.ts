/** Runs the steps of a call in the order of their list (`steps.ts`). */
import { whenReady } from '#wire/when-ready.js'
import { release } from './capacity.js'
import type { Exchange } from './exchange.js'
import { fail } from './reply.js'
import type { Result, Step } from './step.js'
import { END, WAIT } from './step.js'

/** Starts a call with a list of steps. */
export function start (exchange: Exchange, steps: readonly Step[]): void {
  setSteps(exchange, steps)
  run(exchange)
}

/** Replaces the steps that have not run. */
export function setSteps (exchange: Exchange, steps: readonly Step[]): undefined {
  exchange.steps = steps
  exchange.position = 0
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
      result.then(result => { resume(exchange, result) }, (error: unknown) => { fail(exchange, error) })
      return
    }
    release(exchange)
  } catch (error) {
    fail(exchange, error)
  }
}

function resume (exchange: Exchange, result: Result): void {
  if (result === undefined) proceed(exchange)
  else if (result === END) release(exchange)
}

/** Goes on after a step that has waited, unless the client has disconnected meanwhile. */
export function proceed (exchange: Exchange): void {
  if (exchange.response.destroyed) release(exchange)
  else run(exchange)
}

/** Runs further steps before the rest of the list. */
export function runBefore (exchange: Exchange, steps: readonly Step[]): undefined {
  return setSteps(exchange, [...steps, ...exchange.steps.slice(exchange.position)])
}

type Then<T> = (exchange: Exchange, value: T) => Result | Promise<Result>

/** Calls `then` with a value, or with the value of a promise unless the client disconnects before. */
export function after<T> (exchange: Exchange, value: T | Promise<T>, then: Then<T>): Result | Promise<Result> {
  if (!(value instanceof Promise)) return then(exchange, value)
  return value.then(value => exchange.response.destroyed ? END : then(exchange, value))
}

/** As {@link after}, also when the client is gone: for a value that something must be done about. */
export function always<T> (exchange: Exchange, value: T | Promise<T>, then: Then<T>): Result | Promise<Result> {
  return whenReady(value, value => then(exchange, value))
}
