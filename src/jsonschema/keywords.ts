/**
 * Replaces the keywords of Ajv that are not safe for untrusted data and schemas. Each keyword charges its cost and compares numbers
 * exactly.
 */
import { createRequire } from 'node:module'
import type * as AjvModule from 'ajv'
import type { Ajv, Code, CodeKeywordDefinition, KeywordCxt, Name } from 'ajv'
import { InexactNumber, isInexact, step } from './evaluation.js'

const require = createRequire(import.meta.url)

type Codegen = Pick<typeof AjvModule, '_' | 'Name' | 'nil' | 'str'>

let loaded: Codegen | null = null

/**
 * Loads the code generator of Ajv on demand, as in ajv.ts. The module keeps it, because `require` looks up the file on each call: that was
 * a third of the cost of an instance.
 */
function codegen (): Codegen {
  loaded ??= require('ajv') as typeof AjvModule
  return loaded
}

/** Ajv of any draft. */
type AnyAjv = Pick<Ajv, 'RULES' | 'addKeyword' | 'removeKeyword'>

/**
 * Costs in steps. bench/worst-case.ts measures each on its worst data: objects of many shapes or many keys, and code that is not optimised.
 * EACH: a keyword by itself, an item or a subschema. PROPERTY: a property that is looked up. KEY: a key that is listed. ALTERNATIVE: an
 * alternative, whose errors are made and discarded. CALL: a reference.
 */
const EACH = 0.1
const PROPERTY = 0.25
const KEY = 0.3
const ALTERNATIVE = 0.5
const CALL = 0.5
/** Steps of a character that `minLength` or a format checks. */
const CHARACTER = 1 / 200
/** Factor for a list of all errors. Errors are objects with a path and a message, so the full list costs this many times as much. */
const ALL_ERRORS = 10

/**
 * Cost of each keyword each time it runs. Keywords that are not listed cost `EACH`. The keywords of subschemas charge for their own work.
 */
const COSTS: Readonly<Record<string, (cxt: KeywordCxt) => number | Code>> = {
  $ref: () => CALL,
  $dynamicRef: () => CALL,
  $recursiveRef: () => CALL,
  if: () => ALTERNATIVE,
  not: () => ALTERNATIVE,
  anyOf: ({ schema }) => ALTERNATIVE * sizeOf(schema),
  oneOf: ({ schema }) => ALTERNATIVE * sizeOf(schema),
  allOf: cxt => perMember(cxt),
  properties: cxt => perMember(cxt, PROPERTY),
  required: cxt => perMember(cxt, PROPERTY),
  dependencies: cxt => perMember(cxt, 2 * PROPERTY),
  dependentRequired: cxt => perMember(cxt, PROPERTY),
  dependentSchemas: cxt => perMember(cxt, 2 * PROPERTY),
  patternProperties: cxt => perMember(cxt),
  prefixItems: cxt => perMember(cxt),
  items: cxt => perMember(cxt),
  minLength: perCharacter,
  maxLength: perCharacter,
  format: ofFormat,
  formatMinimum: ofFormat,
  formatMaximum: ofFormat,
  formatExclusiveMinimum: ofFormat,
  formatExclusiveMaximum: ofFormat
}

/** Keywords that loop over keys or items, with the cost of each key or item. */
const LOOPS: Readonly<Record<string, number>> = {
  additionalProperties: EACH,
  patternProperties: EACH,
  unevaluatedProperties: EACH,
  propertyNames: ALTERNATIVE,
  items: EACH,
  additionalItems: EACH,
  unevaluatedItems: EACH,
  contains: ALTERNATIVE
}

/** Keywords that compare the number itself. */
const COMPARING: ReadonlySet<string> = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'enum', 'const'])

function perMember ({ schema }: KeywordCxt, each = EACH): number {
  // Ajv also iterates over the lists of dependencies.
  return each * (1 + (typeof schema === 'object' && schema !== null ? Object.values(schema as object).reduce<number>((sum, one) => sum + 1 + (Array.isArray(one) ? one.length : 0), 0) : 0))
}

function perCharacter ({ data }: KeywordCxt): Code {
  const { _ } = codegen()
  return _`${EACH} + (typeof ${data} == "string" ? ${data}.length : 0) * ${CHARACTER}`
}

/** `byte` and `regex` take twice as long as the other formats: 2 ms for 200,000 characters. */
function ofFormat (cxt: KeywordCxt): Code {
  const { _ } = codegen()
  return _`(${perCharacter(cxt)}) * 2`
}

/**
 * Replaces keywords of an instance. Code that a build or another thread writes out calls the replacements by the name `keywords` (code.ts).
 */
