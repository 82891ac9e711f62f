/** `explain` of a rejection: the error of a client, a decision of the console, an audit line. Also `--json` of small commands. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { runHealth } from '#cli/health.js'
import { runKey } from '#cli/key.js'
import type { DecisionEntry } from '#console/entry.js'
import type { AuditLine } from '#telemetry/audit-fields.js'
import { runExplainWith } from '../offline/explain-run.js'
import type { ExplainRun } from '../offline/explain-run.js'
import type { EntryViolation } from '#console/correction.js'

const URI = 'https://acme.example/ext/window/v1'
const CONFIG = `version: 1
agents:
  - name: courier
    upstream: {url: "http://127.0.0.1:1"}
    extensions: [window, {x402: {mode: enforce}}]
extensions:
  window:
    uri: ${URI}
    request:
      - id: from
        select: {metadata: {key: $uri}}
        required: true
        schema: {type: object, required: [from]}
`
const directory = t.testdir({ 'gateway.yaml': CONFIG })

async function explain (text: string, { config = true, json = false, agent = null as string | null } = {}): Promise<ExplainRun> {
  const file = join(directory, 'pasted.json')
  writeFileSync(file, text)
  return await runExplainWith({ recordings: [file], config: config ? join(directory, 'gateway.yaml') : null, agent, json })
}

const INFO = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'EXTENSION_DATA_INVALID', domain: 'a2a-extension-gateway', metadata: { rule: 'from', extension: URI } }
const FIELDS = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'params.message.metadata.x.from', description: 'is required (the schema of the rule)' }] }
const ERROR = { code: -32602, message: 'params.message.metadata.x.from is required (the schema of the rule).', data: [{ ...INFO, reason: 'INVALID_PARAMS', domain: 'a2a-protocol.org' }, INFO, FIELDS] }

t.test('the error of a client, in each of its forms', async t => {
  const forms = [
    JSON.stringify({ jsonrpc: '2.0', id: 1, error: ERROR }),
    JSON.stringify({ jsonrpc: '2.0', id: 1, error: { ...ERROR, data: { error: 'x', details: ERROR.data } } }),
    JSON.stringify({ error: { code: 400, status: 'INVALID_ARGUMENT', message: ERROR.message, details: ERROR.data } }),
    `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, error: ERROR })}\n\n`,
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ngateway-decision: reject;rule="window/from"\r\n\r\n${JSON.stringify({ jsonrpc: '2.0', id: 1, error: ERROR })}`
  ]
  for (const form of forms) {
    const { code, out, err } = await explain(form)
    t.same([code, err], [1, ''])
    t.match(out, 'from       the error of a client\n')
    t.match(out, 'agent      courier\ndecision   rejected, by the rule window/from (EXTENSION_DATA_INVALID)\n')
    t.match(out, /rule {7}\S*gateway\.yaml:10, policy window, mode enforce\n {11}id: from\n/)
    t.match(out, 'to fix in the request\n  params.message.metadata.x.from: is required (the schema of the rule)\n')
  }
  const alone = await explain(forms[0] ?? '', { config: false })
  t.match(alone, { code: 1, out: new RegExp(`by the rule ${URI.replaceAll('.', '\\.')}/from \\(`) }, 'also without a configuration')
  t.match(alone.out, /rule {7}with --config FILE/)
  t.match((await explain(forms[0] ?? '', { agent: 'another' })).out, `by the rule ${URI}/from`, 'no rule of another agent')
  t.match(JSON.parse((await explain(forms[0] ?? '', { json: true })).out), {
    format: 1, ok: false, requests: [], rejection: { source: 'error', decision: 'rejected', found: { agent: 'courier', policy: 'window' } }
  })
})

t.test('a missing extension, and an error that is not of the gateway', async t => {
  const missing = { ...INFO, reason: 'EXTENSION_SUPPORT_REQUIRED', domain: 'a2a-protocol.org', metadata: { rule: 'required', extension: URI, missingExtensions: URI } }
  const { out } = await explain(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32008, message: 'x', data: [missing] } }))
  t.match(out, 'by the rule window/required (EXTENSION_SUPPORT_REQUIRED)')
  t.match(out, 'the extension is required: by the card of the agent, or by activation.required of its policy')
  t.match(out, `  send the header "A2A-Extensions: ${URI}"\n`)
  const foreign = await explain(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'boom \u001b[31m' } }))
  t.match(foreign, { code: 1, out: 'decision   not by a rule: the agent, or the way to it, failed\nmessage    boom \\u001b[31m\n' })
})

const VIOLATION: EntryViolation = {
  phase: 'request',
  mode: 'enforce',
  extension: 'x402',
  rule: 'status-values',
  reason: 'R',
  path: 'params.message.metadata.y',
  message: 'must be one of'
}

t.test('a decision of the console, and an audit line', async t => {
  const entry: Partial<DecisionEntry> = {
    id: '7',
    at: 1,
    agent: 'courier',
    operation: 'SendMessage',
    binding: 'JSONRPC',
    version: '1.0',
    outcome: 'rejected',
    rule: 'x402/status-values',
    reason: 'R',
    message: 'the message',
    violations: [VIOLATION],
    requestId: 'abc-1',
    traceId: null,
    correction: { headers: [{ name: 'A2A-Extensions', value: URI }], without: [], body: null, notes: [], allow: null, retryAfter: null }
  }
  const decision = await explain(JSON.stringify(entry))
  t.equal(decision.code, 1)
  t.match(decision.out, 'call       SendMessage JSONRPC 1.0\nagent      courier\n')
  t.match(decision.out, /rule {7}\S*config\/extensions\/x402\.yaml:\d+, policy x402, mode enforce\n {11}id: status-values/)
  t.match(decision.out, `send the header "A2A-Extensions: ${URI}"\n  params.message.metadata.y: must be one of\n`)
  t.match(decision.out, 'more in the log and in traces\n  request_id abc-1\n')
  const audit: Partial<AuditLine> = {
    audit: true,
    phase: 'request',
    agent: 'courier',
    operation: 'SendMessage',
    reason: 'R',
    extension: 'window',
    rule: 'from',
    trace_id: 't',
    request_id: 'r'
  }
  const rejected = await explain(JSON.stringify({ ...audit, decision: 'rejected', violations: [VIOLATION] }))
  t.match(rejected, { code: 1, out: /from {7}an audit line\n/ })
  t.match(await explain(JSON.stringify({ ...audit, decision: 'observed', violations: [VIOLATION] })), { code: 0, out: 'decision   observed, by the rule window/from (R)' })
})

t.test('anything else is a request, or a clear error', async t => {
  t.match(await explain('{"jsonrpc": "2.0", "id": 1, "result": {}}'), { code: 2, err: /this is a JSON-RPC response, not a request/ })
  t.match(await explain('{"a": 1}'), { code: 2, err: /this is JSON, but not a request/ })
  t.match(await explain('hello'), { code: 2, err: /a2a-gateway explain: / })
  t.match(await explain('{'), { code: 2, err: /the JSON is not valid/ })
})

t.test('key --json and health --json', async t => {
  let out = ''
  const io = { out: (text: string) => { out += text }, err: (text: string) => { t.fail(text) } }
  t.equal(runKey({ id: 'ci', client: 'build', expires: undefined, json: true }, io), 0)
  const made = JSON.parse(out) as { key: string, entry: object }
  t.match(made, { format: 1, ok: true, key: /^a2agw_/, entry: { id: 'ci', client: 'build' } })
  t.same(made.entry, { id: 'ci', sha256: hash('sha256', made.key), client: 'build' })
  const server = createServer((_request, response) => { response.end() }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const admin = `127.0.0.1:${(server.address() as AddressInfo).port}`
  out = ''
  t.equal(await runHealth({ admin, json: true }, io), 0)
  t.same(JSON.parse(out), { format: 1, ok: true, url: `http://${admin}/livez` })
  out = ''
  t.equal(await runHealth({ admin: '127.0.0.1:1', json: true }, io), 1)
  t.match(JSON.parse(out), { format: 1, ok: false, url: /livez$/, problems: [{ message: /nothing listens there/ }] })
})
