/**
 * The message view: one shape for 0.3 `kind` parts, 1.0 oneof parts, ProtoJSON snake_case and 0.3 REST `content`. Rules read only this
 * view. Paths name the client's own fields.
 */
import type { FieldProblem } from '../fields.js'
import { addProblem, Fields, FieldSet, mustBeCamelCase } from '../fields.js'
import { ANY } from '../json-types.js'
import type { Members } from '../members.js'
import { membersOf } from '../members.js'
import type { Binding, Version } from '../versions.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject, own } from '#wire/json/object.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { UnreadValue } from '#wire/json/unread-value.js'
import { unreadValue } from '#wire/json/unread-value.js'

/** Places at which a part may state its media type. Agents differ on the places that they read. */
export type MediaTypePlace = 'mediaType' | 'metadata.mediaType' | 'metadata.mimeType' | 'file.mimeType'

export interface StatedMediaType { readonly text: string, readonly path: string, readonly place: MediaTypePlace }

export interface PartView {
  /** The part itself. */
  readonly fields: Fields
  /** `params.message.parts[0]` */
  readonly path: string
  /** Index of the part in the message's list. */
  readonly index: number
  readonly isData: boolean
  /** The DataPart's data; undefined for other parts. */
  readonly data: unknown
  /** Set when nobody had read the data when the part was read: `data` reads it. */
  readonly unread?: UnreadValue
  /** `params.message.parts[0].data` */
  readonly dataPath: string
  /** Keys from the part to its data. */
  readonly dataSteps: readonly string[]
  /** All media types stated for the DataPart, most authoritative first, with the path of each. For other parts see `statedTypes`. */
  readonly mediaTypes: readonly StatedMediaType[]
  /**
   * Reason why some agents may not read the part as a DataPart, as a predicate of its path, or null. The reason matters to rules that count
   * or order DataParts.
   */
  readonly ambiguity: string | null
}

/** An object with parts: a message, or an artifact of a response. */
export interface ContentView {
  /** The object itself. */
  readonly fields: Fields
  readonly path: string
  /** Keys from the root of the body to the object. */
  readonly steps: JsonPath
  /** Its `extensions[]`: an annotation, not an activation (decision 4). */
  readonly listed: readonly string[]
  readonly parts: readonly PartView[]
  /** The key and the length of its list of parts; null when there is no list. */
  readonly list: { readonly key: string, readonly length: number } | null
}

export interface MessageView extends ContentView {
  readonly taskId: 'present' | 'absent'
  readonly contextId: 'present' | 'absent'
}

export interface RequestView {
  /** The request object itself. */
  readonly fields: Fields
  /** Null when the request carries no message object; the agent validates such a request. */
  readonly message: MessageView | null
  /** The 1.0 `tenant` of the request's own body, or null. */
  readonly tenant: string | null
  /** Members that gateway and agent might read differently. */
  readonly problems: readonly FieldProblem[]
}

const MESSAGE_IDS = ['taskId', 'contextId'] as const

const MEMBERS_1_0 = ['text', 'raw', 'url', 'data'] as const
const MEMBERS_0_3 = ['text', 'file', 'data'] as const

/**
 * Reads the request object: `params` of JSON-RPC, the body of HTTP+JSON.
 * @param path of that object from the root of the request: `params`, or '' for HTTP+JSON
 * @param foreign true when an extension defines the members: only the message in the object belongs to A2A
 */
export function viewRequest (request: JsonObject, path: string, version: Version, binding: Binding, foreign = false): RequestView {
  const problems: FieldProblem[] = []
  const members = membersOf(version, binding)
  const fields = Fields.read(request, foreign ? members.extensionRequest : members.sendRequest, path, problems)
  const tenant = version === '1.0' ? fields.get('tenant') : undefined
  return {
    fields,
    message: viewMessage(fields, version, binding, problems),
    tenant: typeof tenant === 'string' && tenant !== '' ? tenant : null,
    problems
  }
}

