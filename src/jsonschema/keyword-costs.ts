/** Makes keywords of Ajv charge their cost, in the code that Ajv writes for them. */
import type { Code, CodeKeywordDefinition, KeywordCxt, Name } from 'ajv'
import type { AnyAjv } from './codegen.js'
import { codegen } from './codegen.js'
import { isInexact, spendBudget } from './evaluation.js'
import { CHARACTER, chargeKey, chargeProps, EACH, keysOf, notExact } from './keyword-functions.js'

/**
 * Costs in steps. bench/worst-case.ts measures each on its worst data: objects of many shapes or many keys, and code that is not optimised.
 * PROPERTY: a property that is looked up. ALTERNATIVE: an alternative, whose errors are made and discarded. CALL: a reference.
 */
const PROPERTY = 0.25
const ALTERNATIVE = 0.5
const CALL = 0.5
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
const COMPARING: ReadonlySet<string> = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'])

/** `enum` and `const` compare the number with another number only: a difference of types is certain. */
function comparesNumbers (keyword: string, { schema }: KeywordCxt): boolean {
  if (keyword === 'const') return typeof schema === 'number'
  if (keyword === 'enum') return (schema as readonly unknown[]).some(value => typeof value === 'number')
  return COMPARING.has(keyword)
}

function perMember ({ schema }: KeywordCxt, each = EACH): number {
  // Ajv also iterates over the lists of dependencies.
  return (
    each *
    (1 +
      (typeof schema === 'object' && schema !== null
        ? Object.values(schema as object).reduce<number>((sum, member) => sum + 1 + (Array.isArray(member) ? member.length : 0), 0)
        : 0))
  )
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

function sizeOf (schema: unknown): number {
  return typeof schema === 'object' && schema !== null ? Object.keys(schema).length : 1
}

/** Makes a keyword charge its cost before it runs, and in each round of its loop. */
export function wrapWithCost (ajv: AnyAjv, keyword: string): void {
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
    const costCode = cost(cxt)
    gen.code(_`${stepName(cxt)}(${typeof costCode === 'number' ? costCode * times : _`(${costCode}) * ${times}`})`)
    if (comparesNumbers(keyword, cxt)) exactOnly(cxt)
    if (it.opts.unevaluated === true) chargeMerges(cxt)
    const each = LOOPS[keyword]
    if (each === undefined) code.call(definition, cxt, ruleType)
    else inLoops(cxt, each * times, () => { code.call(definition, cxt, ruleType) })
    if (it.opts.unevaluated === true && keyword.endsWith('Ref')) chargeMerged(cxt)
  }
}

function stepName ({ gen }: KeywordCxt): Name {
  const { _ } = codegen()
  return gen.scopeValue('func', { ref: spendBudget, code: _`keywords.step` })
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

/**
 * Charges for merges of evaluated properties. Ajv copies the evaluated keys of a subschema into those of its parent, and each copy costs as
 * many keys as there are.
 */
function chargeMerges (cxt: KeywordCxt): void {
  const { mergeEvaluated, mergeValidEvaluated } = cxt
  cxt.mergeEvaluated = (...args) => {
    mergeEvaluated.apply(cxt, args)
    chargeMerged(cxt)
  }
  cxt.mergeValidEvaluated = (...args) => {
    const merged = mergeValidEvaluated.apply(cxt, args)
    chargeMerged(cxt)
    return merged
  }
}

function chargeMerged ({ gen, it }: KeywordCxt): void {
  const { _, Name } = codegen()
  if (it.props instanceof Name) gen.code(_`${gen.scopeValue('func', { ref: chargeProps, code: _`keywords.chargeProps` })}(${it.props})`)
}
