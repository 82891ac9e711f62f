/** Checks for files and wrapped data that only some readers recognise. */
import type { FieldProblem } from '../fields.js'
import { addProblem, Fields } from '../fields.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import type { Members } from '../members.js'

const FILE_MEMBERS = ['uri', 'bytes', 'fileWithUri', 'fileWithBytes'] as const

/** Checks that a file has exactly one address or one content, under the name that its binding defines. */
export function checkFile (part: Fields, members: Members, problems: FieldProblem[]): void {
  const raw = part.get('file')
  if (!isObject(raw)) return
  const file = Fields.read(raw, members.file, part.pathOf('file'), problems)
  const held = FILE_MEMBERS.filter(member => file.key(member) !== null)
  if (held.length > 1) {
    addProblem(problems, file.path, `contains both "${held[0]}" and "${held[1]}"; a file has exactly one of ${FILE_MEMBERS.join(', ')}`)
  }
}

/** Key in a part's metadata (JavaScript SDK 1.3.0 and Python SDK 1.x, compatibility with 0.3). */
export const WRAPPER = 'data_part_compat'

export function wrapperFlag (part: Fields): unknown {
  const metadata = part.get('metadata')
  return isObject(metadata) ? own(metadata, WRAPPER) : undefined
}

/**
 * True for data that is wrapped as `{value}` with the flag. SDKs that translate 1.0 write data that is not an object in this form, and read
 * it back. No other SDK knows the flag. JavaScript requires `true`, Python accepts any truthy value.
 */
export function isWrapped (part: Fields, data: JsonObject): boolean {
  return wrapperFlag(part) === true && Object.hasOwn(data, 'value') && Object.keys(data).length === 1 && !isObject(data.value)
}