function viewMessage (request: Fields, version: Version, binding: Binding, problems: FieldProblem[]): MessageView | null {
  let field = 'message'
  // proto 0.3.0 names the field `request`, with json_name `message`. ProtoJSON parsers read both names.
  if (version === '0.3' && binding !== 'JSONRPC' && isObject(request.get('request'))) {
    if (request.get('message') !== undefined) {
      addProblem(
        problems,
        request.pathOf('request'),
        'occurs together with "message", another spelling of the same field; send only "message"'
      )
    } else field = 'request'
  }
  const raw = request.get(field)
  if (!isObject(raw)) return null
  const key = request.key(field) ?? field
  const members = membersOf(version, binding)
  const read = Fields.read(raw, members.message, request.pathOf(field), problems)
  const content = viewContent(read, request.path === '' ? [key] : [request.path, key], members, problems)
  // Python's models read both spellings. The JavaScript SDKs read the message as a message without a task.
  if (version === '0.3' && binding === 'JSONRPC') mustBeCamelCase(content.fields, MESSAGE_IDS, problems)
  if (version === '0.3' && content.list?.key === 'content') for (const part of content.parts) mustBeWrapped(part, problems)
  const { fields, path, steps, listed, parts, list } = content
  return { fields, path, steps, listed, parts, list, taskId: presence(fields.get('taskId')), contextId: presence(fields.get('contextId')) }
}

/** Requires the member `data` of ProtoJSON of proto 0.3.0: the JavaScript SDKs read data without this member as no data. */
function mustBeWrapped ({ isData, data, dataPath, dataSteps }: PartView, problems: FieldProblem[]): void {
  if (!isData || data === undefined || data === null || dataSteps === WRAPPED_DATA) return
  if (!isObject(data) || Object.keys(data).length > 0) {
    addProblem(problems, dataPath, 'must contain the document in a member "data", as this binding requires')
  }
}

/**
 * Rejects data that holds a member `data` in a part with a kind: the data is the document itself, but ProtoJSON readers look for the
 * document inside the data.
 */
function mustBeUnwrapped ({ data, dataPath, dataSteps }: PartView, problems: FieldProblem[]): void {
  if (dataSteps !== DATA || !isObject(data)) return
  const inner = own(data, 'data')
  if (typeof inner === 'object' && inner !== null) {
    addProblem(
      problems,
      dataPath,
      'contains a member "data" in a part with a kind, and some clients read that member as the whole document; remove "kind", and wrap ' +
        'the document as this binding requires'
    )
  }
}

/**
 * Reads an object that has parts and may list extensions.
 * @param steps keys from the root of the body to it
 * @param proto true when parts without `kind` are ProtoJSON of proto 0.3.0, in which data lies one level deeper also below `parts`. This
 *   applies to responses of 0.3 HTTP+JSON, whose artifacts have no `content`.
 */
export function viewContent (fields: Fields, steps: JsonPath, members: Members, problems: FieldProblem[], proto = false): ContentView {
  const extensions = fields.get('extensions')
  const { parts, list } = viewParts(fields, members, proto, problems)
  return {
    fields,
    path: fields.path,
    steps,
    listed: Array.isArray(extensions) ? extensions.filter(uri => typeof uri === 'string') : NONE,
    parts,
    list
  }
}

/** Returns the presence of a field. ProtoJSON treats null and the empty string as absent. */
export function presence (value: unknown): 'present' | 'absent' {
  return value === undefined || value === null || value === '' ? 'absent' : 'present'
}

function viewParts (message: Fields, members: Members, proto: boolean, problems: FieldProblem[]): Pick<MessageView, 'parts' | 'list'> {
  const { version } = members
  const parts = message.get('parts')
  const content = message.get('content')
  if (parts !== undefined && content !== undefined && version === '0.3') {
    addProblem(problems, message.pathOf('content'), 'occurs together with "parts"; send only the one that this binding defines')
  }
  const nested = version === '0.3' && !Array.isArray(parts) && Array.isArray(content)
  const list = nested ? content : parts
  if (!Array.isArray(list)) return { parts: NONE, list: null }
  const listField = nested ? 'content' : 'parts'
  const listPath = message.pathOf(listField)
  const views: PartView[] = []
  for (let i = 0; i < list.length; i++) {
    const raw: unknown = list[i]
    if (!isObject(raw)) continue
    const fields = Fields.read(raw, members.part, `${listPath}[${i}]`, problems)
    const view = viewPart(fields, i, members, nested || (proto && own(raw, 'kind') === undefined), problems)
    if (proto) mustBeUnwrapped(view, problems)
    views.push(view)
  }
  return { parts: views, list: { key: message.key(listField) ?? listField, length: list.length } }
}

const NONE: readonly never[] = []
const DATA: readonly string[] = ['data']
const WRAPPED_DATA: readonly string[] = ['data', 'data']
const FLAGGED_DATA: readonly string[] = ['data', 'value']

