/** Names of records, and limits of their size. */
import { createHash } from 'node:crypto'
import type { OwnedName, TaskKey } from './store.js'

/**
 * Maximum number of fields of one record, and maximum total length of their names and values in UTF-16 code units. Fields beyond the limits
 * are not kept.
 */
export const MAX_FIELDS = 64
export const MAX_LENGTH = 32 * 1024

/**
 * Returns one name per task; all names of one agent have the same length. Agents and clients choose the ids. The JSON text is different for
 * any two tasks, and the digest contains none of the chosen characters.
 */
export function recordKey ({ agent, tenant, taskId }: TaskKey): string {
  return `task:${agent}:${createHash('sha256').update(JSON.stringify([tenant, taskId])).digest('base64url')}`
}

/** Returns one name per task with push notification configurations. */
export function pushKey (agent: string, taskId: string): string {
  return `push:${agent}:${createHash('sha256').update(taskId).digest('base64url')}`
}

/** Returns one name per task or context with an owner. Ids are compared exactly: no case folding, no Unicode normalization. */
export function ownerKey (agent: string, { kind, id }: OwnedName): string {
  return `owner:${agent}:${createHash('sha256').update(JSON.stringify([kind, id])).digest('base64url')}`
}

/** Digest of the claim that takes up the request of a task. */
export function resumeKey (key: TaskKey): string {
  return createHash('sha256').update(`resume:${recordKey(key)}`).digest('base64url')
}

/** @param key digest of a claim */
export function claimName (agent: string, key: string): string {
  return `claim:${agent}:${key}`
}

export function fieldLength (field: string, value: string): number {
  return field.length + value.length
}
