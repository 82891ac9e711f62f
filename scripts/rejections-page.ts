import type { Reason } from '../src/a2a/errors.js'
import { GATEWAY_DOMAIN, PROTOCOL_DOMAIN, REASONS, writeRejection } from '../src/a2a/errors.js'
import type { Rejection } from '../src/a2a/errors.js'
import { grpcStatusOf } from '../src/a2a/grpc/status.js'
import { GRPC_CODES } from '../src/wire/grpc/codes.js'

/** The situation in which the gateway uses each reason. A reason without an entry here does not compile. */
const WHEN: Readonly<Record<Reason, string>> = {
  EXTENSION_SUPPORT_REQUIRED: 'the request does not name a required extension',
  EXTENSION_NOT_ALLOWED: 'a policy forbids the extension: `unlistedExtensions: reject`, `activation.callers` does not allow the caller, or a rule of class `forbidden`',
  EXTENSION_DATA_INVALID: 'data violates its schema or rule',
  CONTENT_TYPE_NOT_SUPPORTED:
    'the body is not JSON in UTF-8, a DataPart belongs to no extension (`untaggedData: reject`), or the data names a schema that the card does not declare (with reason `SCHEMA_UNUSABLE`: a schema that the gateway could not compile)',
  EXTENSION_CONFLICT:
    'the data is not allowed in this situation; object-schemas: structured input on an existing task, reason `STRUCTURED_INPUT_TASK_RUNNING`',
  PUSH_URL_NOT_ALLOWED: 'a push notification configuration does not comply with `push` of the agent ([push notifications](../how-to/protect-webhooks.md))',
  PUSH_CONFIGS_EXHAUSTED: 'the task has as many push notification configurations as `push.perTask` allows; delete one, or replace one by its id ([push notifications](../how-to/protect-webhooks.md#configurations-of-a-task))',
  TASK_NOT_FOUND: 'the task or context does not exist, or belongs to another caller ([task ownership](../how-to/protect-tasks.md))',
  UNSUPPORTED_OPERATION: 'ListTasks of an agent with `access.tasks.list: reject` ([task ownership](../how-to/protect-tasks.md))',
  EXTENSION_DEPENDENCY_MISSING: 'an extension is active without others that it requires, directly or through one of them',
  INVALID_AGENT_RESPONSE:
    "with `responses: enforce`, the agent's response breaks a rule or cannot be read; the task itself may have continued",
  VERSION_NOT_SUPPORTED: 'no interface at this address supports the requested version, or a 1.0 method came without `A2A-Version: 1.0`',
  PARSE_ERROR: 'the body is not accepted as JSON: syntax, encoding, duplicate members, depth, number of members',
  INVALID_REQUEST: 'the JSON-RPC envelope is invalid or ambiguous or a batch, or there are too many extensions',
  INVALID_PARAMS:
    'gateway and agent could read members differently, a member has another JSON type than A2A gives it, or tenants or versions contradict each other',
  METHOD_NOT_FOUND: 'the JSON-RPC method does not exist in the version',
  ROUTE_NOT_FOUND: "the path is neither an operation of the agent's card nor a route of a policy",
  HOST_NOT_SERVED: 'the host of the request is not in `server.hosts`',
  CREDENTIALS_REQUIRED: 'the card is for callers with credentials (`card.public`), and the request has none that the agent accepts',
  UNAUTHENTICATED: 'the request has no credentials, or none that a source of `identity` accepts; `metadata.problem` and `WWW-Authenticate` say more ([identity](../how-to/authenticate-callers.md))',
  PERMISSION_DENIED:
    'the [access lists](../how-to/authorize-callers.md) of the agent deny the request; with `metadata.missingScopes`, the credentials lack these scopes, and `WWW-Authenticate` has `error="insufficient_scope"` (RFC 6750)',
  IDENTITY_UNAVAILABLE: 'the gateway cannot fetch the signing keys of the token\'s issuer; retry after `Retry-After`',
  RATE_LIMITED: 'a limit of `rates` is reached, or too many requests from the address had credentials that are not valid; `metadata.limit` names the limit, `Retry-After` says when to retry ([limits of requests](../how-to/limit-requests.md))',
  BUDGET_EXHAUSTED: 'a budget of `budgets` is spent; `metadata.limit` names it, `Retry-After` says when it is whole again ([budgets](../how-to/limit-requests.md#budgets))',
  METHOD_NOT_ALLOWED: 'the path exists with another HTTP method, which `Allow` names',
  REQUEST_TOO_LARGE: 'the body, as sent or decompressed, is larger than `limits.body`, or it decompresses to more than 100 times its size',
  REQUEST_TIMEOUT: 'the body did not arrive within `limits.requestTimeout`',
  BAD_REQUEST_TARGET: 'the path can be read in more than one way: dot segments, `//`, encoded slashes',
  BAD_REQUEST_HEADER: 'a header that matters to the decision is sent twice, a GET has a body, or the client requests a connection upgrade',
  CONTENT_ENCODING_NOT_SUPPORTED: 'the body has another coding than gzip, or several; `Accept-Encoding` names gzip',
  LOOP_DETECTED: 'an upstream URL of the configuration points to the gateway: it has already handled this request',
  AGENT_NOT_READY: 'the gateway has no usable card of the agent, or no caller can meet the [security requirement](../how-to/security-schemes.md) of its card',
  GRPC_NOT_SERVED: 'the agent\'s card names only gRPC interfaces, and the gateway serves none of them; a retry does not help ([gRPC](../how-to/grpc.md#agents-that-offer-only-grpc))',
  STATE_UNAVAILABLE: 'the store that knows to whom tasks belong, or how many push notification configurations they have, does not respond; `Retry-After` says when to retry ([task ownership](../how-to/protect-tasks.md), [push notifications](../how-to/protect-webhooks.md#configurations-of-a-task))',
  OVERLOADED:
    'the gateway is overloaded, the agent has reached its concurrency limit, or the store of a shared limit with `onStoreDown: reject` does not respond; `Retry-After` says when to retry ([limits](limits.md))',
  UPSTREAM_UNREACHABLE: 'the agent refuses the connection, its name does not resolve, or its certificate is not accepted',
  UPSTREAM_FAILED: 'the agent broke the connection, redirected, sent an error page (which keeps its status), or did not send HTTP',
  UPSTREAM_TIMEOUT: 'the agent did not accept the connection, respond, or finish in time',
  UPSTREAM_CREDENTIALS_UNAVAILABLE:
    'the gateway cannot get the access token that it sends to the agent ([credentials for the agent](../how-to/credentials-for-agents.md))',
  INTERNAL_ERROR: 'a bug in the gateway'
}

