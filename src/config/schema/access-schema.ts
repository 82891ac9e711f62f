/** `access`: what callers may do with an agent. */
import { section } from './schema-kit.js'
import { taskOwnershipSchema } from './task-ownership-schema.js'

export const accessSchema = section('What callers may do. Needs `identity`.', {
  tasks: taskOwnershipSchema
})
