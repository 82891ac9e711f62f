/** One step of a call, and what it returns. */
import type { Exchange } from './exchange.js'

/** The call needs no further step: the client has its response, or is gone. */
export const END = Symbol('end')
/** The step is not over: it calls `proceed` when it is. Costs less than a promise, for steps that wait for bytes. */
export const WAIT = Symbol('wait')

export type Result = typeof END | typeof WAIT | void
/** One step. Returns nothing when the next step may run. */
export type Step = (exchange: Exchange) => Result | Promise<Result>

/** What a request is for, as its route shows: it decides the steps behind the route. */
export type Kind = 'operation' | 'preflight' | 'withoutCard' | 'passthrough'
