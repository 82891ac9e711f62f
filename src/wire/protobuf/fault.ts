import { printPath } from '../json/duplicate.js'
import type { JsonProblem } from '../json/json-result.js'

/** The first reason to reject a message. Each reader on the way up adds its step, so that reading keeps no path. */
export class ProtobufFault extends Error {
  readonly kind: JsonProblem['kind']
  /** Bytes from the start of the message. */
  readonly offset: number
  /** A predicate of the path. */
  readonly what: string
  private readonly steps: (string | number)[] = []

  constructor (kind: JsonProblem['kind'], offset: number, what: string) {
    super(what)
    this.kind = kind
    this.offset = offset
    this.what = what
  }

  /** Adds steps in front of the path. */
  within (...steps: readonly (string | number)[]): this {
    this.steps.unshift(...steps)
    return this
  }

  get problem (): JsonProblem {
    const { kind, offset, what, steps } = this
    return { kind, offset, message: `${steps.length === 0 ? 'the message' : printPath(steps)} ${what} (byte ${offset})` }
  }
}
