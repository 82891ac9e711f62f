/**
 * The vectors of docs/reference/authzen-a2a.md, checked without code of the gateway: by plain Ajv with the published schemas, by a mapping
 * that is written here from the tables of the page, and by a literal row for each vector. `pipeline/external` compares the gateway with the
 * same vectors.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { ROOT } from '../helpers/paths.js'

interface Facts {
  readonly agent: string
  readonly caller: { readonly [name: string]: unknown } | null
  readonly operation: string
  readonly action: string
  readonly version: string
  readonly binding: string
  readonly tenant: string | null
  readonly taskId: string | null
  readonly contextId: string | null
  readonly pushUrls: readonly string[]
  readonly requested: readonly string[]
  readonly active: readonly string[]
  readonly missing: readonly string[]
}
interface Sent {
  readonly phase: string
  readonly selected: { readonly rule: string, readonly values: readonly unknown[] } | null
  readonly results: readonly { readonly taskId?: string, readonly contextId?: string }[]
  readonly message?: unknown
}
interface Vector {
  readonly name: string
  readonly facts: Facts
  readonly asked: Sent
  readonly question: Readonly<Record<string, { readonly [name: string]: unknown }>>
  readonly answer: object
  readonly expected: { readonly outcome: string }
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, 'config', name), 'utf8'))
const { vectors } = read('authzen-vectors.json') as { vectors: Vector[] }

/** Phase, subject, action, resource, and members of the context. */
const ROWS: readonly (readonly [vector: string, row: string])[] = [
  ['a message of an authenticated caller is permitted',
    'request: identity alice@example.com, SendMessage, a2a_agent billing, agent contextId extensions phase supported_actions supported_obligations'],
  ['a message without a caller is denied, with a reason for the client',
    'request: anonymous anonymous, SendMessage, a2a_agent billing, extensions phase supported_actions supported_obligations'],
  ['a task is the resource of GetTask',
    'request: identity alice@example.com, GetTask, task t1, agent extensions phase supported_actions supported_obligations taskId'],
  ['a method of an extension has its own name',
    'request: anonymous anonymous, com.example/pay, a2a_agent billing, extensions phase supported_actions supported_obligations'],
  ['a rule sends the values that it selects, and the server strips one',
    'request: identity alice@example.com, SendMessage, a2a_agent billing, agent extensions phase rule selected supported_actions supported_obligations'],
  ['the request object is sent; the server sets a value and a header for the agent',
    'request: anonymous anonymous, SendMessage, a2a_agent billing, extensions phase request supported_actions supported_obligations'],
  ['push notification URLs are properties of the resource; a notification is recorded',
    'request: identity alice@example.com, CreateTaskPushNotificationConfig, push_config t1, agent extensions phase supported_actions supported_obligations taskId'],
  ['a response names its results, and the server strips a value',
    'response: identity alice@example.com, SendMessage, a2a_agent billing, agent contextId extensions phase results supported_actions supported_obligations taskId'],
  ['an obligation that the gateway does not know denies',
    'request: anonymous anonymous, SendMessage, a2a_agent billing, extensions phase supported_actions supported_obligations'],
  ['an answer without a boolean decision is no answer',
    'request: anonymous anonymous, SendMessage, a2a_agent billing, extensions phase supported_actions supported_obligations']
]

t.test('each vector has the parts that its row says', t => {
  t.strictSame(vectors.map(({ name, question: { subject, action, resource, context } }) => [
    name,
    `${String(context?.['phase'])}: ${String(subject?.['type'])} ${String(subject?.['id'])}, ${String(action?.['name'])}, ` +
    `${String(resource?.['type'])} ${String(resource?.['id'])}, ${Object.keys(context ?? {}).sort().join(' ')}`
  ]), ROWS)
  t.end()
})

/** The tables of the page, `subject` to `context`. */
const RESOURCES: Readonly<Record<string, (facts: Facts) => object>> = {
  SendMessage: ({ agent }) => ({ type: 'a2a_agent', id: agent }),
  Other: ({ agent }) => ({ type: 'a2a_agent', id: agent }),
  GetTask: ({ taskId }) => ({ type: 'task', id: taskId }),
  CreateTaskPushNotificationConfig: ({ agent, taskId }) => ({ type: 'push_config', id: taskId ?? agent })
}
const ACTIONS: Readonly<Record<string, readonly string[]>> = { request: ['strip', 'set', 'header', 'redact'], response: ['strip', 'set'] }
const known = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined))

