/** Reads a report of `--json` again, for `conform diff`. */
import { isObject, own } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { Report } from './report.js'

/** @throws Error with the reason when the text is no report */
export function readReport (text: string): Report {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    throw new Error('is no JSON; write it with "a2a-gateway conform --json"')
  }
  const cases = isObject(value) ? own(value, 'cases') : undefined
  const isCase = (row: unknown): boolean => isObject(row) && typeof own(row, 'id') === 'string' && typeof own(row, 'outcome') === 'string'
  if (
    !isObject(value) ||
    own(value, 'format') !== 1 ||
    typeof own(value, 'cases_digest') !== 'string' ||
    !Array.isArray(cases) ||
    !cases.every(isCase)
  ) {
    throw new Error('is no report of format 1; write it with "a2a-gateway conform --json"')
  }
  return value as unknown as Report
}
