import type { Log, LogMethod } from '#telemetry/log.js'

export interface MemoryLine { readonly level: string, readonly fields: object, readonly message: string }

/** A log that keeps its lines. */
export function memoryLog (): { readonly log: Log, readonly lines: MemoryLine[] } {
  const lines: MemoryLine[] = []
  const at = (level: string): LogMethod => (fields: object | string, message?: string) => {
    lines.push(typeof fields === 'string' ? { level, fields: {}, message: fields } : { level, fields, message: message ?? '' })
  }
  const log: Log = {
    isLevelEnabled: () => true,
    fatal: at('fatal'),
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    child: () => log
  }
  return { log, lines }
}

/** The messages of a level. */
export function loggedTo (lines: readonly MemoryLine[], level: string): string[] {
  return lines.filter(line => line.level === level).map(({ message }) => message)
}
