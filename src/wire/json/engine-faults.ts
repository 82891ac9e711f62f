/**
 * Known faults of JavaScript engines in reading JSON, and a test of the readers that work around them. The test runs at start, because the
 * version of Node decides which faults are there.
 */
import { parseStrict } from './json.js'
import { parseJson } from './parse-json.js'

interface EngineFault {
  /** Stable name, for logs and `/agents`. */
  readonly name: string
  /** One sentence for an operator, without a full stop. */
  readonly effect: string
  /** True when the engine of this process has the fault. */
  isPresent (): boolean
}

/** Behind these members, V8 expects the literal name that comes next; no document of a client begins like this. */
const BEFORE = '{"the gateway tests its engine":0,'

const FAULTS: readonly EngineFault[] = [
  {
    name: 'escaped-member-names',
    effect: 'JSON.parse can read an escaped member name as the name of another member (V8 13.6, Node 24)',
    isPresent: () => {
      for (let i = 0; i < 3; i++) JSON.parse(String.raw`[${BEFORE}"\\u00":1},${BEFORE}"\\u00":1}]`)
      return !Object.hasOwn(JSON.parse(String.raw`${BEFORE}"\u0064ata":2}`) as object, 'data')
    }
  }
]

/** Texts, and the names and values that every reader must find in them. The faults above have been provoked when they are read. */
const READINGS: readonly (readonly [text: string, members: readonly (readonly [name: string, value: unknown])[]])[] = [
  [String.raw`${BEFORE}"\u0064ata":2}`, [['the gateway tests its engine', 0], ['data', 2]]],
  [String.raw`${BEFORE}"\\u00":1}`, [['the gateway tests its engine', 0], [String.raw`\u00`, 1]]],
  [String.raw`{"\u005f_proto__":"\ud800","a\/b":-0,"\n\"\\":[1e400,"\u00e9"]}`, [
    ['__proto__', '\ud800'], ['a/b', -0], ['\n"\\', [Infinity, 'é']]
  ]],
  ['{"plain":{"1":true,"":null}}', [['plain', { 1: true, '': null }]]]
]

/** The result of `testEngine`. */
export interface EngineReport {
  /** Faults of this engine; the gateway works around each. */
  readonly faults: readonly { readonly name: string, readonly effect: string }[]
  /** Texts of the test that a reader of the gateway reads wrongly: always empty, unless the engine has a fault that nobody knows. */
  readonly misread: readonly string[]
}

/** Finds the known faults of the engine, and tests the gateway's own readers after the faults have been provoked. Takes less than 1 ms. */
export function testEngine (): EngineReport {
  const faults = FAULTS.filter(fault => fault.isPresent()).map(({ name, effect }) => ({ name, effect }))
  return { faults, misread: READINGS.flatMap(([text, members]) => isRead(text, members) ? [] : [text]) }
}

function isRead (text: string, members: (typeof READINGS)[number][1]): boolean {
  const strict = parseStrict(Buffer.from(text), { depth: 8, members: 100 })
  return strict.ok && [strict.value, parseJson(text)].every(value => {
    const entries = Object.entries(value as object)
    return entries.length === members.length &&
      members.every(([name, expected], i) => entries[i]?.[0] === name && isSame(entries[i]?.[1], expected))
  })
}

/** Equal JSON values; `-0` differs from `0`. */
function isSame (a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  const names = Object.keys(b)
  return Object.keys(a).length === names.length &&
    names.every(name => isSame((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]))
}