export function replaceKeywords (ajv: AnyAjv): void {
  const { _, str } = codegen()
  // The keyword of Ajv is quadratic on objects: 6,000 items took 570 ms.
  replace(ajv, 'uniqueItems', cxt => {
    if (cxt.schema === false) return
    const unique = cxt.gen.scopeValue('func', { ref: areUnique, code: _`keywords.areUnique` })
    cxt.pass(_`${unique}(${cxt.data})`)
  }, { message: 'must NOT have duplicate items' })
  // Ajv lists all keys without a charge.
  for (const keyword of ['minProperties', 'maxProperties']) {
    replace(ajv, keyword, cxt => {
      const keys = cxt.gen.scopeValue('func', { ref: keysOf, code: _`keywords.keysOf` })
      cxt.pass(keyword === 'minProperties' ? _`${keys}(${cxt.data}).length >= ${cxt.schemaCode}` : _`${keys}(${cxt.data}).length <= ${cxt.schemaCode}`)
    })
  }
  // Ajv compares the data with one value after the other, and compares whole values without a charge.
  replace(ajv, 'enum', cxt => {
    const values = cxt.schema as readonly unknown[]
    const known = cxt.gen.scopeValue('obj', { ref: new Values(values), code: _`keywords.values(${cxt.schemaCode})` })
    cxt.pass(_`${known}.has(${cxt.data})`)
  })
  replace(ajv, 'const', cxt => {
    const equal = cxt.gen.scopeValue('func', { ref: areEqual, code: _`keywords.areEqual` })
    cxt.pass(_`${equal}(${cxt.data}, ${cxt.schemaCode})`)
  })
  // Ajv divides doubles, so 19.99 would not be a multiple of 0.01.
  replace(ajv, 'multipleOf', cxt => {
    const multiple = cxt.gen.scopeValue('func', { ref: isMultiple, code: _`keywords.isMultiple` })
    cxt.pass(_`${multiple}(${cxt.data}, ${cxt.schemaCode})`)
  }, { message: ({ schemaCode }) => str`must be a multiple of ${schemaCode}` })
  if (ajv.RULES.all.unevaluatedProperties !== undefined) {
    ajv.removeKeyword('unevaluatedProperties')
    ajv.addKeyword(unevaluatedProperties())
  }
  for (const keyword of Object.keys(ajv.RULES.all)) charge(ajv, keyword)
}

/** Replaces the code of a keyword and keeps its error messages. */
function replace (ajv: AnyAjv, keyword: string, code: (cxt: KeywordCxt) => void, error?: CodeKeywordDefinition['error']): void {
  const rule = ajv.RULES.all[keyword]
  if (typeof rule !== 'object') return
  const definition = rule.definition as CodeKeywordDefinition
  definition.code = code
  if (error !== undefined) definition.error = error
}

function sizeOf (schema: unknown): number {
  return typeof schema === 'object' && schema !== null ? Object.keys(schema).length : 1
}

/** Makes a keyword charge its cost before it runs, and in each round of its loop. */
function charge (ajv: AnyAjv, keyword: string): void {
  const rule = ajv.RULES.all[keyword]
  if (typeof rule !== 'object' || !('code' in rule.definition) || typeof rule.definition.code !== 'function') return
  const definition = rule.definition as CodeKeywordDefinition
  const { code } = definition
  const { _ } = codegen()
  const cost = COSTS[keyword] ?? (() => EACH)
  definition.code = (cxt, ruleType) => {
    const { gen, it } = cxt
    const times = it.allErrors === true ? ALL_ERRORS : 1
    clipKeys(it)
    const found = cost(cxt)
    gen.code(_`${stepName(cxt)}(${typeof found === 'number' ? found * times : _`(${found}) * ${times}`})`)
    if (COMPARING.has(keyword)) exactOnly(cxt)
    if (it.opts.unevaluated === true) chargeMerges(cxt)
    const each = LOOPS[keyword]
    if (each === undefined) code.call(definition, cxt, ruleType)
    else inLoops(cxt, each * times, () => { code.call(definition, cxt, ruleType) })
    if (it.opts.unevaluated === true && keyword.endsWith('Ref')) chargeMerged(cxt)
  }
}

function stepName ({ gen }: KeywordCxt): Name {
  const { _ } = codegen()
  return gen.scopeValue('func', { ref: step, code: _`keywords.step` })
}

