/**
 * The entry of each rejection in the documentation: `a2a-gateway help REASON`, the errors page and `/docs` print it. The texts use
 * Markdown's code spans and no links: `see` names pages.
 */
import { GRPC_CODES } from '#wire/grpc/codes.js'
import type { Reason, Rejection } from './errors.js'
import { writeRejection } from './errors.js'
import { grpcStatusOf } from './grpc/status.js'

export interface ReasonHelp {
  /** What the gateway found. */
  readonly cause: string
  /** What the client does about it. */
  readonly client: string
  /** What the operator of the gateway does about it. */
  readonly operator: string
  /** Pages of the documentation, by their topic (`help TOPIC`). */
  readonly see: readonly string[]
  /** One rejection with the reason, as the gateway writes it. */
  readonly example: Omit<Rejection, 'reason'>
}

const EXTENSION = 'https://example.com/ext/v1'

function gateway (rule: string, message: string, more: Partial<Rejection> = {}): ReasonHelp['example'] {
  return { message, rule: `gateway/${rule}`, ...more }
}

/** A rejection because of one field of the request. */
function field (rule: string, path: string, problem: string, more: Partial<Rejection> = {}): ReasonHelp['example'] {
  return {
    message: `${path} ${problem}.`,
    rule,
    fields: [{ field: path, description: problem }],
    ...more
  }
}

const RETRY_LATER = 'Send the request again after the seconds in `Retry-After`.'

