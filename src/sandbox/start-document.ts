/**
 * Writes the document that the playground begins with: the keys of the agent that decide about requests, and the policies of the file, as
 * the file has them, with its comments. Variables stay variables, so that no value of the environment is shown.
 */
import { basename } from 'node:path'
import type { Node } from 'yaml'
import { Document, isMap, isSeq, Pair, parseDocument, Scalar, stringify, visit, YAMLMap, YAMLSeq } from 'yaml'
import { AGENT_KEYS } from '#console/playground/document-keys.js'
import type { SandboxAgent } from '#console/playground/tasks.js'
import { readText } from '#config/load.js'
import type { AgentConfig } from '#config/model/model.js'
import { agentIn } from './sandbox-agent.js'

/** Keys that the document always has, because they are what people change. */
const DEFAULT_KEYS = ['mode', 'responses', 'extensions'] as const

/** @param file configuration file in force; null for none */
export function startDocument (sandboxAgent: SandboxAgent, file: string | null): string {
  const agent = agentIn(sandboxAgent)
  const source = file === null ? null : parsed(file)
  const sourceText = source === null ? null : written(source, agent, basename(file ?? ''))
  return sourceText ?? `${stringify({ agents: [Object.fromEntries([['name', agent.name], ...DEFAULT_KEYS.map(key => [key, agent[key]] as const)])] })}${HINT}`
}

const HINT = `
# Policies by name: changes of the catalogue's, or your own.
# extensions:
#   object-schemas: {mode: observe}
`

function parsed (file: string): Document.Parsed | null {
  const content = readText(file)
  if ('message' in content) return null
  const document = parseDocument(content.text, { schema: 'core', merge: false, uniqueKeys: false, logLevel: 'silent' })
  return document.errors.length === 0 ? document : null
}

/** @returns null when the file has no such agent, or is no longer valid */
function written (source: Document.Parsed, agent: AgentConfig, file: string): string | null {
  const agents = source.get('agents', true)
  if (!isSeq(agents)) return null
  const node = agents.items.find(item => isMap(item) && item.get('name') === agent.name)
  if (!isMap(node)) return null
  const wanted = new Set([...agent.extensions, ...Object.keys(agent.dependencies)])
  const policies = source.get('extensions', true)
  const own = isMap(policies) ? policies.items.filter(({ key }) => wanted.has(String(key))) : []
  const keys: ReadonlySet<string> = new Set(['name', ...AGENT_KEYS])
  const pairs = node.items.filter(({ key }) => keys.has(String(key)))
  const missing = DEFAULT_KEYS.filter(key => !node.has(key))
  const result = new Document<Node>({} as never)
  const list = new YAMLSeq()
  list.add(mapOf([...pairs, ...missing.map(key => result.createPair(key, agent[key]))]))
  result.contents = mapOf([
    new Pair(new Scalar('agents'), list),
    ...own.length === 0 ? [] : [new Pair(new Scalar('extensions'), mapOf(own))]
  ])
  result.commentBefore = ` The part of ${file} that decides about requests to ${agent.name}.\n Nothing that you write here takes effect.`
  const text = textOf(result, source)
  return text === null || own.length > 0 ? text : text + HINT
}

function mapOf (pairs: readonly unknown[]): YAMLMap {
  const map = new YAMLMap()
  map.items = pairs as YAMLMap['items']
  return map
}

/**
 * Writes values in the place of aliases, which may refer to a part of the file that the document does not have.
 * @returns null when an alias refers to nothing
 */
function textOf (result: Document<Node>, source: Document.Parsed): string | null {
  visit(result, {
    Alias: (_key, alias) => alias.resolve(source)?.clone() as Node | undefined,
    Value: (_key, node) => { delete node.anchor }
  })
  try {
    return result.toString({ lineWidth: 0, flowCollectionPadding: false })
  } catch {
    return null
  }
}
