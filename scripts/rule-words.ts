/** One rule of a policy in words: what it looks at, when, and what must hold. */
import { stringify } from 'yaml'
import type { ConditionConfig, MetadataSelectorConfig, PartSelectorConfig, RuleConfig, SelectorConfig } from '../src/config/model.js'

const code = (text: string): string => `\`${text}\``
const any = (texts: readonly string[]): string => texts.map(code).join(' or ')

export function yamlBlock (value: unknown): string {
  return `\`\`\`yaml\n${stringify(value, { lineWidth: 140 }).trimEnd()}\n\`\`\``
}

/** Markdown: a heading, sentences, schemas as YAML. */
export function ruleWords (rule: RuleConfig, level = '###'): string {
  const { id, on, select, when, unless, schema, error, verdict } = rule
  const lines = [
    `${level} ${id}`,
    '',
    `Looks at ${selected(select)}${on === undefined ? '' : `, in ${any(on)}`}.`,
    ...condition('Applies where', when),
    ...condition('Does not apply where', unless)
  ]
  const count = countWords(rule)
  if (count !== null) lines.push('', count)
  const source = sourceWords(schema)
  if (source !== null) lines.push('', source)
  if (select.part?.match !== undefined) lines.push('', 'Parts are looked at that match:', '', yamlBlock(select.part.match))
  lines.push('', consequence(verdict, error))
  return lines.join('\n')
}

function selected ({ part, metadata, header, pointer }: SelectorConfig): string {
  if (metadata !== undefined) return metadataWords(metadata)
  if (header !== undefined) return `the request header ${code(header)}`
  if (pointer !== undefined) return `${code(pointer)} of the request`
  return partWords(part ?? {})
}

const PLACES = { message: 'the message', params: 'the request', part: 'each part', status: 'the status message', task: 'the task', artifact: 'each artifact', event: 'the update' }

function metadataWords ({ in: places = ['message'], key, path, equals }: MetadataSelectorConfig): string {
  const where = `${code(key)} in the metadata of ${places.map(place => PLACES[place]).join(' or ')}`
  return `${path === undefined ? '' : `${code(path)} in `}${where}${equals === undefined ? '' : `, where it is ${code(String(equals))}`}`
}

function partWords ({ data, mediaType, dataKey, take }: PartSelectorConfig): string {
  const kind = `${take === 'first' ? 'the first of the' : 'the'} ${data === true ? 'data parts' : 'parts'}`
  const typed = mediaType === undefined ? kind : `${kind} of media type ${any(typeof mediaType === 'string' ? [mediaType] : mediaType)}`
  return dataKey === undefined ? typed : `${code(dataKey)} in the data of ${typed}`
}

function condition (begin: string, config: ConditionConfig | undefined): string[] {
  if (config === undefined) return []
  const { taskId, contextId, listed, match } = config
  const parts = [
    ...taskId === undefined ? [] : [`the message names ${taskId === 'present' ? 'a' : 'no'} task`],
    ...contextId === undefined ? [] : [`the message names ${contextId === 'present' ? 'a' : 'no'} context`],
    ...listed === undefined ? [] : [`the message ${listed ? 'lists' : 'does not list'} the extension in ${code('message.extensions')}`],
    ...match === undefined ? [] : ['the request matches']
  ]
  const sentence = `${begin} ${parts.join(', and ')}`
  return match === undefined ? ['', `${sentence}.`] : ['', `${sentence}:`, '', yamlBlock(match)]
}

function countWords ({ count }: RuleConfig): string | null {
  if (count === undefined) return null
  const { min, max } = count
  if (max === 0) return 'There must be none.'
  if (min === max) return `There must be exactly ${min}.`
  const bounds = [...min === undefined ? [] : [`at least ${min}`], ...max === undefined ? [] : [`at most ${max}`]]
  return `There must be ${bounds.join(' and ')}.`
}

function sourceWords (schema: RuleConfig['schema']): string | null {
  if (schema === undefined) return null
  if (schema === true) return 'Any value is good.'
  return `Each must hold to:\n\n${yamlBlock(schema)}`
}

function consequence (verdict: string | undefined, error: RuleConfig['error']): string {
  const { class: kind = 'invalid', undeclared, reason, message } = error ?? {}
  if (verdict !== undefined && verdict !== 'reject') return `Otherwise: ${code(verdict)}.${message === undefined ? '' : ` It reads: ${message}.`}`
  const undefinedSchema = undeclared === undefined ? '' : `; where the card has no such schema, as ${code(undeclared)}`
  return `Otherwise it is refused as ${code(kind)}${reason === undefined ? '' : `, reason ${code(reason)}`}${undefinedSchema}.${message === undefined ? '' : ` It reads: ${message}.`}`
}
