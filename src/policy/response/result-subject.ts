/** One result of a response, as rules see it. */
import type { JsonObject } from '#wire/json/object.js'
import type { ContentView } from '#a2a/message/message.js'
import { normaliseResult } from '#a2a/message/normalise-result.js'
import type { Operation } from '#a2a/operations.js'
import { Fields, FieldSet } from '#a2a/fields.js'
import type { ResultView, ValuePlace } from '#a2a/message/result.js'
import type { TaskState } from '#a2a/task-state.js'
import type { ContentPlace, MetadataPlace } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { Holder } from '../request/metadata.js'
import { FieldsHolder } from '../request/metadata.js'
import type { Subject } from '../selectors/subject.js'
import { shapeOf } from '../selectors/subject.js'
import { partSteps } from '#a2a/message/message.js'

/** The parts of the decision on the request that results need. */
type Decided = Pick<Subject, 'matched' | 'active' | 'caller'>

export class ResultSubject implements Subject {
  readonly result: ResultView
  readonly operation: Operation
  readonly matched: ReadonlySet<string>
  readonly active: readonly string[]
  readonly caller: Principal | null
  /** True for the first result of its response. */
  readonly first: boolean
  private normal: JsonObject | null = null
  private whole: JsonObject | null = null
  private lists: readonly string[] | null = null

  constructor (result: ResultView, operation: Operation, { matched, active, caller }: Decided, first: boolean) {
    this.result = result
    this.operation = operation
    this.matched = matched
    this.active = active
    this.caller = caller
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
    this.lists ??= unionOf(this.contents(CONTENTS))
    return this.lists
  }

  get normalised (): JsonObject {
    this.normal ??= normaliseResult(this.result)
    return this.normal
  }

  get shape (): JsonObject {
    this.whole ??= shapeOf(this)
    return this.whole
  }

  contents (places: readonly ContentPlace[]): readonly ContentView[] {
    const { message, status, artifacts } = this.result
    if (message === null && status === null) return places.includes('artifact') ? artifacts : NO_VALUES
    const contentViews: ContentView[] = []
    for (const place of places) {
      if (place === 'artifact') contentViews.push(...artifacts)
      else {
        const content = place === 'message' ? message : status
        if (content !== null) contentViews.push(content)
      }
    }
    return contentViews
  }

  /** A response has no metadata of the request's params. */
  holders (places: readonly MetadataPlace[]): readonly Holder[] {
    const { kind, fields, steps } = this.result
    const holderList: Holder[] = []
    for (const place of places) {
      switch (place) {
        case 'params':
          break
        case 'task':
          if (kind === 'task') holderList.push(new FieldsHolder(fields, () => steps))
          break
        case 'event':
          if (kind === 'statusUpdate' || kind === 'artifactUpdate') holderList.push(new FieldsHolder(fields, () => steps))
          break
        case 'part':
          for (const content of this.contents(CONTENTS)) {
            for (const part of content.parts) holderList.push(new FieldsHolder(part.fields, () => partSteps(content, part)))
          }
          break
        default:
          for (const content of this.contents([place])) holderList.push(new FieldsHolder(content.fields, () => content.steps))
      }
    }
    return holderList
  }
}

/** The whole result of a method, whatever its shape. `select.result` selects from the value. */
export class MethodResultSubject extends ResultSubject {
  readonly place: ValuePlace

  constructor (place: ValuePlace, decision: Decided) {
    super({ ...NO_RESULT, path: place.path, steps: place.steps }, 'Other', decision, true)
    this.place = place
  }
}

const NO_RESULT: Omit<ResultView, 'path' | 'steps'> = {
  kind: 'message',
  fields: Fields.read({}, new FieldSet({}), '', []),
  taskId: null,
  contextId: null,
  state: null,
  message: null,
  status: null,
  artifacts: [],
  append: false,
  history: [],
  past: [],
  pastProblems: [],
  unknown: []
}

/** The union of the extensions that the contents list. */
function unionOf (contents: readonly ContentView[]): readonly string[] {
  const listing = contents.filter(({ listed }) => listed.length > 0)
  // One set for all contents: a set for each content took 20 s when twenty thousand artifacts listed an extension each.
  return listing.length < 2 ? listing[0]?.listed ?? NO_VALUES : [...new Set(listing.flatMap(({ listed }) => listed))]
}

const NO_VALUES: readonly never[] = []
const CONTENTS = ['message', 'status', 'artifact'] as const
