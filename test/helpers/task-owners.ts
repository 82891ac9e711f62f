/** A gateway with `access.tasks` and callers with API keys. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import type { Seen, TaskCall } from './task-calls.js'
import { callAs } from './task-calls.js'

export const CALLERS = ['ada', 'bob', 'support'] as const
export type CallerName = typeof CALLERS[number]

const keyOf = (name: CallerName): string => `a2agw_key-of-${name}-0123456789abcdef`

/** Headers of a caller; none for null. */
export function credentialsOf (name: CallerName | null): Record<string, string> {
  return name === null ? {} : { 'x-api-key': keyOf(name) }
}

/** Writes the key file. @returns the directory of the configuration */
export function keyDirectory (t: Test): string {
  const directory = t.testdir()
  const entries = CALLERS.map(name => `- {id: ${name}, sha256: ${keyDigest(keyOf(name))}, groups: [${name === 'support' ? 'support' : 'users'}]}`)
  writeFileSync(join(directory, 'keys.yaml'), entries.join('\n'))
  return directory
}

/** @param directory of the key file, when the configuration is not beside it */
export function ownedYaml (
  upstream: string,
  { tasks = '{}', agent = [], root = [], directory }: {
    readonly tasks?: string
    readonly agent?: readonly string[]
    readonly root?: readonly string[]
    readonly directory?: string
  } = {}
): string {
  const keys = directory === undefined ? 'keys.yaml' : join(directory, 'keys.yaml')
  return [
    'agents:',
    '  - name: agent',
    `    upstream: {url: "${upstream}"}`,
    `    access: {tasks: ${tasks}}`,
    ...agent.map(line => `    ${line}`),
    `identity: {sources: {keys: {apiKey: {header: x-api-key, keys: {file: "${keys}"}}}}}`,
    ...root
  ].join('\n')
}

export function as (url: string, name: CallerName | null): (call: TaskCall) => Promise<Seen> {
  return call => callAs(url, call, credentialsOf(name))
}

/** A message over JSON-RPC 1.0. */
export function message (text: string, more: object = {}, method = 'SendMessage'): TaskCall {
  return rpcCall(method, { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }], ...more } })
}

export function rpcCall (method: string, params: object, path = '/a2a/jsonrpc'): TaskCall {
  return {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  }
}

/** Result of a JSON-RPC response; throws for an error. */
export function resultOf ({ text }: Seen): Record<string, unknown> {
  const { result } = JSON.parse(text) as { result?: Record<string, unknown> }
  if (result === undefined) throw new Error(text)
  return result
}

/** Ids of the task in the response to a send. */
export function idsOfTask (seen: Seen): { readonly task: string, readonly context: string } {
  const { task } = resultOf(seen) as { task: { id: string, contextId: string } }
  return { task: task.id, context: task.contextId }
}
