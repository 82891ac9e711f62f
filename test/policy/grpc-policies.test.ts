/** Policies over gRPC: unknown fields, messages that cannot be read, and edits. `EVERY_STYLE` runs other tests in this binding too. */
import t from 'tap'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import type { GrpcMethod } from '#a2a/grpc/methods.js'
import { readCall } from '#a2a/message/call.js'
import { payloadOf } from '#a2a/payload.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import { decide } from '#policy/request/evaluate.js'
import { bodyOf } from '#pipeline/request.js'
import type { JsonObject } from '#wire/json/object.js'
import { writeProtobuf } from '#wire/protobuf/write.js'
import { number, raw } from '../helpers/protobuf-messages.js'
import { ask, judge, LIMITS, outcome, policyFor, rule, Style, URI } from './responses.js'
import { policyOf } from './fixtures.js'

const GRPC = new Style('1.0', 'GRPC')
const { request, response } = grpcMethodFor('SendMessage', '1.0') as GrpcMethod

function sent (policy: AgentPolicy, bytes: Buffer, requested: readonly string[] = []): Decision {
  const call = readCall({ bytes, binding: 'GRPC', version: '1.0', contentType: undefined, restOperation: 'SendMessage', limits: LIMITS })
  return decide(
    { call, requested, headerName: 'A2A-Extensions', pathTenant: null, extensionRoute: null, headers: [], record: null, caller: null, now: null },
    policy
  )
}

t.test('unknown fields of a request', async t => {
  const bytes = Buffer.concat([raw(2, [raw(1, 'm'), raw(5, [raw(1, 'hello')]), number(19, 1)]), raw(33, 'x')])
  const message = 'The request has fields that A2A does not define: Message field 19, SendMessageRequest field 33. Extensions add data to metadata.'
  t.match(sent(policyFor({}), bytes), {
    rejection: null,
    violations: [{ mode: 'observe', extension: 'gateway', rule: 'unknown-fields', message }]
  })
  t.match(sent(policyOf({}, {}, { untaggedData: 'reject' }), bytes).rejection, { rule: 'gateway/unknown-fields', message })
  t.match(sent(policyOf({}, {}, { untaggedData: 'reject', mode: 'observe' }), bytes), { rejection: null, violations: [{ mode: 'observe' }] })
  t.strictSame(sent(policyFor({}), raw(2, [raw(1, 'm')])).violations, [])
})

t.test('a request that cannot be read', async t => {
  const twice = Buffer.concat([raw(2, []), raw(2, [])])
  t.match(sent(policyFor({}), twice).rejection, {
    reason: 'PARSE_ERROR',
    rule: 'gateway/protobuf',
    message: 'The request message is not acceptable protobuf: message occurs twice (byte 2).'
  })
  t.match(sent(policyOf({}, {}, { mode: 'observe' }), twice), { rejection: null, violations: [{ mode: 'observe', rule: 'protobuf' }] })
})

t.test('a response that cannot be read, or has unknown fields', async t => {
  const policy = policyFor({ response: [rule()] })
  const twice = Buffer.concat([raw(1, [raw(1, 't')]), raw(1, [raw(1, 't')])])
  t.match(judge(policy, twice, { style: GRPC }), {
    rejection: {
      reason: 'INVALID_AGENT_RESPONSE',
      rule: 'gateway/answer-protobuf',
      message: "The agent's response cannot be read reliably: body is not acceptable protobuf: task occurs twice (byte 5)."
    }
  })
  t.match(outcome(judge(policyFor({ response: [rule()] }, { responses: 'observe' }), twice, { style: GRPC })), /^gateway\/answer-protobuf body/)
  t.match(judge(policy, Buffer.alloc(0), { style: GRPC }).rejection, { rule: 'gateway/answer-envelope' }, 'no result')
  const { review } = ask(policy, { style: GRPC, operation: 'SendStreamingMessage' })
  t.match(review?.evaluate(Buffer.alloc(0), true).rejection, { rule: 'gateway/answer-envelope' })

  const task = Buffer.concat([writeProtobuf({ task: { id: 't', status: { state: 'TASK_STATE_WORKING' } } }, response), number(9, 1)])
  t.equal(
    outcome(judge(policy, task, { style: GRPC })),
    'gateway/answer-unknown body has fields that A2A does not define: SendMessageResponse field 9'
  )
  const state = raw(1, [raw(1, 't'), raw(3, [number(1, 99)])])
  t.equal(outcome(judge(policy, state, { style: GRPC })), 'gateway/answer-unknown task.status.state is not a state that A2A 1.0 defines', 'as in JSON')
})

t.test('edits are made in the message', async t => {
  const policy = policyFor({
    owns: { metadata: ['own.*'], dataKeys: ['own.*'] },
    activation: { signals: ['header'] },
    inactive: { request: 'strip' },
    inject: [{ metadata: 'tier', value: { n: [1, 'x'] } }, { in: 'params', metadata: 'tier', value: null }]
  })
  const body: JsonObject = {
    message: {
      messageId: 'm',
      parts: [{ text: 'a' }, { data: { 'own.a': 1, b: 2 } }],
      metadata: { 'own.x': 1, other: [true] },
      extensions: ['urn:else']
    }
  }
  const bytes = Buffer.concat([raw(50, 'unknown'), writeProtobuf(body, request)])
  const payload = payloadOf('GRPC', '1.0', 'SendMessage', 'request')
  const forwarded = (requested: readonly string[]): unknown => {
    const decision = sent(policy, bytes, requested)
    t.equal(decision.rejection, null)
    const found = bodyOf({ decision }, bytes, bytes, payload)
    t.ok(found.subarray(0, 10).equals(bytes.subarray(0, 10)), 'the unknown field stays')
    return (payload.parse(found, LIMITS) as { value: unknown }).value
  }
  t.strictSame(forwarded([]), {
    message: { messageId: 'm', parts: [{ text: 'a' }, { data: { b: 2 } }], metadata: { other: [true] }, extensions: ['urn:else'] }
  })
  t.strictSame(forwarded([URI]), {
    message: { ...body.message as object, metadata: { 'own.x': 1, other: [true], tier: { n: [1, 'x'] } } },
    metadata: { tier: null }
  })
})
