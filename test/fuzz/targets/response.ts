/**
 * Responses. Every JSON response of an agent has a view. The same JSON in other bytes has the same view. Paths lead to the values that they
 * name.
 */
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import type { Operation } from '#a2a/operations.js'
import { viewResponse } from '#a2a/message/read-result.js'
import type { ResponseOptions } from '#a2a/message/read-result.js'
import { parseStrict } from '#wire/json/json.js'
import { Random } from '../engine/random.js'
import type { Reader, Target } from '../engine/target.js'
import { respell } from '../oracles/respell.js'
import { parseSlowly, readSlowly, valueOf } from '../oracles/slow-json.js'
import { spokenProblems, spokenResult } from '../oracles/spoken.js'
import { WORDS } from './message.js'

const OPERATIONS: readonly Operation[] = ['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'Other', 'GetExtendedAgentCard']
const OPTIONS: readonly ResponseOptions[] = OPERATIONS.flatMap(operation =>
  (['1.0', '0.3'] as const).flatMap(version =>
    (['JSONRPC', 'HTTP+JSON'] as const).map(binding => ({
      operation,
      version,
      binding,
      id: version === '1.0' ? 1 : null,
      stream: operation === 'SendStreamingMessage'
    }))
  )
)

export const response: Target & Reader = {
  name: 'response',
  maxBytes: 1200,
  seeds: [
    '{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"role":"ROLE_AGENT","parts":[{"data":{"a":1}}]}},"artifacts":[{"artifactId":"a","parts":[{"text":"t"}]}],"history":[{"role":"ROLE_USER","parts":[]}]}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working"},"artifacts":[{"parts":[{"kind":"data","data":{}}]}]}}',
    '{"jsonrpc":"2.0","id":1,"result":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"t"}]}}',
    '{"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"kind":"artifact-update","taskId":"t","artifact":{"parts":[]},"append":true}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}',
    '{"tasks":[{"id":"t","status":{"state":"TASK_STATE_WORKING"}},{"id":"u","contextId":"c","status":{}}],"nextPageToken":""}',
    '{"message":{"messageId":"m","parts":[{"data":{"data":1}}]}}',
    '{"error":{"code":404,"status":"NOT_FOUND"}}',
    '{"msg":{"content":[{"data":{"data":{}}}]}}',
    'null'
  ],
  dictionary: [
    ...WORDS,
    '"result":',
    '"error":',
    '"task":',
    '"statusUpdate":',
    '"status_update":',
    '"artifactUpdate":',
    '"artifact":{"parts":[]}',
    '"artifacts":[]',
    '"history":[]',
    '"status":{"state":"working"}',
    '"state":"TASK_STATE_COMPLETED"',
    '"state":3',
    '"kind":"task"',
    '"kind":"status-update"',
    '"tasks":',
    '"append":true',
    '"final":true',
    '"msg":',
    '"update":',
    '"code":1'
  ],
  read: bytes => {
    const result = parseStrict(bytes, { depth: 32, members: 2000 })
    return result.ok ? OPTIONS.map(options => spoken(result.value, options)) : result.problem
  },
  check (bytes) {
    const slow = readSlowly(bytes)
    if (slow.root === null || !slow.utf8 || slow.mark || slow.duplicates.length > 0 || slow.depth > 32) return
    const value = valueOf(slow.root, bytes)
    const again = parseSlowly(respell(slow.root, bytes, Random.of(bytes)))
    for (const options of OPTIONS) {
      const view = viewResponse(value, options)
      same(spoken(again, options), spoken(value, options), 'the same view')
      if (view.fault !== null || view.isError) equal(view.results.length, 0)
      if (view.isError) equal(view.fault, null)
      for (const result of view.results) {
        equal(at(value, result.steps), result.fields.object, 'steps lead to the result')
        for (const content of [result.message, result.status, ...result.artifacts, ...result.history]) {
          if (content === null) continue
          equal(at(value, content.steps), content.fields.object, 'steps lead to the content')
          const { list } = content
          if (list === null) continue
          const parts = at(value, [...content.steps, list.key])
          ok(Array.isArray(parts) && parts.length === list.length)
          for (const part of content.parts) equal(parts[part.index], part.fields.object, 'parts are those of the list')
        }
      }
    }
  }
}

function at (value: unknown, steps: readonly (string | number)[]): unknown {
  return steps.reduce((inner, step) => (inner as Record<string | number, unknown>)[step], value)
}

function spoken (value: unknown, options: ResponseOptions): unknown {
  const { results, isError, fault, problems } = viewResponse(value, options)
  return { results: results.map(spokenResult), isError, fault, problems: spokenProblems(problems) }
}
