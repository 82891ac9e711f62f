/** What the tests of the core share: a card, an agent, the catalogue's object-schemas, and a call through readCall and decide. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { TaskRecord } from '#policy/task/memory.js'
import type { AgentCard } from '#a2a/card/card.js'
import { readCard } from '#a2a/card/card.js'
import { readCall } from '#a2a/message/call.js'
import type { Operation } from '#a2a/operations.js'
import type { Binding, Version } from '#a2a/versions.js'
import type { Principal } from '#identity/principal.js'
import type { AgentConfig, PolicyConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import { compileAgentPolicy } from '#policy/compile/agent-policy.js'
import type { Decision } from '#policy/request/decision.js'
import { decide } from '#policy/request/evaluate.js'
import { SchemaCache } from '#policy/compile/schema-source.js'
import type { ValueValidator } from '#wire/json/unread-value.js'
import { CARD_CONFIG } from '../helpers/card-config.js'
import { ROOT } from '../helpers/paths.js'
import type { CompileOptions } from '#policy/compile/policy-collector.js'

export const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'

export const objectSchemas = parse(readFileSync(join(ROOT, 'config/extensions/object-schemas.yaml'), 'utf8')) as PolicyConfig

/** Through JSON, as cards come: `__proto__` is then an ordinary member. */
export function card (more: object | string = {}): AgentCard {
  const base = { name: 'a', url: 'http://agent.test/rpc', protocolVersion: '0.3.0' }
  const value: unknown =
    typeof more === 'string' ? { ...base, ...(JSON.parse(more) as object) } : JSON.parse(JSON.stringify({ ...base, ...more }))
  const read = readCard(value)
  if (!read.ok) throw new Error(read.problem)
  return read.card
}

export function declaring (...extensions: readonly (string | object)[]): object {
  return { capabilities: { extensions: extensions.map(one => typeof one === 'string' ? { uri: one } : one) } }
}

export function agent (more: Partial<AgentConfig> = {}): AgentConfig {
  return {
    name: 'a',
    origin: null,
    path: '',
    host: null,
    upstream: {
      url: 'http://agent.test',
      timeouts: { connect: 1, headers: 1, idle: 0, queue: 1, total: 0 },
      connections: 1,
      tls: { ca: null, cert: null, key: null, serverName: null },
      credentials: { client: 'strip', send: [], identity: null },
      extensionHeader: { spelling: 'auto', form: 'repeated' }
    },
    grpc: null,
    cors: { origins: [], maxAge: 0 },
    card: CARD_CONFIG,
    concurrency: { requests: 1, streams: 1 },
    protocol: { unknownMinor: 'carry', backslashNames: 'reject' },
    external: [],
    mode: 'enforce',
    enforceOn: 'messages',
    unlistedExtensions: 'forward',
    unknownMethods: 'reject',
    untaggedData: 'allow',
    access: { require: null, audience: null, mode: 'enforce', allow: null, deny: [], tasks: null, delegation: null },
    push: null,
    responses: 'observe',
    jsonSchema: { formats: 'draft' },
    extensions: [],
    policies: [],
    dependencies: {},
    leftOut: [],
    passthrough: [],
    reservedPaths: [],
    ...more
  }
}

export function policyOf (
  cardMore: object | string,
  policies: Readonly<Record<string, PolicyConfig>>,
  agentMore: Partial<AgentConfig> = {},
  more: Partial<CompileOptions> = {}
): AgentPolicy {
  const listed = Object.keys(policies)
  const config = agent({
    extensions: listed,
    policies: listed.map(name => ({ name, policy: policies[name] as PolicyConfig, layers: ['file'], from: {} })),
    dependencies: policies,
    ...agentMore
  })
  return compileAgentPolicy({
    agent: config,
    maxExtensions: 8,
    card: card(cardMore),
    otherCard: null,
    cache: new SchemaCache({ formats: config.jsonSchema.formats }),
    secretOf: () => '"a secret"',
    ...more
  })
}

export interface Sent {
  readonly version?: Version
  readonly binding?: Binding
  readonly method?: string
  readonly operation?: Operation
  readonly requested?: readonly string[]
  readonly pathTenant?: string
  /** `POST /path`: the body is then that route's. */
  readonly route?: string
  readonly headers?: readonly string[]
  readonly record?: TaskRecord
  readonly caller?: Principal
  readonly approved?: ReadonlySet<string>
  /** Null: all data is read. Default: that of the policy. */
  readonly judge?: ValueValidator | null
}

/** A request as its client writes it: `body` is JSON-RPC params, or the HTTP+JSON body; a string is sent as it stands. */
export function send (policy: AgentPolicy, body: unknown, sent: Sent = {}): Decision {
  const { version = '1.0', binding = 'JSONRPC' } = sent
  const method = sent.method ?? (version === '1.0' ? 'SendMessage' : 'message/send')
  const text =
    typeof body === 'string' ? body : JSON.stringify(binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, method, params: body } : body)
  const call = readCall({
    bytes: Buffer.from(text),
    binding,
    version,
    contentType: 'application/json',
    restOperation: binding === 'JSONRPC' ? null : (sent.operation ?? (sent.route === undefined ? 'SendMessage' : 'Extension')),
    limits: { depth: 64, members: 1_000_000 },
    validator: sent.judge === undefined ? policy.validator : sent.judge
  })
  return decide(
    {
      call,
      requested: sent.requested ?? [],
      headerName: version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions',
      pathTenant: sent.pathTenant ?? null,
      extensionRoute: sent.route ?? null,
      headers: sent.headers ?? [],
      record: sent.record ?? null,
      caller: sent.caller ?? null,
      approved: sent.approved ?? null
    },
    policy
  )
}

export const part10 = (data: unknown, mediaType: unknown = 'application/json;schema=fight', more: object = {}): object => ({
  data,
  mediaType,
  ...more
})
export const part03 = (data: unknown, mimeType: unknown = 'application/json;schema=fight', more: object = {}): object => ({
  kind: 'data',
  data,
  metadata: { mimeType },
  ...more
})
export const message = (...parts: readonly unknown[]): object => ({ message: { parts } })
