/** Fifteen published extensions in the vocabulary as far as it goes today: request side, no changes of bodies, no state. */
import t from 'tap'
import { formatDiagnostic, parseConfig } from '../../src/config/load.js'
import type { PolicyConfig } from '../../src/config/model.js'
import { inlineSchemaProblems } from '../../src/policy/inline-schemas.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const YAML = String.raw`version: 1
agents:
  - name: a
    upstream: {url: "http://127.0.0.1:1"}
    extensions: [schemas, x402, ap2, a2ui, kagent-hitl, secure-passport, iron-book, timestamp, agentstack-mcp, fhir-context, codex-exec, gemini-dev-tool, rfc9421, ucp, oid4vp]
extensions:
  schemas:
    uri: https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1
    owns: {mediaTypes: [application/json;schema=*]}
    activation: {signals: [evidence]}
    request:
      - id: no-structured-input-on-existing-task
        select: {part: {data: true, mediaType: application/json;schema=*}}
        when: {taskId: present}
        count: {max: 0}
        error: {class: conflict, message: structured input is rejected because a task is already running}
      - id: validate-first-structured-part
        select: {part: {data: true, mediaType: application/json;schema=*, take: first}}
        when: {taskId: absent}
        schema: {fromCard: ['/schemas/{schema}', '/capabilities/extensions/{self}/params/schemas/{schema}']}
        error: {class: invalid, undeclared: unsupportedContent}
  x402:
    uri: https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2
    aliases: [{uri: https://github.com/google-a2a/a2a-x402/v0.1, relation: satisfies}]
    owns: {metadata: [x402.payment.*]}
    activation: {signals: [header], required: card}
    request:
      - id: status-values
        select: {metadata: {in: [message], key: x402.payment.status}}
        schema: {enum: [payment-submitted, payment-rejected]}
      - id: submission-needs-task
        select: {metadata: {in: [message], key: x402.payment.status, equals: payment-submitted}}
        when: {taskId: absent}
        count: {max: 0}
      - id: payload-with-status
        select: {metadata: {in: [message], key: x402.payment.payload}}
        when: {match: {properties: {message: {properties: {metadata: {properties: {x402.payment.status: {const: payment-submitted}}}}}}}}
        schema: {type: object, required: [x402Version, payload], properties: {x402Version: {enum: [1, 2]}, payload: {type: object}}}
      - id: payload-implies-submitted
        select: {metadata: {in: [message], key: x402.payment.payload}}
        unless: {match: {properties: {message: {properties: {metadata: {required: [x402.payment.status], properties: {x402.payment.status: {const: payment-submitted}}}}}}}}
        count: {max: 0}
  ap2:
    uri: https://github.com/google-agentic-commerce/ap2/v1
    aliases: [{uri: https://github.com/google-agentic-commerce/ap2/tree/v0.1, relation: same}]
    owns: {dataKeys: [ap2.mandates.*, risk_data]}
    activation: {signals: [header], required: card}
    request:
      - id: intent
        select: {part: {data: true, dataKey: ap2.mandates.IntentMandate}}
        schema: {type: object, required: [natural_language_description, intent_expiry]}
      - id: one-payment-mandate
        select: {part: {data: true, dataKey: ap2.mandates.PaymentMandate}}
        count: {max: 1}
        schema: {type: object, required: [payment_mandate_contents], properties: {payment_mandate_contents: {type: object, required: [payment_mandate_id, payment_details_total, payment_response]}}}
  a2ui:
    uri: https://a2ui.org/a2a-extension/a2ui/v0.9
    owns: {mediaTypes: [application/json+a2ui, application/a2ui+json], metadata: [a2uiClientCapabilities, a2uiClientDataModel]}
    activation: {signals: [header, listed, evidence]}
    request:
      - id: capabilities
        select: {metadata: {in: [message], key: a2uiClientCapabilities}}
        schema: {type: object, required: [v0.9], properties: {v0.9: {type: object, required: [supportedCatalogIds]}}}
      - id: c2s
        select: {part: {data: true, mediaType: [application/json+a2ui, application/a2ui+json]}}
        schema: {type: array, items: {type: object, required: [version], properties: {version: {const: v0.9}}, oneOf: [{required: [action]}, {required: [error]}]}}
  kagent-hitl:
    uri: https://kagent.dev/extensions/hitl/v1
    owns: {metadata: [$uri]}
    inactive: {request: reject}
    activation: {signals: [header]}
    request:
      - id: decision-shape
        select: {metadata: {in: [message], key: $uri}}
        schema:
          oneOf:
            - {required: [type, approvals], properties: {type: {const: tool_approval_response}, approvals: {type: array, minItems: 1, items: {required: [id, approved], properties: {id: {type: string}, approved: {type: boolean}}}}}}
            - {required: [type, id, answers], properties: {type: {const: ask_user_response}, id: {type: string}, answers: {type: array, items: {required: [answer], properties: {answer: {type: array, items: {type: string}}}}}}}
      - id: decision-must-list-uri
        select: {metadata: {in: [message], key: $uri}}
        when: {listed: false}
        count: {max: 0}
  secure-passport:
    uri: https://github.com/a2aproject/a2a-samples/tree/main/samples/python/extensions/secure-passport
    owns: {metadata: [$uri]}
    activation: {signals: [header, listed, evidence]}
    request:
      - id: passport
        select: {metadata: {in: [message], key: $uri}}
        schema: {type: object, required: [clientId, state], properties: {clientId: {type: string}, signature: {type: string}, sessionId: {type: string}, state: {type: object}}, additionalProperties: false}
  iron-book:
    uri: https://github.com/identitymachines/ironbook-a2a-extension/v1
    owns: {metadata: [$uri/*]}
    activation: {signals: [header], required: card}
    request:
      - {id: did, select: {metadata: {in: [message], key: $uri/agent-did}}, count: {min: 1}, schema: {type: string, pattern: '^did:'}}
      - {id: token, select: {metadata: {in: [message], key: $uri/auth-token}}, count: {min: 1}, schema: {type: string, minLength: 1}}
      - {id: ctx, select: {metadata: {in: [message], key: $uri/context}}, count: {min: 1}}
  timestamp:
    uri: https://github.com/a2aproject/a2a-samples/extensions/timestamp/v1
    aliases: [{uri: https://github.com/a2aproject/a2a-samples/samples/extensions/timestamp/v1, relation: same}]
    owns: {metadata: [github.com/a2aproject/a2a-samples/extensions/timestamp/v1/timestamp, github.com/a2aproject/a2a-samples/samples/extensions/timestamp/v1/timestamp]}
    activation: {signals: [header], default: inject}
    request:
      - {id: ts, select: {metadata: {in: [message], key: github.com/a2aproject/a2a-samples/*extensions/timestamp/v1/timestamp}}, schema: {type: string, format: date-time, pattern: '(Z|\+00:00)$'}}
  agentstack-mcp:
    uri: https://a2a-extensions.adk.kagenti.dev/services/mcp/v1
    owns: {metadata: [$uri]}
    aliases: [{uri: https://a2a-extensions.agentstack.beeai.dev/services/mcp/v1, relation: same}]
    activation: {signals: [header, listed, evidence]}
    request:
      - id: no-stdio-and-known-hosts
        select: {metadata: {in: [message], key: $uri}}
        schema: {properties: {mcp_fulfillments: {additionalProperties: {properties: {transport: {required: [type, url], properties: {type: {const: streamable_http}, url: {pattern: '^(\{platform_url\}|https://mcp\.corp\.example/)'}}}}}}}}
  fhir-context:
    uri: https://app.promptopinion.ai/schemas/a2a/v1/fhir-context
    owns: {metadata: [$uri]}
    activation: {signals: [header, evidence], required: card}
    request:
      - id: ctx
        select: {metadata: {in: [message], key: $uri}}
        count: {min: 1, max: 1}
        schema: {type: object, required: [fhirUrl], properties: {fhirUrl: {type: string, pattern: '^https://'}, fhirToken: {type: string}, patientId: {type: string}}}
  codex-exec:
    uri: urn:codex-a2a:extension:exec-control:v1
    activation: {signals: [header]}
    methods:
      codex.exec.start: {params: {type: object}, need: active}
      codex.exec.write: {params: {type: object}, need: active}
  gemini-dev-tool:
    uri: https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md
    activation: {signals: [header], required: card}
    methods: {commands/get: {need: active}, command/execute: {need: active, params: {required: [command_path]}}}
    request:
      - {id: first-message-settings, select: {metadata: {in: [message], key: $uri}}, when: {contextId: absent}, count: {min: 1}, schema: {type: object, anyOf: [{required: [workspace_path]}, {required: [workspacePath]}]}}
  rfc9421:
    uri: https://github.com/a2aproject/a2a-samples/extensions/envoys-rfc9421-signing/v1
    activation: {signals: [header, evidence], required: card}
    owns: {headers: [signature, signature-input, content-digest]}
    request:
      - {id: sig, select: {header: signature}, count: {min: 1}}
      - {id: siginput, select: {header: signature-input}, count: {min: 1}, schema: {type: string, allOf: [{pattern: '"@method"'}, {pattern: '"@path"'}, {pattern: '"content-digest"'}]}}
      - {id: digest, select: {header: content-digest}, count: {min: 1}}
  ucp:
    uriPattern: https://ucp.dev/*/specification/reference
    activation: {signals: [header]}
    owns: {dataKeys: [a2a.ucp.*]}
    request:
      - {id: profile-header, select: {header: ucp-agent}, count: {min: 1}, schema: {type: string, pattern: 'profile="https://'}}
      - {id: payment, select: {part: {data: true, dataKey: a2a.ucp.checkout.payment}}, count: {max: 1}, schema: {type: object}}
  oid4vp:
    uri: https://github.com/a2aproject/experimental-ext-oid4vp-auth/tree/main/v1
    activation: {signals: [header, listed], required: always}
`

const loaded = parseConfig(YAML, { file: 'fifteen.yaml', baseDir: '.', env: {} })
if (!loaded.ok) throw new Error(loaded.problems.map(formatDiagnostic).join('\n'))
const { extensions } = loaded.config

interface Message { readonly metadata?: object, readonly parts?: readonly object[], readonly taskId?: string, readonly contextId?: string, readonly extensions?: readonly string[] }
interface Row extends Message {
  readonly policy: string
  /** The rule that refuses, or null. */
  readonly refused: string | null
  /** Does not ask for the extension. */
  readonly unasked?: true
  /** Asks by this URI instead. */
  readonly by?: string
  readonly headers?: readonly string[]
  readonly method?: string
  readonly params?: object
}

const own = (name: string): string => extensions[name]?.uri ?? 'https://ucp.dev/2026-01-11/specification/reference'
const data = (value: unknown, mediaType = 'application/json'): object => ({ data: value, mediaType })
const [HITL, PASSPORT, IRON, MCP, FHIR, GEMINI] = ['kagent-hitl', 'secure-passport', 'iron-book', 'agentstack-mcp', 'fhir-context', 'gemini-dev-tool'].map(own) as [string, string, string, string, string, string]
const paid = { 'x402.payment.status': 'payment-submitted', 'x402.payment.payload': { x402Version: 1, payload: {} } }
const approval = { [HITL]: { type: 'tool_approval_response', approvals: [{ id: 'a', approved: true }] } }
const iron = { [`${IRON}/agent-did`]: 'did:x', [`${IRON}/auth-token`]: 't', [`${IRON}/context`]: {} }
const stamp = (at: string): object => ({ 'github.com/a2aproject/a2a-samples/extensions/timestamp/v1/timestamp': at })
const mcp = (url: string, type = 'streamable_http'): object => ({ mcp_fulfillments: { a: { transport: { type, url } } } })
const payment = { payment_mandate_contents: { payment_mandate_id: 1, payment_details_total: 1, payment_response: 1 } }
const signed = ['Signature', 's=:x:', 'Signature-Input', 's=("@method" "@path" "content-digest")', 'Content-Digest', 'sha-256=:x:']
const UCP_HEADER = ['UCP-Agent', 'profile="https://a.test/p"']
const ROWS: readonly Row[] = [
  { policy: 'schemas', refused: null, unasked: true, parts: [data({ total: 1 }, 'application/json;schema=order')] },
  { policy: 'schemas', refused: 'validate-first-structured-part', unasked: true, parts: [data({}, 'application/json;schema=order')] },
  { policy: 'schemas', refused: 'no-structured-input-on-existing-task', unasked: true, taskId: 't', parts: [data({ total: 1 }, 'application/json;schema=order')] },
  { policy: 'x402', refused: null, taskId: 't', metadata: paid },
  { policy: 'x402', refused: null, by: 'https://github.com/google-a2a/a2a-x402/v0.1', taskId: 't', metadata: paid },
  { policy: 'x402', refused: 'required', unasked: true },
  { policy: 'x402', refused: 'status-values', taskId: 't', metadata: { 'x402.payment.status': 'paid' } },
  { policy: 'x402', refused: 'submission-needs-task', metadata: paid },
  { policy: 'x402', refused: 'payload-with-status', taskId: 't', metadata: { ...paid, 'x402.payment.payload': { x402Version: 3, payload: {} } } },
  { policy: 'x402', refused: 'payload-implies-submitted', taskId: 't', metadata: { 'x402.payment.payload': paid['x402.payment.payload'] } },
  { policy: 'ap2', refused: null, parts: [data({ 'ap2.mandates.PaymentMandate': payment, risk_data: {} })] },
  { policy: 'ap2', refused: null, by: 'https://github.com/google-agentic-commerce/ap2/tree/v0.1' },
  { policy: 'ap2', refused: 'intent', parts: [data({ 'ap2.mandates.IntentMandate': {} })] },
  { policy: 'ap2', refused: 'one-payment-mandate', parts: [data({ 'ap2.mandates.PaymentMandate': payment }), data({ 'ap2.mandates.PaymentMandate': payment })] },
  { policy: 'a2ui', refused: null, unasked: true, parts: [data([{ version: 'v0.9', action: {} }], 'application/json+a2ui')], metadata: { a2uiClientCapabilities: { 'v0.9': { supportedCatalogIds: [] } } } },
  { policy: 'a2ui', refused: 'c2s', unasked: true, parts: [data([{ version: 'v0.8', action: {} }], 'application/a2ui+json')] },
  { policy: 'a2ui', refused: 'capabilities', unasked: true, metadata: { a2uiClientCapabilities: {} } },
  { policy: 'kagent-hitl', refused: null, extensions: [HITL], metadata: approval },
  { policy: 'kagent-hitl', refused: 'inactive', unasked: true, extensions: [HITL], metadata: approval },
  { policy: 'kagent-hitl', refused: 'decision-must-list-uri', metadata: approval },
  { policy: 'kagent-hitl', refused: 'decision-shape', extensions: [HITL], metadata: { [HITL]: { type: 'tool_approval_response', approvals: [] } } },
  { policy: 'secure-passport', refused: null, metadata: { [PASSPORT]: { clientId: 'c', state: {} } } },
  { policy: 'secure-passport', refused: 'passport', unasked: true, metadata: { [PASSPORT]: { clientId: 'c', state: {}, more: 1 } } },
  { policy: 'iron-book', refused: null, metadata: iron },
  { policy: 'iron-book', refused: 'did', metadata: { ...iron, [`${IRON}/agent-did`]: 'x' } },
  { policy: 'iron-book', refused: 'token', metadata: { ...iron, [`${IRON}/auth-token`]: '' } },
  { policy: 'iron-book', refused: 'did' },
  { policy: 'timestamp', refused: null, unasked: true, metadata: stamp('2026-01-01T00:00:00Z') },
  { policy: 'timestamp', refused: 'ts', metadata: stamp('2026-01-01T00:00:00+02:00') },
  { policy: 'agentstack-mcp', refused: null, metadata: { [MCP]: mcp('https://mcp.corp.example/x') } },
  { policy: 'agentstack-mcp', refused: 'no-stdio-and-known-hosts', unasked: true, metadata: { [MCP]: mcp('https://evil.example/') } },
  { policy: 'agentstack-mcp', refused: 'no-stdio-and-known-hosts', metadata: { 'https://a2a-extensions.agentstack.beeai.dev/services/mcp/v1': mcp('{platform_url}', 'stdio') } },
  { policy: 'fhir-context', refused: null, metadata: { [FHIR]: { fhirUrl: 'https://f.test' } } },
  { policy: 'fhir-context', refused: 'ctx' },
  { policy: 'fhir-context', refused: 'ctx', metadata: { [FHIR]: { fhirUrl: 'http://f.test' } } },
  { policy: 'codex-exec', refused: null, method: 'codex.exec.start', params: {} },
  { policy: 'codex-exec', refused: 'method', unasked: true, method: 'codex.exec.write', params: {} },
  { policy: 'gemini-dev-tool', refused: null, metadata: { [GEMINI]: { workspacePath: '/' } } },
  { policy: 'gemini-dev-tool', refused: null, contextId: 'c' },
  { policy: 'gemini-dev-tool', refused: 'first-message-settings' },
  { policy: 'gemini-dev-tool', refused: null, method: 'command/execute', params: { command_path: [] } },
  { policy: 'gemini-dev-tool', refused: 'method-params', method: 'command/execute', params: {} },
  { policy: 'rfc9421', refused: null, headers: signed },
  { policy: 'rfc9421', refused: 'siginput', headers: [...signed.slice(0, 3), 's=("@method")', ...signed.slice(4)] },
  { policy: 'rfc9421', refused: 'digest', headers: signed.slice(0, 4) },
  { policy: 'ucp', refused: null, headers: UCP_HEADER, parts: [data({ 'a2a.ucp.checkout.payment': {} })] },
  { policy: 'ucp', refused: 'profile-header' },
  { policy: 'ucp', refused: 'payment', headers: UCP_HEADER, parts: [data({ 'a2a.ucp.checkout.payment': 1 })] },
  { policy: 'oid4vp', refused: null },
  { policy: 'oid4vp', refused: 'required', unasked: true }
]

/** A part of 1.0 as a client of 0.3 writes it. */
function old (part: object): object {
  if (!('data' in part)) return { kind: 'text', ...part }
  return { kind: 'data', data: part.data, ...('mediaType' in part ? { metadata: { mimeType: part.mediaType } } : {}) }
}

function body ({ params, parts = [{ text: 'hello' }], metadata, taskId, contextId, extensions }: Row, version: '0.3' | '1.0'): object {
  if (params !== undefined) return params
  return { message: JSON.parse(JSON.stringify({ messageId: 'm', role: version === '1.0' ? 'ROLE_USER' : 'user', parts: version === '1.0' ? parts : parts.map(old), metadata, taskId, contextId, extensions })) as object }
}

t.test('fifteen policies, each with what it lets pass and what it refuses', async t => {
  t.equal(Object.keys(extensions).length, 15)
  t.same(inlineSchemaProblems({ extensions, agents: [] }), [])
  const sides: readonly Sent[] = [{ version: '1.0', binding: 'JSONRPC' }, { version: '0.3', binding: 'JSONRPC' }, { version: '1.0', binding: 'HTTP+JSON' }]
  for (const row of ROWS) {
    const name = row.policy
    const uri = own(name)
    const required = ['x402', 'ap2', 'iron-book', 'fhir-context', 'gemini-dev-tool', 'rfc9421'].includes(name)
    const policy = policyOf({ ...declaring({ uri, required }), schemas: { order: { required: ['total'] } } }, { [name]: extensions[name] as PolicyConfig })
    for (const side of sides) {
      if (row.method !== undefined && side.binding === 'HTTP+JSON') continue
      const requested = row.unasked === true ? [] : [row.by ?? uri]
      const decision = send(policy, body(row, side.version ?? '1.0'), { ...side, requested, ...(row.headers === undefined ? {} : { headers: row.headers }), ...(row.method === undefined ? {} : { method: row.method }) })
      t.equal(decision.refusal?.rule ?? null, row.refused === null ? null : `${name}/${row.refused}`, `${side.binding} ${side.version} ${JSON.stringify(row)}`)
    }
  }
  for (const name of Object.keys(extensions)) {
    const rows = ROWS.filter(row => row.policy === name)
    t.ok(rows.some(row => row.refused === null) && rows.some(row => row.refused !== null), `${name} accepts and refuses`)
  }
})
