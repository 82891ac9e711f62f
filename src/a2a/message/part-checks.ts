/** What some readers take for a file or for wrapped data, and others do not. */
import type { FieldProblem, JsonObject } from '../fields.js'
import { addProblem, Fields, isObject, own } from '../fields.js'
import type { Members } from '../members.js'

const FILE_MEMBERS = ['uri', 'bytes', 'fileWithUri', 'fileWithBytes'] as const

/** A file has one address or one content, under the name that its binding has for it. */
export function checkFile (part: Fields, members: Members, problems: FieldProblem[]): void {
  const raw = part.get('file')
  if (!isObject(raw)) return
  const file = Fields.read(raw, members.file, part.pathOf('file'), problems)
  const held = FILE_MEMBERS.filter(member => file.key(member) !== null)
  if (held.length > 1) addProblem(problems, file.path, `holds both "${held[0]}" and "${held[1]}"; a file has exactly one of ${FILE_MEMBERS.join(', ')}`)
}

/** In a part's metadata (JavaScript SDK 1.3.0 and Python SDK 1.x, compatibility with 0.3). */
export const WRAPPER = 'data_part_compat'

export function wrapperFlag (part: Fields): unknown {
  const metadata = part.get('metadata')
  return isObject(metadata) ? own(metadata, WRAPPER) : undefined
}

/**
 * SDKs that translate 1.0 write data that is no object as `{value}` with the flag, and read it back; no other one knows the flag. JavaScript wants
 * `true`, Python anything that is true.
 */
export function isWrapped (part: Fields, data: JsonObject): boolean {
  return wrapperFlag(part) === true && Object.hasOwn(data, 'value') && Object.keys(data).length === 1 && !isObject(data.value)
}
