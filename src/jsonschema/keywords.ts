/**
 * Replaces the keywords of Ajv that are not safe for untrusted data and schemas. Each keyword charges its cost and compares numbers
 * exactly.
 */
import type { CodeKeywordDefinition, KeywordCxt, Name } from 'ajv'
import type { AnyAjv } from './codegen.js'
import { codegen } from './codegen.js'
import { wrapWithCost } from './keyword-costs.js'
import { areEqual, areUnique, isMultiple, keysOf, Values } from './keyword-functions.js'

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
      cxt.pass(
        keyword === 'minProperties'
          ? _`${keys}(${cxt.data}).length >= ${cxt.schemaCode}`
          : _`${keys}(${cxt.data}).length <= ${cxt.schemaCode}`
      )
    })
  }
  // Ajv compares the data with one value after the other, and compares whole values without a charge.
  replace(ajv, 'enum', cxt => {
    const values = cxt.schema as readonly unknown[]
    const name = cxt.gen.scopeValue('obj', { ref: new Values(values), code: _`keywords.values(${cxt.schemaCode})` })
    cxt.pass(_`${name}.has(${cxt.data})`)
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
  // Where Ajv stops at the first error, it takes a missing member with the empty name for none.
  for (const keyword of ['required', 'dependentRequired', 'dependencies']) validateEmptyName(ajv, keyword)
  if (ajv.RULES.all.unevaluatedProperties !== undefined) {
    ajv.removeKeyword('unevaluatedProperties')
    ajv.addKeyword(unevaluatedProperties())
  }
  for (const keyword of Object.keys(ajv.RULES.all)) wrapWithCost(ajv, keyword)
}

type KeywordCode = (cxt: KeywordCxt) => void

/** Replaces the code of a keyword and keeps its error messages. @param code also receives the code of Ajv */
function replace (
  ajv: AnyAjv,
  keyword: string,
  code: (cxt: KeywordCxt, ofAjv: KeywordCode) => void,
  error?: CodeKeywordDefinition['error']
): void {
  const rule = ajv.RULES.all[keyword]
  if (typeof rule !== 'object') return
  const definition = rule.definition as CodeKeywordDefinition
  const ofAjv: KeywordCode = definition.code
  definition.code = cxt => { code(cxt, ofAjv) }
  if (error !== undefined) definition.error = error
}

/** Adds a test of the empty name to a keyword that requires members: of all objects, or of objects with another member. */
function validateEmptyName (ajv: AnyAjv, keyword: string): void {
  const { _ } = codegen()
  replace(ajv, keyword, (cxt, ofAjv) => {
    const { data, it, schema } = cxt
    const lists: [string | undefined, unknown][] = keyword === 'required' ? [[undefined, schema]] : Object.entries(schema as object)
    for (const [property, names] of lists) {
      if (it.allErrors === true || !Array.isArray(names) || !names.includes('')) continue
      const hasOwn = hasOwnIn(cxt)
      cxt.setParams({ missingProperty: '', property, depsCount: 1, deps: '' })
      cxt.pass(property === undefined ? _`${hasOwn}(${data}, "")` : _`!${hasOwn}(${data}, ${property}) || ${hasOwn}(${data}, "")`)
    }
    ofAjv(cxt)
  })
}

function hasOwnIn ({ gen }: KeywordCxt): Name {
  const { _ } = codegen()
  return gen.scopeValue('func', { ref: Object.hasOwn, code: _`Object.hasOwn` })
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
        const hasOwn = hasOwnIn(cxt)
        gen.if(_`${props} !== true`, () =>
          gen.forIn('key', data, key => {
            gen.if(_`!${props} || !${hasOwn}(${props}, ${key})`, () => check(key))
          })
        )
      } else if (props !== true) {
        const evaluated = Object.entries(props ?? {}).filter(([, done]) => done).map(([name]) => name)
        gen.forIn('key', data, key => {
          if (evaluated.length === 0) check(key)
          else gen.if(evaluated.map(name => _`${key} !== ${name}`).reduce((all, condition) => _`${all} && ${condition}`), () => check(key))
        })
      }
      it.props = true
      cxt.ok(_`${errsCount} === ${errors}`)
    }
  }
}