/** A rejection as the gateway makes it for a binding: over HTTP+JSON, the root of the request is the body, without `params`. */
function example (binding: 'JSONRPC' | 'HTTP+JSON'): Rejection {
  const field = `${binding === 'JSONRPC' ? 'params.' : ''}message.parts[0].data.b`
  const description = 'must be string (the schema "fightComparison" of the agent\'s card)'
  return {
    reason: 'EXTENSION_DATA_INVALID',
    message: `${field} ${description}.`,
    rule: 'object-schemas/validate-first-structured-part',
    metadata: { rule: 'validate-first-structured-part', extension: 'https://example.com/ext/v1' },
    fields: [{ field, description }],
    helpUri: 'https://example.com/ext/v1'
  }
}

/** docs/reference/errors.md, generated from the table that the gateway uses for its rejections. */
export function refusalsPage (): string {
  const rows = (Object.keys(REASONS) as Reason[]).map(reason => {
    const { rpc, http, status, infrastructure, protocol } = REASONS[reason]
    const { code } = grpcStatusOf({ reason, message: '', rule: '' })
    const name = Object.entries(GRPC_CODES).find(([, known]) => known === code)?.[0] ?? ''
    const jsonRpc = `${rpc}${infrastructure ? ` (HTTP ${http})` : ''}`
    return `| \`${reason}\` | ${jsonRpc} | ${http} ${status} | ${code} ${name} | ${protocol ? 'A2A' : 'gateway'} | ${WHEN[reason]} |`
  })
  const pretty = (binding: 'JSONRPC' | 'HTTP+JSON', version: '0.3' | '1.0'): string => {
    const { body } = writeRejection(example(binding), { binding, version, id: '"r1"', eventStream: false, statedVersion: true, mediaType: null })
    return JSON.stringify(JSON.parse(body.toString()), null, 1)
  }
  return `<!-- Generated by scripts/generate.ts from src/a2a/errors.ts and scripts/rejections-page.ts. Edit those. -->

# Rejections

When the gateway rejects a request, the client gets an error in its own binding and protocol version, and the request does not reach the agent. The exception is
\`INVALID_AGENT_RESPONSE\`, which replaces a [response](../how-to/check-responses.md) that breaks a rule. The message alone is enough to fix the request. The details contain the same
information for programs. The error never repeats values of the client's data.

Every response that the gateway created itself has the header

\`\`\`text
gateway-decision: reject;rule="<extension>/<rule>"
\`\`\`

A response without this header is the agent's own. A response with \`warn;rule="…"\` is also the agent's, and breaks a rule with \`verdict: annotate\`. The extension is the policy's name, or the URI if there is no policy, or \`gateway\`.

## Shapes

JSON-RPC, both versions. Protocol errors use HTTP 200, as A2A clients expect; infrastructure errors keep their HTTP status.

\`\`\`json
${pretty('JSONRPC', '1.0')}
\`\`\`

HTTP+JSON 1.0 (\`application/a2a+json\`, or \`application/json\` if the request used it):

\`\`\`json
${pretty('HTTP+JSON', '1.0')}
\`\`\`

HTTP+JSON 0.3, for which no specification defines a shape: \`code\`, \`message\` and \`data\` as in JSON-RPC, \`error\` as in HTTP+JSON 1.0, and \`type\`,
the error's name. Each SDK reads one of them.

gRPC, both versions: a response that is only trailers. \`grpc-status\` and \`grpc-message\` have code and message; \`grpc-status-details-bin\` has a
\`google.rpc.Status\` with the same code, the same message and the same details as above. In the middle of a stream, the messages before the rejected one arrive, and
the trailers follow. \`Retry-After\` becomes \`grpc-retry-pushback-ms\`. Clients accept about 8 kB of trailers: what has no room is left out, violations first, then the link, then
the longest metadata, and \`metadata.omittedFieldViolations\`, \`metadata.omittedHelp\` and \`metadata.omittedMetadata\` say so.

Some clients get another form, because their SDK reads no other. This was measured with the official SDKs for JavaScript, Python
and Go:

- A JSON-RPC call that expects an event stream (\`Accept: text/event-stream\`) gets the error as the only event of a stream. On plain JSON the Go
  SDKs see an empty stream and no error at all, and 0.3 clients in JavaScript and Python lose the message. HTTP+JSON streams get plain JSON.
- A 0.3 JSON-RPC call without \`A2A-Version\` gets \`error.data\` as an object, \`{"error": <message>, "details": […]}\`, instead of the list.
- If the HTTP status is not 200, the message is also the reason phrase of the HTTP/1.1 status line.

## Details

- \`google.rpc.ErrorInfo\`: \`reason\` of the table below; \`domain\` is \`${PROTOCOL_DOMAIN}\` for errors of the protocol and
  \`${GATEWAY_DOMAIN}\` for the gateway's own; \`metadata.extension\` and \`metadata.rule\` name the rule,
  \`metadata.missingExtensions\` all missing extensions, \`metadata.supportedVersions\` the versions to use instead.
- \`google.rpc.BadRequest\`: all violations, at most 20, each with a path from the root of the request, in the client's own
  field names, or \`header <name>\`.
- \`google.rpc.Help\`: a link to the extension's specification, if its URI is a link.

## Reasons

| reason | JSON-RPC | HTTP+JSON | gRPC | defined by | cause |
|---|---|---|---|---|---|
${rows.join('\n')}

0.3 clients also get -32008 for a missing extension, because 0.3 has no code for it.

## How to fix a request

| the message says | fix |
|---|---|
| requires an extension that the request does not activate | send the header line that the message quotes, if the client supports the extension |
| is required / must be … (the schema …) | change the data at that path; the schema is in the agent's card under \`schemas\` |
| names a schema that the agent's card does not declare | use one of the listed names |
| structured input is rejected because the message names a task | leave out \`taskId\` to start a new task |
| a request without the header A2A-Version is A2A 0.3 | send \`A2A-Version: 1.0\` |
| contains both "…" and "…" | send one spelling only |
`
}
