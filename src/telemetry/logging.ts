import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import type { DestinationStream, Logger, LoggerOptions } from 'pino'
import { pino } from 'pino'
import type { TelemetryConfig } from '../config/model/model.js'
import { redactLine } from './redact.js'

const require = createRequire(import.meta.url)

const ERROR_LEVEL = 50
const CAUSES = 5
const TEXT_LENGTH = 2_048

/**
 * Creates the process log: one JSON object per line, with ISO time and the level's name, and with secrets redacted. The default destination
 * is stdout. `pretty` is for people at a terminal and needs the development package pino-pretty; without that package the lines stay JSON.
 * Fastify accepts the logger as `loggerInstance`.
 * @param onLine called with each finished line, without secrets
 */
export function createLogger (config: TelemetryConfig['logs'], destination?: DestinationStream, onLine?: (line: string) => void): Logger {
  const options: LoggerOptions = {
    level: config.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: label => ({ level: label }) },
    serializers: { err: withStack, req: request, res: response },
    hooks: {
      streamWrite: onLine === undefined ? redactLine : line => passed(redactLine(line), onLine),
      logMethod (args, method, level) {
        if (level < ERROR_LEVEL) dropStack(args as unknown[])
        method.apply(this, args)
      }
    }
  }
  if (config.format === 'json') return destination === undefined ? pino(options) : pino(options, destination)
  const pretty = loadPretty()
  if (pretty !== null) return pino(options, pretty(destination === undefined ? { sync: true } : { destination: asStream(destination) }))
  const logger = destination === undefined ? pino(options) : pino(options, destination)
  logger.warn('Logs stay JSON: telemetry.logs.format is "pretty", but the package pino-pretty is not installed.')
  return logger
}

function passed (line: string, onLine: (line: string) => void): string {
  onLine(line)
  return line
}

type Pretty = (options: { sync: true } | { destination: Writable }) => DestinationStream

function loadPretty (): Pretty | null {
  try {
    return require('pino-pretty') as Pretty
  } catch {
    return null
  }
}

/** Wraps a destination as a Writable. pino-pretty uses a pipe, which needs more than a `write` method. */
function asStream (destination: DestinationStream): Writable {
  return new Writable({
    write (chunk: Buffer, _encoding, done) {
      destination.write(chunk.toString())
      done()
    }
  })
}

interface ErrorFields { type: string, message: string, code?: unknown, stack?: string, cause?: unknown }

function withStack (err: unknown): unknown {
  return err instanceof Error ? describe(err, true, 0) : err
}

/** Removes stacks from lines below `error`. Such an event is expected, and its message describes it. */
function dropStack (args: unknown[]): void {
  const first = args[0]
  if (first instanceof Error) {
    args[0] = { err: describe(first, false, 0) }
  } else if (typeof first === 'object' && first !== null && 'err' in first && first.err instanceof Error) {
    args[0] = { ...first, err: describe(first.err, false, 0) }
  }
}

/** Copies named fields only: libraries attach requests, headers and whole configurations to their errors. */
function describe (err: Error, stack: boolean, depth: number): ErrorFields {
  const fields: ErrorFields = { type: err.name, message: err.message.slice(0, TEXT_LENGTH) }
  const { code } = err as NodeJS.ErrnoException
  if (typeof code === 'string' || typeof code === 'number') fields.code = code
  if (stack && err.stack !== undefined) fields.stack = err.stack
  if (err.cause instanceof Error) {
    if (depth < CAUSES) fields.cause = describe(err.cause, stack, depth + 1)
  } else if (typeof err.cause === 'string') {
    fields.cause = err.cause.slice(0, TEXT_LENGTH)
  }
  return fields
}

interface RequestLike { method?: string, url?: string, ip?: string }

/** Serializes Fastify's request without headers and without the query, because some clients put keys into the query. */
function request (value: RequestLike): object {
  return { method: value.method, url: value.url?.split('?', 1)[0], client: value.ip }
}

function response (value: { statusCode?: number }): object {
  return { status: value.statusCode }
}
