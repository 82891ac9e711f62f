/**
 * The agent's messages in the history of a task, as selectors see them. Agents repeat there the messages of earlier statuses. Used only for
 * removals.
 */
import type { ContentView } from '#a2a/message/message.js'
import type { ContentPlace, MetadataPlace } from '#config/model/model.js'
import type { Holder } from '../request/metadata.js'
import { ResultSubject } from './result-subject.js'

export class PastSubject extends ResultSubject {
  override contents (places: readonly ContentPlace[]): readonly ContentView[] {
    return places.includes('message') ? this.result.past : NO_VALUES
  }

  override holders (places: readonly MetadataPlace[]): readonly Holder[] {
    return super.holders(places.filter(place => place === 'message' || place === 'part'))
  }
}

const NO_VALUES: readonly never[] = []
