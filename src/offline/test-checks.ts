/** What the schema cannot say of a file of tests: keys that contradict each other, and expectations that nothing could fail. */
import { carriesMessage, methodOfOperation } from '../a2a/operations.js'
import type { Operation } from '../a2a/operations.js'
import { dotted, shown } from '../config/diagnostics.js'
import type { Path, PathProblem } from '../config/diagnostics.js'
import { fault, items, mapping } from '../config/yaml-values.js'
import type { Mapping } from '../config/yaml-values.js'

const OF_REFUSALS = ['rule', 'reason', 'path', 'message', 'status']
const OF_FORWARDED = ['headers', 'body', 'unchanged']

/** @param value may still be wrong: what validation refuses is passed over */
export function testFileProblems (value: unknown): PathProblem[] {
  const file = mapping(value)
  const names = new Map<string, number>()
  return items(file.tests).flatMap((item, index) => {
    const test = mapping(item)
    const at: Path = ['tests', index]
    const problems: PathProblem[] = []
    const twin = typeof test.name === 'string' ? names.get(test.name) : undefined
    if (twin !== undefined) problems.push(fault([...at, 'name'], `tests[${twin}] and tests[${index}] have the same name`))
    if (typeof test.name === 'string') names.set(test.name, index)
    if (test.agent === undefined && file.agent === undefined) problems.push(fault(at, `${dotted(at)} has no agent`, 'write agent beside tests, with the keys of an agent or the name of one in the configuration'))
    return [...problems, ...requestProblems(test, [...at, 'request']), ...expectProblems(mapping(test.expect), [...at, 'expect'])]
  })
}

function requestProblems (test: Mapping, at: Path): PathProblem[] {
  const request = mapping(test.request)
  const clash = (key: string, other: string, hint: string): PathProblem => fault([...at, key], `${dotted(at)} has both ${other} and ${key}`, hint, 'key')
  const problems: PathProblem[] = []
  const { operation, message, metadata, params, method, http } = request
  if (http !== undefined) {
    problems.push(...Object.keys(request).filter(key => key !== 'http').map(key => clash(key, 'http', 'a recorded request is sent as it stands')))
    for (const key of ['versions', 'bindings']) if (test[key] !== undefined) problems.push(fault([...at.slice(0, -1), key], `${dotted([...at.slice(0, -1), key])} has no effect on a recorded request`, 'it has a version and a binding of its own', 'key'))
    return problems
  }
  if (params !== undefined && message !== undefined) problems.push(clash('message', 'params', 'params is the whole request object'))
  if (params !== undefined && metadata !== undefined) problems.push(clash('metadata', 'params', 'params is the whole request object'))
  if (method !== undefined && operation !== undefined) problems.push(clash('operation', 'method', 'method is for what is not an operation of A2A'))
  if (method !== undefined && items(test.bindings).includes('HTTP+JSON')) problems.push(fault([...at, 'method'], `${dotted([...at, 'method'])} is a method of JSON-RPC, and bindings names HTTP+JSON`, 'leave HTTP+JSON out', 'key'))
  if (typeof operation === 'string' && message !== undefined && isKnown(operation) && !carriesMessage(operation as Operation)) {
    problems.push(fault([...at, 'message'], `${dotted([...at, 'message'])}: ${operation} carries no message`, 'write params', 'key'))
  }
  const parts = items(mapping(message).parts)
  parts.forEach((part, index) => {
    const content = ['text', 'raw', 'url', 'data'].filter(key => Object.hasOwn(mapping(part), key))
    if (content.length !== 1) problems.push(fault([...at, 'message', 'parts', index], `${dotted([...at, 'message', 'parts', index])} must have exactly one of text, raw, url, data`, 'a malformed message is written with params'))
  })
  return problems
}

/** What is no operation is refused as such. */
function isKnown (operation: string): boolean {
  return methodOfOperation(operation as Operation, '1.0') !== undefined
}

function expectProblems (expect: Mapping, at: Path): PathProblem[] {
  const wrong = expect.decision === 'forward' ? OF_REFUSALS : expect.decision === 'reject' ? OF_FORWARDED : []
  const problems = wrong.filter(key => expect[key] !== undefined).map(key =>
    fault([...at, key], `${dotted([...at, key])} says something of a ${expect.decision === 'forward' ? 'refusal' : 'forwarded request'}, and the decision is ${String(expect.decision)}`, 'remove one of them', 'key'))
  for (const pointer of Object.keys(mapping(expect.body))) {
    if (pointer !== '' && !pointer.startsWith('/')) problems.push(fault([...at, 'body', pointer], `${shown(pointer)} is not a JSON Pointer`, 'it begins with a slash', 'key'))
  }
  return problems
}
