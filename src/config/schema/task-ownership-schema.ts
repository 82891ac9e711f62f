/** `access.tasks`: tasks belong to the callers who created them. */
import { caller } from './caller-schema.js'
import { choice, section } from './schema-builder.js'
import type { Schema } from './schema-builder.js'

const { default: _, ...keys } = section(
  'A task belongs to the caller who created it. The gateway rejects requests for the tasks of others as if the task did not exist. Needs `identity`. `null`: every caller may use every task.',
  {
    owner: choice(
      'The owner of a task, within one source: the `subject`, or the `client`, whose subjects then share their tasks. Tasks of a caller without a client belong to its subject.',
      ['subject', 'client'],
      'subject'
    ),
    contexts: choice(
      '`own`: a context belongs to the caller to whom the agent first returned it, and clients cannot choose the id of a new context. `any`: the gateway does not check contexts.',
      ['own', 'any'],
      'own'
    ),
    list: choice(
      'ListTasks: `filter` removes the tasks of others from the response, `reject` rejects the operation.',
      ['filter', 'reject'],
      'filter'
    ),
    onUnknown: choice(
      'Tasks and contexts whose owner the gateway does not know, because they are older than the key or because the store has lost them: `reject` treats them as the tasks of others, `allow` forwards. While the store is unavailable, `reject` responds with 503.',
      ['reject', 'allow'],
      'reject'
    ),
    shared: {
      ...caller('Callers who may use all tasks and contexts, such as support. All given keys must match. `null`: nobody.'),
      type: ['object', 'null'],
      default: null
    }
  }
)

/** Without a default: an agent without the key has that of `accessDefaults`. */
export const taskOwnershipSchema: Schema = { ...keys, type: ['object', 'null'] }