/** Charges the rounds of the loops that `code` writes. Loops that are written inside them do not change. */
function inLoops (cxt: KeywordCxt, each: number, code: () => void): void {
  const { _ } = codegen()
  const { gen } = cxt
  const { forIn, forRange } = gen
  const keys = gen.scopeValue('func', { ref: keysOf, code: _`keywords.keysOf` })
  const stepKey = gen.scopeValue('func', { ref: chargeKey, code: _`keywords.chargeKey` })
  const hook = (): void => {
    gen.forIn = (prefix, object, body) => gen.forOf(prefix, _`${keys}(${object})`, key => within(() => {
      gen.code(_`${stepKey}(${key}, ${each})`)
      body(key)
    }))
    gen.forRange = (prefix, from, to, body) => forRange.call(gen, prefix, from, to, index => within(() => {
      gen.code(_`${stepName(cxt)}(${each})`)
      body(index)
    }))
  }
  const within = (body: () => void): void => {
    gen.forIn = forIn
    gen.forRange = forRange
    body()
    hook()
  }
  hook()
  code()
  gen.forIn = forIn
  gen.forRange = forRange
}

/** Characters of a key that a path keeps. memberPath does not show more. */
const PATH_KEY = 65

/**
 * Shortens the keys in the path of an error. Ajv escapes each key for that path even when nobody reads the path, and repeats this for each
 * error and each reference. A key of 1 MB of `~` took 30 ms each time.
 */
function clipKeys (it: KeywordCxt['it']): void {
  const { Name, nil } = codegen()
  const { _items: items } = it.errorPath as unknown as { readonly _items: readonly unknown[] }
  if (!items.some((item, i) => item instanceof Name && isEscape(items[i + 1]))) return
  const clipped = items.flatMap((item, i) => item instanceof Name && isEscape(items[i + 1]) ? [item, `.slice(0, ${PATH_KEY})`] : [item])
  const CodeOf = nil.constructor as new (items: unknown[]) => Code
  Object.assign(it, { errorPath: new CodeOf(clipped) })
}

function isEscape (item: unknown): boolean {
  return typeof item === 'string' && item.startsWith('.replace(')
}

/** Fails on a number that cannot be compared exactly, so that such a number decides nothing. */
function exactOnly (cxt: KeywordCxt): void {
  const { _, Name } = codegen()
  const { gen, data, it } = cxt
  const inexactHere = gen.scopeValue('func', { ref: isInexact, code: _`keywords.isInexact` })
  const fail = gen.scopeValue('func', { ref: notExact, code: _`keywords.notExact` })
  gen.code(_`if (${inexactHere}(${data})) ${fail}(${new Name('instancePath')} + ${it.errorPath})`)
}

/** @throws InexactNumber */
export function notExact (pointer: string): never {
  throw new InexactNumber(pointer)
}

/**
 * Charges for merges of evaluated properties. Ajv copies the evaluated keys of a subschema into those of its parent, and each copy costs as
 * many keys as there are.
 */
function chargeMerges (cxt: KeywordCxt): void {
  const { mergeEvaluated, mergeValidEvaluated } = cxt
  cxt.mergeEvaluated = (...given) => {
    mergeEvaluated.apply(cxt, given)
    chargeMerged(cxt)
  }
  cxt.mergeValidEvaluated = (...given) => {
    const merged = mergeValidEvaluated.apply(cxt, given)
    chargeMerged(cxt)
    return merged
  }
}

function chargeMerged ({ gen, it }: KeywordCxt): void {
  const { _, Name } = codegen()
  if (it.props instanceof Name) gen.code(_`${gen.scopeValue('func', { ref: chargeProps, code: _`keywords.chargeProps` })}(${it.props})`)
}

export function chargeProps (props: unknown): void {
  if (typeof props === 'object' && props !== null) step(KEY * Object.keys(props).length)
}

/** Lists the keys of an object and charges for them. */
export function keysOf (object: object): string[] {
  const keys = Object.keys(object)
  step(KEY * keys.length)
  return keys
}

/**
 * SHORT_KEY: characters of a key that the cost of a round covers. LONG_KEY: steps of each character of a longer key, because `~` is
 * escaped.
 */
const SHORT_KEY = 64
const LONG_KEY = 0.05

export function chargeKey (key: string, each: number): void {
  step(key.length <= SHORT_KEY ? each : each + LONG_KEY * key.length)
}

/** Ajv's constant for a property that is given as a string. */
const STRING = 1

/**
 * The keyword of Ajv, but with a check for own properties. Ajv's `evaluated["constructor"]` finds the member of Object.prototype and
 * accepts the property.
 */
