/** The gateway's own keywords of the schema kit, for validators compiled at run time and for validators compiled by the build. */
import { formatValue } from './diagnostics.js'
import { FORMATS } from './schema/formats.js'
import type { Format } from './schema/formats.js'
import type { Bounds } from './schema/schema-builder.js'
import { duration, readDuration, readSize, size } from './model/units.js'
import type { Reading } from './model/units.js'
import type { Fault } from './listeners/grpc-formats.js'

/**
 * Largest number of reported faults per validation. Beyond this limit every value passes: the configuration is already rejected, and nobody
 * reads the 65,000th message.
 */
const MAX_FAULTS = 1000
let faults = 0

/** Resets the fault count. Called before each validation. */
export function forgetFaults (): void {
  faults = 0
}

/** Checks by keyword name. Each check takes the keyword's value in the schema and a text, and returns the fault of the text. */
export const KEYWORDS = {
  'x-format': capped((name: Format, text) => FORMATS[name](text)),
  'x-duration': capped((bounds: Bounds, text) => quantityFault('a duration', text, bounds, readDuration, duration)),
  'x-size': capped((bounds: Bounds, text) => quantityFault('a size', text, bounds, readSize, size))
} as const

export type Keywords = typeof KEYWORDS

function capped<T> (check: (schema: T, text: string) => Fault | null): (schema: T, text: string) => Fault | null {
  return (schema, text) => {
    const fault = faults < MAX_FAULTS ? check(schema, text) : null
    if (fault !== null) faults++
    return fault
  }
}

function quantityFault (
  kind: string,
  text: string,
  bounds: Bounds,
  read: (text: string) => Reading,
  exact: (text: string) => number
): Fault | null {
  const reading = read(text)
  if ('hint' in reading) return { message: `must be ${kind}, not ${formatValue(text)}`, hint: reading.hint }
  if (reading.value >= exact(bounds.minimum) && reading.value <= exact(bounds.maximum)) return null
  return { message: `must be from ${bounds.minimum} to ${bounds.maximum}, not ${text}` }
}
