/** Every sentence about conditions on the caller, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'
import { policyWith } from './rows.js'

const IDENTITY = 'identity: {sources: {corp: {jwt: {issuer: "https://idp.example.com", audience: ["aud"], keys: discover}}}}\n'
const withPolicy = (lines: string, more = IDENTITY): string => policyWith(`owns: {metadata: [m]}\n${lines}`) + more
const withCallers = (callers: string, more = ''): string => withPolicy(`activation:\n  callers: ${callers}\n${more}`.trimEnd())
const ruleFor = (condition: string, more = IDENTITY): string =>
  withPolicy(`request:\n  - id: r\n    select: {part: {}}\n    ${condition}\n    count: {max: 0}`, more)

export const CALLER_ROWS: readonly Row[] = [
  ['right', withCallers('{groups: [finance], scopes: [pay], source: [corp], claims: {/a: [1, x]}, match: {required: [tenant]}}')],
  ['right, nobody', withCallers('{anonymous: true}')],
  ['right, a rule', ruleFor('unless: {caller: {groups: [treasurers]}}')],
  ['right, strip data for some', withPolicy('activation: {signals: [evidence], callers: {groups: [a]}}\ninactive: {request: strip}')],
  ['right, inject', withPolicy('activation: {default: inject}\ninject:\n  - {metadata: m, fromCaller: /a~1b, required: true}')],
  [
    'empty',
    withCallers('{}'),
    'g.yaml:11:16: extensions.p.activation.callers must have at least 1 key (known keys: source, subject, client, spiffe, scopes, groups, tenant, claims, anonymous, match)'
  ],
  [
    'an unknown key',
    withCallers('{group: [a]}'),
    'g.yaml:11:17: unknown key "group" in extensions.p.activation.callers (did you mean "groups"?)'
  ],
  [
    'a pointer that is none',
    withCallers('{claims: {a: 1}}'),
    'g.yaml:11:26: key "a" in extensions.p.activation.callers.claims must be a JSON Pointer (it starts with "/"; "~" is written "~0")'
  ],
  [
    'anonymous and more',
    withCallers('{anonymous: true, groups: [a], source: [corp]}'),
    'g.yaml:11:17: extensions.p.activation.callers.anonymous contradicts groups, source: a request without a caller has none of them (keep one of the two)'
  ],
  [
    'an unknown source',
    withCallers('{source: [crop]}'),
    'g.yaml:11:26: extensions.p.activation.callers.source[0]: identity has no source "crop" (did you mean "corp"?)'
  ],
  [
    'another unknown source',
    ruleFor('when: {caller: {source: [corp, partners-of-ours]}}'),
    'g.yaml:13:40: extensions.p.request[0].when.caller.source[1]: identity has no source "partners-of-ours" (its sources: corp)'
  ],
  [
    'an invalid schema',
    withCallers('{match: {type: text}}'),
    'g.yaml:11:31: extensions.p.activation.callers.match cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  [
    'an invalid schema in a rule',
    ruleFor('when: {caller: {match: {requires: [tenant]}}}'),
    'g.yaml:13:33: extensions.p.request[0].when.caller.match cannot be used: /requires: "requires" is not a keyword of JSON Schema 2020-12 (did you mean "required"?)'
  ],
  [
    'a file instead of a schema',
    ruleFor('when: {caller: {match: {file: a.json}}}'),
    'g.yaml:13:33: extensions.p.request[0].when.caller.match needs an inline schema, not file (write the schema itself)'
  ],
  [
    'nothing matches',
    ruleFor('unless: {caller: {match: false}}'),
    'g.yaml:13:34: extensions.p.request[0].unless.caller.match: no caller matches false (write a schema, or remove it)'
  ],
  [
    'without identity',
    withPolicy('activation: {callers: {groups: [a]}}\ninject:\n  - {metadata: m, fromCaller: subject}', ''),
    'g.yaml:10:18: extensions.p.activation.callers never matches: without identity, no request has a caller (configure identity)',
    'g.yaml:11:5: extensions.p.inject applies to requests in which the extension is active: other requests are forwarded with a client\'s own member of that name (own the name, and set inactive.request to strip or reject)',
    'g.yaml:12:23: extensions.p.inject[0].fromCaller never matches: without identity, no request has a caller (configure identity)'
  ],
  [
    'a rule without identity',
    ruleFor('when: {caller: {groups: [a]}}', ''),
    'g.yaml:13:16: extensions.p.request[0].when.caller never matches: without identity, no request has a caller (configure identity)'
  ],
  ['right, nobody without identity', ruleFor('when: {caller: {anonymous: true}}', '')],
  [
    'always required',
    withCallers('{groups: [a]}', '  required: always\n'),
    'g.yaml:11:7: extensions.p.activation.callers: other callers can send no message at all, because activation.required is always (use access to keep callers away from an agent)'
  ],
  [
    'nothing owned',
    policyWith('activation: {callers: {groups: [a]}}') + IDENTITY,
    'g.yaml:9:18: extensions.p.activation.callers does not keep the data of the extension from the agent: owns is missing (list the extension\'s own data in owns)'
  ],
  [
    'strip without callers',
    withPolicy('activation: {onForbidden: strip}'),
    'g.yaml:10:18: extensions.p.activation.onForbidden has no effect without callers (say who may use the extension)'
  ],
  [
    'a name without owner',
    withPolicy('activation: {callers: {groups: [a]}, default: inject}\ninject:\n  - {metadata: other, value: 1}'),
    'g.yaml:11:5: extensions.p.inject applies to requests in which the extension is active: other requests are forwarded with a client\'s own member of that name (own the name, and set inactive.request to strip or reject)'
  ],
  [
    'forward without card',
    withPolicy('activation: {callers: {groups: [a]}}').replace('    extensions: [p]', '    card: {onUnavailable: forward}\n    extensions: [p]'),
    'g.yaml:5:27: agents[0].card.onUnavailable: without a card, the gateway also forwards requests that activation.callers of policy "p" forbids (write reject)'
  ],
  [
    'both',
    withPolicy('inactive: {request: strip}\ninject:\n  - {metadata: m, value: 1, fromCaller: subject}'),
    'g.yaml:12:33: extensions.p.inject[0] has both value and fromCaller (keep one)'
  ],
  [
    'not a property',
    withPolicy('inactive: {request: strip}\ninject:\n  - {metadata: m, fromCaller: groups}'),
    'g.yaml:12:35: extensions.p.inject[0].fromCaller must be source, subject, client, tenant, or a JSON Pointer into the claims (such as "subject" or "/email")'
  ],
  [
    'required without caller',
    withPolicy('inactive: {request: strip}\ninject:\n  - {metadata: m, value: 1, required: true}'),
    'g.yaml:12:33: extensions.p.inject[0].required has no effect without fromCaller'
  ],
  [
    'not always supplied',
    withPolicy('activation: {default: inject}\ninject:\n  - {metadata: m, fromCaller: tenant}\nrequest:\n  - {id: r, select: {metadata: {key: m}}, required: true}'),
    'g.yaml:10:27: extensions.p: default: inject activates the extension for clients that may not send the data that rule "r" requires (remove default: inject or the lower bound, or supply it with inject)'
  ]
]
