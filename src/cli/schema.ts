import { schemaText } from '#config/schema/schema.js'
import { testsSchemaText } from '#offline/policy-test/test-schema.js'

/**
 * `a2a-gateway schema`: prints the JSON Schema of the configuration, or with `--tests` of policy test files.
 * @returns exit code, always 0
 */
export function runSchema (io: { readonly out: (text: string) => void }, { tests = false } = {}): number {
  io.out(tests ? testsSchemaText() : schemaText())
  return 0
}
