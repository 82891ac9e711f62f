/**
 * Every attribute that the gateway's own code sets on a span. docs/reference/traces.md is generated from this table. An attribute that is
 * not in the table does not compile.
 */
import type { Described } from '../described.js'

export interface DescribedAttribute extends Described {
  readonly on: 'SERVER' | 'CLIENT' | 'both'
}

export const SPAN_ATTRIBUTES = {
  'a2a_gateway.agent': { on: 'SERVER', type: 'string', when: 'operations', meaning: 'name of the agent in the configuration' },
  'a2a.method.name': {
    on: 'SERVER', type: 'string', when: 'operations', meaning: 'the operation, or the method or route as a policy declares it'
  },
  'a2a.task.id': {
    on: 'SERVER',
    type: 'string',
    when: 'the request names a task, or a response that was read has one',
    meaning: 'id of the task; the id in the request takes precedence'
  },
  'a2a.context.id': { on: 'SERVER', type: 'string', when: 'as `a2a.task.id`', meaning: 'id of the context' },
  'rpc.system.name': { on: 'both', type: 'string', when: 'JSON-RPC and gRPC', meaning: '`jsonrpc` or `grpc`' },
  'jsonrpc.protocol.version': { on: 'both', type: 'string', when: 'JSON-RPC', meaning: 'always `2.0`' },
  'rpc.method': {
    on: 'both',
    type: 'string',
    when: 'gRPC; JSON-RPC, with a method',
    meaning: 'gRPC: service and method, `lf.a2a.v1.A2AService/SendMessage`; JSON-RPC: the method as the client wrote it, `_OTHER` if ' +
      'neither A2A nor a policy declares it'
  },
  'rpc.response.status_code': {
    on: 'both',
    type: 'string',
    when: 'gRPC; the response is a JSON-RPC error',
    meaning: 'gRPC: name of the status, `OK` too; JSON-RPC: `error.code` of the response. Of the gateway or the agent on SERVER, of the ' +
      'agent on CLIENT'
  },
  'jsonrpc.request.id': { on: 'SERVER', type: 'string', when: 'JSON-RPC, with an id', meaning: "the client's id" },
  'a2a.extension.requested': { on: 'SERVER', type: 'list', when: 'the client requested some', meaning: 'URIs that the client requested' },
  'a2a.extension.active': {
    on: 'SERVER',
    type: 'list',
    when: 'some were requested or are active',
    meaning: 'URIs that are active for the call'
  },
  'a2a.extension.injected': {
    on: 'SERVER',
    type: 'list',
    when: 'there are some',
    meaning: 'URIs that the gateway requested for the client'
  },
  'a2a.extension.missing': { on: 'SERVER', type: 'list', when: 'there are some', meaning: 'required URIs that the client did not request' },
  'a2a.extension.confirmed': {
    on: 'SERVER',
    type: 'list',
    when: 'the response was read',
    meaning: 'requested URIs that the response proves active'
  },
  'a2a.extension.absent': {
    on: 'SERVER',
    type: 'list',
    when: 'the response was read',
    meaning: 'requested URIs without proof in the response'
  },
  'a2a.extension.unexpected': {
    on: 'SERVER',
    type: 'list',
    when: 'the response was read',
    meaning: 'URIs that nobody requested, but the response has'
  },
  'a2a_gateway.decision': {
    on: 'SERVER',
    type: 'string',
    when: 'operations and rejections',
    meaning: 'decision about the request: `forward`, `observe`, `reject`, `pause`'
  },
  'a2a_gateway.rule': {
    on: 'SERVER',
    type: 'string',
    when: 'the request or response was rejected',
    meaning: 'the rule that rejected the request or response, as in the header `gateway-decision`'
  },
  'a2a_gateway.edited': {
    on: 'SERVER',
    type: 'list',
    when: 'the request was changed',
    meaning: '`policy/rule` of each change of the request, never the data'
  },
  'a2a_gateway.answer': {
    on: 'SERVER',
    type: 'string',
    when: 'the response was read',
    meaning: 'decision about the response: `forward`, `observe`, `edit`, `reject`; for a stream, the strictest of its events'
  },
  'a2a_gateway.answer.edited': {
    on: 'SERVER',
    type: 'list',
    when: 'the response was changed',
    meaning: '`policy/rule` of each removal from the response, never the data'
  },
  'enduser.pseudo.id': {
    on: 'SERVER',
    type: 'string',
    when: 'the caller is authenticated',
    meaning: 'the caller, as in the [audit line](logs.md)'
  },
  'a2a_gateway.caller.source': {
    on: 'both',
    type: 'string',
    when: 'the caller is authenticated; on CLIENT: `IssuerKeys`',
    meaning: 'source of `identity.sources`'
  },
  'a2a_gateway.access.rule': {
    on: 'SERVER',
    type: 'string',
    when: 'the agent has [access lists](../how-to/authorize-callers.md)',
    meaning: 'id of the entry that decided, or `none`'
  },
  'a2a_gateway.limit': {
    on: 'SERVER', type: 'string', when: 'a limit rejected the request', meaning: 'id of the [limit](../how-to/limit-requests.md)'
  },
  'a2a_gateway.delegation.depth': {
    on: 'SERVER',
    type: 'number',
    when: 'the agent has [limits of delegation](../how-to/control-delegation.md)',
    meaning: 'number of agents between the initiator and this agent'
  },
  'a2a_gateway.external': {
    on: 'SERVER',
    type: 'list',
    when: '[policy servers](../how-to/external-decisions.md) have answered',
    meaning: 'at most 20 answers, as `rule: outcome`'
  },
  'a2a_gateway.front': { on: 'SERVER', type: 'string', when: 'a proxy of a mesh asked', meaning: '`ext_authz` or `ext_proc`' },
  'a2a_gateway.outcome': { on: 'SERVER', type: 'string', meaning: 'as in `requests_total`' },
  'http.request.method': { on: 'both', type: 'string', meaning: 'method of the request, or of the call to the agent; `_OTHER` if unknown' },
  'url.scheme': { on: 'both', type: 'string', meaning: '`http` or `https`, of the connection itself' },
  'url.path': { on: 'both', type: 'string', meaning: 'path of the request, or path at the agent or token endpoint, without query' },
  'server.address': { on: 'both', type: 'string', meaning: 'host in the `Host` header, or host of the agent or of the token endpoint' },
  'server.port': { on: 'both', type: 'number', meaning: 'port in the `Host` header, or port of the agent or of the token endpoint' },
  'http.response.status_code': {
    on: 'both',
    type: 'number',
    when: 'there is a response',
    meaning: 'status of the response to the client, or from the agent'
  },
  'error.type': { on: 'both', type: 'string', when: 'failed spans', meaning: 'the outcome, a code or a status, never an error text' }
} as const satisfies Readonly<Record<string, DescribedAttribute>>

export type SpanAttribute = keyof typeof SPAN_ATTRIBUTES

/** Names of spans. */
export const SPAN_NAMES = {
  'the operation, such as `SendMessage`': 'one request; the call to the agent has the same name',
  AgentCard: 'a request for a card',
  Directory: 'a request for the directory page (`server.console.public`)',
  Passthrough: 'a request below a prefix of `passthrough`, or to an agent without a card with `onUnavailable: forward`',
  Preflight: 'a forwarded CORS preflight',
  'the method or route of an extension as a policy declares it, such as `GET /commands/{name}`': 'a request for it',
  ExternalDecision: 'a question to a [policy server](../how-to/external-decisions.md), below the request that caused it',
  TokenRequest: 'a request to a token endpoint ([credentials for the agent](../how-to/credentials-for-agents.md)), below the request ' +
    'that caused it',
  Other: 'a forwarded method that neither A2A nor a policy declares',
  IssuerKeys: 'a fetch of the keys of an [issuer](../how-to/authenticate-callers.md#keys-of-the-issuer) or of its metadata; a CLIENT ' +
    'span of a separate trace',
  request: 'a request rejected before its operation was known'
} as const
