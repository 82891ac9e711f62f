/** Ajv's keywords where its own are not fit for data and schemas of strangers. */
import { createRequire } from 'node:module'
import type * as AjvModule from 'ajv'
import type { Ajv, Code, CodeKeywordDefinition, KeywordCxt, Name } from 'ajv'

const require = createRequire(import.meta.url)

/** What Ajv makes code with; loaded when it is needed, as in json-schema.ts. */
const codegen = (): Pick<typeof AjvModule, '_' | 'Name' | 'str'> => require('ajv') as typeof AjvModule

/** Ajv of any draft. */
type AnyAjv = Pick<Ajv, 'RULES' | 'addKeyword' | 'removeKeyword'>

/** Steps that one validation may still take, about a microsecond each. Validation is synchronous, so one counter serves all. */
let stepsLeft = Number.POSITIVE_INFINITY

export class TooManySteps extends Error {}

/**
 * Runs a validation that takes at most `limit` steps: references followed, alternatives tried, characters measured. No bound on schema or data
 * alone is enough: a recursive schema with two branches into the same member takes 2^depth steps on data nested that deep (measured: 3 s at twelve
 * levels), a thousand alternatives on thirty thousand items take 15 s, and so does a thousand times `maxLength` on one text of 4 MB.
 * @throws TooManySteps
 */
export function withSteps<T> (limit: number, validate: () => T): T {
  stepsLeft = limit
  try {
    return validate()
  } finally {
    stepsLeft = Number.POSITIVE_INFINITY
  }
}

/** Counts work of about so many microseconds. */
export function step (cost: number): void {
  if ((stepsLeft -= cost) < 0) throw new TooManySteps('the schema takes too many steps on this data')
}

/** Code that a build writes calls them by the name `keywords` (meta-schema.ts). */
export function replaceKeywords (ajv: AnyAjv): void {
  const { _, str } = codegen()
  for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef', 'if', 'not']) count(ajv, keyword, () => 1)
  for (const keyword of ['anyOf', 'oneOf']) count(ajv, keyword, ({ schema }) => sizeOf(schema))
  // What these cost by themselves; what their schemas do counts by itself.
  for (const keyword of ['allOf', 'enum', 'properties', 'required', 'dependencies', 'dependentRequired', 'dependentSchemas']) count(ajv, keyword, ({ schema }) => sizeOf(schema) / 50)
  for (const keyword of ['minLength', 'maxLength', 'format']) count(ajv, keyword, ({ data }) => _`(typeof ${data} == "string" ? ${data}.length : 0) / 200`)

  // Ajv's own is quadratic on objects: 6,000 items took 570 ms.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    code: cxt => {
      if (cxt.schema === false) return
      const unique = cxt.gen.scopeValue('func', { ref: areUnique, code: _`keywords.areUnique` })
      cxt.pass(_`${unique}(${cxt.data})`)
    }
  })

  // Ajv divides doubles: 19.99 would be no multiple of 0.01.
  ajv.removeKeyword('multipleOf')
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    errors: false,
    error: { message: ({ schemaCode }) => str`must be a multiple of ${schemaCode}` },
    validate: (divisor: number, value: number) => isMultiple(value, divisor)
  })

  if (ajv.RULES.all.unevaluatedProperties !== undefined) {
    ajv.removeKeyword('unevaluatedProperties')
    ajv.addKeyword(unevaluatedProperties())
  }
}

function sizeOf (schema: unknown): number {
  return typeof schema === 'object' && schema !== null ? Object.keys(schema).length : 1
}

/** Has a keyword of Ajv's count what it costs before it runs. */
function count (ajv: AnyAjv, keyword: string, cost: (cxt: KeywordCxt) => number | Code): void {
  const rule = ajv.RULES.all[keyword]
  if (typeof rule !== 'object' || !('code' in rule.definition) || typeof rule.definition.code !== 'function') return
  const definition = rule.definition as CodeKeywordDefinition
  const { code } = definition
  const { _ } = codegen()
  definition.code = (cxt, ruleType) => {
    cxt.gen.code(_`${cxt.gen.scopeValue('func', { ref: step, code: _`keywords.step` })}(${cost(cxt)})`)
    code.call(definition, cxt, ruleType)
  }
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
        const hasOwn = gen.scopeValue('func', { ref: Object.hasOwn })
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
  const seen = new Set<string>()
  for (let i = 0; i < items.length; i++) {
    const text = canonical(items[i])
    step(1 + text.length / 100)
    if (seen.has(text)) return false
    seen.add(text)
  }
  return true
}

function canonical (value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  // -0 and 0 both say `0`; a number too large for a double says `Infinity`, which is no other value's text.
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const object = value as Record<string, unknown>
  return `{${Object.keys(object).sort().map(key => `${JSON.stringify(key)}:${canonical(object[key])}`).join(',')}}`
}

/** By the decimal digits of both numbers, as their author wrote them. */
function isMultiple (value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || divisor === 0) return false
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  step(5)
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
