/** A comparable form of views and decisions: everything that depends on the order of members is sorted. */
import type { FieldProblem } from '#a2a/fields.js'
import { MAX_PROBLEMS } from '#a2a/fields.js'
import type { ContentView, PartView } from '#a2a/message/message.js'
import { statedTypes } from '#a2a/message/message.js'
import { normaliseMessage } from '#a2a/message/normalise.js'
import type { ResultView } from '#a2a/message/result.js'
import { normaliseResult } from '#a2a/message/normalise-result.js'

/** When there are more problems than the recorded maximum, the order of members decides which problems are recorded. */
export function spokenProblems (problems: readonly FieldProblem[]): readonly string[] | number {
  return problems.length >= MAX_PROBLEMS
    ? problems.length
    : problems
      .map(
        ({ path, message }) => `${path} ${message.replaceAll(/"(?:text|raw|url|data|file)" and "(?:text|raw|url|data|file)"/g, 'two')}`
      )
      .sort()
}

function spokenPart (part: PartView): unknown {
  const { path, index, isData, data, dataPath, dataSteps, mediaTypes, ambiguity: doubt } = part
  return { path, index, isData, data, dataPath, dataSteps, mediaTypes, doubt, stated: statedTypes(part) }
}

export function spokenContent (view: ContentView | null): unknown {
  if (view === null) return null
  const { path, steps, listed, parts, list } = view
  return { path, steps, listed, parts: parts.map(spokenPart), list, normalised: normaliseMessage(view) }
}

export function spokenResult (view: ResultView): unknown {
  const { kind, path, steps, taskId, contextId, state, message, status, artifacts, append, history } = view
  return {
    kind,
    path,
    steps,
    taskId,
    contextId,
    state,
    message: spokenContent(message),
    status: spokenContent(status),
    artifacts: artifacts.map(spokenContent),
    append,
    history: history.map(spokenContent),
    normalised: normaliseResult(view)
  }
}
