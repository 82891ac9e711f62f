/** Every member that the gateway or a rule may read, with every JSON type: the gateway accepts only the types that A2A defines. */
import t from 'tap'
import type { ResponseView } from '#a2a/message/result.js'
import type { FieldProblem } from '#a2a/fields.js'
import { readCall } from '#a2a/message/call.js'
import { unclearName } from '#a2a/message/named.js'
import { viewResponse } from '#a2a/message/read-result.js'
import type { MemberCase, SampleName } from '../helpers/member-types.js'
import { requestCases, responseCases, SAMPLES, unplaced } from '../helpers/member-types.js'
import { FORMS, nameOf } from '../security/kit.js'

const LIMITS = { depth: 64, members: 1_000 }

type Found = Pick<FieldProblem, 'path' | 'message'>

function inRequest ({ form: { binding, version }, operation, body }: MemberCase, value: unknown): readonly Found[] {
  const bytes = Buffer.from(JSON.stringify(body(value)))
  const restOperation = binding === 'JSONRPC' ? null : operation
  const call = readCall({ bytes, binding, version, contentType: 'application/json', restOperation, limits: LIMITS })
  if (call.problem !== null && call.problem.rule !== 'unknown-method') return [call.problem]
  if (call.view !== null) return call.view.problems
  const unclear = unclearName(call, binding, binding === 'JSONRPC' ? null : { path: '/rest/tasks/t:cancel', tenant: null, query: '' })
  return unclear === null ? [] : [unclear]
}

function inResponse ({ form: { binding, version }, operation, stream, body }: MemberCase, value: unknown): readonly Found[] {
  const view: ResponseView = viewResponse(JSON.parse(JSON.stringify(body(value))), { binding, version, operation, stream, id: 1 })
  return view.fault === null ? view.problems : [view.fault, ...view.problems]
}

/** JSON-RPC 2.0 §4: not null. */
const REQUIRED: ReadonlySet<string> = new Set(['envelope.jsonrpc', 'envelope.method'])

/** What is wrong with the member itself. */
function typeProblems ({ path }: MemberCase, found: readonly Found[]): readonly Found[] {
  return found.filter(one => (one.path === path || one.path.startsWith(`${path}[`)) && / must be |^must be /.test(one.message))
}

for (const [direction, casesOf, read] of [['requests', requestCases, inRequest], ['responses', responseCases, inResponse]] as const) {
  for (const form of FORMS) {
    t.test(`${direction}, ${nameOf(form)}`, async t => {
      const cases = casesOf(form)
      const missed: string[] = []
      const refused: string[] = []
      let wrong = 0
      for (const one of cases) {
        const look = (sample: SampleName): readonly Found[] => typeProblems(one, read(one, SAMPLES[sample]))
        for (const sample of one.wrong) {
          wrong++
          if (look(sample).length === 0) missed.push(`${one.name}: ${sample}, found ${JSON.stringify(read(one, SAMPLES[sample]))}`)
        }
        for (const sample of one.right) if (look(sample).length > 0) refused.push(`${one.name}: ${sample}`)
        if (!REQUIRED.has(one.name) && typeProblems(one, read(one, null)).length > 0) refused.push(`${one.name}: null`)
      }
      t.same(missed, [], `${cases.length} members, ${wrong} values of another type: each is a problem`)
      t.same(refused, [], 'no value of its type, nor null, is one')
      t.ok(wrong > 200, `${wrong}`)
    })
  }
}

t.test('every kind of object is covered', async t => {
  for (const form of FORMS) t.same(unplaced(form), [], nameOf(form))
})
