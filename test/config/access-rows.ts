/** Every sentence about `access`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'
import { AGENT, lines } from './rows.js'

export const ACCESS_FILES = { 'keys.yaml': `- {id: a, sha256: ${'a'.repeat(64)}, tenant: t}\n` }

export const accessLines = (text: string, directory: string): string[] => lines(text, {}, directory)

const KEYS = 'partners: {apiKey: {header: x-api-key, keys: {file: keys.yaml}}}'
const TOKENS = 'corp: {jwt: {issuer: "https://idp.example.com", audience: [a], keys: discover}}'

const MESH = 'mesh: {certificate: {from: xfcc, proxies: [10.0.0.1/32], trustDomains: [a]}}'

/** The lists begin in line 5, column 13. */
const withAccess = (access: string, sources = `${KEYS}, ${TOKENS}`, agent = ''): string =>
  `${AGENT}    access: ${access}\n${agent}${sources === '' ? '' : `identity: {sources: {${sources}}}\n`}`
const allowing = (entry: string, sources?: string, agent = ''): string => withAccess(`{allow: [${entry}]}`, sources, agent)

export const ACCESS_ROWS: readonly Row[] = [
  [
    'right',
    withAccess(
      '{mode: observe, allow: [{id: a, on: [messages, GetTask], caller: {source: [partners], groups: [g]}, tenant: own}, {id: b, on: [Extension], methods: [x/y]}], deny: [{id: d, on: [all], when: {taskId: present}, unless: {match: {type: object}}}]}'
    )
  ],
  ['right, for all agents', `${AGENT}accessDefaults: {allow: [{id: a, on: [passthrough]}]}\n`],
  ['right, without identity', allowing('{id: a, on: [GetTask]}, {id: b, on: [all], caller: {anonymous: true}}', '')],
  ['no id', allowing('{on: [all]}'), 'g.yaml:5:22: agents[0].access.allow[0].id is required (such as "id: readers")'],
  ['no targets', allowing('{id: a}'), 'g.yaml:5:22: agents[0].access.allow[0].on is required (such as "on: [GetTask, ListTasks]")'],
  ['an empty key', withAccess('{allow: }'), 'g.yaml:5:21: agents[0].access.allow must be a list, not null (give it a value, or remove the key for the default)'],
  [
    'an unknown operation',
    allowing('{id: a, on: [GetTaks]}'),
    'g.yaml:5:35: agents[0].access.allow[0].on[0] must be one of SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs, DeleteTaskPushNotificationConfig, GetExtendedAgentCard, Extension, messages, passthrough, all, not "GetTaks" (did you mean "GetTask"?)'
  ],
  [
    'one id twice',
    withAccess('{allow: [{id: a, on: [all]}], deny: [{id: a, on: [all]}]}'),
    'g.yaml:5:55: agents[0].access.deny[0].id is also the id of agents[0].access.allow[0] (give each entry a unique id)'
  ],
  [
    'an id with a meaning',
    allowing('{id: none, on: [all]}'),
    'g.yaml:5:27: agents[0].access.allow[0].id must not be "none" (metrics and logs write it where no entry decides)'
  ],
  [
    'methods of nothing',
    allowing('{id: a, on: [GetTask], methods: [x/y]}'),
    'g.yaml:5:45: agents[0].access.allow[0].methods has no effect without Extension in on (add it to on)'
  ],
  [
    'an operation as a method',
    allowing('{id: a, on: [Extension], methods: [tasks/cancel]}'),
    'g.yaml:5:57: agents[0].access.allow[0].methods[0] is an operation of A2A, not a method of an extension (write "on: [CancelTask]")'
  ],
  [
    'a route without a method',
    allowing('{id: a, on: [Extension], routes: [/commands]}'),
    'g.yaml:5:56: agents[0].access.allow[0].routes[0] must be an HTTP method and a path (such as "POST /commands/{command}")'
  ],
  [
    'a route of no policy',
    allowing('{id: a, on: [Extension], routes: [GET /commands]}'),
    'g.yaml:5:56: agents[0].access.allow[0].routes[0]: no policy of the agent declares the route "GET /commands" (write HTTP method and path as the policy does)'
  ],
  [
    'a body that nobody reads',
    allowing('{id: a, on: [passthrough], when: {taskId: present}}', undefined, '    passthrough: [/docs]\n'),
    'g.yaml:5:49: agents[0].access.allow[0].when: the gateway does not read requests below passthrough prefixes, so the entry never matches (remove it)'
  ],
  [
    'nobody with a group',
    allowing('{id: a, on: [all], caller: {anonymous: true, groups: [g]}}'),
    'g.yaml:5:50: agents[0].access.allow[0].caller.anonymous contradicts groups: a request without a caller has none of them (keep one of the two)'
  ],
  [
    'nobody with a tenant',
    allowing('{id: a, on: [all], tenant: own, caller: {anonymous: true}}'),
    'g.yaml:5:63: agents[0].access.allow[0].caller.anonymous: no caller has a tenant and is anonymous, so the entry never matches (write two entries)'
  ],
  [
    'an unknown source',
    allowing('{id: a, on: [all], caller: {source: [partner]}}'),
    'g.yaml:5:59: agents[0].access.allow[0].caller.source[0]: identity has no source "partner" (did you mean "partners"?)'
  ],
  [
    'a source that is no other',
    allowing('{id: a, on: [all], caller: {source: [mesh]}}', KEYS),
    'g.yaml:5:59: agents[0].access.allow[0].caller.source[0]: identity has no source "mesh" (its sources: partners)'
  ],
  [
    'certificates that nobody reads',
    allowing('{id: a, on: [all], caller: {spiffe: ["spiffe://a/b"]}}'),
    'g.yaml:5:50: agents[0].access.allow[0].caller.spiffe never matches: no source of the caller reads certificates (name another property of the caller)'
  ],
  [
    'right, the certificate beside a token',
    allowing('{id: a, on: [all], caller: {source: [corp], spiffe: ["spiffe://a/b"]}}', `${TOKENS}, ${MESH}`)
  ],
  [
    'right, the tenant of a key beside a token',
    withAccess('{require: [[corp, partners]], allow: [{id: a, on: [all], caller: {source: [corp]}, tenant: own}]}')
  ],
  [
    'tenants that nobody knows',
    allowing('{id: a, on: [all], tenant: own}', TOKENS),
    'g.yaml:5:41: agents[0].access.allow[0].tenant never matches: no source of the caller knows a tenant (set claims.tenant of its jwt source)'
  ],
  [
    'callers without identity',
    allowing('{id: a, on: [all], caller: {groups: [g]}}', ''),
    'g.yaml:5:41: agents[0].access.allow[0].caller never matches: without identity, no request has a caller (configure identity)'
  ],
  [
    'nobody with identity',
    allowing('{id: a, on: [all], caller: {anonymous: true}}'),
    'g.yaml:5:50: agents[0].access.allow[0].caller.anonymous never matches: with identity, every request has a caller (remove the entry)'
  ],
  ['nobody at all', withAccess('{allow: []}'), 'g.yaml:5:14: agents[0].access.allow is empty: nobody may do anything (add an entry, or remove the key)'],
  [
    'nobody at all, for all agents',
    `${AGENT}accessDefaults: {allow: []}\n`,
    'g.yaml:5:18: accessDefaults.allow is empty: nobody may do anything (add an entry, or remove the key)'
  ],
  [
    'passthrough for nobody',
    allowing('{id: a, on: [GetTask]}', undefined, '    passthrough: [/docs]\n'),
    'g.yaml:6:5: agents[0].passthrough: no entry of agents[0].access.allow allows passthrough, so the gateway rejects all its requests (add an entry with "on: [passthrough]")'
  ],
  [
    'no card for nobody',
    allowing('{id: a, on: [GetTask]}', undefined, '    card: {onUnavailable: forward}\n'),
    'g.yaml:6:12: agents[0].card.onUnavailable: forward has no effect, because without a card only entries with "on: [all]" of agents[0].access.allow match (write reject, or add such an entry)'
  ],
  [
    'passthrough of nothing',
    allowing('{id: a, on: [passthrough]}'),
    'g.yaml:5:30: agents[0].access.allow[0].on names passthrough, but agents[0] has no passthrough prefixes (remove it)'
  ],
  [
    'a file instead of a schema',
    allowing('{id: a, on: [all], when: {match: {file: a.json}}, caller: {match: {file: a.json}}}'),
    'g.yaml:5:56: agents[0].access.allow[0].when.match needs an inline schema, not file (write the schema itself)',
    'g.yaml:5:89: agents[0].access.allow[0].caller.match needs an inline schema, not file (write the schema itself)'
  ],
  [
    'a schema that is none',
    allowing('{id: a, on: [all], when: {match: {type: objekt}}}'),
    'g.yaml:5:62: agents[0].access.allow[0].when.match cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ]
]
