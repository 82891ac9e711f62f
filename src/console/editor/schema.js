/** Looks up a place of a document in the JSON Schema of the configuration: keys, values and descriptions. */

const POLICY = '#/$defs/policy'

/**
 * @param {object} root schema of the document
 * @param {readonly (string | number)[]} path
 * @returns {object[]} schemas of the value at the path
 */
export function schemasAt (root, path) {
  let found = resolved(root, root)
  for (const step of path) found = found.flatMap(schema => child(schema, step)).flatMap(schema => resolved(schema, root))
  return found
}

/** A schema, and the schemas that it applies to the same value. */
function resolved (schema, root) {
  if (typeof schema !== 'object' || schema === null) return []
  const { $ref, allOf = [], then } = schema
  const target = $ref === undefined ? [] : resolved($ref.slice(2).split('/').reduce((value, key) => value?.[key], root), root)
  return [schema, ...target, ...[...allOf, then].flatMap(one => resolved(one, root))]
}

function child ({ properties = {}, additionalProperties, items }, step) {
  if (typeof step === 'number') return items === undefined ? [] : [items]
  if (Object.hasOwn(properties, step)) return [properties[step]]
  return typeof additionalProperties === 'object' ? [additionalProperties] : []
}

/**
 * Keys of a mapping.
 * @param {object[]} schemas
 * @param {{name: string, title: string | null}[]} policies names that mappings of policies may use
 */
export function keysOf (schemas, policies) {
  const keys = new Map()
  for (const { properties = {}, required = [] } of schemas) {
    for (const [name, schema] of Object.entries(properties)) {
      const known = keys.get(name)
      const info = schema.description ?? known?.info ?? ''
      keys.set(name, { name, type: typeOf(schema) || known?.type || '', info, required: required.includes(name) || known?.required === true })
    }
  }
  if (schemas.some(holdsPolicies)) {
    for (const { name, title } of policies) keys.set(name, { name, type: 'policy', info: title ?? '', required: false })
  }
  return [...keys.values()]
}

/** Values that the schemas name: constants, defaults and examples. */
export function valuesOf (schemas, policies) {
  const values = new Map()
  for (const schema of schemas) {
    const types = [schema.type ?? []].flat()
    const named = [...schema.enum ?? [], ...'const' in schema ? [schema.const] : [], ...types.includes('boolean') ? [true, false] : []]
    for (const value of named) values.set(String(value), { text: String(value), detail: value === schema.default ? 'default' : '' })
    for (const value of [schema.default, ...schema.examples ?? []]) {
      const text = typeof value === 'object' || value === undefined ? null : String(value)
      if (text !== null && text !== '' && !values.has(text)) values.set(text, { text, detail: value === schema.default ? 'default' : 'example' })
    }
  }
  if (schemas.some(schema => holdsPolicies(schema) && [schema.type].flat().includes('string'))) {
    for (const { name, title } of policies) values.set(name, { text: name, detail: title ?? 'policy' })
  }
  return [...values.values()]
}

function holdsPolicies ({ additionalProperties }) {
  return typeof additionalProperties === 'object' && additionalProperties.$ref === POLICY
}

/**
 * Describes the value at a path for a tooltip.
 * @returns {{title: string, text: string, facts: string[]} | null}
 */
export function describe (schemas, path) {
  const described = schemas.find(schema => schema.description !== undefined)
  if (described === undefined || path.length === 0) return null
  const [values] = schemas.filter(schema => schema.enum !== undefined)
  const preset = schemas.find(schema => schema.default !== undefined && JSON.stringify(schema.default).length < 80)
  return {
    title: path.map(step => typeof step === 'number' ? `[${step}]` : `.${step}`).join('').replace(/^\./, ''),
    text: described.description,
    facts: [
      ...values === undefined ? [typeOf(described)] : [values.enum.join(' | ')],
      ...preset === undefined ? [] : [`default ${JSON.stringify(preset.default)}`]
    ].filter(fact => fact !== '')
  }
}

function typeOf ({ type, enum: values, $ref }) {
  if (values !== undefined) return 'one of a list'
  if ($ref === POLICY) return 'policy'
  const names = { object: 'mapping', array: 'list', integer: 'whole number' }
  return [type ?? []].flat().map(one => names[one] ?? one).join(' or ')
}
