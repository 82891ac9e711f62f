import type { DestinationStream, Logger, LoggerOptions } from 'pino'
import { pino } from 'pino'
import type { TelemetryConfig } from '#config/model/model.js'
import { hasColours } from '#wire/terminal.js'
import { prettyLine } from './pretty-line.js'
import { redactLine } from './redact.js'
import { standardOutput } from './standard-output.js'

const ERROR_LEVEL = 50
const CAUSES = 5
const TEXT_LENGTH = 2_048

/** Converts a finished line of JSON into the line that is written. */
export type LineFormat = (line: string) => string

/**
 * Returns the form of log lines and audit lines, or null for JSON.
 * @param own true for a destination of the caller, for which `auto` is JSON
 */
export function lineFormat ({ format }: TelemetryConfig['logs'], own: boolean): LineFormat | null {
  const { stdout, env } = process
  if (format === 'json' || (format === 'auto' && (own || !stdout.isTTY))) return null
  const colours = !own && hasColours(stdout, env)
  return line => prettyLine(line, colours)
}

/**
 * Creates the process log: one JSON object per line, with ISO time and the level's name, or one readable line (`lineFormat`), with secrets
 * redacted. The default destination is stdout. Fastify accepts the logger as `loggerInstance`.
 * @param onLine called with each finished line of JSON, without secrets
 * @param onLost called for each line that stdout did not accept
 */
export function createLogger (
  config: TelemetryConfig['logs'],
  destination?: DestinationStream,
  onLine?: (line: string) => void,
  onLost?: () => void
): Logger {
  const format = lineFormat(config, destination !== undefined)
  const options: LoggerOptions = {
    level: config.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: label => ({ level: label }) },
    serializers: { err: withStack, req: request, res: response },
    hooks: {
      streamWrite: line => finished(redactLine(line), onLine, format),
      logMethod (args, method, level) {
        if (level < ERROR_LEVEL) dropStack(args as unknown[])
        method.apply(this, args)
      }
    }
  }
  return pino(options, destination ?? stdoutStream(onLost))
}

function stdoutStream (onLost?: () => void): DestinationStream {
  const lines = standardOutput()
  return { write: line => { if (!lines.put(line)) onLost?.() } }
}

function finished (line: string, onLine: ((line: string) => void) | undefined, format: LineFormat | null): string {
  onLine?.(line)
  return format === null ? line : format(line)
}

interface ErrorFields { type: string, message: string, code?: unknown, stack?: string, cause?: unknown }

function withStack (err: unknown): unknown {
  return err instanceof Error ? errorFields(err, true, 0) : err
}

/** Removes stacks from lines below `error`. Such an event is expected, and its message describes it. */
function dropStack (args: unknown[]): void {
  const first = args[0]
  if (first instanceof Error) {
    args[0] = { err: errorFields(first, false, 0) }
  } else if (typeof first === 'object' && first !== null && 'err' in first && first.err instanceof Error) {
    args[0] = { ...first, err: errorFields(first.err, false, 0) }
  }
}

/** Copies named fields only: libraries attach requests, headers and whole configurations to their errors. */
function errorFields (err: Error, stack: boolean, depth: number): ErrorFields {
  const fields: ErrorFields = { type: err.name, message: err.message.slice(0, TEXT_LENGTH) }
  const { code } = err as NodeJS.ErrnoException
  if (typeof code === 'string' || typeof code === 'number') fields.code = code
  if (stack && err.stack !== undefined) fields.stack = err.stack
  if (err.cause instanceof Error) {
    if (depth < CAUSES) fields.cause = errorFields(err.cause, stack, depth + 1)
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
