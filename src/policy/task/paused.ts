/**
 * A request that waits for a person (`pause`), as the record of the task that the gateway has made for it. The client knows the request by
 * this task alone.
 */
import type { Binding, Version } from '#a2a/versions.js'
import type { TaskRecord } from './memory.js'
import { FIELDS } from './memory.js'

/** `resumed`: the agent has the request. `rejected`: the person declined. `canceled`: the client canceled the task. */
export type PausedState = 'waiting' | 'resumed' | 'rejected' | 'canceled'

export interface Paused {
  readonly state: PausedState
  /** `policy/rule` of the rules that the request breaks. */
  readonly rules: readonly string[]
  /** Binding and version of the request. The messages on its task have the same. */
  readonly form: string
  readonly contextId: string
  /** Time of the last change, RFC 3339. */
  readonly at: string
}

/** Names of policies and rules contain no space. */
const SEPARATOR = ' '

/** Bytes of the largest request that can wait: base64 of it fits into a record of a store. */
export const MAX_PAUSED = 20_480

export function formOf (binding: Binding, version: Version): string {
  return `${binding} ${version}`
}

/** @returns null for a task of the agent */
export function pausedIn (record: TaskRecord | null): Paused | null {
  const state = record?.get(FIELDS.paused)
  if (record === null || state === undefined) return null
  return {
    state: state as PausedState,
    rules: (record.get(FIELDS.pausedRules) ?? '').split(SEPARATOR),
    form: record.get(FIELDS.pausedForm) ?? '',
    contextId: record.get(FIELDS.pausedContext) ?? '',
    at: record.get(FIELDS.pausedAt) ?? ''
  }
}

/** The request that waits, as the client sent it. */
export function bodyIn (record: TaskRecord): Buffer {
  return Buffer.from(record.get(FIELDS.pausedBody) ?? '', 'base64')
}

/** @param taskState of the task, for conditions of rules */
export function pausedRecord ({ state, rules, form, contextId, at }: Paused, taskState: string, body: Buffer): TaskRecord {
  return new Map([
    [FIELDS.paused, state],
    [FIELDS.pausedRules, rules.join(SEPARATOR)],
    [FIELDS.pausedForm, form],
    [FIELDS.pausedContext, contextId],
    [FIELDS.pausedAt, at],
    [FIELDS.pausedBody, body.toString('base64')],
    [FIELDS.state, taskState]
  ])
}

/** The end of the wait: the store need not keep the request. */
export function endedRecord (state: PausedState, taskState: string, at: string): TaskRecord {
  return new Map([[FIELDS.paused, state], [FIELDS.pausedBody, ''], [FIELDS.pausedAt, at], [FIELDS.state, taskState]])
}
