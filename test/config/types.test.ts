import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { packageRoot } from '#config/paths.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { policySchema } from '#config/schema/policy-schema.js'
import { configSchema } from '#config/schema/schema.js'

// Types of the configuration, compared with the schema. Policies have a model of their own. The other types come from the schema, but some
// parts of the schema state their type.

const POLICIES = join(packageRoot(), 'src/config/model/policy-model.ts')
const CONFIGURATION = join(packageRoot(), 'src/config/schema/schema.ts')
const program = ts.createProgram([POLICIES, CONFIGURATION], {
  strict: true,
  exactOptionalPropertyTypes: true,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  noEmit: true,
  types: [],
  paths: { '#*': [`${packageRoot()}/src/*`] }
})
const checker = program.getTypeChecker()

function typeIn (file: string, name: string): ts.Type {
  const declaration = program.getSourceFile(file)?.statements.find(statement =>
    (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)) && statement.name.text === name)
  if (declaration === undefined) throw new Error(`${file} has no type ${name}`)
  return checker.getTypeAtLocation(declaration)
}

/** True for JSON Schemas: the content of schema files stands in the place of their names. */
function isLoaded (type: ts.Type): boolean {
  const members = type.isUnion() ? type.types : [type]
  return (type.flags & ts.TypeFlags.Unknown) !== 0 ||
    members.some(member => member.symbol?.name === 'SchemaRef') ||
    (members.some(member => member.flags & ts.TypeFlags.BooleanLike) &&
      members.some(member => checker.getIndexTypeOfType(member, ts.IndexKind.String) !== undefined))
}

/** What a type of the model has: its keys or its values. A type stands at several places, some of which have fewer keys or values. */
class Comparison {
  /** By type: names that no place has, so far. */
  readonly #unused = new Map<string, Set<string>>()
  readonly #problems: string[] = []
  readonly #comparesKinds: boolean

  get problems (): string[] {
    const unused = [...this.#unused].flatMap(([type, names]) => [...names].map(name => `only the model has ${name}, in ${type}`))
    return [...this.#problems, ...unused]
  }

  constructor (kinds: boolean) {
    this.#comparesKinds = kinds
  }

  visit (type: ts.Type, schema: Schema, path: string): void {
    if (schema.$ref !== undefined) {
      const name = schema.$ref.slice('#/$defs/'.length)
      if (name !== 'policy') this.visit(type, configSchema.$defs?.[name] ?? {}, path)
      return
    }
    const plain = checker.getNonNullableType(type)
    if (isLoaded(type) || isLoaded(plain)) return
    if (this.#comparesKinds && schema.type !== undefined && schema.const === undefined) this.#compareKinds(type, schema, path)
    const { properties, items, additionalProperties, enum: values } = schema
    if (values !== undefined) this.#compare(plain, literalsOf(plain), values.filter(value => value !== null).map(String), path)
    if (items !== undefined) this.#visitItems(plain, items, path)
    if (properties !== undefined) this.#visitMembers(plain, properties, path)
    const ofName = checker.getIndexTypeOfType(plain, ts.IndexKind.String)
    if (typeof additionalProperties === 'object' && ofName !== undefined) this.visit(ofName, additionalProperties, `${path}.*`)
  }

  #compareKinds (type: ts.Type, { type: kinds, ...schema }: Schema, path: string): void {
    const isNumber = schema['x-duration'] !== undefined || schema['x-size'] !== undefined
    const wanted = [kinds ?? []].flat().map(kind => kind === 'integer' || (isNumber && kind === 'string') ? 'number' : kind)
    const [model, file] = [kindsOf(type), [...new Set(wanted)].sort()]
    if (model.join() !== file.join()) this.#problems.push(`${path}: ${model.join(' or ')} in the model, ${file.join(' or ')} in the schema`)
  }

  #visitMembers (type: ts.Type, properties: Readonly<Record<string, Schema>>, path: string): void {
    const object = (type.isUnion() ? type.types : [type]).find(member => (member.flags & ts.TypeFlags.StructuredType) !== 0) ?? type
    const members = checker.getPropertiesOfType(object)
    this.#compare(object, members.map(({ name }) => name), Object.keys(properties), path)
    for (const member of members) {
      const own = properties[member.name]
      if (own !== undefined) this.visit(checker.getTypeOfSymbol(member), own, `${path}.${member.name}`)
    }
  }

  #visitItems (type: ts.Type, items: Schema, path: string): void {
    const list = (type.isUnion() ? type.types : [type]).find(member => checker.isArrayType(member))
    const [item] = list === undefined ? [] : checker.getTypeArguments(list as ts.TypeReference)
    if (item === undefined) this.#problems.push(`${path}: the model has no list`)
    else this.visit(item, items, `${path}[]`)
  }

