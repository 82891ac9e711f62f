/** Every attribute that the gateway's own code sets on a span. docs/traces.md is written from it; one that is not here does not compile. */
import type { Described } from './described.js'

export interface DescribedAttribute extends Described {
  readonly on: 'SERVER' | 'CLIENT' | 'both'
}

export const SPAN_ATTRIBUTES = {
  'a2a_gateway.agent': { on: 'SERVER', type: 'string', when: 'operations', meaning: 'the agent, by its name in the configuration' },
  'a2a.method.name': { on: 'SERVER', type: 'string', when: 'operations', meaning: 'the operation' },
  'rpc.system': { on: 'SERVER', type: 'string', when: 'JSON-RPC', meaning: 'always `jsonrpc`' },
  'jsonrpc.request.id': { on: 'SERVER', type: 'string', when: 'JSON-RPC, with an id', meaning: 'the client\'s id' },
  'a2a.extension.requested': { on: 'SERVER', type: 'list', when: 'the client asked for some', meaning: 'URIs the client asked for' },
  'a2a.extension.active': { on: 'SERVER', type: 'list', when: 'some were asked for or are active', meaning: 'URIs in force for the call' },
  'a2a.extension.injected': { on: 'SERVER', type: 'list', when: 'there are some', meaning: 'URIs the gateway asked for on the client\'s behalf' },
  'a2a.extension.missing': { on: 'SERVER', type: 'list', when: 'there are some', meaning: 'required URIs the client did not ask for' },
  'a2a.extension.confirmed': { on: 'SERVER', type: 'list', when: 'the answer was read', meaning: 'URIs asked for that the agent proved active' },
  'a2a.extension.absent': { on: 'SERVER', type: 'list', when: 'the answer was read', meaning: 'URIs asked for of which the answer shows nothing' },
  'a2a.extension.unexpected': { on: 'SERVER', type: 'list', when: 'the answer was read', meaning: 'URIs that nobody asked for, and that are there' },
  'a2a_gateway.decision': { on: 'SERVER', type: 'string', when: 'operations and refusals', meaning: 'what was decided of the request: `forward`, `observe`, `reject`' },
  'a2a_gateway.rule': { on: 'SERVER', type: 'string', when: 'something was refused', meaning: 'the rule that refused request or answer, as in the header `gateway-decision`' },
  'a2a_gateway.edited': { on: 'SERVER', type: 'list', when: 'the request was changed', meaning: '`policy/rule` of what was changed in the request, never what' },
  'a2a_gateway.answer': { on: 'SERVER', type: 'string', when: 'the answer was read', meaning: 'what became of it: `forward`, `observe`, `edit`, `reject`; of a stream, the worst of its events' },
  'a2a_gateway.answer.edited': { on: 'SERVER', type: 'list', when: 'the answer was changed', meaning: '`policy/rule` of what was removed from the answer, never what' },
  'a2a_gateway.outcome': { on: 'SERVER', type: 'string', meaning: 'as in `requests_total`' },
  'http.request.method': { on: 'CLIENT', type: 'string', meaning: 'of the call to the agent' },
  'server.address': { on: 'CLIENT', type: 'string', meaning: 'host of the agent' },
  'url.path': { on: 'CLIENT', type: 'string', when: 'operations', meaning: 'path at the agent' },
  'http.response.status_code': { on: 'both', type: 'number', when: 'there is an answer', meaning: 'of the client\'s answer, and of the agent\'s' },
  'error.type': { on: 'both', type: 'string', when: 'failed spans', meaning: 'the outcome, an error code or a status, never the text of an error' }
} as const satisfies Readonly<Record<string, DescribedAttribute>>

export type SpanAttribute = keyof typeof SPAN_ATTRIBUTES

/** What spans are called. */
export const SPAN_NAMES = {
  'the operation, such as `SendMessage`': 'one request; the call to the agent bears the same name',
  AgentCard: 'a card was asked for',
  Passthrough: 'below a prefix of `passthrough`, or an agent without a card and `onUnavailable: forward`',
  Preflight: 'a CORS preflight that is passed on',
  Extension: 'a route that an extension adds',
  Other: 'a method that is no operation, and forwarded',
  request: 'refused before its operation was known'
} as const
