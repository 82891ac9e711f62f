/** `explain` of a rejection: the rule that decided, where it stands, and how the client fixes the request. */
import { join, relative } from 'node:path'
import { stringify } from 'yaml'
import { visible } from '#a2a/fields.js'
import { readText } from '#config/load.js'
import type { Config, Layer, ResolvedPolicy } from '#config/model/model.js'
import { isCatalogued } from '#config/model/model.js'
import { originsOf } from '#config/origins.js'
import { packageRoot } from '#config/paths.js'
import { readYaml } from '#config/yaml/document.js'
import type { PastedRejection } from '#offline/explain/pasted-rejection.js'
import { field } from '#offline/text-lines.js'
import { modeOf } from '#policy/compile/identity.js'
import { isSchemaRef } from '#policy/compile/schema-source.js'
import { parseJson } from '#wire/json/parse-json.js'

/** A rule of the configuration. */
export interface RuleFound {
  readonly agent: string
  readonly policy: string
  readonly mode: string
  /** `file:line`. Null when the position is not known. */
  readonly at: string | null
  /** The rule as YAML. Null for the checks that every policy has, such as `required`. */
  readonly definition: string | null
}

const LENGTH = 4_000
const SOURCES = { error: 'the error of a client', decision: 'a decision of the console', audit: 'an audit line' }
/** Checks that every policy has, by the id in rejections. */
const BUILT_IN: Readonly<Record<string, string>> = {
  required: 'the extension is required: by the card of the agent, or by activation.required of its policy',
  requires: 'the extension needs another one: activation.requires of its policy',
  inactive: 'the request has data of an extension that it does not activate: inactive.request of its policy',
  callers: 'the caller may not use the extension: activation.callers of its policy'
}

/**
 * Finds the rule that decided.
 * @param agent name of the agent, from the command line; default: the agent that the rejection names, else every agent
 */
export function findRule ({ agent: recorded, extension, rule }: PastedRejection, config: Config, agent: string | null): RuleFound | null {
  const wanted = agent ?? recorded
  for (const [index, { name, mode, policies }] of config.agents.entries()) {
    if (wanted !== null && name !== wanted) continue
    const position = policies.findIndex(({ name, policy: { uri, aliases = [] } }) =>
      name === extension || uri === extension || aliases.some(alias => alias.uri === extension))
    const resolved = policies[position]
    if (resolved === undefined) continue
    return { agent: name, policy: resolved.name, mode: modeOf(mode, resolved.policy), ...ruleIn(resolved, rule, config, [index, position]) }
  }
  return null
}

const LISTS = ['request', 'response', 'correlate'] as const

function ruleIn (
  { name, policy, from }: ResolvedPolicy,
  id: string | null,
  config: Config,
  [agent, position]: [number, number]
): Pick<RuleFound, 'at' | 'definition'> {
  for (const list of LISTS) {
    const index = policy[list]?.findIndex(rule => rule.id === id) ?? -1
    if (index < 0) continue
    const layer = from[list]
    const steps = [list, index]
    return {
      at: isCatalogued(layer)
        ? policyLine(join(directoryOf(layer, config), `${name}.yaml`), steps)
        : lineOf(config, layer === 'agent' ? ['agents', agent, 'extensions', position, name, ...steps] : ['extensions', name, ...steps]),
      definition: yamlOf(policy[list]?.[index])
    }
  }
  return { at: lineOf(config, ['extensions', name]) ?? lineOf(config, ['agents', agent, 'extensions', position]), definition: null }
}

function lineOf (config: Config, path: readonly (string | number)[]): string | null {
  const origins = originsOf(config)
  const line = origins?.lineOf(path) ?? null
  return origins === null || line === null ? null : `${origins.file}:${line}`
}

/** The directory of the layer's files, one for each policy. */
function directoryOf (layer: Layer | undefined, { policyDirectory }: Config): string {
  return layer === 'directory' && policyDirectory !== null ? policyDirectory : join(packageRoot(), 'config', 'extensions')
}

function policyLine (file: string, steps: readonly (string | number)[]): string {
  const read = readText(file)
  const yaml = 'text' in read ? readYaml(read.text, null) : null
  let node = yaml?.root ?? null
  for (const step of steps) node = node?.children.get(String(step)) ?? null
  const shown = relative('.', file).startsWith('..') ? file : relative('.', file)
  return yaml === null || node === null ? shown : `${shown}:${yaml.position(node.offset).line}`
}

function yamlOf (rule: unknown): string {
  const plain = JSON.stringify(rule, (_key, inner: unknown) => isSchemaRef(inner) ? { ref: inner.ref } : inner)
  return stringify(parseJson(plain), { lineWidth: 0, indentSeq: false }).trimEnd().slice(0, LENGTH)
}

/**
 * @param ruleFound null: the configuration has no such policy, or there is no configuration
 * @param configured true when there is a configuration
 */
export function rejectionText (pastedRejection: PastedRejection, ruleFound: RuleFound | null, configured: boolean): string {
  const { source, decision, agent, call, extension, rule, reason, message, violations, missingExtensions, ids } = pastedRejection
  const by = rule === null ? '' : `, by the rule ${visible(`${ruleFound?.policy ?? extension ?? '?'}/${rule}`, LENGTH)}`
  const builtIn = rule !== null && Object.hasOwn(BUILT_IN, rule) ? BUILT_IN[rule] : undefined
  const fixes = [
    ...(missingExtensions.length === 0 ? [] : [`send the header "A2A-Extensions: ${visible(missingExtensions.join(','), LENGTH)}"`]),
    ...(violations.length === 0 && message !== null && missingExtensions.length === 0 ? [visible(message, LENGTH)] : []),
    ...violations.filter(({ path }) => !/^header (?:x-)?a2a-extensions$/i.test(path)).map(violation => visible(
      `${violation.path}: ${violation.message}`, LENGTH
    ))
  ]
  return [
    field('from', SOURCES[source]),
    ...(call === null ? [] : [field('call', visible(call, LENGTH))]),
    ...(agent === null && ruleFound === null ? [] : [field('agent', visible(agent ?? ruleFound?.agent ?? '', LENGTH))]),
    field('decision', decision === 'failed'
      ? 'not by a rule: the agent, or the way to it, failed'
      : `${decision}${by}${reason === null ? '' : ` (${visible(reason, LENGTH)})`}`),
    ...(message === null ? [] : [field('message', visible(message, LENGTH))]),
    ...(ruleFound === null && rule !== null
      ? [field('rule', configured ? 'the configuration has no such policy' : 'with --config FILE, this shows where the rule is')]
      : []),
    ...(ruleFound === null
      ? []
      : [field('rule', `${ruleFound.at ?? 'a position that is not known'}, policy ${ruleFound.policy}, mode ` +
      `${ruleFound.mode}`)]),
    ...(ruleFound?.definition?.split('\n').map(line => `           ${visible(line, LENGTH)}`) ?? []),
    ...(builtIn === undefined ? [] : [field('', builtIn)]),
    ...(decision === 'failed' || fixes.length === 0 ? [] : ['', 'to fix in the request', ...fixes.map(fix => `  ${fix}`)]),
    ...(Object.keys(ids).length === 0
      ? []
      : ['', 'more in the log and in traces', ...Object.entries(ids).map(([name, id]) => `  ${name} ${visible(id, LENGTH)}`)]),
    ''
  ].join('\n')
}
