/** Reads the values of `--caller` and `--external`. */
import { didYouMean } from '#config/diagnostics.js'
import { readText } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { validatorFor } from '#config/validate.js'
import { readYaml } from '#config/yaml/document.js'
import type { Chain } from '#identity/chain.js'
import type { Principal } from '#identity/principal.js'
import type { Schema } from '#config/schema/schema-builder.js'
import type { RecordedAnswers } from '#offline/recorded-answers.js'
import { recordedAnswers } from '#offline/recorded-answers.js'
import type { CallerSpec } from '#offline/caller.js'
import { callerSpec, chainOf, principalOf, sourcesOf } from '#offline/caller.js'
import { CannotExplain } from '#offline/explain/cannot-explain.js'

/**
 * @param given JSON, or the name of a JSON or YAML file
 * @throws {CannotExplain} for a value that describes no caller
 */
export function readCaller (given: string, config: Config): { readonly caller: Principal, readonly chain: Chain | null } {
  const { value, fail } = readGiven(given, '--caller', callerSpec('The caller.'), 'the caller')
  const spec = value as CallerSpec
  const sources = sourcesOf(config)
  if (spec.source !== undefined && config.identity !== null && !sources.includes(spec.source)) {
    const hint = didYouMean(spec.source, sources) ?? `its sources: ${sources.join(', ')}`
    return fail(`the configuration has no source "${spec.source}" (${hint})`)
  }
  return { caller: principalOf(spec, sources), chain: chainOf(spec, sources) }
}

/**
 * @param given JSON, or the name of a JSON or YAML file
 * @returns the answers of policy servers, by name
 * @throws {CannotExplain} for a value that is not a list of answers
 */
export function readAnswers (given: string): RecordedAnswers {
  return readGiven(given, '--external', recordedAnswers, 'the answers').value as RecordedAnswers
}

function readGiven (
  given: string,
  flag: string,
  schema: Schema,
  what: string
): { readonly value: unknown, readonly fail: (message: string) => never } {
  const inline = given.trimStart().startsWith('{')
  const content = inline ? { text: given } : readText(given)
  const fail = (message: string): never => {
    throw new CannotExplain(`${flag}${inline ? '' : ` ${given}`}: ${message}`)
  }
  if ('message' in content) return fail(content.message)
  const { readable, root, problems } = readYaml(content.text, null)
  const [first] = problems
  if (first !== undefined) return fail(first.message)
  if (!readable || root === null || root.value === null) return fail('it is empty')
  const [problem] = validatorFor(schema, what, 'tests')(root.value)
  if (problem !== undefined) return fail(`${problem.message}${problem.hint === undefined ? '' : ` (${problem.hint})`}`)
  return { value: root.value, fail }
}
