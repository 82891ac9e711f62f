/** Checks of a test file that the schema cannot express: keys that contradict each other, and expectations that can never fail. */
import { carriesMessage, methodOfOperation } from '#a2a/operations.js'
import type { Operation } from '#a2a/operations.js'
import { dotted } from '#config/diagnostics.js'
import type { Path, PathProblem } from '#config/diagnostics.js'
import { problemAt, items, mapping } from '#config/yaml/values.js'
import type { Mapping } from '#config/yaml/values.js'
import { responseExpectProblems, responseProblems, partProblems, pointerProblems } from './response-checks.js'

const OF_REJECTIONS = ['rule', 'reason', 'path', 'message', 'status', 'grpcStatus']
const OF_FORWARDED = ['headers', 'body', 'unchanged']

/**
 * Checks a test file.
 * @param value may still be wrong; values that validation rejects are skipped
 */
export function testFileProblems (value: unknown): PathProblem[] {
  const file = mapping(value)
  const names = new Map<string, number>()
  return items(file.tests).flatMap((item, index) => {
    const test = mapping(item)
    const at: Path = ['tests', index]
    const problems: PathProblem[] = []
    const earlier = typeof test.name === 'string' ? names.get(test.name) : undefined
    if (earlier !== undefined) problems.push(problemAt([...at, 'name'], `tests[${earlier}] and tests[${index}] have the same name`))
    if (typeof test.name === 'string') names.set(test.name, index)
    if (test.agent === undefined && file.agent === undefined) {
      problems.push(
        problemAt(
          at,
          `${dotted(at)} has no agent`,
          'write agent beside tests, with the keys of an agent or the name of one in the configuration'
        )
      )
    }
    const before = items(test.before).flatMap((exchange, i) => exchangeProblems(test, mapping(exchange), [...at, 'before', i]))
    return [
      ...problems,
      ...memoryProblems(test, at),
      ...before,
      ...exchangeProblems(test, test, at),
      ...expectProblems(test, [...at, 'expect']),
      ...statusProblems(test, at)
    ]
  })
}

/**
 * Checks one exchange.
 * @param exchange request and response: one of `before`, or the test itself
 */
function exchangeProblems (test: Mapping, exchange: Mapping, at: Path): PathProblem[] {
  const request = mapping(exchange.request)
  return [
    ...requestProblems(test, request, [...at, 'request']),
    ...(exchange.answer === undefined ? [] : responseProblems(mapping(exchange.answer), request, [...at, 'answer']))
  ]
}

function memoryProblems (test: Mapping, at: Path): PathProblem[] {
  if (test.memory === undefined) return []
  if (test.before !== undefined) {
    return [
      problemAt(
        [...at, 'memory'], `${dotted(at)} has both before and memory`,
        'the exchanges in before define the state that the gateway remembers', 'key'
      )
    ]
  }
  if (typeof test.memory === 'string' && test.memory !== 'unknown') {
    return [
      problemAt(
        [...at, 'memory'],
        `${dotted([...at, 'memory'])} must be unknown, or contain the state of the task`,
        'write {state: input-required}'
      )
    ]
  }
  const { message, params, http } = mapping(test.request)
  const names = http !== undefined || typeof mapping(message).taskId === 'string' || params !== undefined
  return names || test.memory === 'unknown'
    ? []
    : [
        problemAt(
          [...at, 'memory'],
          `${dotted([...at, 'memory'])} applies to a task, and the request names none`,
          'write taskId in the message',
          'key'
        )
      ]
}

function requestProblems (test: Mapping, request: Mapping, at: Path): PathProblem[] {
  const clash = (key: string, other: string, hint: string): PathProblem =>
    problemAt([...at, key], `${dotted(at)} has both ${other} and ${key}`, hint, 'key')
  const problems: PathProblem[] = []
  const { operation, message, metadata, params, method, http } = request
  if (http !== undefined) {
    problems.push(
      ...Object.keys(request)
        .filter(key => key !== 'http')
        .map(key => clash(key, 'http', 'a recorded request is sent unchanged'))
    )
    for (const key of ['versions', 'bindings']) {
      const place = [...at.slice(0, 2), key]
      if (test[key] !== undefined) {
        problems.push(
          problemAt(place, `${dotted(place)} has no effect on a recorded request`, 'the recording determines version and binding', 'key')
        )
      }
    }
    return problems
  }
  if (params !== undefined && message !== undefined) problems.push(clash('message', 'params', 'params is the whole request object'))
  if (params !== undefined && metadata !== undefined) problems.push(clash('metadata', 'params', 'params is the whole request object'))
  if (method !== undefined && operation !== undefined) {
    problems.push(clash('operation', 'method', 'method is for methods that are not operations of A2A'))
  }
  for (const binding of items(test.bindings)) {
    if (method === undefined || (binding !== 'HTTP+JSON' && binding !== 'GRPC')) continue
    problems.push(
      problemAt(
        [...at, 'method'],
        `${dotted([...at, 'method'])} is a method of JSON-RPC, and bindings names ${binding}`,
        `leave ${binding} out`,
        'key'
      )
    )
  }
  if (typeof operation === 'string' && message !== undefined && isKnown(operation) && !carriesMessage(operation as Operation)) {
    problems.push(problemAt([...at, 'message'], `${dotted([...at, 'message'])}: ${operation} carries no message`, 'write params', 'key'))
  }
  return [...problems, ...partProblems(mapping(message).parts, [...at, 'message', 'parts'], 'a malformed message is written with params')]
}

