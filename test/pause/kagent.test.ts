/** `pause` in the form of an extension with clients of its own: kagent human-in-the-loop asks for the approval of a tool call. */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { rpc } from '../helpers/http.js'

quietSdk()

const HITL = 'https://kagent.dev/extensions/hitl/v1'

/** The rules for requests replace those of the built-in policy; its other parts stay. */
const POLICY = `
extensions:
  kagent-hitl:
    mode: enforce
    request:
      - id: drop-table
        select: {part: {where: {path: /tool, equals: drop_table}}}
        count: {max: 0}
        pause:
          state: input-required
          text: The agent is about to drop a table.
          metadata: {type: tool_approval_request, tools: [{id: drop, name: drop_table}]}
          evidence:
            select: {metadata: {in: [message], key: $uri, path: /approvals/0}}
            schema: {type: object, required: [id, approved], properties: {id: {const: drop}, approved: {const: true}}}
          declined: {type: object, required: [approved], properties: {approved: {const: false}}}
      - id: decision-must-list-uri
        select: {metadata: {in: [message], key: $uri}}
        when: {listed: false}
        count: {max: 0}
      - id: decision-needs-paused-task
        select: {metadata: {in: [message], key: $uri}}
        unless: {taskState: [input-required]}
        count: {max: 0}
        onUnknown: reject
`

t.test('the policy of kagent validates what the clients of kagent send', async t => {
  const agent = await startAgent({ kind: 'v1', card: { extensions: [{ uri: HITL }] } })
  t.teardown(() => agent.close())
  const yaml = oneAgent(agent.url, ['extensions: [kagent-hitl]'], [POLICY])
  const gateway = await gatewayFor(t, { yaml })
  const send = async (message: object): Promise<string> =>
    (await rpc(`${gateway.url}/a2a/jsonrpc`, 'SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', ...message } }, ['a2a-extensions', HITL])).text
  const drop = { parts: [{ text: 'drop it' }, { data: { tool: 'drop_table', table: 'orders' } }] }
  const decision = (taskId: string, approvals: readonly object[], more: object = { extensions: [HITL] }): object => ({
    taskId, parts: [{ text: 'my decision' }], metadata: { [HITL]: { type: 'tool_approval_response', approvals } }, ...more
  })
  const idIn = (text: string): string => /"task":\{"id":"([^"]+)"/.exec(text)?.[1] ?? ''

  const asked = await send(drop)
  t.match(asked, /"TASK_STATE_INPUT_REQUIRED"/)
  t.match(asked, `"metadata":{"${HITL}":{"type":"tool_approval_request","tools":[{"id":"drop","name":"drop_table"}]}},"extensions":["${HITL}"]`)
  const id = idIn(asked)
  t.match(await send(decision(id, [{ id: 'drop', approved: true }], {})), /"rule":"decision-must-list-uri"/, 'another rule')
  t.match(await send(decision(id, [])), /TASK_STATE_INPUT_REQUIRED/, 'the approval of nothing')
  t.match(await send(decision(id, [{ id: 'other', approved: true }])), /TASK_STATE_INPUT_REQUIRED/, 'the approval of something else')
  t.equal(agent.calls().length, 0)
  t.match(await send(decision(id, [{ id: 'drop', approved: true }])), /TASK_STATE_COMPLETED/)
  t.equal(agent.calls().length, 1)

  t.match(await send(decision(idIn(await send(drop)), [{ id: 'drop', approved: false, rejection_reason: 'no' }])), /TASK_STATE_REJECTED/)
  t.equal(agent.calls().length, 1)
})
