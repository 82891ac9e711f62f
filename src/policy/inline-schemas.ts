/** Schemas written in the configuration itself must compile before the gateway starts; those of cards may fail one by one. */
import type { PolicyConfig } from '../config/model.js'
import { compileSchema } from './json-schema.js'
import { isFromCard } from './schema-source.js'

/** @returns one sentence per schema that cannot be used, with the place in it */
export function inlineSchemaProblems (policies: Readonly<Record<string, PolicyConfig>>): string[] {
  const problems: string[] = []
  for (const [name, policy] of Object.entries(policies)) {
    for (const [method, { params }] of Object.entries(policy.methods ?? {})) {
      if (params !== undefined) report(name, `method "${method}"`, 'schema of params', params, problems)
    }
    for (const [index, { when, unless }] of (policy.inject ?? []).entries()) {
      if (when?.match !== undefined) report(name, `inject[${index}]`, 'schema of when.match', when.match, problems)
      if (unless?.match !== undefined) report(name, `inject[${index}]`, 'schema of unless.match', unless.match, problems)
    }
    for (const rule of policy.request ?? []) {
      const schemas = [
        ['schema', rule.schema === undefined || isFromCard(rule.schema) ? undefined : rule.schema],
        ['schema of select.part.match', rule.select.part?.match],
        ['schema of when.match', rule.when?.match],
        ['schema of unless.match', rule.unless?.match]
      ] as const
      for (const [what, schema] of schemas) {
        if (schema === undefined) continue
        report(name, `rule "${rule.id}"`, what, schema, problems)
      }
    }
  }
  return problems
}

function report (policy: string, place: string, what: string, schema: unknown, problems: string[]): void {
  const result = compileSchema(schema)
  if (!result.ok) problems.push(`extensions.${policy}, ${place}: the ${what} cannot be used: ${result.problem.pointer === '' ? '' : `${result.problem.pointer}: `}${result.problem.message}`)
}
