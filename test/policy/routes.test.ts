/** The gateway enforces policies on HTTP routes of extensions, as on methods. */
import t from 'tap'
import type { PolicyConfig } from '#config/model/model.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const U = 'urn:dev-tool:v1'
const V = 'urn:audit:v1'
const EXECUTE = 'POST /executeCommand'
const tool: PolicyConfig = {
  uri: U,
  activation: { signals: ['header'] },
  routes: [
    {
      verb: 'POST',
      path: '/executeCommand',
      body: {
        type: 'object',
        required: ['command'],
        properties: { command: { type: 'string' }, args: { type: 'array', items: { type: 'string' } } }
      }
    },
    { verb: 'GET', path: '/listCommands', need: 'declared' },
    { verb: 'GET', path: '/ping/{name}', need: 'none' },
    { verb: 'PUT', path: '/list', need: 'declared', body: { type: 'array', items: { type: 'integer' } } }
  ]
}
const outcome = ({ rejection: refusal }: Decision): string | null =>
  refusal === null ? null : `${refusal.rule} ${refusal.reason}: ${refusal.message}`
const SIDES: readonly Sent[] = [{ version: '1.0', binding: 'HTTP+JSON' }, { version: '0.3', binding: 'HTTP+JSON' }]

for (const side of SIDES) {
  const header = side.version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions'

  t.test(`${side.version}: activation and body`, async t => {
    const policy = policyOf(declaring(U), { tool })
    const ask = (route: string, body: unknown, requested: string[] = []): string | null =>
      outcome(send(policy, body, { ...side, route, requested }))
    t.equal(ask(EXECUTE, { command: 'ls' }, [U]), null)
    t.equal(
      ask(EXECUTE, { command: 'ls' }),
      `tool/route EXTENSION_SUPPORT_REQUIRED: This agent requires an extension that the request does not activate: ${U}. Send the header "${header}: ${U}" with the request.`
    )
    t.equal(ask(EXECUTE, {}, [U]), 'tool/route-body EXTENSION_DATA_INVALID: command is required (the schema of the route).')
    t.equal(
      ask(EXECUTE, { command: 'ls', args: ['-l', 7] }, [U]),
      'tool/route-body EXTENSION_DATA_INVALID: args[1] must be a string (the schema of the route).'
    )
    t.equal(ask(EXECUTE, '', [U]), 'tool/route-body EXTENSION_DATA_INVALID: body is required; send JSON.')
    t.equal(ask(EXECUTE, 'null', [U]), 'tool/route-body EXTENSION_DATA_INVALID: body must be an object (the schema of the route).')
    t.match(ask(EXECUTE, '{"command":"ls","command":"rm"}', [U]), /^gateway\/json PARSE_ERROR/)
    t.equal(ask('GET /listCommands', ''), null)
    t.equal(ask('GET /ping/{}', ''), null)
    t.equal(ask('PUT /list', [1, 2]), null, 'any JSON may be a body')
    t.equal(ask('PUT /list', [1, 'x']), 'tool/route-body EXTENSION_DATA_INVALID: [1] must be an integer (the schema of the route).')
  })

  t.test(`${side.version}: each policy of a route must be satisfied`, async t => {
    const audit: PolicyConfig = {
      uri: V,
      activation: { signals: ['header'] },
      routes: [{ verb: 'POST', path: '/executeCommand', body: { required: ['ticket'] } }]
    }
    const policy = policyOf(declaring(U, V), { tool, audit })
    const ask = (body: unknown, requested: string[]): Decision => send(policy, body, { ...side, route: EXECUTE, requested })
    t.match(outcome(ask({ command: 'ls', ticket: 1 }, [U])), `${header}: ${V}`)
    t.match(outcome(ask({ command: 'ls' }, [U, V])), 'audit/route-body')
    t.equal(outcome(ask({ command: 'ls', ticket: 1 }, [U, V])), null)
    t.same(
      ask({}, []).violations.map(one => `${one.extension}/${one.rule}`),
      ['tool/route', 'audit/route', 'tool/route-body', 'audit/route-body']
    )
  })

  t.test(`${side.version}: a message in a body is evaluated with the rules`, async t => {
    const noKeys: PolicyConfig = { uri: V, request: [{ id: 'no-keys', select: { metadata: { key: 'secret' } }, count: { max: 0 } }] }
    const policy = policyOf(declaring(U, V), { tool, noKeys })
    t.match(
      outcome(
        send(policy, { command: 'ls', message: { metadata: { secret: 1 }, parts: [] } }, { ...side, route: EXECUTE, requested: [U] })
      ),
      'noKeys/no-keys EXTENSION_DATA_INVALID: message.metadata.secret'
    )
  })
}

t.test('available only if the card declares the extension, and not with a policy that is off', async t => {
  t.same([...policyOf(declaring(U), { tool }).routes.keys()], [EXECUTE, 'GET /listCommands', 'GET /ping/{}', 'PUT /list'])
  t.same([...policyOf({}, { tool }).routes.keys()], ['GET /ping/{}'])
  t.same([...policyOf(declaring(U), { tool: { ...tool, mode: 'off' } }).routes.keys()], [])
  t.equal(policyOf(declaring(U), { tool }, { mode: 'off' }).routes.size, 4, 'an agent that is off is routed as ever')
  t.equal(policyOf(declaring(U), { tool: { ...tool, mode: 'off' } }, { mode: 'off' }).routes.size, 0)
})

t.test('observed, off, also required, unlisted, too many', async t => {
  const on = (policies: Record<string, PolicyConfig>, more = {}): ReturnType<typeof policyOf> => policyOf(declaring(U), policies, more)
  const sent: Sent = { binding: 'HTTP+JSON', route: EXECUTE }
  t.match(send(on({ tool: { ...tool, mode: 'observe' } }), {}, sent), {
    rejection: null,
    violations: [
      { rule: 'route', mode: 'observe' },
      { rule: 'route-body', mode: 'observe' }
    ]
  })
  t.match(send(on({ tool }, { mode: 'off' }), {}, sent), { rejection: null, violations: [] })
  const { rejection: refusal } = send(policyOf(declaring({ uri: U, required: true }), { tool }), { command: 'ls' }, sent)
  t.match(refusal, { rule: 'tool/required' })
  t.equal(refusal?.fields?.length, 1, 'said once')
  t.match(
    outcome(send(on({ tool }, { unlistedExtensions: 'reject' }), { command: 'ls' }, { ...sent, requested: [U, 'urn:other'] })),
    'gateway/unlisted'
  )
  t.match(
    outcome(send(on({ tool }), { command: 'ls' }, { ...sent, requested: [U, ...Array.from({ length: 9 }, (_, i) => `urn:${i}`)] })),
    'gateway/too-many-extensions'
  )
})
