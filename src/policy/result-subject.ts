/** One result of an answer, as rules look at it. */
import type { JsonObject } from '../a2a/fields.js'
import type { ContentView } from '../a2a/message.js'
import type { Operation } from '../a2a/operations.js'
import type { ResultView } from '../a2a/result.js'
import type { TaskState } from '../a2a/task-state.js'
import type { ContentPlace, MetadataPlace } from '../config/model.js'
import type { Holder } from './metadata.js'
import type { Subject } from './subject.js'

export class ResultSubject implements Subject {
  readonly result: ResultView
  readonly operation: Operation
  readonly matched: ReadonlySet<string>
  /** Whether it is the first of its answer. */
  readonly first: boolean

  constructor (result: ResultView, operation: Operation, matched: ReadonlySet<string>, first: boolean) {
    this.result = result
    this.operation = operation
    this.matched = matched
    this.first = first
  }

  get taskId (): 'present' | 'absent' {
    return this.result.taskId === null ? 'absent' : 'present'
  }

  get contextId (): 'present' | 'absent' {
    return this.result.contextId === null ? 'absent' : 'present'
  }

  get taskState (): TaskState | null {
    return this.result.state
  }

  get listed (): readonly string[] {
    throw new Error('not yet')
  }

  get normalised (): JsonObject {
    throw new Error('not yet')
  }

  contents (_places: readonly ContentPlace[]): readonly ContentView[] {
    throw new Error('not yet')
  }

  holders (_places: readonly MetadataPlace[]): readonly Holder[] {
    throw new Error('not yet')
  }
}
