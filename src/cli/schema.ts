import { schemaText } from '../config/schema/schema.js'

/**
 * `a2a-gateway schema`: prints the JSON Schema of the configuration.
 * @returns exit code, always 0
 */
export function runSchema (io: { readonly out: (text: string) => void }): number {
  io.out(schemaText())
  return 0
}
