/** What the agent wrote in the history of a task, as selectors look at it: agents repeat there what they said in statuses. Only for what is taken out. */
import type { ContentView } from '../../a2a/message/message.js'
import type { ContentPlace, MetadataPlace } from '../../config/model/model.js'
import type { Holder } from '../request/metadata.js'
import { ResultSubject } from './result-subject.js'

export class PastSubject extends ResultSubject {
  override contents (places: readonly ContentPlace[]): readonly ContentView[] {
    return places.includes('message') ? this.result.past : NOTHING
  }

  override holders (places: readonly MetadataPlace[]): readonly Holder[] {
    return super.holders(places.filter(place => place === 'message' || place === 'part'))
  }
}

const NOTHING: readonly never[] = []
