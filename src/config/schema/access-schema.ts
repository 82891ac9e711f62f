/** `access`: who may call an agent, and what callers may do. */
import { requireSchema } from './require-schema.js'
import { section } from './schema-kit.js'

export const accessSchema = section('Who may call the agent, and what callers may do. Needs `identity`.', {
  require: requireSchema
})
