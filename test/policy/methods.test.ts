import t from 'tap'
import type { PolicyConfig } from '#config/model/model.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const U = 'urn:exec:v1'
const exec: PolicyConfig = {
  uri: U,
  activation: { signals: ['header'] },
  methods: { 'x.start': { params: { type: 'object', required: ['command'] } }, 'x.list': { need: 'declared' }, 'x.ping': { need: 'none' } }
}
const outcome = ({ rejection: refusal }: Decision): string | null =>
  refusal === null ? null : `${refusal.rule} ${refusal.reason}: ${refusal.message}`
const VERSIONS: readonly Sent[] = [{ version: '1.0' }, { version: '0.3' }]

t.test('methods of a policy are no longer unknown', async t => {
  const policy = policyOf(declaring(U), { exec })
  for (const side of VERSIONS) {
    const header = side.version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions'
    const ask = (method: string, params: object, requested: string[] = []): string | null =>
      outcome(send(policy, params, { ...side, method, requested }))
    t.equal(ask('x.start', { command: 'ls' }, [U]), null)
    t.equal(
      ask('x.start', { command: 'ls' }),
      `exec/method EXTENSION_SUPPORT_REQUIRED: This agent requires an extension that the request does not activate: ${U}. Send the header "${header}: ${U}" with the request.`
    )
    t.equal(ask('x.start', {}, [U]), 'exec/method-params EXTENSION_DATA_INVALID: params.command is required (the schema of the method).')
    t.equal(ask('x.list', {}), null)
    t.equal(ask('x.ping', {}), null)
    t.match(ask('x.stop', {}, [U]), 'gateway/unknown-method METHOD_NOT_FOUND')
    t.match(ask('toString', {}, [U]), 'gateway/unknown-method')
  }
  t.match(
    outcome(send(policy, '{"jsonrpc":"2.0","id":1,"method":"x.start"}', { requested: [U] })),
    /^exec\/method-params EXTENSION_DATA_INVALID: params must be an object/,
    'no params at all'
  )
})

t.test('without the extension in the card only methods with need: none are forwarded', async t => {
  const policy = policyOf({}, { exec })
  for (const method of ['x.start', 'x.list']) {
    t.match(outcome(send(policy, { command: 'ls' }, { method, requested: [U] })), 'gateway/unknown-method')
  }
  t.equal(outcome(send(policy, {}, { method: 'x.ping' })), null)
})

t.test('observed, off, and also required', async t => {
  t.match(send(policyOf(declaring(U), { exec: { ...exec, mode: 'observe' } }), {}, { method: 'x.start' }), {
    rejection: null,
    violations: [{ rule: 'method', mode: 'observe' }, { rule: 'method-params' }]
  })
  t.match(outcome(send(policyOf(declaring(U), { exec: { ...exec, mode: 'off' } }), {}, { method: 'x.ping' })), 'gateway/unknown-method')
  const { rejection: refusal } = send(policyOf(declaring({ uri: U, required: true }), { exec }), { command: 'ls' }, { method: 'x.start' })
  t.match(refusal, { rule: 'exec/required', metadata: { missingExtensions: U } })
  t.equal(refusal?.fields?.length, 1, 'said once')
})