/** A reason without an entry does not compile. */
export const REASON_HELP: Readonly<Record<Reason, ReasonHelp>> = {
  EXTENSION_SUPPORT_REQUIRED: {
    cause: 'The request does not name an extension that the agent requires, or calls a method of an extension that the request does not activate.',
    client: 'If your client supports the extension, send the header line that the message quotes. Otherwise the client cannot call this agent.',
    operator: 'To make the extension optional for all clients, write `activation.required: never` in its policy. To record such requests ' +
      'without rejecting them, write `activation.required: observe`.',
    see: ['decisions', 'cards'],
    example: {
      message: `This agent requires an extension that the request does not activate: ${EXTENSION}. Send the header "A2A-Extensions: ` +
        `${EXTENSION}" with the request.`,
      rule: `${EXTENSION}/required`,
      metadata: { rule: 'required', extension: EXTENSION, missingExtensions: EXTENSION },
      fields: [{ field: 'header A2A-Extensions', description: `must name the required extension ${EXTENSION}` }],
      helpUri: EXTENSION
    }
  },
  EXTENSION_NOT_ALLOWED: {
    cause: 'A policy forbids the extension: the caller is not among `activation.callers`, the agent rejects unlisted extensions ' +
      '(`unlistedExtensions: reject`), or a rule of class `forbidden` applies.',
    client: 'Leave the extension out of the request, or call with credentials of a caller who may use it.',
    operator: 'Add the caller to `activation.callers` of the policy, add the extension to the card, or write `unlistedExtensions: forward`.',
    see: ['decisions', 'policy'],
    example: field('gateway/unlisted-extension', 'header A2A-Extensions', 'requests an extension that this agent does not list; this ' +
      'agent lists https://example.com/ext/v1', {
      metadata: { rule: 'unlisted-extension', extension: 'gateway' }
    })
  },
  EXTENSION_DATA_INVALID: {
    cause: 'Data of the request breaks a schema or a rule of an extension.',
    client: 'Change the data at each path of `fieldViolations`. Schemas of the agent are in its card, under `schemas`.',
    operator: 'To see which rule decided, and why, run `a2a-gateway explain` with the request. To observe a rule first, write `verdict: ' +
      'warn` in the rule.',
    see: ['explain', 'policy'],
    example: field('object-schemas/validate-first-structured-part', 'params.message.parts[0].data.b', 'must be a string (the schema ' +
      '"fightComparison" of the agent\'s card)', {
      metadata: { rule: 'validate-first-structured-part', extension: EXTENSION },
      helpUri: EXTENSION
    })
  },
  CONTENT_TYPE_NOT_SUPPORTED: {
    cause: 'The body is not JSON in UTF-8, a DataPart belongs to no extension (`untaggedData: reject`), or the data names a schema that ' +
      'the card does not declare. If the card declares the schema and the gateway could not compile the schema, the reason is ' +
      '`SCHEMA_UNUSABLE`.',
    client: 'Use a media type and a schema name that the agent\'s card lists.',
    operator: 'Add the schema to `card.schemas`, or write `untaggedData: allow`. `check --live` lists schemas that cannot be compiled.',
    see: ['cards', 'decisions'],
    example: gateway(
      'grpc-content-type', 'This address serves gRPC only: call it with a gRPC client, which sends "content-type: application/grpc".'
    )
  },
  EXTENSION_CONFLICT: {
    cause: 'The data is valid, but not allowed in this situation. Object schemas: structured input on an existing task has the reason ' +
      '`STRUCTURED_INPUT_TASK_RUNNING`.',
    client: 'Do what the message says. To start a new task, leave out `taskId`.',
    operator: 'The header `gateway-decision` names the rule. Change the `when` or the `verdict` of the rule.',
    see: ['policy', 'responses'],
    example: {
      message: 'params.message.parts[0]: structured input is accepted only in a message that starts a task, and this message names a ' +
        'task; leave out taskId to start a new task.',
      rule: 'object-schemas/no-structured-input-on-existing-task',
      metadata: { rule: 'no-structured-input-on-existing-task', extension: EXTENSION },
      customReason: 'STRUCTURED_INPUT_TASK_RUNNING'
    }
  },
  EXTENSION_DEPENDENCY_MISSING: {
    cause: 'The request activates an extension, but not another extension that the first one requires.',
    client: 'Also name the extension that the message quotes in `A2A-Extensions`.',
    operator: 'To let the gateway request the missing extension, write `activation.onMissing: add` in the policy.',
    see: ['decisions'],
    example: field('consent/requires', 'header A2A-Extensions', `must also name ${EXTENSION}, which the extension ` +
      'https://example.com/ext/v2 requires', {
      metadata: { rule: 'requires', extension: 'https://example.com/ext/v2' }
    })
  },
  DELEGATION_INVALID: {
    cause: 'The header `a2a-delegation` is not a valid chain of callers, belongs to another agent, or is missing in the call of an agent.',
    client: 'An agent sends the header `a2a-delegation` that it received with the call that it works on, once and unchanged, together ' +
      'with its own credentials. `metadata.problem` names the problem. A client that is no agent does not send the header.',
    operator: '`presenter`: compare `access.delegation.as` of the calling agent with the credentials that this agent uses. ' +
      '`unknown_key`: add the keys of the other gateway to `delegation.keys`. `expired`: raise `delegation.ttl` of the gateway that ' +
      'signed the chain. `missing`: the agent must pass the header on.',
    see: ['delegation', 'callers'],
    example: gateway('delegation', 'The header a2a-delegation has expired, or is not valid yet; send the header of the call that your ' +
      'agent works on now.', {
      metadata: { rule: 'delegation', problem: 'expired' }
    })
  },
  DELEGATION_NOT_ALLOWED: {
    cause: 'An agent has sent the call for somebody else, and the chain of callers breaks `access.delegation` of this agent.',
    client: 'See `metadata.problem`. `depth`: call the agent with fewer agents in between. `loop`: the call has passed through this ' +
      'agent already. `target` and `initiator`: ask the operator of the gateway for access. `length`: the chain is too long for a ' +
      'header. `time`: the initiator must call again.',
    operator: '`depth`: raise `maxDepth`. `target`: see `mayReach` of the agents in `delegation.hops` of the audit line. `initiator`: an ' +
      'entry of `access.allow` must allow the caller in `delegation.initiator` too, or write `initiator: ignore`.',
    see: ['delegation', 'access'],
    example: gateway('delegation', 'The caller who initiated the call may not send this request; ask the operator of the gateway for access.', {
      metadata: { rule: 'delegation', problem: 'initiator' }
    })
  },
  EXTERNAL_DECISION_DENIED: {
    cause: 'A policy server of the operator (`decisionPoints`) has denied the call or its response, or asks for an obligation that the ' +
      'gateway cannot fulfil.',
    client: 'Follow the reason in the message, if the message has one. The same call gets the same answer until the policy changes.',
    operator: 'The audit line names the entry of `external`, the decision\'s id and the reason for administrators. To record answers ' +
      'without effect, write `mode: observe` in the entry. `a2a-gateway external ask` sends a recorded call to the server.',
    see: ['external', 'authzen-a2a'],
    example: gateway('external', 'The policy server of this gateway does not allow the call: Payments above 1000 EUR need an approval.', {
      metadata: { rule: 'external', decision: 'spend' }
    })
  },
  EXTERNAL_DECISION_UNAVAILABLE: {
    cause: 'A policy server (`decisionPoints`) did not answer in time, or its answer is not a valid decision.',
    client: RETRY_LATER,
    operator: 'The log line "no decision of the policy server" has the problem. Calls pass without a decision only with `onError: forward`.',
    see: ['external'],
    example: gateway('external', 'The gateway could not get a decision of its policy server about the call; call again later.', {
      metadata: { rule: 'external', decision: 'spend' }
    })
  },
  PUSH_URL_NOT_ALLOWED: {
    cause: 'A push notification configuration does not comply with `push` of the agent.',
    client: 'Use a URL that the operator allows, with the credentials that the message names.',
    operator: 'Add the address to `push.allow` of the agent.',
    see: ['push-notifications'],
    example: field(
      'gateway/push', 'params.taskPushNotificationConfig.url', 'must be an https URL', { metadata: { rule: 'push', extension: 'gateway' } }
    )
  },
  PUSH_CONFIGS_EXHAUSTED: {
    cause: 'The task already has as many push notification configurations as `push.perTask` allows.',
    client: 'Delete a configuration of the task, or replace one by its id.',
    operator: 'Raise `push.perTask` of the agent.',
    see: ['push-notifications'],
    example: gateway(
      'push', 'The task has the maximum number of push notification configurations (10). Delete one, or replace one by its id.'
    )
  },
  TASK_NOT_FOUND: {
    cause: 'The task or context does not exist, or it belongs to another caller. The response does not distinguish the two cases.',
    client: 'Check the id, and call with the credentials that created the task.',
    operator: 'The audit line of the rejection names the owner\'s rule. To share tasks between callers, change `access.tasks`.',
    see: ['task-ownership'],
    example: gateway('task-owner', 'Task not found.')
  },
  UNSUPPORTED_OPERATION: {
    cause: 'The client lists tasks of an agent with `access.tasks.list: reject`.',
    client: 'Get tasks by their ids.',
    operator: 'Write another value for `access.tasks.list` if the agent lists only the tasks of the caller.',
    see: ['task-ownership'],
    example: gateway('task-owner', 'This agent does not list tasks for its callers; get tasks by their ids.')
  },
  VERSION_NOT_SUPPORTED: {
    cause: 'No interface of the agent at this address supports the version of the request, or a method of A2A 1.0 came without ' +
      '`A2A-Version: 1.0`.',
    client: 'Send the header that the message quotes. `metadata.supportedVersions` lists the versions.',
    operator: 'The gateway does not translate between versions. The agent must offer the version in its card.',
    see: ['cards'],
    example: gateway(
      'version',
      'The agent does not support A2A 0.3 at this address, and a request without the header A2A-Version is A2A 0.3. The agent supports ' +
        '1.0: send the header "A2A-Version: 1.0".',
      { metadata: { rule: 'version', supportedVersions: '1.0' } }
    )
  },
  INVALID_AGENT_RESPONSE: {
    cause: 'The agent has `responses: enforce`, and its response breaks a rule or cannot be read. The task itself may have continued.',
    client: 'Report the error to the operator of the agent. Get the task before you send the message again.',
    operator: 'The fault is the agent\'s. To pass such responses on and record the violations, write `responses: observe` for the agent.',
    see: ['responses'],
    example: gateway('upstream-too-large', 'The agent\'s response is larger than the gateway accepts.')
  },
  PARSE_ERROR: {
    cause: 'The body is not one JSON document, or one gRPC message, that every reader reads alike.',
    client: 'Send one JSON object in UTF-8, without duplicate members, within the limits of depth and members.',
    operator: '`limits.jsonDepth` and `limits.jsonMembers` bound the document.',
    see: ['limits'],
    example: gateway('body', 'The body is empty; send the message as a JSON object.')
  },
  INVALID_REQUEST: {
    cause: 'The JSON-RPC envelope is invalid, ambiguous or a batch, or the request names too many extensions.',
    client: 'Send one JSON-RPC 2.0 object per HTTP request, and only extensions of the agent\'s card.',
    operator: '`limits.extensions` bounds the extensions of a request.',
    see: ['limits'],
    example: gateway('envelope', 'Batch requests are not supported by A2A; send one JSON-RPC object per HTTP request.')
  },
  INVALID_PARAMS: {
    cause: 'Gateway and agent could read a member differently, a member has another JSON type than in A2A, or tenants or versions ' +
      'contradict each other.',
    client: 'Write each field once, in one spelling, with the type that A2A gives it.',
    operator: 'You cannot change this: an agent could otherwise do something that the gateway has not checked.',
    see: ['decisions'],
    example: gateway('version-conflict', 'The header A2A-Version and the query parameter A2A-Version differ; send only the header.')
  },
  METHOD_NOT_FOUND: {
    cause: 'The JSON-RPC or gRPC method is not an operation of this version of A2A, and no policy adds the method.',
    client: 'Use the method names of the version that the request states.',
    operator: 'To forward other methods, write `unknownMethods: forward` for the agent, or `methods` in a policy.',
    see: ['policy'],
    example: gateway('unknown-method', 'The method is not an operation of A2A 1.0.')
  },
  ROUTE_NOT_FOUND: {
    cause: 'The path is neither an operation of the agent\'s card nor a route of a policy.',
    client: 'Take the address from the agent\'s card at `/.well-known/agent-card.json`.',
    operator: 'To forward other paths, write `passthrough` for the agent, or `routes` in a policy.',
    see: ['cards', 'configuration'],
    example: gateway('no-agent', 'No agent is served at this address.')
  },
  HOST_NOT_SERVED: {
    cause: 'The host of the request is not in `server.hosts`.',
    client: 'Use the URL that the operator gave you.',
    operator: 'Add the host to `server.hosts`.',
    see: ['configuration'],
    example: gateway(
      'host-not-served', 'The gateway does not serve the host that the request names; use the URL that you were given for the agent.'
    )
  },
  METHOD_NOT_ALLOWED: {
    cause: 'The path exists with another HTTP method.',
    client: 'Use a method of the header `Allow`.',
    operator: 'If the path is a route of a policy, add the method to the route.',
    see: ['policy'],
    example: gateway('method', 'The HTTP method is not allowed here; use POST.', { allow: 'POST' })
  },
  CREDENTIALS_REQUIRED: {
    cause: 'The card is only for callers with credentials (`card.public`), and the request has none that the agent accepts.',
    client: 'Request the card with the credentials that the agent accepts.',
    operator: 'To show the card to everybody, change `card.public` of the agent.',
    see: ['cards'],
    example: gateway(
      'card-credentials',
      'The card of this agent is for callers with credentials; send those that the agent accepts in the header authorization.'
    )
  },
  UNAUTHENTICATED: {
    cause: 'The request has no credentials, or none that a source of `identity` accepts. `metadata.problem` and `WWW-Authenticate` name ' +
      'the fault.',
    client: 'Send the credentials that the message names. Get a new token if `metadata.problem` is `expired`.',
    operator: 'Compare issuer, audience and keys of `identity.sources` with a token. The audit line names the source that rejected the ' +
      'credentials.',
    see: ['identity', 'access'],
    example: gateway('authentication', 'This agent requires credentials: send an access token as "Authorization: Bearer <token>".')
  },
  PERMISSION_DENIED: {
    cause: 'The access lists of the agent deny the request. `metadata.missingScopes` lists the scopes that the credentials lack; ' +
      '`WWW-Authenticate` then contains `error="insufficient_scope"` (RFC 6750).',
    client: 'Get a token with the missing scopes, or ask the operator for access.',
    operator: 'Add the caller to `access.allow` of the agent. `a2a-gateway explain --caller` shows which entry decided.',
    see: ['access'],
    example: gateway(
      'access', 'The caller is not allowed to send this request; ask the operator of the gateway for access.',
      { metadata: { rule: 'access' } }
    )
  },
  IDENTITY_UNAVAILABLE: {
    cause: 'The gateway cannot fetch the signing keys of the token\'s issuer.',
    client: RETRY_LATER,
    operator: 'Check that the gateway reaches the issuer. The log names the URL and the failure.',
    see: ['identity'],
    example: gateway(
      'identity-unavailable', 'The gateway cannot get the keys that verify the credentials; try again later.', { retryAfter: 5 }
    )
  },
  RATE_LIMITED: {
    cause: 'A limit of `rates` is reached, or too many requests from the address had invalid credentials. `metadata.limit` names the limit.',
    client: 'Wait for the seconds in `Retry-After`, and send fewer requests.',
    operator: 'Raise the limit in `rates`, or give the caller a separate limit.',
    see: ['rate-limits'],
    example: gateway(
      'rate-limit', 'The limit "per-caller" is reached: wait 2 s before the next request.',
      { metadata: { limit: 'per-caller' }, retryAfter: 2 }
    )
  },
  BUDGET_EXHAUSTED: {
    cause: 'A budget of `budgets` is spent. `metadata.limit` names it.',
    client: 'Wait for the seconds in `Retry-After`: the budget is then whole again. Without `Retry-After`, the budget belongs to one ' +
      'call and to the calls that agents make for it, and is spent: complete the task without further calls.',
    operator: 'Raise the budget in `budgets`. With `by: [chain]`, the audit line shows the rest in `delegation.budgets`.',
    see: ['rate-limits', 'budgets'],
    example: gateway(
      'budget', 'The budget "tokens-per-day" is spent: wait 3600 s before the next message.',
      { metadata: { limit: 'tokens-per-day' }, retryAfter: 3600 }
    )
  },
  REQUEST_TOO_LARGE: {
    cause: 'The body is larger than `limits.body`, as sent or decompressed. Or the body decompresses to more than 100 times its size.',
    client: 'Send less data, or a URL of the file instead of its bytes.',
    operator: 'Raise `limits.body`, and the memory of the process with it.',
    see: ['limits'],
    example: gateway('body-size', 'The request body is larger than 20971520 bytes.', { metadata: { limitBytes: '20971520' } })
  },
  REQUEST_TIMEOUT: {
    cause: 'The body did not arrive within `limits.requestTimeout`, or the call was not complete within the deadline of its client.',
    client: 'Send the body without pauses, or set a longer deadline.',
    operator: 'Raise `limits.requestTimeout`. Check proxies in front that delay bodies.',
    see: ['limits'],
    example: gateway('request-timeout', 'The request body did not arrive within 30 s.')
  },
  BAD_REQUEST_TARGET: {
    cause: 'The path can be read in more than one way: dot segments, `//`, or encoded slashes.',
    client: 'Send the path as the agent\'s card writes it.',
    operator: 'You cannot change this: an agent could otherwise read another path than the gateway.',
    see: ['decisions'],
    example: gateway('target', 'The request target is rejected: the path contains an empty segment ("//").')
  },
  BAD_REQUEST_HEADER: {
    cause: 'The request sends a header of the decision twice, or with an invalid value. Or a GET request has a body, or the client ' +
      'requests an upgrade or another version of HTTP.',
    client: 'Send each header once, with a valid value.',
    operator: 'Check proxies in front that add headers.',
    see: ['decisions'],
    example: gateway('duplicate-header', 'The header a2a-version is sent more than once; send it once.')
  },
  CONTENT_ENCODING_NOT_SUPPORTED: {
    cause: 'The body has a `Content-Encoding` other than gzip, or several encodings.',
    client: 'Send the body without `Content-Encoding`, or with `Content-Encoding: gzip`.',
    operator: 'Nothing.',
    see: ['limits'],
    example: gateway(
      'content-encoding', 'The Content-Encoding is not supported; send "Content-Encoding: gzip", or the body without Content-Encoding.'
    )
  },
  LOOP_DETECTED: {
    cause: 'The gateway has already handled this request: an upstream URL of the configuration points to the gateway.',
    client: 'Report the error to the operator of the gateway.',
    operator: 'Correct `upstream.url` of the agent.',
    see: ['configuration'],
    example: gateway(
      'loop', 'This gateway has already handled the request: an upstream URL in its configuration points to the gateway itself.'
    )
  },
  AGENT_NOT_READY: {
    cause: 'The gateway has no usable card of the agent, or no caller can satisfy the security requirement of its card.',
    client: RETRY_LATER,
    operator: 'Run `a2a-gateway check --live`, or read `/agents` on the admin listener: both name the problem of the card. To forward ' +
      'calls without a card, write `card.onUnavailable: forward`.',
    see: ['cards', 'security-schemes'],
    example: gateway(
      'no-card', 'The gateway has no valid AgentCard for the agent "eightball", so it cannot check this call; try again later.',
      { retryAfter: 5 }
    )
  },
  GRPC_NOT_SERVED: {
    cause: 'The agent\'s card names only gRPC interfaces, and the gateway serves none of them.',
    client: 'Do not retry. Ask the operator of the gateway.',
    operator: 'Set `server.grpc.listen`.',
    see: ['grpc'],
    example: gateway(
      'only-grpc',
      'The agent "eightball" offers only gRPC, and the gateway does not serve this agent by gRPC; a retry does not help, ask the ' +
        'operator of the gateway.'
    )
  },
  STATE_UNAVAILABLE: {
    cause: 'The store that knows the owners of tasks, or their push notification configurations, does not respond.',
    client: RETRY_LATER,
    operator: 'Check the server of `state.store`. `a2a-gateway help metrics` lists the counters of its failures.',
    see: ['task-ownership', 'push-notifications'],
    example: gateway('task-owner', 'The gateway cannot look up to whom tasks belong; try again later.', { retryAfter: 1 })
  },
  OVERLOADED: {
    cause: 'The gateway is overloaded or shuts down, the agent has reached its concurrency limit, or the store of a shared limit with ' +
      '`onStoreDown: reject` does not respond.',
    client: RETRY_LATER,
    operator: 'Add processes or replicas, or raise `concurrency` of the agent, `shedding` or `limits.memory`.',
    see: ['limits'],
    example: gateway('overloaded', 'The gateway is overloaded; try again later.', { retryAfter: 1 })
  },
  UPSTREAM_UNREACHABLE: {
    cause: 'The agent refuses the connection, its name does not resolve, or its certificate is not accepted.',
    client: 'The agent did not receive the request. Send the request again later.',
    operator: 'Check that the agent runs at `upstream.url`, and `upstream.tls`. The log names the failure.',
    see: ['troubleshooting'],
    example: gateway('upstream-refused', 'The agent could not be reached: connection refused.', { metadata: { kind: 'refused' } })
  },
  UPSTREAM_FAILED: {
    cause: 'The agent broke the connection, sent a redirect or an error page, or did not send HTTP. An error page keeps its status.',
    client: 'Get the task before you send the message again: the agent may have received the message.',
    operator: 'Read the agent\'s log. The gateway\'s log names the failure.',
    see: ['troubleshooting'],
    example: gateway(
      'upstream-html', 'The agent responded with HTTP 502 and an HTML page instead of an A2A response.',
      { metadata: { kind: 'protocol', status: '502' } }
    )
  },
  UPSTREAM_TIMEOUT: {
    cause: 'The agent did not accept the connection, respond, or finish in time.',
    client: 'Get the task before you send the message again: the agent may have received the message.',
    operator: 'Raise `upstream.timeouts` of the agent, or make the agent respond with a task early.',
    see: ['troubleshooting'],
    example: gateway('upstream-headers-timeout', 'The agent did not respond in time.', { metadata: { kind: 'headers_timeout' } })
  },
  UPSTREAM_CREDENTIALS_UNAVAILABLE: {
    cause: 'The gateway cannot get the credentials that it sends to the agent.',
    client: 'The agent did not receive the request. Send the request again later.',
    operator: 'Check `upstream.credentials` of the agent, and the token endpoint. The log names the failure.',
    see: ['upstream-credentials'],
    example: gateway('upstream-credentials', 'The gateway cannot get the credentials that the agent requires; try again later.')
  },
  INTERNAL_ERROR: {
    cause: 'The gateway has a bug, or a proxy of the mesh is not set up for the call.',
    client: 'Report the error to the operator of the gateway, with the time of the request.',
    operator: 'Read the log line of the request, and report the bug.',
    see: ['envoy', 'troubleshooting'],
    example: gateway('internal', 'The gateway could not handle the request.')
  }
}

