/** Cards that are hostile until they are compiled. Each has a name, the card, and the expected outcome. */
export interface HostileCard {
  /** `rejected`: the card is not used. `unusable`: the card is used, and data that names the schema is rejected. */
  readonly outcome: 'rejected' | 'unusable'
  readonly problem: RegExp
  readonly schemas: Readonly<Record<string, unknown>>
}

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))
const named = <T>(count: number, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(many(count, index => [`k${index}`, make(index)]))
const TOGETHER = /the patterns of the card compile to \d+ instructions together, more than 25000/
const nested = (depth: number, key: string, inner: object): object =>
  Array.from({ length: depth }).reduce<object>(schema => ({ [key]: schema }), inner)

/** A small schema that Ajv copies for every reference to it. */
const copied = (times: number): object => ({
  $defs: {
    a: {
      minLength: 1,
      maxLength: 9,
      format: 'uri',
      minimum: 1,
      maximum: 2,
      minItems: 1,
      maxItems: 3,
      multipleOf: 2,
      minProperties: 3,
      maxProperties: 4
    }
  },
  anyOf: many(times, () => ({ $ref: '#/$defs/a' }))
})

/** 700 bytes of pattern that cost 117 MB and 3 s, three times. */
export const PATTERN_OF_700_BYTES = `(?:${'a?'.repeat(345)}){1000}`

/** A card of 29 kB. @param salt makes the card different from others */
export function cardOf29Kilobytes (salt = ''): Readonly<Record<string, unknown>> {
  return named(40, index => ({ type: 'string', pattern: `${PATTERN_OF_700_BYTES}${salt}${index}` }))
}

export const HOSTILE_CARDS: Readonly<Record<string, HostileCard>> = {
  'a pattern of 700 bytes': { outcome: 'rejected', problem: TOGETHER, schemas: { a: { pattern: PATTERN_OF_700_BYTES } } },
  'a card of 29 kB': { outcome: 'rejected', problem: TOGETHER, schemas: cardOf29Kilobytes() },
  'nested repetition': { outcome: 'rejected', problem: TOGETHER, schemas: { a: { pattern: `(?:(?:${'ab'.repeat(100)}){31}){31}` } } },
  'counted characters of Unicode': {
    outcome: 'rejected',
    problem: TOGETHER,
    schemas: { a: { pattern: `^${'\\p{L}{1000}'.repeat(60)}$` } }
  },
  'tables of Unicode': {
    outcome: 'rejected',
    problem: TOGETHER,
    schemas: { a: { anyOf: many(600, index => ({ pattern: `\\p{L}[\\p{N}${index}]` })) } }
  },
  'alternatives of repetitions': {
    outcome: 'rejected',
    problem: TOGETHER,
    schemas: { a: { pattern: `(?:${many(100, index => `x{0,9}y${index}`).join('|')}){50}` } }
  },
  'many patterns below the bound': {
    outcome: 'rejected',
    problem: TOGETHER,
    schemas: named(60, index => ({ patternProperties: { [`(?:k${index}){300}`]: { pattern: `(?:${index}a){200}` } } }))
  },
  'a pattern above the bound': {
    outcome: 'unusable',
    problem: /is too large: it compiles to 7\d{3} instructions, more than 5000/,
    schemas: { a: { pattern: '(?:abcdefg){1000}' }, b: { type: 'object' } }
  },
  'names as patterns': {
    outcome: 'rejected',
    problem: TOGETHER,
    schemas: { a: { patternProperties: Object.fromEntries(many(30, index => [`^(?:x${index}){1000}`, true])) } }
  },
  'references that double': {
    outcome: 'unusable',
    problem: /unfolds to more than/,
    schemas: {
      a: {
        $defs: Object.fromEntries(
          many(30, index => [`d${index}`, { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] }]).concat([
            ['d30', true as never]
          ])
        ),
        $ref: '#/$defs/d0'
      }
    }
  },
  'nested deeply': { outcome: 'unusable', problem: /nested deeper than/, schemas: { a: nested(70, 'items', { type: 'string' }) } },
  'a long chain of references': {
    outcome: 'unusable',
    problem: /chain longer than|call stack/,
    schemas: {
      a: {
        $defs: Object.fromEntries(many(900, index => [`d${index}`, { properties: { a: { $ref: `#/$defs/d${(index + 1) % 900}` } } }])),
        $ref: '#/$defs/d0'
      }
    }
  },
  'references copied everywhere': { outcome: 'unusable', problem: /characters of code, more than 2000000/, schemas: { a: copied(800) } },
  'code together': {
    outcome: 'rejected',
    problem: /more than 4000000 characters of code together/,
    schemas: named(4, index => ({ ...copied(220), title: `${index}` }))
  },
  'a large list of values': {
    outcome: 'unusable',
    problem: /more than 5000 values/,
    schemas: { a: { enum: many(20_000, index => index) } }
  },
  'thousands of schemas': {
    outcome: 'unusable',
    problem: /more than 256 different schemas/,
    schemas: named(20_000, index => ({ const: index }))
  }
}
