import type { LogFields } from './log-fields.js'

/** Writes one line. An Error goes into `fields.err`. */
export interface LogMethod {
  (fields: LogFields, message?: string): void
  (message: string): void
}

/** The logger interface that the gateway needs. A pino instance implements it. */
export interface Log {
  readonly fatal: LogMethod
  readonly error: LogMethod
  readonly warn: LogMethod
  readonly info: LogMethod
  readonly debug: LogMethod
  readonly trace: LogMethod
  isLevelEnabled (level: string): boolean
  child (bindings: LogFields): Log
}
