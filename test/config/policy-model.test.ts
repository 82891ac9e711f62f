import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { packageRoot } from '#config/paths.js'
import type { Schema } from '#config/schema/schema-builder.js'
import { policySchema } from '#config/schema/policy-schema.js'

// The model of policies has types of its own. They have the keys and the values that the schema has.

const file = join(packageRoot(), 'src/config/model/policy-model.ts')
const program = ts.createProgram([file], {
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

function policyType (): ts.Type {
  const source = program.getSourceFile(file)
  if (source === undefined) throw new Error(`no source: ${file}`)
  const declaration = source.statements.find(statement => ts.isInterfaceDeclaration(statement) && statement.name.text === 'PolicyConfig')
  if (declaration === undefined) throw new Error('no interface PolicyConfig')
  return checker.getTypeAtLocation(declaration)
}

/** The content of schema files stands in the place of their names. */
const isLoaded = (type: ts.Type): boolean => /SchemaRef|SchemaSource|InlineSchema|\bunknown\b/.test(checker.typeToString(type))

/** What a type of the model has: its keys or its values. A type stands at several places, some of which have fewer keys or values. */
class Comparison {
  /** By type: names that no place has, so far. */
  readonly #unused = new Map<string, Set<string>>()
  readonly #problems: string[] = []

  get problems (): string[] {
    const unused = [...this.#unused].flatMap(([type, names]) => [...names].map(name => `only the model has ${name}, in ${type}`))
    return [...this.#problems, ...unused]
  }

  visit (type: ts.Type, schema: Schema, path: string): void {
    const plain = checker.getNonNullableType(type)
    if (isLoaded(plain)) return
    const { properties, items, additionalProperties, enum: values } = schema
    if (values !== undefined) this.#compare(plain, literalsOf(plain), values.map(String), path)
    if (items !== undefined) this.#visitItems(plain, items, path)
    if (properties !== undefined) this.#visitMembers(plain, properties, path)
    const ofName = checker.getIndexTypeOfType(plain, ts.IndexKind.String)
    if (typeof additionalProperties === 'object' && ofName !== undefined) this.visit(ofName, additionalProperties, `${path}.*`)
  }

  #visitMembers (type: ts.Type, properties: Readonly<Record<string, Schema>>, path: string): void {
    const members = checker.getPropertiesOfType(type)
    this.#compare(type, members.map(({ name }) => name), Object.keys(properties), path)
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

function problemsOf (schema: Schema): string[] {
  const comparison = new Comparison()
  comparison.visit(policyType(), schema, 'policy')
  return comparison.problems
}

t.test('the model of policies has the keys and the values of the schema', t => {
  t.same(problemsOf(policySchema), [])
  t.end()
})

t.test('a key or a value that only one of them has is a problem', t => {
  const { uri: _, integrity, ...rest } = policySchema.properties ?? {}
  t.same(problemsOf({ ...policySchema, properties: { ...rest, later: {}, integrity: { ...integrity, enum: ['normal', 'strict'] } } }), [
    'policy: only the schema has later',
    'policy.integrity: only the schema has strict',
    'only the model has uri, in PolicyConfig',
    'only the model has verbatim, in "normal" | "verbatim"'
  ])
  t.end()
})
