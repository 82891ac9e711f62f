/** Describes one rule of a policy in words: its subject, its conditions, and its requirements. */
import { stringify } from 'yaml'
import type {
  ResponseSelectorConfig,
  ConditionConfig,
  ContentPlace,
  MetadataSelectorConfig,
  PartSelectorConfig,
  ResponseRuleConfig,
  RuleConfig,
  SelectorConfig
} from '#config/model/model.js'
import type { FreshnessConfig, UniqueConfig } from '#config/model/policy-model.js'

const code = (text: string): string => `\`${text}\``
const any = (texts: readonly string[]): string => texts.map(code).join(' or ')

export function yamlBlock (value: unknown): string {
  return `\`\`\`yaml\n${stringify(value, { lineWidth: 140 }).trimEnd()}\n\`\`\``
}

/** Describes a request rule in Markdown: a heading, sentences, and schemas as YAML. */
export function ruleWords (rule: RuleConfig, level = '###'): string {
  const { on, select, error, verdict = 'reject', onUnknown } = rule
  return words(rule, level, 'request', `Selects ${selected(select)}${on === undefined ? '' : `, in ${any(on)}`}.`, [
    ...onUnknown === 'reject' ? ['If the state of the task is unknown, the rule applies.'] : [],
    consequence(verdict, error)
  ])
}

/** Describes a response rule in the same way. */
export function responseRuleWords (rule: ResponseRuleConfig, level = '###'): string {
  const { on, select, error, verdict = 'warn', chunked } = rule
  return words(rule, level, 'result', `Selects ${answered(select)}${on === undefined ? '' : `, in responses to ${any(on)}`}.`, [
    ...(chunked === false ? ['It also applies to data that a stream appends to an artifact.'] : []),
    ...(verdict === 'reject'
      ? [`Otherwise the response is rejected${error?.reason === undefined ? '' : `, reason ${code(error.reason)}`}.${reads(error)}`]
      : [consequence(verdict, error)])
  ])
}

function words (
  rule: RuleConfig | ResponseRuleConfig,
  level: string,
  subject: 'request' | 'result',
  looks: string,
  ends: readonly string[]
): string {
  const { id, select, when, unless, schema } = rule
  const lines = [`${level} ${id}`, '', looks, ...condition('Applies if', when, subject), ...condition('Does not apply if', unless, subject)]
  const count = countWords(rule)
  if (count !== null) lines.push('', count)
  if (rule.notOlderThan !== undefined) lines.push('', freshnessWords(rule.notOlderThan))
  if ('unique' in rule && rule.unique !== undefined) lines.push('', uniqueWords(rule.unique))
  const source = sourceWords(schema)
  if (source !== null) lines.push('', source)
  if (select.part?.match !== undefined) lines.push('', 'Only parts that match:', '', yamlBlock(select.part.match))
  return [...lines, ...ends.flatMap(end => ['', end])].join('\n')
}

const EVENTS = {
  first: 'the first result of a response',
  terminal: 'each result that is a message or ends its task',
  last: 'the last result of a response'
}

function answered ({ part, metadata, event, result }: ResponseSelectorConfig): string {
  if (result !== undefined) return result === '' ? 'the result' : `${code(result)} in the result`
  if (event !== undefined) return EVENTS[event]
  if (metadata !== undefined) return metadataWords(metadata, ANSWER_HOLDERS)
  const places = part?.in ?? ANSWER_CONTENTS
  return `${partWords(part ?? {})} of ${places.map(place => PLACES[place]).join(' or ')}`
}

const ANSWER_CONTENTS: readonly ContentPlace[] = ['message', 'status', 'artifact']
const ANSWER_HOLDERS: NonNullable<MetadataSelectorConfig['in']> = [...ANSWER_CONTENTS, 'task', 'event']

function selected ({ part, metadata, header, pointer }: SelectorConfig): string {
  if (metadata !== undefined) return metadataWords(metadata)
  if (header !== undefined) return `the request header ${code(header)}`
  if (pointer !== undefined) return `${code(pointer)} of the request`
  return partWords(part ?? {})
}

const PLACES = {
  message: 'the message',
  params: 'the request',
  part: 'each part',
  status: 'the status message',
  task: 'the task',
  artifact: 'each artifact',
  event: 'the update'
}

