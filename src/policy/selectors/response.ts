/** Selectors over one result of a response, and over both requests and responses. */
import { isTerminal } from '#a2a/task-state.js'
import { parsePointer } from '#wire/json/pointer.js'
import type { ResponseSelectorConfig, ContentPlace, MetadataPlace } from '#config/model/model.js'
import type { BothSides } from '../compile/compiled.js'
import type { ResultSubject } from '../response/result-subject.js'
import { MethodResultSubject } from '../response/result-subject.js'
import type { Side } from '../reasons.js'
import type { Place, SelectContext, Selected, Selector } from './selection.js'
import { collect, NOWHERE, plain } from './selection.js'
import { compilePart } from './part.js'
import { compileMetadata, compileSelector } from './select.js'
import type { RequestSubject, Subject } from './subject.js'

/** Places of a response that have parts. */
export const RESPONSE_CONTENTS: readonly ContentPlace[] = ['message', 'status', 'artifact']

/** @param located true if the selector must report the places of the values in the response, for edits */
export function compileResponseSelector (config: ResponseSelectorConfig, context: SelectContext, located = false): Selector<ResultSubject> {
  if (config.metadata !== undefined) return compileMetadata(config.metadata, context, located)
  if (config.event !== undefined) return compileEvent(config.event, located)
  if (config.result !== undefined) return compileResult(config.result, located)
  const part = config.part ?? {}
  return compilePart(part.in === undefined ? { ...part, in: RESPONSE_CONTENTS } : part, context, located)
}

/** Path of the body itself. */
export const BODY = 'body'

/** Compiles `event`. For `last` every result is selected, because only the end shows which result was the last. */
function compileEvent (event: NonNullable<ResponseSelectorConfig['event']>, located: boolean): Selector<ResultSubject> {
  return {
    needsMessage: false,
    missing: null,
    select: subject =>
      isMeantBy(event, subject)
        ? [plain(subject.result.path === '' ? BODY : subject.result.path, subject.normalised, located ? subject.result.steps : NOWHERE)]
        : []
  }
}

/** Compiles `result`: values in the result of a method. */
function compileResult (pointer: string, located: boolean): Selector<ResultSubject> {
  const steps = pointer === '' ? [] : parsePointer(pointer)
  return {
    needsMessage: false,
    missing: null,
    select: subject => {
      if (!(subject instanceof MethodResultSubject)) return []
      const { value, path, steps: at } = subject.place
      const places: Place[] = []
      collect({ value, path, at }, steps, places)
      return places.map(place => plain(place.path === '' ? BODY : place.path, place.value, located ? place.at : NOWHERE))
    }
  }
}

/** True when `event` selects this result, as far as the result itself shows. */
export function isMeantBy (event: NonNullable<ResponseSelectorConfig['event']>, { first, result }: ResultSubject): boolean {
  if (event === 'first') return first
  return event === 'last' || result.kind === 'message' || isTerminal(result.state)
}

const MESSAGE: readonly MetadataPlace[] = ['message']

/** True when a result has one of the selected places. */
export function compilePlaces ({ metadata, part, event, result }: ResponseSelectorConfig): (subject: ResultSubject) => boolean {
  if (event !== undefined || result !== undefined) return () => true
  if (metadata !== undefined) return subject => subject.holders(metadata.in ?? MESSAGE).length > 0
  return subject => subject.contents(part?.in ?? RESPONSE_CONTENTS).length > 0
}

const NO_SELECTION: Selector = { needsMessage: true, missing: null, select: () => [] }

/** Compiles a selector for both sides. Each side ignores places that it does not have. */
export function compileBothSides (config: ResponseSelectorConfig, context: SelectContext): BothSides {
  const { part, metadata } = config
  return {
    request:
      metadata !== undefined
        ? compileSelector({ metadata }, context)
        : part !== undefined ? compileSelector({ part }, context) : NO_SELECTION,
    response: compileResponseSelector(config, context)
  }
}

/** Selects on one side. The caller passes a subject of the matching class. */
export function selectOn (select: BothSides, subject: Subject, side: Side): readonly Selected[] {
  return side === 'request' ? select.request.select(subject as RequestSubject) : select.response.select(subject as ResultSubject)
}
