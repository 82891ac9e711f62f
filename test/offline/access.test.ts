/** Access lists without a running gateway: `explain` names the entry that decided, and policy tests see the rejection. */
import t from 'tap'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { readCard } from '#a2a/card/card.js'
import { explainRequest } from '#offline/explain/explain.js'
import { explanationText } from '#offline/explain/explain-text.js'
import type { Explanation } from '#offline/explain/explanation.js'
import { readRecording } from '#offline/recording/recording.js'
import type { RecordedRequest } from '#offline/recording/recording.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { configOf } from '../helpers/gateway.js'
import { plainCard } from '../helpers/raw.js'
import { runFiles } from './kit.js'

async function explained (access: string, request: string): Promise<Explanation> {
  const config = configOf({ yaml: `agents: [{name: agent, upstream: {url: "http://agent.test"}, passthrough: [/docs], access: ${access}}]` })
  const value = plainCard('http://agent.test')
  const read = readCard(value)
  if (!read.ok) throw new Error(read.problem)
  const document = { bytes: Buffer.from(JSON.stringify(value)), value, card: read.card }
  const { requests } = readRecording(Buffer.from(request), 'r.http', () => Buffer.alloc(0))
  return explainRequest(requests[0] as RecordedRequest, { file: 'r.http', number: 1 }, {
    config,
    agent: null,
    headers: [],
    known: async agent => ({
      card: 'card.json',
      state: buildAgentState(
        { byVersion: { 0.3: document, '1.0': document }, fetchedAt: 0, origin: 'test' },
        { agent, maxExtensions: 64, previous: null, secretOf: SECRET_HIDDEN }
      )
    })
  })
}

const GET_TASK = 'GET http://gateway.test/rest/tasks/1\nA2A-Version: 1.0\n'
const SEND = 'POST http://gateway.test/rpc\nA2A-Version: 1.0\nContent-Type: application/json\n\n{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a"}]}}}\n'

t.test('explain', async t => {
  const lists = 'allow: [{id: readers, on: [GetTask]}], deny: [{id: no-new-tasks, on: [messages], when: {taskId: absent}}]'
  const rows: readonly [string, string, object, string][] = [
    [`{${lists}}`, GET_TASK, { rule: 'readers', decision: 'allow', mode: 'enforce' }, 'access     allowed by the entry readers'],
    ['{deny: [{id: a, on: [messages]}]}', GET_TASK, { rule: 'none', decision: 'allow' }, 'access     allowed because there is no allow'],
    ['{deny: [{id: no-new-tasks, on: [messages], when: {taskId: absent}}]}', SEND, { rule: 'no-new-tasks', decision: 'deny' }, 'access     denied by the entry no-new-tasks'],
    [`{mode: observe, ${lists}}`, SEND, { decision: 'deny', mode: 'observe' }, 'access     denied by the entry no-new-tasks (observed only)'],
    ['{allow: [{id: a, on: [messages]}]}', GET_TASK, { rule: 'none', decision: 'deny' }, 'access     denied because no entry of allow matches'],
    ['{allow: [{id: a, on: [passthrough]}]}', 'GET http://gateway.test/docs/x\n', { rule: 'a', decision: 'allow' }, 'access     allowed by the entry a']
  ]
  for (const [access, request, expected, text] of rows) {
    const found = await explained(access, request)
    t.match(found.access, expected, access)
    t.ok(explanationText(found).includes(`${text}\n`), explanationText(found))
    const denied = found.access?.decision === 'deny' && found.access.mode === 'enforce'
    t.equal(found.decision, denied ? 'reject' : 'forward')
    t.equal(found.reason, denied ? 'PERMISSION_DENIED' : null)
  }
  t.equal((await explained('{}', GET_TASK)).access, null)
})

t.test('the audience of the agent', async t => {
  const { code, out, err } = runFiles(t, {
    'gateway.yaml': `version: 1
identity: {sources: {corp: {jwt: {issuer: "https://idp.example.com", audience: [billing, payroll], keys: discover}}}}
agents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, access: {audience: [billing]}}]
`,
    'audience.test.yaml': `agent: a
card: {capabilities: {}}
tests:
  - {name: ours, caller: {claims: {aud: [payroll, billing]}}, request: {message: {parts: [{text: a}]}}, expect: {decision: forward}}
  - {name: no token, caller: {subject: ada}, request: {message: {parts: [{text: a}]}}, expect: {decision: forward}}
  - {name: of others, caller: {claims: {aud: payroll}}, request: {message: {parts: [{text: a}]}}, expect: {decision: reject, rule: gateway/authentication, reason: UNAUTHENTICATED}}
`
  })
  t.equal(code, 0, out + err)
})

t.test('policy tests', async t => {
  const { code, out, err } = runFiles(t, {
    'access.test.yaml': `agent: {access: {allow: [{id: readers, on: [GetTask], caller: {anonymous: true}}]}}
card: {capabilities: {}}
tests:
  - {name: allowed, request: {method: GetTask, params: {id: "1"}}, versions: ['1.0'], bindings: [JSONRPC], expect: {decision: forward}}
  - {name: denied, request: {message: {parts: [{text: a}]}}, expect: {decision: reject, rule: gateway/access, reason: PERMISSION_DENIED}}
`
  })
  t.equal(code, 0, out + err)
})