function unevaluatedProperties (): CodeKeywordDefinition {
  const { _, Name } = codegen()
  // Ajv uses this name for its count.
  const errors = new Name('errors')
  return {
    keyword: 'unevaluatedProperties',
    type: 'object',
    schemaType: ['boolean', 'object'],
    trackErrors: true,
    error: {
      message: 'must NOT have unevaluated properties',
      params: ({ params }) => _`{unevaluatedProperty: ${params.unevaluatedProperty}}`
    },
    code (cxt: KeywordCxt) {
      const { gen, schema, data, errsCount, it } = cxt
      const { allErrors, props } = it
      const check = (key: Name): void => {
        if (schema === false) {
          cxt.setParams({ unevaluatedProperty: key })
          cxt.error()
          if (allErrors !== true) gen.break()
          return
        }
        const valid = gen.name('valid')
        cxt.subschema({ keyword: 'unevaluatedProperties', dataProp: key, dataPropType: STRING }, valid)
        if (allErrors !== true) gen.if(_`!${valid}`, () => gen.break())
      }
      if (props instanceof Name) {
        const hasOwn = gen.scopeValue('func', { ref: Object.hasOwn, code: _`Object.hasOwn` })
        gen.if(_`${props} !== true`, () => gen.forIn('key', data, key => { gen.if(_`!${props} || !${hasOwn}(${props}, ${key})`, () => check(key)) }))
      } else if (props !== true) {
        const evaluated = Object.entries(props ?? {}).filter(([, done]) => done).map(([name]) => name)
        gen.forIn('key', data, key => {
          if (evaluated.length === 0) check(key)
          else gen.if(evaluated.map(name => _`${key} !== ${name}`).reduce((all, one) => _`${all} && ${one}`), () => check(key))
        })
      }
      it.props = true
      cxt.ok(_`${errsCount} === ${errors}`)
    }
  }
}

/** Linear in the size of the items: equal JSON values have equal canonical text (key order does not count). */
export function areUnique (items: readonly unknown[]): boolean {
  const seen = new Set<unknown>()
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    // Canonical text of an object never begins like that of a string.
    const key = typeof item === 'object' && item !== null ? canonical(item) : typeof item === 'string' ? JSON.stringify(item) : item
    if (isInexact(item)) throw new InexactNumber()
    step((typeof key === 'string' ? 4 : 2) * EACH + (typeof key === 'string' ? key.length * CHARACTER : 0))
    if (seen.has(key)) return false
    seen.add(key)
  }
  return true
}

/** Returns the canonical text of a value. Charges for each value and for the characters of texts. */
export function canonical (value: unknown): string {
  if (typeof value === 'string') {
    step(2 * EACH + value.length * CHARACTER)
    return JSON.stringify(value)
  }
  step(2 * EACH)
  if (isInexact(value)) throw new InexactNumber()
  // -0 and 0 both become `0`.
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const object = value as Record<string, unknown>
  return `{${keysOf(object).sort().map(key => {
    step(2 * EACH + key.length * CHARACTER)
    return `${JSON.stringify(key)}:${canonical(object[key])}`
  }).join(',')}}`
}

/** The values of an `enum`. Scalars are in a set, so their number costs nothing. */
export class Values {
  private readonly scalars: ReadonlySet<unknown>
  private readonly others: readonly object[]

  constructor (values: readonly unknown[]) {
    this.scalars = new Set(values.filter(value => typeof value !== 'object' || value === null))
    this.others = values.filter(value => typeof value === 'object' && value !== null) as object[]
  }

  has (value: unknown): boolean {
    if (typeof value === 'string') step(value.length * CHARACTER / 10)
    if (typeof value !== 'object' || value === null) return this.scalars.has(value)
    return this.others.some(other => areEqual(value, other))
  }
}

/** Compares JSON values and charges for what it compares. */
export function areEqual (value: unknown, other: unknown): boolean {
  step(EACH)
  if (typeof value === 'string') {
    step(value.length * CHARACTER / 10)
    return value === other
  }
  if (typeof value !== 'object' || value === null || typeof other !== 'object' || other === null) {
    // An inexact number may equal only another number. A difference of types is certain.
    if (isInexact(value) && typeof other === 'number') throw new InexactNumber()
    return value === other
  }
  if (Array.isArray(value)) {
    if (!Array.isArray(other) || value.length !== other.length) return false
    for (let i = 0; i < value.length; i++) if (!areEqual(value[i], other[i])) return false
    return true
  }
  if (Array.isArray(other)) return false
  const keys = keysOf(other)
  if (keysOf(value).length !== keys.length) return false
  for (const key of keys) {
    if (!Object.hasOwn(value, key) || !areEqual((value as Record<string, unknown>)[key], (other as Record<string, unknown>)[key])) return false
  }
  return true
}

/** Cost in steps: the calculation uses powers of ten of up to 600 digits. */
const MULTIPLE = 5

/** Divides by the decimal digits of both numbers, as their authors wrote them. */
export function isMultiple (value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || divisor === 0) return false
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  step(MULTIPLE)
  const a = decimal(value)
  const b = decimal(divisor)
  const scale = Math.min(a.exponent, b.exponent)
  return (a.digits * 10n ** BigInt(a.exponent - scale)) % (b.digits * 10n ** BigInt(b.exponent - scale)) === 0n
}

function decimal (number: number): { digits: bigint, exponent: number } {
  const [mantissa = '0', exponent = '0'] = number.toExponential().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}