/** True for a known operation. Another check rejects unknown operations. */
function isKnown (operation: string): boolean {
  return methodOfOperation(operation as Operation, '1.0') !== undefined
}

/** Finds statuses that no binding of the test compares. A recorded request has a binding of its own. */
function statusProblems (test: Mapping, at: Path): PathProblem[] {
  if (mapping(test.request).http !== undefined) return []
  const grpc = items(test.bindings).includes('GRPC')
  const expect = mapping(test.expect)
  const expectations: [Mapping, Path][] = [[expect, [...at, 'expect']], [mapping(expect.answer), [...at, 'expect', 'answer']]]
  const problems = expectations.flatMap(([keys, place]) => {
    const name = grpc ? 'status' : 'grpcStatus'
    const path = [...place, name]
    if (keys[name] === undefined) return []
    return [
      grpc
        ? problemAt(
          path, `${dotted(path)} is an HTTP status, and bindings names GRPC`, 'write grpcStatus for GRPC, and a separate test for HTTP',
          'key'
        )
        : problemAt(path, `${dotted(path)} is a status of gRPC, and bindings does not name GRPC`, 'add GRPC to bindings', 'key')
    ]
  })
  const path = [...at, 'answer', 'status']
  return grpc && mapping(test.answer).status !== undefined
    ? [
        ...problems,
        problemAt(path, `${dotted(path)} is an HTTP status, and bindings names GRPC`, 'write error, or a separate test for HTTP', 'key')
      ]
    : problems
}

/** The keys that make no sense with a decision. A paused request breaks rules, but its response is no error. */
function wrongKeys (decision: unknown): readonly string[] {
  if (decision === 'forward') return OF_REJECTIONS
  if (decision === 'reject') return OF_FORWARDED
  return decision === 'pause' ? [...OF_FORWARDED, 'reason', 'message', 'status', 'grpcStatus'] : []
}

function expectProblems (test: Mapping, at: Path): PathProblem[] {
  const expect = mapping(test.expect)
  const of = (key: string): string => dotted([...at, key])
  const problems = wrongKeys(expect.decision)
    .filter(key => expect[key] !== undefined)
    .map(key =>
      problemAt(
        [...at, key],
        `${of(key)} applies to a ${OF_FORWARDED.includes(key) ? 'forwarded request' : 'rejection'}, and the decision is ` +
          `${String(expect.decision)}`,
        'remove one of them',
        'key'
      )
    )
  problems.push(...pointerProblems(expect.body, [...at, 'body']))
  if (expect.answer === undefined) {
    if (test.answer !== undefined) {
      problems.push(
        problemAt(
          [...at.slice(0, 2), 'answer'],
          `${dotted([...at.slice(0, 2), 'answer'])} is given, but expect has no expectation about it`,
          'write expect.answer',
          'key'
        )
      )
    }
    return problems
  }
  if (test.answer === undefined) {
    problems.push(
      problemAt([...at, 'answer'], `${of('answer')} applies to a response, and the test has none`, 'write answer beside request', 'key')
    )
  }
  if (expect.decision === 'reject' || expect.decision === 'pause') {
    problems.push(
      problemAt(
        [...at, 'answer'],
        `${of('answer')} applies to a response, and a ` +
          `${expect.decision === 'reject' ? 'rejected' : 'paused'} request gets none from the agent`,
        'remove it, or expect the request to be forwarded',
        'key'
      )
    )
  }
  return [...problems, ...responseExpectProblems(test, mapping(expect.answer), [...at, 'answer'])]
}