function metadataWords (
  { in: places, key, path, equals }: MetadataSelectorConfig,
  initial: NonNullable<MetadataSelectorConfig['in']> = ['message', 'params']
): string {
  const where = `${code(key)} in the metadata of ${(places ?? initial).map(place => PLACES[place]).join(' or ')}`
  return `${path === undefined ? '' : `${code(path)} in `}${where}${equals === undefined ? '' : `, if it is ${code(String(equals))}`}`
}

function partWords ({ data, mediaType, dataKey, where, path, take, captures }: PartSelectorConfig): string {
  const kind = `${take === 'first' ? 'the first of the' : 'the'} ${data === true ? 'data parts' : 'parts'}`
  const typed = mediaType === undefined ? kind : `${kind} of media type ${any(typeof mediaType === 'string' ? [mediaType] : mediaType)}`
  const known = where === undefined ? typed : `${typed} whose data has ${code(JSON.stringify(where.equals))} at ${code(where.path)}`
  const keyed = dataKey === undefined ? known : `${code(dataKey)} in the data of ${known}`
  const all = path === undefined ? keyed : `${code(path)} in ${dataKey === undefined ? `the data of ${keyed}` : keyed}`
  if (captures === undefined) return all
  return `${all}, with ${Object.entries(captures).map(([name, pointer]) => `${code(name)} from ${code(pointer)}`).join(', ')}`
}

function condition (begin: string, config: ConditionConfig | undefined, subject: string): string[] {
  if (config === undefined) return []
  const { taskId, contextId, listed, active, taskState, requestMatched, match } = config
  const parts = [
    ...taskId === undefined ? [] : [`the message names ${taskId === 'present' ? 'a' : 'no'} task`],
    ...contextId === undefined ? [] : [`the message names ${contextId === 'present' ? 'a' : 'no'} context`],
    ...listed === undefined ? [] : [`the message ${listed ? 'lists' : 'does not list'} the extension in ${code('message.extensions')}`],
    ...active === undefined ? [] : [`the extension ${code(active)} is active`],
    ...taskState === undefined ? [] : [`the task is ${any(taskState)}`],
    ...requestMatched === undefined ? [] : [`the rule ${code(requestMatched)} selected something in the request`],
    ...match === undefined ? [] : [`the ${subject} matches`]
  ]
  const sentence = `${begin} ${parts.join(', and ')}`
  return match === undefined ? ['', `${sentence}.`] : ['', `${sentence}:`, '', yamlBlock(match)]
}

function countWords ({ count, required }: Pick<RuleConfig, 'count' | 'required'>): string | null {
  if (count === undefined && required !== true) return null
  const { min = required === true ? 1 : undefined, max } = count ?? {}
  if (max === 0) return 'There must be no such value.'
  if (min === max) return `There must be exactly ${min}.`
  const bounds = [...min === undefined ? [] : [`at least ${min}`], ...max === undefined ? [] : [`at most ${max}`]]
  return `There must be ${bounds.join(' and ')}.`
}

function uniqueWords ({ window, onUnknown }: UniqueConfig): string {
  const unknown = onUnknown === 'allow' ? ' If the gateway cannot tell, the value passes.' : ''
  return `None may have been accepted within ${window} before.${unknown}`
}

function freshnessWords ({ age, time, ttl, expires }: FreshnessConfig): string {
  const ends = [
    ...age === undefined ? [] : [`${age} after it`],
    ...ttl === undefined ? [] : [`after the seconds at ${code(ttl)}`],
    ...expires === undefined ? [] : [`at ${code(expires)}`]
  ]
  const from = time !== undefined ? `the time at ${code(time)}` : 'the time that the value is'
  const counts = age === undefined && ttl === undefined && time === undefined ? '' : ` It counts from ${from}.`
  return `Each must be fresh.${counts} It ends ${ends.join(', or ')}.`
}

function sourceWords (schema: RuleConfig['schema']): string | null {
  if (schema === undefined) return null
  if (schema === true) return 'Any value is valid.'
  return `Each must match:\n\n${yamlBlock(schema)}`
}

function consequence (verdict: string, error: RuleConfig['error']): string {
  const { class: kind = 'invalid', undeclared, reason } = error ?? {}
  if (verdict !== 'reject') return `Otherwise: ${code(verdict)}.${reads(error)}`
  const undefinedSchema = undeclared === undefined ? '' : `; if the card has no such schema, as ${code(undeclared)}`
  return `Otherwise the request is rejected as ${code(kind)}${reason === undefined ? '' : `, reason ${code(reason)}`}${undefinedSchema}.${reads(error)}`
}

function reads (error: RuleConfig['error']): string {
  return error?.message === undefined ? '' : ` Message: ${error.message}.`
}
