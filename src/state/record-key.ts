/** Names of records, and how large they may grow. */
import { createHash } from 'node:crypto'
import type { TaskKey } from './store.js'

/** Fields of one record, and what their names and values may come to, in UTF-16 code units. More is not kept. */
export const MAX_FIELDS = 64
export const MAX_LENGTH = 32 * 1024

/**
 * One name per task, of the same length for each of an agent. Ids are chosen by agents and clients: as JSON no two tasks read the same, and a
 * digest has no characters of theirs.
 */
export function recordKey ({ agent, tenant, taskId }: TaskKey): string {
  return `task:${agent}:${createHash('sha256').update(JSON.stringify([tenant, taskId])).digest('base64url')}`
}

export function fieldLength (field: string, value: string): number {
  return field.length + value.length
}
