/** `a2a-gateway help`: a command, the reason of a rejection, a page of the documentation, or a key of the configuration. */
import { REASONS } from '#a2a/errors.js'
import type { Reason } from '#a2a/errors.js'
import { grpcCodeName, REASON_HELP, reasonExamples, TOPICS } from '#a2a/reason-help.js'
import { grpcStatusOf } from '#a2a/grpc/status.js'
import { readManual } from '#server/admin/manual.js'
import { configSchema } from '#config/schema/schema.js'
import { isObject } from '#wire/json/object.js'
import { nearest } from '#wire/nearest.js'
import type { ErrorCode } from '#operator-errors.js'
import { ERROR_HELP } from '#operator-errors.js'
import { UsageError } from './command-line/arguments.js'
import { COMMANDS } from './commands.js'
import { usage } from './usage.js'

/** Words that list the names that `help` knows. */
const LISTS = ['topics', 'reasons']

/** @throws {UsageError} for a name that is none of these */
export function helpText (name: string): string {
  if (Object.hasOwn(COMMANDS, name)) return usage(name)
  if (name === 'topics') {
    return [
      'Pages of the documentation, for a2a-gateway help TOPIC:', '', ...Object.keys(TOPICS).map(topic => `  ${topic}`)
    ].join('\n')
  }
  if (name === 'reasons') {
    return [
      'Reasons of rejections, for a2a-gateway help REASON:', '', ...Object.keys(REASONS).map(reason => `  ${reason}`)
    ].join('\n')
  }
  const reason = name.toUpperCase().replaceAll('-', '_')
  if (Object.hasOwn(REASONS, reason)) return reasonText(reason as Reason)
  if (Object.hasOwn(ERROR_HELP, reason)) return codeText(reason as ErrorCode)
  if (Object.hasOwn(TOPICS, name)) return readManual().pages[readManual().topics[name] ?? '']?.text.trimEnd() ?? ''
  const key = keyText(name)
  if (key !== null) return key
  const near = nearest(name, [...Object.keys(COMMANDS), ...Object.keys(TOPICS), ...LISTS]) ??
    nearest(reason, [...Object.keys(REASONS), ...Object.keys(ERROR_HELP)])
  const hint = near === null ? '' : ` did you mean "${near}"?`
  throw new UsageError(
    `"${name}" is no command, reason, topic or key of the configuration;${hint} a2a-gateway help topics and a2a-gateway help reasons ` +
      'list the names (a2a-gateway --help)'
  )
}

function codeText (code: ErrorCode): string {
  const { cause, fix } = ERROR_HELP[code]
  return [code, '', `Cause  ${cause}`, `Fix    ${fix}`, '', 'See  a2a-gateway help operator-errors'].join('\n')
}

function reasonText (reason: Reason): string {
  const { rpc, http, status, infrastructure } = REASONS[reason]
  const { cause, client, operator, see } = REASON_HELP[reason]
  const { code } = grpcStatusOf({ reason, message: '', rule: '' })
  return [
    reason,
    '',
    `  JSON-RPC   ${rpc}, HTTP ${infrastructure ? http : 200}`,
    `  HTTP+JSON  ${http} ${status}`,
    `  gRPC       ${code} ${grpcCodeName(code)}`,
    '',
    `Cause     ${cause}`,
    `Client    ${client}`,
    `Operator  ${operator}`,
    ...reasonExamples(reason).flatMap(([binding, text]) => ['', `Example over ${binding}`, ...text.split('\n').map(line => `  ${line}`)]),
    '',
    `See  ${see.map(topic => `a2a-gateway help ${topic}`).join(', ')}`
  ].join('\n')
}

/** Describes a key such as `server.grpc.listen` or `activation.required`. @returns null if there is no such key */
function keyText (name: string): string | null {
  const steps = name.split('.').map(step => step.replace(/\[\d*\]$/, ''))
  const { $defs = {} } = configSchema as { readonly $defs?: Readonly<Record<string, unknown>> }
  const entries = [
    configSchema, $defs.policy, memberOf(configSchema, 'agents', $defs)
  ].map(root => steps.reduce<unknown>((schema, step) => memberOf(schema, step, $defs), root))
    .find(schema => isObject(schema))
  if (entries === undefined || !isObject(entries)) return null
  const { description, type, enum: values, default: standard, properties } = entries
  return [
    name,
    '',
    `  ${typeof description === 'string' ? description : 'No description.'}`,
    '',
    ...(type === undefined ? [] : [`  Type     ${[type].flat().map(String).join(' or ')}`]),
    ...(Array.isArray(values) ? [`  Values   ${values.map(String).join(', ')}`] : []),
    ...(standard === undefined ? [] : [`  Default  ${JSON.stringify(standard)}`]),
    ...(isObject(properties) ? [`  Keys     ${Object.keys(properties).join(', ')}`] : [])
  ].join('\n')
}

/** The schema of a member, also of the items of a list and of entries whose names the operator chooses. */
function memberOf (schema: unknown, name: string, definitions: Readonly<Record<string, unknown>>): unknown {
  const target = isObject(schema) && typeof schema.$ref === 'string' ? definitions[schema.$ref.replace('#/$defs/', '')] : schema
  if (!isObject(target)) return undefined
  const { properties, items, additionalProperties } = target
  if (isObject(properties) && Object.hasOwn(properties, name)) return properties[name]
  if (isObject(items)) return memberOf(items, name, definitions)
  return isObject(additionalProperties) ? memberOf(additionalProperties, name, definitions) ?? undefined : undefined
}
