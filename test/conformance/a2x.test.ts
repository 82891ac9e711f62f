/** Cards and pauses of agents that extend A2A by root keys of the card, as the A2X SDK does. */
import t from 'tap'
import { call, MESSAGE_03 } from '../helpers/http.js'
import { bench, declares } from './kit.js'

const APPROVAL = 'https://example.com/ext/approval/v1'
const ROOT_KEYS = {
  'x-acme-pricing': { version: 2, tier: 'enterprise', rateLimit: { rpm: 1000 } },
  'x-acme-pricing-v2': { price: 1.5 },
  securitySchemes: {
    deviceCode: {
      type: 'oauth2',
      flows: { deviceCode: { deviceAuthorizationUrl: 'https://auth.example/device', tokenUrl: 'https://auth.example/token', scopes: { 'agent:use': 'use' } } }
    }
  },
  security: [{ deviceCode: ['agent:use'] }]
}

t.test('root keys of the card and flows that a version does not define reach the client as they are, without a warning', async t => {
  const { gateway } = await bench(t, {
    card: ROOT_KEYS,
    root: ['telemetry: {logs: {level: info}}']
  })
  const card = (await call(`${gateway.url}/.well-known/agent-card.json`)).json() as unknown as Record<string, unknown>
  for (const [key, value] of Object.entries(ROOT_KEYS)) t.same(card[key], value, key)
  t.same(gateway.logs().filter(({ level }) => level === 'warn'), [])
})

t.test('a task that asks for input, and the message that continues it, keep their metadata, and the reply is compared with the question', async t => {
  const asked = {
    kind: 'task',
    id: 't1',
    contextId: 'c1',
    status: {
      state: 'input-required',
      message: { kind: 'message', messageId: 'q', role: 'agent', parts: [{ kind: 'text', text: 'allow?' }], metadata: { 'myorg.approval.required': { options: ['a', 'b'] } } }
    }
  }
  const { agent, send03 } = await bench(t, {
    card: declares({ uri: APPROVAL }),
    agent: ['extensions: [approval]', 'responses: enforce'],
    root: [
      'extensions:',
      '  approval:',
      `    uri: ${APPROVAL}`,
      '    request:',
      '      - {id: answered, select: {metadata: {key: myorg.approval.choice}}, when: {taskState: [input-required]}, count: {min: 1}}',
      '    correlate:',
      '      - id: offered',
      '        remember: {on: response, select: {metadata: {in: [status], key: myorg.approval.required}}, pick: /options/*}',
      '        check: {on: request, select: {metadata: {in: [message], key: myorg.approval.choice}}, relation: member}'
    ],
    result: asked
  })
  const reply = (metadata?: unknown): Promise<{ json (): Record<string, unknown> }> =>
    send03({ message: { ...MESSAGE_03, taskId: 't1', contextId: 'c1', ...(metadata === undefined ? {} : { metadata }) } })
  t.same((await send03()).json().result, asked)
  t.match((await reply()).json(), { error: { code: -32602 } }, 'a pause that is continued without a choice')
  t.match((await reply({ 'myorg.approval.choice': 'c' })).json(), { error: { code: -32602 } }, 'a choice that was not offered')
  t.equal(agent.received.length, 1)
  t.same((await reply({ 'myorg.approval.choice': 'b' })).json().result, asked)
  t.match(agent.received[1]?.body.toString(), '"metadata":{"myorg.approval.choice":"b"}')
})