/** Members of a 1.0 part that 0.3 does not define. */
const FILE_OF_1_0 = ['url', 'raw'] as const

function viewPart (part: Fields, index: number, sets: Members, nested: boolean, problems: FieldProblem[]): PartView {
  const { path } = part
  const { version } = sets
  const members = version === '1.0' ? MEMBERS_1_0 : MEMBERS_0_3
  let present: string | null = null
  let several = false
  for (let i = 0; i < members.length; i++) {
    const member = members[i] as string
    const value = part.peek(member)
    // Every SDK reads a null sibling as absent, so null does not count as a second member.
    if (value === undefined || value === null) continue
    several = present !== null
    if (several) addProblem(problems, path, `contains both "${present}" and "${member}"; a part has exactly one of ${members.join(', ')}`)
    present ??= member
  }
  const kind = own(part.object, 'kind')
  if (version === '0.3' && !several && kind !== present && (kind === 'text' || kind === 'file' || kind === 'data')) {
    if (present !== null) addProblem(problems, path, `has kind "${kind}" but contains "${present}"; make them agree`)
    // A text part without its member is an empty text: writers omit empty members. With members of 1.0, a reader of 1.0 finds a file.
    else if (kind === 'text' && FILE_OF_1_0.some(member => own(part.object, member) !== undefined && own(part.object, member) !== null)) {
      addProblem(problems, path, 'has kind "text" but contains a file of A2A 1.0; make them agree')
    } else if (kind === 'file' || (kind === 'data' && part.key('data') === null)) {
      addProblem(problems, path, `has kind "${kind}" but lacks its content; add the member "${kind}"`)
    }
  }
  const isData = present === 'data' || (present === null && part.key('data') !== null)
  if (!isData) {
    const metadata = part.get('metadata')
    if (isObject(metadata)) Fields.read(metadata, sets.partMetadata, part.pathOf('metadata'), problems)
    checkFile(part, sets, problems)
    return {
      fields: part,
      path,
      index,
      isData: false,
      data: undefined,
      dataPath: part.pathOf('data'),
      dataSteps: DATA,
      mediaTypes: NONE,
      ambiguity: null
    }
  }
  const unread = nested || (version === '0.3' && Boolean(wrapperFlag(part))) ? null : unreadValue(part.object, 'data')
  if (unread !== null) return new UnreadPartView(part, { index, unread, kind, known: sets }, problems)
  let data = part.get('data')
  let dataPath = part.pathOf('data')
  let dataSteps = DATA
  // 0.3 REST is ProtoJSON of DataPart { Struct data }: the document lies one level deeper (reference §5.2).
  if (nested && isObject(data) && Object.hasOwn(data, 'data')) {
    // The other members belong to the client, whatever their spelling.
    Fields.read({ data: data.data }, sets.dataPart, dataPath, problems)
    data = data.data
    dataPath = `${dataPath}.data`
    dataSteps = WRAPPED_DATA
  } else if (version === '0.3' && isObject(data) && Boolean(wrapperFlag(part))) {
    if (isWrapped(part, data)) {
      data = data.value
      dataPath = `${dataPath}.value`
      dataSteps = FLAGGED_DATA
    } else {
      addProblem(
        problems,
        part.pathOf('metadata'),
        `contains "${WRAPPER}", but the data does not consist of one "value" that is not an object; leave it out`
      )
    }
  }
  const ambiguity = version === '0.3' && !nested && kind !== 'data'
    ? NOT_OF_KIND
    : data === null || data === undefined ? 'contains null as data, which some agents read as no data; send a value' : null
  return { fields: part, path, index, isData: true, data, dataPath, dataSteps, mediaTypes: mediaTypesOf(part, sets, problems), ambiguity }
}

const NOT_OF_KIND = 'contains "data" without kind "data", so some agents do not read it as data; set kind to "data"'

interface UnreadPart { readonly index: number, readonly unread: UnreadValue, readonly kind: unknown, readonly known: Members }

/** A part whose data nobody has read: an object or a list that is the document itself. */
class UnreadPartView implements PartView {
  readonly fields: Fields
  readonly path: string
  readonly index: number
  readonly isData = true
  readonly unread: UnreadValue
  readonly dataPath: string
  readonly dataSteps = DATA
  readonly mediaTypes: readonly StatedMediaType[]
  readonly ambiguity: string | null

