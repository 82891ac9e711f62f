/** Checks of the responses in a test file that the schema cannot express. */
import type { Operation } from '#a2a/operations.js'
import { taskStateOf } from '#a2a/task-state.js'
import { dotted, formatValue } from '#config/diagnostics.js'
import type { Path, PathProblem } from '#config/diagnostics.js'
import { problemAt, items, mapping } from '#config/yaml/values.js'
import type { Mapping } from '#config/yaml/values.js'

const CONTENT = ['task', 'message', 'tasks', 'events', 'result', 'error', 'http']
const OF_EVENT = ['task', 'message', 'statusUpdate', 'artifactUpdate', 'result', 'error']
const OF_REJECTIONS = ['rule', 'reason', 'path', 'message', 'event']
const OF_FORWARDED = ['edited', 'annotations', 'body', 'unchanged']
const OTHERS = 'use result for invalid responses'

/**
 * Checks one response.
 * @param request request of the same exchange
 */
export function responseProblems (response: Mapping, request: Mapping, at: Path): PathProblem[] {
  const content = CONTENT.filter(key => Object.hasOwn(response, key))
  if (content.length !== 1) {
    return [
      problemAt(
        at,
        `${dotted(at)} must have exactly one of ${CONTENT.join(', ')}`,
        content.length === 0 ? "write the agent's response" : 'remove the others'
      )
    ]
  }
  const [kind = ''] = content
  const problems: PathProblem[] = []
  if (kind === 'http') {
    for (const key of ['extensions', 'headers', 'status']) {
      if (response[key] !== undefined) {
        problems.push(problemAt([...at, key], `${dotted(at)} has both http and ${key}`, 'a recorded response is used unchanged', 'key'))
      }
    }
    return problems
  }
  const wrong = mismatchOf(kind, request)
  if (wrong !== null) {
    problems.push(problemAt(
      [...at, kind], `${dotted([...at, kind])}: ${wrong}`, 'use result for invalid responses', 'key'
    ))
  }
  if (kind === 'message') problems.push(...messageProblems(response.message, [...at, 'message']))
  if (kind === 'task') problems.push(...taskProblems(response.task, [...at, 'task']))
  items(response.tasks).forEach((task, i) => { problems.push(...taskProblems(task, [...at, 'tasks', i])) })
  items(response.events).forEach((event, i) => { problems.push(...eventProblems(mapping(event), [...at, 'events', i])) })
  return problems
}

/**
 * Finds content that the operation cannot return.
 * @returns null when the operation is unknown, because the request is recorded and not yet read
 */
function mismatchOf (kind: string, { operation = 'SendMessage', method, http }: Mapping): string | null {
  if (http !== undefined || method !== undefined || kind === 'error' || kind === 'result') return null
  const name = operation as Operation
  if (name === 'SendStreamingMessage' || name === 'SubscribeToTask') return kind === 'events' ? null : `${name} returns events`
  if (name === 'ListTasks') return kind === 'tasks' ? null : 'ListTasks returns tasks'
  if (name === 'GetTask' || name === 'CancelTask') return kind === 'task' ? null : `${name} returns a task`
  if (name === 'SendMessage') return kind === 'task' || kind === 'message' ? null : 'SendMessage returns a task or a message'
  return `${String(operation)} returns neither messages nor tasks`
}

function eventProblems (event: Mapping, at: Path): PathProblem[] {
  const content = OF_EVENT.filter(key => Object.hasOwn(event, key))
  if (content.length !== 1) {
    return [
      problemAt(at, `${dotted(at)} must have exactly one of ${OF_EVENT.join(', ')}`, 'each event is one of them')
    ]
  }
  switch (content[0]) {
    case 'message':
      return messageProblems(event.message, [...at, 'message'])
    case 'task':
      return taskProblems(event.task, [...at, 'task'])
    case 'statusUpdate':
      return statusProblems(mapping(event.statusUpdate).status, [...at, 'statusUpdate', 'status'])
    case 'artifactUpdate':
      return partProblems(mapping(mapping(event.artifactUpdate).artifact).parts, [...at, 'artifactUpdate', 'artifact', 'parts'], OTHERS)
    default:
      return []
  }
}

function taskProblems (task: unknown, at: Path): PathProblem[] {
  const { status, artifacts, history } = mapping(task)
  return [
    ...statusProblems(status, [...at, 'status']),
    ...items(artifacts).flatMap((artifact, i) => partProblems(mapping(artifact).parts, [...at, 'artifacts', i, 'parts'], OTHERS)),
    ...items(history).flatMap((message, i) => messageProblems(message, [...at, 'history', i]))
  ]
}

function statusProblems (status: unknown, at: Path): PathProblem[] {
  const { state, message } = mapping(status)
  const unknown = typeof state === 'string' && taskStateOf(state) === null
  return [
    ...(unknown ? [problemAt([...at, 'state'], `${dotted([...at, 'state'])} is not a state of A2A`, OTHERS)] : []),
    ...messageProblems(message, [...at, 'message'])
  ]
}

function messageProblems (message: unknown, at: Path): PathProblem[] {
  return partProblems(mapping(message).parts, [...at, 'parts'], OTHERS)
}

export function partProblems (parts: unknown, at: Path, hint: string): PathProblem[] {
  return items(parts).flatMap((part, index) => {
    const content = ['text', 'raw', 'url', 'data'].filter(key => Object.hasOwn(mapping(part), key))
    return content.length === 1
      ? []
      : [problemAt([...at, index], `${dotted([...at, index])} must have exactly one of text, raw, url, data`, hint)]
  })
}

export function pointerProblems (body: unknown, at: Path): PathProblem[] {
  return Object.keys(mapping(body)).filter(pointer => pointer !== '' && !pointer.startsWith('/'))
    .map(pointer => problemAt([...at, pointer], `${formatValue(pointer)} is not a JSON Pointer`, 'it begins with a slash', 'key'))
}

export function responseExpectProblems (test: Mapping, expect: Mapping, at: Path): PathProblem[] {
  const of = (key: string): string => dotted([...at, key])
  const forwards = expect.decision === 'forward'
  const wrong = forwards ? OF_REJECTIONS : expect.decision === 'reject' ? OF_FORWARDED : []
  const problems = wrong
    .filter(key => expect[key] !== undefined)
    .map(key =>
      problemAt(
        [...at, key],
        `${of(key)} applies to ${forwards ? 'a rejection' : 'a forwarded response'}, and the decision is ${String(expect.decision)}`,
        'remove one of them',
        'key'
      )
    )
  const { events, http } = mapping(test.answer)
  if (test.answer !== undefined && http === undefined) {
    if (events === undefined && expect.event !== undefined) {
      problems.push(problemAt([...at, 'event'], `${of('event')} is for a stream, and the response is not one`, 'remove it', 'key'))
    }
    if (events !== undefined) {
      if (typeof expect.event === 'number' && expect.event > items(events).length) {
        problems.push(
          problemAt(
            [...at, 'event'],
            `${of('event')} is ${expect.event}, and the stream has ${items(events).length} events`,
            'events count from 1'
          )
        )
      }
      for (const pointer of Object.keys(mapping(expect.body))) {
        if (/^\/(?!(?:[1-9]\d*)(?:\/|$))/.test(pointer)) {
          problems.push(
            problemAt(
              [...at, 'body', pointer],
              `${formatValue(pointer)} does not begin with the number of an event`,
              'for a stream, write it as in /1/task/id; events count from 1',
              'key'
            )
          )
        }
      }
    }
  }
  return [...problems, ...pointerProblems(expect.body, [...at, 'body'])]
}
