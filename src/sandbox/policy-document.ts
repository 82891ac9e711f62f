/**
 * Reads the document of the playground: the part of a configuration file that decides about requests. Everything else stays as it is in
 * force. Nothing outside of the document and the configuration in force is read: no file, and no variable of the environment.
 */
import type { Diagnostic, PathProblem } from '#config/diagnostics.js'
import { diagnostic, formatValue, sortDiagnostics } from '#config/diagnostics.js'
import { loadCatalogue, loadValue } from '#config/load.js'
import type { AgentConfig, Config, PolicyConfig, ResolvedPolicy, SchemaSet } from '#config/model/model.js'
import { SchemaFiles } from '#config/schema-files.js'
import type { ReadSchema } from '#config/schema-files.js'
import { CONFIG_VERSION } from '#config/schema/schema.js'
import { listedNames } from '#config/layers.js'
import { locate, readYaml } from '#config/yaml/document.js'
import { problemAt, items, mapping } from '#config/yaml/values.js'
import type { Mapping } from '#config/yaml/values.js'
import { AGENT_KEYS, ROOT_KEYS } from '#console/playground/document-keys.js'
import { CHECKS } from '#offline/configuration.js'
import { isSchemaRef } from '#policy/compile/schema-source.js'

/** Name of the document in diagnostics. */
const DOCUMENT = 'policy'

const KNOWN_AGENT_KEYS: ReadonlySet<string> = new Set(['name', ...AGENT_KEYS])

/** The agent as the document changes it; null when the document cannot be used. */
export interface ReadPolicy {
  readonly agent: AgentConfig | null
  readonly problems: readonly Diagnostic[]
  readonly warnings: readonly Diagnostic[]
}

/**
 * Reads a document.
 * @param config configuration in force
 * @param agent agent of that configuration
 */
export function readPolicyDocument (text: string, config: Config, agent: AgentConfig): ReadPolicy {
  const yaml = readYaml(text, {})
  const at = (offset: number, problem: Pick<Diagnostic, 'message' | 'hint' | 'code'>): Diagnostic => {
    const { line, col } = yaml.position(offset)
    return diagnostic(DOCUMENT, line, col, problem)
  }
  const place = (problem: PathProblem): Diagnostic => at(locate(yaml.root, problem.path, problem.at), problem)
  const problems = yaml.problems.map(({ offset, ...problem }) =>
    at(offset, NO_VARIABLE.test(problem.message) ? { ...problem, ...withDefault(problem) } : problem))
  if (!yaml.readable) return { agent: null, problems: sortDiagnostics(problems), warnings: [] }
  const root = yaml.root?.value ?? {}
  if (typeof root !== 'object' || Array.isArray(root)) {
    problems.push(at(0, { message: 'the document must be a mapping', hint: 'with the keys extensions and agents' }))
    return { agent: null, problems, warnings: [] }
  }
  const loaded = loadValue(wholeOf(mapping(root), config, agent), {
    baseDir: '/',
    env: null,
    place,
    catalogue: { ...loadCatalogue(), ...config.extensions },
    checks: CHECKS,
    found: problems,
    schemas: new SchemaFiles('/', knownFiles(config), config.bundles)
  })
  const unused = unusedKeys(mapping(root), agent.name).map(place)
  if (!loaded.ok) return { agent: null, problems: loaded.problems, warnings: unused }
  const warnings = sortDiagnostics([...loaded.warnings, ...unused])
  return { agent: changedAgent(agent, mapping(root), loaded.config), problems: [], warnings }
}

const NO_VARIABLE = /^environment variable \w+ is not set$/

function withDefault (problem: { readonly message: string }): { readonly message: string, readonly hint: string } {
  // eslint-disable-next-line no-template-curly-in-string
  return { ...problem, hint: 'the playground does not read the environment of the gateway; write the value, or ${NAME:-value}' }
}

/** Address of the agents in the configuration that is checked. */
const UPSTREAM = 'http://agent.invalid'

/** Makes a whole configuration of a document. Keys that the document may not have are left out, and reported elsewhere. */
function wholeOf ({ version, extensions, agents }: Mapping, config: Config, agent: AgentConfig): Mapping {
  const entries = items(agents)
  const { from: _directory, ...policies } = mapping(extensions)
  const listed = agents === undefined
    ? [agentOf({ name: agent.name }, 0, agent, policies)]
    : agents !== null && !Array.isArray(agents) ? agents : entries.map((entry, i) => agentOf(entry, i, agent, policies))
  return {
    version: version === undefined ? CONFIG_VERSION : version,
    agents: Array.isArray(listed) && listed.length === 0 ? [agentOf({ name: agent.name }, 0, agent, policies)] : listed,
    ...(extensions === undefined || extensions === null
      ? {}
      : { extensions: typeof extensions === 'object' && !Array.isArray(extensions) ? policies : extensions }),
    ...(config.identity === null ? {} : { identity: { sources: Object.fromEntries(Object.keys(config.identity.sources).map(sourceOf)) } })
  }
}

/** A source of callers that is valid and never used: conditions of policies name sources. */
function sourceOf (name: string): [string, Mapping] {
  return [name, { jwt: { issuer: `https://${name}.invalid`, audience: ['playground'], keys: 'discover' } }]
}

const SETTINGS = AGENT_KEYS.filter(key => key !== 'extensions')

