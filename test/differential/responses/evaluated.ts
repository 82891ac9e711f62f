/** The gateway's reading of a response: all data that rules, activation, memory and redaction use. */
import type { ContentView } from '#a2a/message/message.js'
import { normaliseResult } from '#a2a/message/normalise-result.js'
import { roleOf } from '#a2a/message/normalise.js'
import type { ResultView } from '#a2a/message/result.js'
import { partReading } from '../evaluated.js'
import type { ContentReading, PartReading, ResultReading } from './reading.js'
import { NO_CONTENT } from './reading.js'

export function judgedResult (view: ResultView): ResultReading {
  const { kind, taskId, contextId, state, message, status, artifacts, history, append } = view
  return {
    kind,
    taskId,
    contextId,
    state,
    append: kind === 'artifactUpdate' ? append : undefined,
    metadata: normaliseResult(view).metadata,
    message: message === null ? null : messageOf(message),
    status: status === null ? null : messageOf(status),
    artifacts: artifacts.map(content => ({ ...contentOf(content), id: content.fields.get('artifactId') })),
    history: history.map(messageOf)
  }
}

function messageOf (content: ContentView): ContentReading {
  const { fields } = content
  return { ...contentOf(content), role: roleOf(fields), taskId: fields.get('taskId'), contextId: fields.get('contextId') }
}

function contentOf ({ fields, listed, parts, list }: ContentView): ContentReading {
  const found: (PartReading | null)[] = Array.from({ length: list?.length ?? 0 }, () => null)
  for (const part of parts) found[part.index] = partReading(part)
  return { ...NO_CONTENT, metadata: fields.get('metadata'), extensions: listed, parts: found }
}