function byThePage (facts: Facts, { phase, selected, results, message }: Sent): object {
  const { caller, agent, version, binding, tenant, pushUrls, requested, active, missing } = facts
  const { source, client, scopes, groups, tenant: own, spiffe } = caller ?? {}
  return {
    subject: caller === null
      ? { type: 'anonymous', id: 'anonymous' }
      : { type: 'identity', id: caller['subject'], properties: known({ source, client, scopes, groups, tenant: own, spiffe }) },
    action: { name: facts.action },
    resource: {
      ...RESOURCES[facts.operation]?.(facts),
      properties: known({ agent, version, binding, tenant, pushUrls: pushUrls.length === 0 ? null : pushUrls })
    },
    context: known({
      agent: client,
      phase,
      taskId: facts.taskId ?? results[0]?.taskId,
      contextId: facts.contextId ?? results[0]?.contextId,
      results: phase === 'response' ? results : null,
      extensions: { requested, active, missing },
      rule: selected?.rule,
      selected: selected?.values,
      request: phase === 'request' ? message : null,
      result: phase === 'response' ? message : null,
      supported_obligations: ['notification', 'custom'],
      supported_actions: ACTIONS[phase]
    })
  }
}

t.test('the questions follow from the facts by the tables of the page', t => {
  for (const { name, facts, asked, question } of vectors) t.strictSame(byThePage(facts, asked), question, name)
  t.end()
})

/** The same schema, without members that it does not name. */
function closed (schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return members['type'] === 'object' && members['properties'] !== undefined ? { ...members, additionalProperties: false } : members
}

t.test('the schemas accept the vectors, also without members that they do not name, and reject what the page forbids', t => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  const isQuestion = ajv.compile(read('authzen-question.schema.json') as object)
  const isNamed = ajv.compile(closed(read('authzen-question.schema.json')) as object)
  const isAnswer = ajv.compile(read('authzen-answer.schema.json') as object)
  for (const { name, question, answer, expected } of vectors) {
    t.ok(isQuestion(question), `${name}: ${JSON.stringify(isQuestion.errors)}`)
    t.ok(isNamed(question), `${name}: ${JSON.stringify(isNamed.errors)}`)
    t.equal(isAnswer(answer), expected.outcome !== 'error', `${name}: ${JSON.stringify(isAnswer.errors)}`)
  }
  const [first] = vectors as [Vector]
  const { subject, resource, context } = first.question
  const wrong: readonly object[] = [
    { ...first.question, subject: { ...subject, type: 'user' } },
    { ...first.question, subject: { type: 'identity' } },
    { ...first.question, action: {} },
    { ...first.question, resource: { ...resource, type: 'agent' } },
    { ...first.question, resource: { type: 'task', id: 't1' } },
    { ...first.question, context: { ...context, phase: 'both' } },
    { ...first.question, context: { ...context, selected: [{ path: '/a', value: 1 }] } },
    { ...first.question, context: { ...context, extensions: { requested: [], active: [] } } }
  ]
  for (const question of wrong) t.notOk(isQuestion(question), JSON.stringify(question))
  const answers: readonly object[] = [
    {},
    { decision: 1 },
    { decision: true, context: [] },
    { decision: true, context: { obligations: {} } },
    { decision: true, context: { obligations: [{}] } },
    { decision: true, context: { obligations: [{ type: 'notification', properties: { to: 'a' } }] } },
    { decision: true, context: { obligations: [{ type: 'custom', properties: { vendor: 'a2a', action: 'strip' } }] } },
    { decision: true, context: { obligations: [{ type: 'custom', properties: { vendor: 'a2a', action: 'header', name: 'a b', value: '' } }] } }
  ]
  for (const answer of answers) t.notOk(isAnswer(answer), JSON.stringify(answer))
  t.end()
})
