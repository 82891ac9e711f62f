/** Ajv's keywords where its own are not fit for data and schemas of strangers: each is charged for what it costs, and compares numbers exactly. */
import { createRequire } from 'node:module'
import type * as AjvModule from 'ajv'
import type { Ajv, Code, CodeKeywordDefinition, KeywordCxt, Name } from 'ajv'
import { InexactNumber, isInexact, step } from './evaluation.js'

const require = createRequire(import.meta.url)

type Codegen = Pick<typeof AjvModule, '_' | 'Name' | 'nil' | 'str'>

let loaded: Codegen | null = null

/** What Ajv makes code with; loaded when it is needed, as in ajv.ts. Kept: `require` looks the file up each time, which was a third of what an instance costs. */
function codegen (): Codegen {
  loaded ??= require('ajv') as typeof AjvModule
  return loaded
}

/** Ajv of any draft. */
type AnyAjv = Pick<Ajv, 'RULES' | 'addKeyword' | 'removeKeyword'>

/**
 * Steps, each measured by bench/worst-case.ts on its worst data: objects of many shapes or of many keys, code that is not optimised.
 * Of a keyword by itself, an item and a subschema; of a property that is looked up; of a key that is listed; of an alternative, whose errors are
 * made and thrown away; of a reference.
 */
const EACH = 0.1
const PROPERTY = 0.25
const KEY = 0.3
const ALTERNATIVE = 0.5
const CALL = 0.5
/** Steps of a character: measured by `minLength` and by every format. */
const CHARACTER = 1 / 200
/** Errors are objects with a path and a message: a list of all of them costs this many times as much. */
const ALL_ERRORS = 10

/** What every keyword costs where it runs; of those that are not here `EACH`. What the subschemas do is charged by their own keywords. */
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

/** Keywords that loop over keys or items, and what each of these costs. */
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
  // The lists of dependencies are walked too.
  return each * (1 + (typeof schema === 'object' && schema !== null ? Object.values(schema as object).reduce<number>((sum, one) => sum + 1 + (Array.isArray(one) ? one.length : 0), 0) : 0))
}

function perCharacter ({ data }: KeywordCxt): Code {
  const { _ } = codegen()
  return _`${EACH} + (typeof ${data} == "string" ? ${data}.length : 0) * ${CHARACTER}`
}

/** `byte` and `regex` take twice as long as the others, 2 ms for 200,000 characters. */
function ofFormat (cxt: KeywordCxt): Code {
  const { _ } = codegen()
  return _`(${perCharacter(cxt)}) * 2`
}

/** Code that is written out, by a build or for another thread, calls them by the name `keywords` (schema-code.ts). */
export function replaceKeywords (ajv: AnyAjv): void {
  const { _, str } = codegen()
  // Ajv's own is quadratic on objects: 6,000 items took 570 ms.
  replace(ajv, 'uniqueItems', cxt => {
    if (cxt.schema === false) return
    const unique = cxt.gen.scopeValue('func', { ref: areUnique, code: _`keywords.areUnique` })
    cxt.pass(_`${unique}(${cxt.data})`)
  }, { message: 'must NOT have duplicate items' })
  // Ajv makes the list of all keys without being charged for it.
  for (const keyword of ['minProperties', 'maxProperties']) {
    replace(ajv, keyword, cxt => {
      const keys = cxt.gen.scopeValue('func', { ref: keysOf, code: _`keywords.keysOf` })
      cxt.pass(keyword === 'minProperties' ? _`${keys}(${cxt.data}).length >= ${cxt.schemaCode}` : _`${keys}(${cxt.data}).length <= ${cxt.schemaCode}`)
    })
  }
  // Ajv compares with one value after the other, and whole values without being charged for them.
  replace(ajv, 'enum', cxt => {
    const values = cxt.schema as readonly unknown[]
    const known = cxt.gen.scopeValue('obj', { ref: new Values(values), code: _`keywords.values(${cxt.schemaCode})` })
    cxt.pass(_`${known}.has(${cxt.data})`)
  })
  replace(ajv, 'const', cxt => {
    const equal = cxt.gen.scopeValue('func', { ref: areEqual, code: _`keywords.areEqual` })
    cxt.pass(_`${equal}(${cxt.data}, ${cxt.schemaCode})`)
  })
  // Ajv divides doubles: 19.99 would be no multiple of 0.01.
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

/** Has a keyword charge what it costs before it runs, for each round of its loop too. */
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

/** Rounds of the loops that `code` writes are charged; what is written within them is as ever. */
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

/** Characters of a key that are kept in a path: more are not shown (memberPath). */
const PATH_KEY = 65

/**
 * Ajv escapes each key for the path of an error, whether or not anyone reads that, and again for each error and each reference: a key of 1 MB of `~`
 * took 30 ms each time.
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

/** Where a number cannot be compared exactly, nothing is decided by it. */
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

/** What a subschema has evaluated is copied into what its parent has: each time as many keys as there are. */
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

/** The keys of an object, charged for. */
export function keysOf (object: object): string[] {
  const keys = Object.keys(object)
  step(KEY * keys.length)
  return keys
}

/** Characters of a key that a round covers, and steps of each of a longer one: `~` is escaped. */
const SHORT_KEY = 64
const LONG_KEY = 0.05

export function chargeKey (key: string, each: number): void {
  step(key.length <= SHORT_KEY ? each : each + LONG_KEY * key.length)
}

/** Ajv's name for a property given as a string. */
const STRING = 1

/** Ajv's keyword, except that it asks for own properties: its `evaluated["constructor"]` finds Object.prototype's and lets the member pass. */
function unevaluatedProperties (): CodeKeywordDefinition {
  const { _, Name } = codegen()
  // Ajv's own name for its count.
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
    // No canonical text of an object begins as one of a string does.
    const key = typeof item === 'object' && item !== null ? canonical(item) : typeof item === 'string' ? JSON.stringify(item) : item
    if (isInexact(item)) throw new InexactNumber()
    step((typeof key === 'string' ? 4 : 2) * EACH + (typeof key === 'string' ? key.length * CHARACTER : 0))
    if (seen.has(key)) return false
    seen.add(key)
  }
  return true
}

/** Charged by the value, and by the characters of texts. */
export function canonical (value: unknown): string {
  if (typeof value === 'string') {
    step(2 * EACH + value.length * CHARACTER)
    return JSON.stringify(value)
  }
  step(2 * EACH)
  if (isInexact(value)) throw new InexactNumber()
  // -0 and 0 both say `0`.
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const object = value as Record<string, unknown>
  return `{${keysOf(object).sort().map(key => {
    step(2 * EACH + key.length * CHARACTER)
    return `${JSON.stringify(key)}:${canonical(object[key])}`
  }).join(',')}}`
}

/** The values of an `enum`: scalars are looked up, so that their number costs nothing. */
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

/** Equality of JSON values, charged by what is compared. */
export function areEqual (value: unknown, other: unknown): boolean {
  step(EACH)
  if (typeof value === 'string') {
    step(value.length * CHARACTER / 10)
    return value === other
  }
  if (typeof value !== 'object' || value === null || typeof other !== 'object' || other === null) {
    // Only a number may equal it; another difference is plain.
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

/** Powers of ten of up to 600 digits. */
const MULTIPLE = 5

/** By the decimal digits of both numbers, as their author wrote them. */
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
