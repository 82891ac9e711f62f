/** The rules of object-schemas for responses: structured input yields a task, and the agent's own data conforms to its schemas. */
import t from 'tap'
import type { PolicyConfig } from '#config/model/model.js'
import type { ResponseDecision } from '#policy/response/evaluator.js'
import { ask, outcome, EVERY_STYLE, TYPE } from './responses.js'
import { declaring, OBJECT_SCHEMAS, objectSchemas, policyOf } from './fixtures.js'

const DATA = 'application/json;schema=*'

const withAnswers: PolicyConfig = {
  ...objectSchemas,
  response: [
    {
      id: 'structured-input-yields-task',
      on: ['SendMessage', 'SendStreamingMessage'],
      select: { event: 'first' },
      when: { requestMatched: 'validate-first-structured-part' },
      schema: { properties: { type: { const: 'task' } } },
      verdict: 'reject',
      error: { message: 'structured input returns a task' }
    },
    {
      id: 'artifact-parts',
      select: { part: { in: ['artifact', 'status', 'message'], data: true, mediaType: DATA } },
      schema: { fromCard: ['/schemas/{schema}', '/capabilities/extensions/{self}/params/schemas/{schema}'] },
      verdict: 'reject'
    }
  ]
}
const order = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }
const card = { ...declaring(OBJECT_SCHEMAS), schemas: { order } }
const policy = policyOf(card, { 'object-schemas': withAnswers }, { responses: 'enforce' })
const good = { total: 1 }
const bad = { total: 'x' }

for (const style of EVERY_STYLE) {
  t.test(style.name, async t => {
    const parts = (...list: readonly object[]): object => ({
      [style.version === '0.3' && style.binding !== 'JSONRPC' ? 'content' : 'parts']: list
    })
    const structured = parts(style.part(good))
    const plain = parts(style.text('x'))
    const judged = (message: object, ...events: readonly Buffer[]): string[] => {
      const { review, decision } = ask(policy, { style, message, operation: events.length > 1 ? 'SendStreamingMessage' : 'SendMessage' })
      t.equal(decision.rejection, null)
      return events.map(event => outcome(review?.evaluate(event, events.length > 1) as ResponseDecision))
    }
    const task = style.task_('working')
    const message = style.body('message', style.message([style.text('hello')]))

    t.same(judged(structured, task), [''])
    t.match(judged(structured, message), [
      /^refused: The agent's response violates the rule "object-schemas\/structured-input-yields-task": \S+: structured input returns a task\.$/
    ])
    t.same(judged(plain, message), [''], 'no structured input')
    t.same(judged(structured, task, style.status('completed')), ['', ''], 'of a stream only the first event')
    t.match(judged(structured, style.status('working'), task), [/^refused/])

    const artifact = (data: unknown, type = TYPE): Buffer => style.task_('completed', { artifacts: [[style.part(data, type)]] })
    t.same(judged(plain, artifact(good)), [''])
    t.match(judged(plain, artifact(bad)), [/total must be a number \(the schema "order" of the agent's card\)\.$/])
    t.match(judged(plain, artifact(good, 'application/json;schema=nope')), [
      /names a schema that the agent's card does not declare; the card declares order\.$/
    ])
    t.match(judged(plain, artifact(good, 'application/json;schema=')), [/cannot be evaluated: \S+ is not a well-formed media type\.$/])
    t.same(judged(plain, artifact(bad, 'application/json')), [''], 'names no schema')
    t.match(judged(plain, style.body('message', style.message([style.part(bad)]))), [/^refused/])
    t.match(judged(plain, style.task_('input-required', { message: style.message([style.part(bad)]) })), [/^refused/])
    t.match(judged(plain, task, style.artifact([style.part(bad)]), style.artifact([style.part(bad)], { append: true })), [
      '',
      /^refused/,
      /^refused/
    ])
  })
}
