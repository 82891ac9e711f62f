/** Schemas written in the configuration itself must compile before the gateway starts; those of cards may fail one by one. */
import type { Config, PolicyConfig, ResolvedPolicy } from '../config/model.js'
import { compileSchema } from './json-schema.js'
import { isFromCard } from './schema-source.js'

/** @returns one sentence per schema that cannot be used, with the place in it */
export function inlineSchemaProblems ({ extensions, agents }: { readonly extensions: Config['extensions'], readonly agents: readonly { readonly name: string, readonly policies: readonly ResolvedPolicy[] }[] }): string[] {
  const problems: string[] = []
  for (const [name, policy] of Object.entries(extensions)) checkPolicy(`extensions.${name}`, policy, problems)
  for (const agent of agents) {
    for (const resolved of agent.policies) if (resolved.layers.includes('agent')) checkPolicy(`agent ${agent.name}: extensions: ${resolved.name}`, overlaid(resolved), problems)
  }
  return problems
}

/** What the agent's own layer says: the rest is checked where it stands. */
function overlaid ({ policy, from }: ResolvedPolicy): PolicyConfig {
  return {
    ...(from.request === 'agent' && policy.request !== undefined ? { request: policy.request } : {}),
    methods: Object.fromEntries(Object.entries(policy.methods ?? {}).filter(([method]) => from[`methods.${method}`] === 'agent'))
  }
}

function checkPolicy (place: string, policy: PolicyConfig, problems: string[]): void {
  for (const [method, { params }] of Object.entries(policy.methods ?? {})) {
    if (params !== undefined) report(`${place}, method "${method}"`, 'schema of params', params, problems)
  }
  for (const rule of policy.request ?? []) {
    const schemas = [
      ['schema', rule.schema === undefined || isFromCard(rule.schema) ? undefined : rule.schema],
      ['schema of select.part.match', rule.select.part?.match],
      ['schema of when.match', rule.when?.match],
      ['schema of unless.match', rule.unless?.match]
    ] as const
    for (const [what, schema] of schemas) {
      if (schema !== undefined) report(`${place}, rule "${rule.id}"`, what, schema, problems)
    }
  }
}

function report (place: string, what: string, schema: unknown, problems: string[]): void {
  const result = compileSchema(schema)
  if (!result.ok) problems.push(`${place}: the ${what} cannot be used: ${result.problem.pointer === '' ? '' : `${result.problem.pointer}: `}${result.problem.message}`)
}
