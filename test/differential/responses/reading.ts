/** A reader's view of an agent's response. The reader is an official client or the gateway. */
import type { PartReading } from '../oracle.js'
import { elementsOf } from '../same.js'
import type { ResultKind } from '#a2a/message/result.js'

export type { PartReading }

/** A message or an artifact. */
export interface ContentReading {
  /** Role of a message; undefined for an artifact. */
  readonly role: unknown
  /** `artifactId`; undefined for a message. */
  readonly id: unknown
  readonly taskId: unknown
  readonly contextId: unknown
  readonly metadata: unknown
  readonly extensions: unknown
  /** Null: the entry cannot be a part. */
  readonly parts: ReadonlyArray<PartReading | null>
}

export interface ResultReading {
  /** Null: the reader knows no such result. */
  readonly kind: ResultKind | null
  readonly taskId: unknown
  readonly contextId: unknown
  readonly state: unknown
  readonly append: unknown
  /** Metadata of a task or an update. */
  readonly metadata: unknown
  readonly message: ContentReading | null
  /** `status.message` */
  readonly status: ContentReading | null
  readonly artifacts: readonly ContentReading[]
  readonly history: readonly ContentReading[]
}

export const NO_CONTENT: ContentReading = {
  role: undefined,
  id: undefined,
  taskId: undefined,
  contextId: undefined,
  metadata: undefined,
  extensions: [],
  parts: []
}
export const NO_RESULT: ResultReading = {
  kind: null,
  taskId: undefined,
  contextId: undefined,
  state: undefined,
  append: undefined,
  metadata: undefined,
  message: null,
  status: null,
  artifacts: [],
  history: []
}

type Members = Readonly<Record<string, unknown>>

/** The properties of one reader's objects. The names are those of both SDKs' types. */
export interface Reader {
  readonly role: (value: unknown) => unknown
  readonly state: (value: unknown) => unknown
  readonly part: (part: Members) => PartReading
}

export function resultOf (reader: Reader, kind: ResultKind | null, value: unknown): ResultReading {
  if (kind === null || typeof value !== 'object' || value === null) return NO_RESULT
  const object = value as Members
  const metadata = object.metadata
  if (kind === 'message') {
    return { ...NO_RESULT, kind, taskId: object.taskId, contextId: object.contextId, message: messageOf(reader, object) }
  }
  const { state, message } = (object.status ?? {}) as Members
  return {
    ...NO_RESULT,
    kind,
    taskId: kind === 'task' ? object.id : object.taskId,
    contextId: object.contextId,
    state: kind === 'artifactUpdate' ? undefined : reader.state(state),
    append: kind === 'artifactUpdate' ? Boolean(object.append) : undefined,
    metadata,
    status: kind === 'artifactUpdate' || message === undefined || message === null ? null : messageOf(reader, message as Members),
    artifacts: (kind === 'task' ? objectsOf(object.artifacts) : kind === 'artifactUpdate' ? objectsOf([object.artifact]) : []).map(one =>
      artifactOf(reader, one)
    ),
    history: kind === 'task' ? objectsOf(object.history).map(one => messageOf(reader, one)) : []
  }
}

function objectsOf (list: unknown): Members[] {
  return elementsOf(list).filter((one: unknown): one is Members => typeof one === 'object' && one !== null)
}

function messageOf (reader: Reader, object: Members): ContentReading {
  const { role, taskId, contextId } = object
  return { ...contentOf(reader, object), role: reader.role(role), taskId, contextId }
}

function artifactOf (reader: Reader, object: Members): ContentReading {
  return { ...contentOf(reader, object), id: object.artifactId }
}

function contentOf (reader: Reader, object: Members): ContentReading {
  const { metadata, extensions } = object
  const parts = elementsOf(object.parts)
  return {
    ...NO_CONTENT,
    metadata,
    extensions: extensions ?? [],
    parts: parts.map(part => typeof part === 'object' && part !== null ? reader.part(part as Members) : null)
  }
}
