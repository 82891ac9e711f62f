/** Where a response of ListTasks has its tasks and their number. */
import { isSameField } from '#a2a/fields.js'
import type { ResultView } from '#a2a/message/result.js'
import type { Binding } from '#a2a/versions.js'
import type { JsonPath } from '#wire/json/edit.js'
import { isObject, own } from '#wire/json/object.js'

/** Places of a response of ListTasks, for the removal of tasks. */
export interface ListPlaces {
  /** Keys from the root of the body to the list; null for an empty list. */
  readonly tasks: JsonPath | null
  /** Keys to each member that clients may read as the total number of tasks. */
  readonly totals: readonly JsonPath[]
}

/** @param value the body, which `viewResponse` has accepted; `results` are its tasks */
export function listPlaces (value: unknown, binding: Binding, results: readonly ResultView[]): ListPlaces {
  const rpc = binding === 'JSONRPC'
  const list = rpc && isObject(value) ? own(value, 'result') : value
  const totals = isObject(list) ? Object.keys(list).filter(key => isSameField(key, 'totalSize')) : []
  return { tasks: results[0]?.steps.slice(0, -1) ?? null, totals: totals.map(key => rpc ? ['result', key] : [key]) }
}