/**
 * Returns one rejection with the reason, as clients of A2A 1.0 see it: the body over JSON-RPC and HTTP+JSON, each after its status line,
 * and the trailers over gRPC.
 */
export function reasonExamples (reason: Reason): readonly (readonly [binding: string, text: string])[] {
  const { example } = REASON_HELP[reason]
  const bodyOf = (binding: 'JSONRPC' | 'HTTP+JSON'): string => {
    // Over HTTP+JSON, the body is the request itself, and so its paths have no `params`.
    const rejection: Rejection = { ...(binding === 'JSONRPC' ? example : withoutParams(example)), reason }
    const { status, body } = writeRejection(
      rejection, { binding, version: '1.0', id: '1', eventStream: false, statedVersion: true, mediaType: null }
    )
    return `HTTP ${status}\n${body.toString()}`
  }
  const { code, message } = grpcStatusOf({ ...withoutParams(example), reason })
  return [
    ['JSON-RPC', bodyOf('JSONRPC')],
    ['HTTP+JSON', bodyOf('HTTP+JSON')],
    ['gRPC', `grpc-status: ${code} (${grpcCodeName(code)})\ngrpc-message: ${message}`]
  ]
}

/** Name of a status code of gRPC. */
export function grpcCodeName (code: number): string {
  return Object.entries(GRPC_CODES).find(([, value]) => value === code)?.[0] ?? 'UNKNOWN'
}