  constructor (part: Fields, { index, unread, kind, known: members }: UnreadPart, problems: FieldProblem[]) {
    this.fields = part
    this.path = part.path
    this.index = index
    this.unread = unread
    this.dataPath = part.pathOf('data')
    this.mediaTypes = mediaTypesOf(part, members, problems)
    this.ambiguity = members.version === '0.3' && kind !== 'data' ? NOT_OF_KIND : null
  }

  get data (): unknown {
    return this.fields.get('data')
  }
}

function mediaTypesOf (part: Fields, { version, partMetadata }: Members, problems: FieldProblem[]): readonly StatedMediaType[] {
  if (part.get('mediaType') === undefined && part.get('metadata') === undefined) return NONE
  const stated: StatedMediaType[] = []
  const add = (fields: Fields, field: 'mediaType' | 'mimeType', place: MediaTypePlace): void => {
    const value = fields.get(field)
    if (typeof value === 'string' && value !== '') stated.push({ text: value, path: fields.pathOf(field), place })
  }
  if (version === '1.0') add(part, 'mediaType', 'mediaType')
  const metadata = part.get('metadata')
  if (isObject(metadata)) {
    const fields = Fields.read(metadata, partMetadata, part.pathOf('metadata'), problems)
    if (version === '1.0') add(fields, 'mediaType', 'metadata.mediaType')
    add(fields, 'mimeType', 'metadata.mimeType')
    if (version === '0.3') add(fields, 'mediaType', 'metadata.mediaType')
  }
  if (version === '0.3') add(part, 'mediaType', 'mediaType')
  return stated
}

/** `members.ts` defines the types; this set only serves lookups. */
const STATED = new FieldSet({ mediaType: ANY, mimeType: ANY })

/** Returns the media types of any part. The media types of parts without data are read only when a policy needs them. */
export function statedTypes (part: PartView): readonly StatedMediaType[] {
  if (part.isData) return part.mediaTypes
  const stated: StatedMediaType[] = []
  const add = (fields: Fields, field: 'mediaType' | 'mimeType', place: MediaTypePlace): void => {
    const text = fields.get(field)
    if (typeof text === 'string' && text !== '') stated.push({ text, path: fields.pathOf(field), place })
  }
  add(part.fields, 'mediaType', 'mediaType')
  const file = part.fields.get('file')
  if (isObject(file)) add(Fields.read(file, STATED, part.fields.pathOf('file'), []), 'mimeType', 'file.mimeType')
  const metadata = part.fields.get('metadata')
  if (isObject(metadata)) {
    const fields = Fields.read(metadata, STATED, part.fields.pathOf('metadata'), [])
    add(fields, 'mediaType', 'metadata.mediaType')
    add(fields, 'mimeType', 'metadata.mimeType')
  }
  return stated
}

/** Keys from the root of the body to a part. */
export function partSteps (content: ContentView, part: PartView): JsonPath {
  return [...content.steps, content.list?.key ?? 'parts', part.index]
}

// Checks for files and wrapped data that only some readers recognise.

const FILE_MEMBERS = ['uri', 'bytes', 'fileWithUri', 'fileWithBytes'] as const

/** Checks that a file has exactly one address or one content, under the name that its binding defines. */
function checkFile (part: Fields, members: Members, problems: FieldProblem[]): void {
  const raw = part.get('file')
  if (!isObject(raw)) return
  const file = Fields.read(raw, members.file, part.pathOf('file'), problems)
  const held = FILE_MEMBERS.filter(member => file.key(member) !== null)
  if (held.length > 1) {
    addProblem(problems, file.path, `contains both "${held[0]}" and "${held[1]}"; a file has exactly one of ${FILE_MEMBERS.join(', ')}`)
  }
}

/** Key in a part's metadata (JavaScript SDK 1.3.0 and Python SDK 1.x, compatibility with 0.3). */
const WRAPPER = 'data_part_compat'

function wrapperFlag (part: Fields): unknown {
  const metadata = part.get('metadata')
  return isObject(metadata) ? own(metadata, WRAPPER) : undefined
}

/**
 * True for data that is wrapped as `{value}` with the flag. SDKs that translate 1.0 write data that is not an object in this form, and read
 * it back. No other SDK knows the flag. JavaScript requires `true`, Python accepts any truthy value.
 */
function isWrapped (part: Fields, data: JsonObject): boolean {
  return wrapperFlag(part) === true && Object.hasOwn(data, 'value') && Object.keys(data).length === 1 && !isObject(data.value)
}