  #compare (type: ts.Type, model: readonly string[] | null, schema: readonly string[], path: string): void {
    if (model === null) return
    this.#problems.push(...schema.filter(name => !model.includes(name)).map(name => `${path}: only the schema has ${name}`))
    const key = checker.typeToString(type)
    const unused = this.#unused.get(key) ?? new Set(model)
    for (const name of schema) unused.delete(name)
    this.#unused.set(key, unused)
  }
}

function literalsOf (type: ts.Type): string[] | null {
  const members = type.isUnion() ? type.types : [type]
  return members.every(member => member.isStringLiteral()) ? members.map(member => (member as ts.StringLiteralType).value) : null
}

/** Names of JSON Schema for the values of a type. */
function kindsOf (type: ts.Type): string[] {
  const kinds = (type.isUnion() ? type.types : [type]).map(member => {
    if (member.flags & ts.TypeFlags.Undefined) return ''
    if (member.flags & ts.TypeFlags.Null) return 'null'
    if (member.flags & ts.TypeFlags.StringLike) return 'string'
    if (member.flags & ts.TypeFlags.NumberLike) return 'number'
    if (member.flags & ts.TypeFlags.BooleanLike) return 'boolean'
    return checker.isArrayType(member) ? 'array' : 'object'
  })
  return [...new Set(kinds)].filter(kind => kind !== '').sort()
}

/** Policies keep texts where the model of other keys has numbers. */
function problemsOf (type: ts.Type, schema: Schema, kinds: boolean): string[] {
  const comparison = new Comparison(kinds)
  comparison.visit(type, schema, '')
  return comparison.problems
}

const policyProblems = (schema: Schema): string[] => problemsOf(typeIn(POLICIES, 'PolicyConfig'), schema, false)
const configurationProblems = (schema: Schema): string[] => problemsOf(typeIn(CONFIGURATION, 'ConfigKeys'), schema, true)

t.test('the model of policies has the keys and the values of the schema', t => {
  t.same(policyProblems(policySchema), [])
  t.end()
})

t.test('a key or a value that only one of them has is a problem', t => {
  const { uri: _, integrity, ...rest } = policySchema.properties ?? {}
  t.same(policyProblems({ ...policySchema, properties: { ...rest, later: {}, integrity: { ...integrity, enum: ['normal', 'strict'] } } }), [
    ': only the schema has later',
    '.integrity: only the schema has strict',
    'only the model has uri, in PolicyConfig',
    'only the model has verbatim, in "normal" | "verbatim"'
  ])
  t.end()
})

t.test('the types of all other keys are those of the schema', t => {
  t.same(configurationProblems(configSchema), [])
  const { state, ...rest } = configSchema.properties ?? {}
  const ttl = { ...state?.properties?.ttl, type: ['string', 'null'] }
  const changed = { ...state, properties: { ...state?.properties, ttl } }
  t.same(configurationProblems({ ...configSchema, properties: { ...rest, state: changed } }), [
    '.state.ttl: number in the model, null or number in the schema'
  ])
  t.end()
})
