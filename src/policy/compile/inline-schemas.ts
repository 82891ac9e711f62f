/** Checks schemas that the configuration contains. They must compile before the gateway starts. Schemas of cards may fail individually. */
import { memberPath } from '#a2a/fields.js'
import { isObject } from '#wire/json/object.js'
import { childOf, resolveSteps } from '#wire/json/pointer.js'
import type { Config, ResolvedPolicy, SchemaSource } from '#config/model/model.js'
import { INLINE_NAME } from '#config/model/schema-model.js'
import { mistakesIn } from '#jsonschema/mistakes.js'
import { compileRef } from '#jsonschema/schema-set.js'
import { compileShared } from '#jsonschema/shared-schemas.js'
import { isEnumFromCard, isFromCard, isSchemaRef } from './schema-source.js'

/** A schema that cannot be used. */
export interface SchemaFault {
  /** Place of the schema, from the root of the policy: `request`, index, `schema`. */
  readonly path: readonly (string | number)[]
  /** JSON Pointer into the schema, '' for all of it. */
  readonly pointer: string
  readonly message: string
  /** Instruction that fixes the schema. */
  readonly hint?: string
}

/** @param policy as read: any part of it may have a wrong shape */
export function policySchemaFaults (policy: unknown): SchemaFault[] {
  const methods = entries(childOf(policy, 'methods')).map(([method, entry]) => ({
    path: ['methods', method, 'params'],
    schema: childOf(entry, 'params')
  }))
  const routes = list(childOf(policy, 'routes')).map((spec, index) => ({ path: ['routes', index, 'body'], schema: childOf(spec, 'body') }))
  const card = ['params', 'schema'].map(key => ({ path: ['card', key], schema: childOf(childOf(policy, 'card'), key) }))
  const rules = ['request', 'response'].flatMap(key =>
    list(childOf(policy, key)).flatMap((rule, index) =>
      PLACES.map(place => ({ path: [key, index, ...place], schema: resolveSteps(rule, place) }))
    )
  )
  const correlations = list(childOf(policy, 'correlate')).flatMap((correlation, index) =>
    CORRELATION_PLACES.map(place => ({ path: ['correlate', index, ...place], schema: resolveSteps(correlation, place) }))
  )
  const selectors = STATE_SELECTORS.map(key => ({
    path: ['state', key, ...MATCH],
    schema: resolveSteps(childOf(childOf(policy, 'state'), key), MATCH)
  }))
  const attributes = entries(childOf(childOf(policy, 'observe'), 'spanAttributes')).map(([name, from]) => ({
    path: ['observe', 'spanAttributes', name, ...MATCH],
    schema: resolveSteps(from, MATCH)
  }))
  const metrics = list(childOf(childOf(policy, 'observe'), 'metrics')).flatMap((metric, index) =>
    METRIC_PLACES.map(place => ({ path: ['observe', 'metrics', index, ...place], schema: resolveSteps(metric, place) }))
  )
  const injections = list(childOf(policy, 'inject')).flatMap((injection, index) =>
    CONDITIONS.map(place => ({ path: ['inject', index, ...place], schema: resolveSteps(injection, place) }))
  )
  const callers = [{ path: ['activation', 'callers', 'match'], schema: resolveSteps(policy, ['activation', 'callers', 'match']) }]
  const places = [...methods, ...routes, ...card, ...callers, ...rules, ...selectors, ...correlations, ...injections]
  return [...places, ...attributes, ...metrics].flatMap(({ path, schema }) => schemaFaults(path, schema))
}

/** @param access as read, and its place in the file */
export function accessSchemaFaults (access: unknown, root: SchemaFault['path']): SchemaFault[] {
  const entries = ['allow', 'deny'].flatMap(key =>
    list(childOf(access, key)).flatMap((entry, index) =>
      ACCESS_PLACES.flatMap(place => schemaFaults([...root, key, index, ...place], resolveSteps(entry, place)))
    )
  )
  return [...entries, ...schemaFaults([...root, ...SHARED], resolveSteps(access, SHARED))]
}