function withoutParams (example: ReasonHelp['example']): ReasonHelp['example'] {
  const shorter = (text: string): string => text.replace(/^params\./, '')
  return {
    ...example,
    message: shorter(example.message),
    ...(example.fields === undefined ? {} : { fields: example.fields.map(field => ({ ...field, field: shorter(field.field) })) })
  }
}

/** Pages of the documentation by topic: `help TOPIC`. Each topic lists the names that its page may have, without `.md`. */
export const TOPICS: Readonly<Record<string, readonly string[]>> = {
  access: ['authorize-callers'],
  'authzen-a2a': ['authzen-a2a'],
  budgets: ['budgets-across-agents'],
  callers: ['use-the-caller'],
  cards: ['cards'],
  catalogue: ['extensions/README'],
  'client-certificates': ['client-certificates'],
  configuration: ['configuration'],
  'configuration-agents': ['configuration-agents'],
  'configuration-callers': ['configuration-callers'],
  'configuration-server': ['configuration-server'],
  delegation: ['control-delegation'],
  decisions: ['how-a-call-is-evaluated'],
  envoy: ['how-to/envoy'],
  'envoy-settings': ['reference/envoy'],
  errors: ['errors'],
  explain: ['explain-a-call'],
  external: ['external-decisions'],
  grpc: ['grpc'],
  identity: ['authenticate-callers'],
  json: ['json'],
  limits: ['limits'],
  metrics: ['metrics'],
  'operator-errors': ['operator-errors'],
  policy: ['policy'],
  'policy-tests': ['policy-tests'],
  'push-notifications': ['protect-webhooks'],
  'rate-limits': ['limit-requests'],
  responses: ['check-responses'],
  rules: ['rules'],
  'security-schemes': ['security-schemes'],
  'task-ownership': ['protect-tasks'],
  testing: ['test-policies'],
  troubleshooting: ['troubleshooting'],
  upgrading: ['upgrade'],
  'upstream-credentials': ['credentials-for-agents']
}
