/**
 * Writes any value as one text, so that two values have the same text only if a program cannot tell them apart. The text does not depend on
 * the engine: `JSON.stringify`, `util.inspect` and `String(number)` are themselves subjects of the comparison.
 */

/** Bytes of a double, so that -0 differs from 0, and the text does not depend on the formatting of numbers. */
const DOUBLE = Buffer.alloc(8)

/**
 * @returns the text of a value: its type and content, with members in their order, getters of URLs, the accessible fields of instances, and
 *   the kind and message of errors
 */
export function exact (value: unknown): string {
  const out: string[] = []
  write(value, out, new Map())
  return out.join('')
}

/** The result of a call, or the error that it throws. */
export function outcomeOf (run: () => unknown): unknown {
  try {
    return { value: run() }
  } catch (error) {
    return { error }
  }
}

function write (value: unknown, out: string[], seen: Map<object, number>): void {
  if (typeof value === 'string') out.push(text(value))
  else if (typeof value === 'number') out.push(number(value))
  else if (typeof value === 'bigint') out.push(`${value}n`)
  else if (typeof value === 'function' || typeof value === 'symbol') out.push(typeof value)
  else if (typeof value !== 'object' || value === null) out.push(String(value))
  else if (seen.has(value)) out.push(`#${seen.get(value)}`)
  else {
    seen.set(value, seen.size)
    writeObject(value, out, seen)
  }
}

function writeObject (value: object, out: string[], seen: Map<object, number>): void {
  const all = (open: string, entries: Iterable<readonly unknown[]>, close: string): void => {
    out.push(open)
    for (const entry of entries) {
      for (const one of entry) {
        write(one, out, seen)
        out.push(':')
      }
      out.push(',')
    }
    out.push(close)
  }
  if (Buffer.isBuffer(value) || value instanceof Uint8Array) out.push(`bytes ${Buffer.from(value).toString('hex')}`)
  else if (Array.isArray(value)) all('[', Array.from(value, (one: unknown) => [one]), ']')
  else if (value instanceof Map) all('Map{', value, '}')
  else if (value instanceof Set) all('Set{', Array.from(value, one => [one]), '}')
  else if (value instanceof Date) out.push(`Date ${number(value.getTime())}`)
  else if (value instanceof RegExp || value instanceof URL) out.push(text(String(value)))
  // Messages of the engine differ. Errors of the code under test have their own classes, or are plain errors.
  else if (value instanceof Error) all(`${value.name}{`, [[isEngineError(value) ? '' : value.message], ...Object.entries(value)], '}')
  else all('{', Object.entries(value), '}')
}

/** True for an error of V8 or of Node. Their messages change with their versions, so no message of the gateway may contain them. */
function isEngineError (error: Error): boolean {
  return 'code' in error || ENGINE.some(({ prototype }) => Object.getPrototypeOf(error) === prototype)
}

const ENGINE = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, DOMException]

function text (value: string): string {
  return `"${value.replace(/[^ !#-[\]-~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
}

function number (value: number): string {
  DOUBLE.writeDoubleBE(value)
  return `double ${DOUBLE.toString('hex')}`
}