/** An agent of the document, with its settings in force where the document has none. */
function agentOf (value: unknown, index: number, agent: AgentConfig, policies: Mapping): unknown {
  const settings = mapping(value)
  if (Object.keys(settings).length === 0) return value
  return {
    ...(settings.name === agent.name ? Object.fromEntries(SETTINGS.map(key => [key, agent[key]])) : {}),
    ...Object.fromEntries(Object.entries(settings).filter(([key]) => KNOWN_AGENT_KEYS.has(key))),
    ...(settings.extensions === undefined ? { extensions: settings.name === agent.name ? [...listOf(agent, policies)] : [] } : {}),
    upstream: { url: UPSTREAM },
    path: `/playground/${index}`
  }
}

/** The list of the agent in force, and the policies that the document adds. */
function listOf (agent: AgentConfig, policies: Mapping): ReadonlySet<string> {
  return new Set([...agent.extensions, ...Object.keys(policies)])
}

/** Reports keys of a configuration file that the playground does not use. Unknown keys inside policies are errors. */
function unusedKeys (root: Mapping, name: string): PathProblem[] {
  const hint = 'the playground uses extensions and, of agents, name and the keys about policies; all other settings stay unchanged'
  const unused = (path: readonly (string | number)[], message: string): PathProblem => problemAt(path, message, hint, 'key')
  const agents = items(root.agents)
  return [
    ...Object.keys(root).filter(key => !ROOT_KEYS.includes(key)).map(key => unused([key], `${formatValue(key)} is not used here`)),
    ...(Object.hasOwn(mapping(root.extensions), 'from') ? [unused(['extensions', 'from'], `${formatValue('from')} is not used here`)] : []),
    ...agents.flatMap((agent, i) => Object.keys(mapping(agent))
      .filter(key => !KNOWN_AGENT_KEYS.has(key))
      .map(key => unused(['agents', i, key], `${formatValue(key)} is not used here`))),
    ...(agents.length === 0 || agents.some(agent => mapping(agent).name === name)
      ? []
      : [problemAt(
          ['agents'], `the document does not name the agent ${name}`, `its settings stay unchanged; write "- name: ${name}" to change them`,
          'key'
        )])
  ]
}

/** The agent in force with the keys and the policies of the document. */
function changedAgent (agent: AgentConfig, root: Mapping, { agents }: Config): AgentConfig {
  const index = root.agents === undefined ? -1 : items(root.agents).findIndex(entry => mapping(entry).name === agent.name)
  const settings = index < 0 ? {} : mapping(items(root.agents)[index])
  const resolved = agents.find(({ name }) => name === agent.name)
  if (resolved === undefined) return agent
  const names = new Set(Object.keys(mapping(root.extensions)))
  for (const entry of items(settings.extensions)) if (typeof entry === 'object') for (const name of listedNames([entry])) names.add(name)
  const keys = AGENT_KEYS.filter(key => settings[key] !== undefined)
  const policies = resolved.policies.map(policy => mergedWith(policy, agent, names.has(policy.name), settings.extensions !== undefined))
  return {
    ...agent,
    ...Object.fromEntries(keys.map(key => [key, resolved[key]])),
    extensions: resolved.extensions,
    policies,
    dependencies: { ...resolved.dependencies, ...pickMissing(agent.dependencies, resolved) }
  }
}

/**
 * A policy that the document does not mention stays as it is in force. Where the document has no list, the agent's own keys of a changed
 * policy stay too.
 */
function mergedWith (resolved: ResolvedPolicy, agent: AgentConfig, changed: boolean, listed: boolean): ResolvedPolicy {
  const inForce = agent.policies.find(({ name }) => name === resolved.name)
  if (inForce === undefined) return resolved
  if (!changed) return inForce
  if (listed || !inForce.layers.includes('agent')) return resolved
  const own = Object.entries(inForce.from).filter(([, layer]) => layer === 'agent').map(([key]) => key)
  const policy: Record<string, unknown> = { ...resolved.policy }
  for (const name of own) {
    const [key = '', member] = name.split(/\.(.*)/s)
    const value = inForce.policy[key as keyof PolicyConfig]
    policy[key] = member === undefined ? value : { ...mapping(policy[key]), [member]: mapping(value)[member] }
  }
  return {
    ...resolved,
    policy: policy as PolicyConfig,
    layers: [...new Set([...resolved.layers, 'agent' as const])],
    from: { ...resolved.from, ...Object.fromEntries(own.map(name => [name, 'agent' as const])) }
  }
}

function pickMissing (dependencies: AgentConfig['dependencies'], agent: AgentConfig): AgentConfig['dependencies'] {
  const own = new Set([...agent.extensions, ...Object.keys(agent.dependencies)])
  return Object.fromEntries(Object.entries(dependencies).filter(([name]) => !own.has(name)))
}

/** Serves the schema files of the configuration in force by the names that it gives them, and no others. */
function knownFiles ({ agents, extensions }: Config): ReadSchema {
  const schemas = new Map<string, unknown>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if (isSchemaRef(value)) addDocuments(value.set, schemas)
    else for (const child of Object.values(value)) visit(child)
  }
  for (const { policies } of agents) for (const { policy } of policies) visit(policy)
  visit(extensions)
  return (_path, file) => schemas.has(file)
    ? { schema: schemas.get(file), bytes: 0 }
    : {
        message: `the playground reads no files, and the policies in force do not use ${formatValue(file)}`,
        hint: 'write the schema here'
      }
}

function addDocuments ({ documents }: SchemaSet, schemas: Map<string, unknown>): void {
  for (const [uri, { file, schema }] of documents) if (uri.startsWith('schema-file:')) schemas.set(file, schema)
}