/** @param schema as read. The configuration's own schema rejects a value whose type is not that of a schema */
export function schemaFaults (path: SchemaFault['path'], schema: unknown): SchemaFault[] {
  if (typeof schema !== 'boolean' && !isObject(schema)) return []
  if (isSchemaRef(schema)) {
    const result = compileRef(schema)
    if (!result.ok) return [placed(path, result.problem.pointer, result.problem.message)]
    return [...schema.set.documents.values()].filter(({ authored }) => authored).flatMap(({ file, schema: document }) =>
      mistakesIn(document).map(({ pointer, message, hint }) => ({ ...placed(path, `${file}#${pointer}`, message), hint }))
    )
  }
  if (isFromCard(schema as SchemaSource) || isEnumFromCard(schema as SchemaSource)) return []
  const result = compileShared(schema)
  if (!result.ok) {
    const { problem } = result
    return [problem, ...problem.others ?? []].map(({ pointer, message }) => ({ path, pointer, message }))
  }
  // The checks of rules report a source that is written wrongly.
  return isObject(schema) && SOURCES.some(key => key in schema) ? [] : mistakesIn(schema).map(mistake => ({ path, ...mistake }))
}

/** @param place file and pointer, as `compileRef` reports them. The place in an inline schema becomes a pointer */
function placed (path: SchemaFault['path'], place: string, message: string): SchemaFault {
  const inline = `${INLINE_NAME}#`
  return place.startsWith(inline)
    ? { path, pointer: place.slice(inline.length), message }
    : { path, pointer: '', message: `${place}: ${message}` }
}

const SOURCES: readonly string[] = ['file', 'ref', 'fromCard', 'enumFromCard']

/** @returns one sentence per schema that cannot be used, with the place in it */
export function inlineSchemaProblems ({
  extensions,
  agents
}: {
  readonly extensions: Config['extensions']
  readonly agents: readonly { readonly name: string; readonly policies: readonly ResolvedPolicy[] }[]
}): string[] {
  return [
    ...Object.entries(extensions).flatMap(([name, policy]) => sentences(memberPath('extensions', name), policySchemaFaults(policy))),
    ...agents.flatMap(agent =>
      agent.policies
        .filter(({ layers }) => layers.includes('agent'))
        .flatMap(resolved =>
          sentences(`agent ${agent.name}: ${memberPath('extensions', resolved.name)}`, policySchemaFaults(overlaid(resolved)))
        )
    )
  ]
}

/** Returns the parts of a policy from the agent's own layer. The other parts are checked where they are defined. */
function overlaid ({ policy, from }: ResolvedPolicy): object {
  const whole = Object.entries(policy).filter(([key]) => from[key] === 'agent')
  return {
    ...Object.fromEntries(whole),
    card: Object.fromEntries(Object.entries(policy.card ?? {}).filter(([key]) => from[`card.${key}`] === 'agent')),
    methods: Object.fromEntries(Object.entries(policy.methods ?? {}).filter(([method]) => from[`methods.${method}`] === 'agent'))
  }
}

function sentences (root: string, faults: readonly SchemaFault[]): string[] {
  return faults.map(({ path, pointer, message, hint }) => {
    const place = path.reduce<string>((text, step) => typeof step === 'number' ? `${text}[${step}]` : memberPath(text, step), root)
    return `${place} cannot be used: ${pointer === '' ? '' : `${pointer}: `}${message}${hint === undefined ? '' : ` (${hint})`}`
  })
}

const CONDITIONS: readonly (readonly string[])[] = ['when', 'unless'].flatMap(side => [[side, 'match'], [side, 'caller', 'match']])
const SHARED = ['tasks', 'shared', 'match']
const ACCESS_PLACES: readonly (readonly string[])[] = [['caller', 'match'], ['when', 'match'], ['unless', 'match']]
/** Places in a rule that may hold a schema. */
const PLACES: readonly (readonly string[])[] = [
  ['schema'], ['select', 'part', 'match'], ...CONDITIONS,
  ...[['schema'], ['select', 'part', 'match'], ['caller', 'match']].map(place => ['pause', 'evidence', ...place]), ['pause', 'declined']
]

const MATCH: readonly string[] = ['part', 'match']
const STATE_SELECTORS: readonly string[] = ['from', 'key', 'monotonic']
const CORRELATION_PLACES: readonly (readonly string[])[] = [['remember', 'select', ...MATCH], ['check', 'select', ...MATCH], ...CONDITIONS]
const METRIC_PLACES: readonly (readonly string[])[] = [['from', ...MATCH], ['by', 'from', ...MATCH]]

function list (value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function entries (value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : []
}
