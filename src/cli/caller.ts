/** Reads the value of `--caller`. */
import { didYouMean } from '#config/diagnostics.js'
import { readText } from '#config/load.js'
import type { Config } from '#config/model/model.js'
import { validatorFor } from '#config/validate.js'
import { readYaml } from '#config/yaml/document.js'
import type { Principal } from '#identity/principal.js'
import type { CallerSpec } from '#offline/caller.js'
import { callerSpec, principalOf, sourcesOf } from '#offline/caller.js'
import { CannotExplain } from '#offline/explain/cannot-explain.js'

/**
 * @param given JSON, or the name of a JSON or YAML file
 * @throws {CannotExplain} for a value that describes no caller
 */
export function readCaller (given: string, config: Config): Principal {
  const inline = given.trimStart().startsWith('{')
  const content = inline ? { text: given } : readText(given)
  const fail = (message: string): never => {
    throw new CannotExplain(`--caller${inline ? '' : ` ${given}`}: ${message}`)
  }
  if ('message' in content) return fail(content.message)
  const { readable, root, problems } = readYaml(content.text, null)
  const [first] = problems
  if (first !== undefined) return fail(first.message)
  if (!readable || root === null || root.value === null) return fail('it is empty')
  const [problem] = validatorFor(callerSpec('The caller.'), 'the caller', 'tests')(root.value)
  if (problem !== undefined) return fail(`${problem.message}${problem.hint === undefined ? '' : ` (${problem.hint})`}`)
  const spec = root.value as CallerSpec
  const sources = sourcesOf(config)
  if (spec.source !== undefined && config.identity !== null && !sources.includes(spec.source)) {
    const hint = didYouMean(spec.source, sources) ?? `its sources: ${sources.join(', ')}`
    return fail(`the configuration has no source "${spec.source}" (${hint})`)
  }
  return principalOf(spec, sources)
}
