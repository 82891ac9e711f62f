/** The objects that carry metadata. */
import type { Fields } from '#a2a/fields.js'
import type { Call } from '#a2a/message/call.js'
import type { MessageView } from '#a2a/message/message.js'
import { memberPath } from '#a2a/fields.js'
import { own } from '#wire/json/object.js'
import type { JsonPath } from '#wire/json/edit.js'
import type { MetadataPlace } from '#config/model/model.js'
import { partSteps } from '#a2a/message/message.js'

export interface Holder {
  /** Path of the metadata, even when it is absent. */
  readonly path: string
  /** Undefined when it is absent. */
  readonly metadata: unknown
  /** Keys from the root of the body to the metadata, in the client's spelling. */
  steps (): JsonPath
}

/** Holders in a request. Places that only responses have are ignored. */
export function requestHolders (call: Call, message: MessageView | null, places: readonly MetadataPlace[]): Holder[] {
  const holders: Holder[] = []
  for (const place of places) {
    if (place === 'message' && message !== null) holders.push(new FieldsHolder(message.fields, () => message.steps))
    if (place === 'params') {
      const path = call.request?.path ?? ''
      const root = (): JsonPath => path === '' ? [] : [path]
      if (call.view !== null) holders.push(new FieldsHolder(call.view.fields, root))
      else {
        holders.push({
          path: memberPath(path, 'metadata'),
          metadata: call.request === null ? undefined : own(call.request.object, 'metadata'),
          steps: () => [...root(), 'metadata']
        })
      }
    }
    if (place === 'part' && message !== null) {
      for (const part of message.parts) holders.push(new FieldsHolder(part.fields, () => partSteps(message, part)))
    }
  }
  return holders
}

export class FieldsHolder implements Holder {
  readonly path: string
  readonly metadata: unknown
  private readonly fields: Fields
  private readonly owner: () => JsonPath

  constructor (fields: Fields, owner: () => JsonPath) {
    this.fields = fields
    this.owner = owner
    this.path = fields.pathOf('metadata')
    this.metadata = fields.get('metadata')
  }

  steps (): JsonPath {
    return [...this.owner(), this.fields.key('metadata') ?? 'metadata']
  }
}
