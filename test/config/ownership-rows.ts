/** Every sentence about `access.tasks`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'
import { AGENT } from './rows.js'
import { withSource } from './identity-rows.js'

const IDENTITY = withSource('{basic: {keys: {file: keys.yaml}}}').slice(AGENT.length)
const access = (tasks: string, more = '', root = ''): string => `${AGENT}    access: {tasks: ${tasks}}\n${more}${IDENTITY}${root}`
const STORE = 'state: {store: "redis://127.0.0.1:6379"}\n'
const AT = 'g.yaml:5:14: agents[0].access.tasks'
const MEMORY = `${AT} with state.store "memory": after a restart, and in other replicas, nobody owns the tasks (set state.store to a Redis or Valkey server)`

export const OWNERSHIP_ROWS: readonly Row[] = [
  ['right', access('{owner: client, shared: {groups: [support]}}', '', STORE)],
  ['null', `${AGENT}    access: {tasks: null}\n`],
  ['in memory', access('{}'), MEMORY],
  ['without identity', `${AGENT}    access: {tasks: {}}\n${STORE}`, `${AT} needs identity: without callers, tasks have no owners (add identity, or remove the key)`],
  ['off', access('{}', '    mode: off\n', STORE), 'g.yaml:6:11: agents[0].mode is off, so the gateway would not read to whom tasks belong (write "mode: observe" with access.tasks)'],
  [
    'without a card',
    access('{}', '    card: {onUnavailable: forward}\n', STORE),
    'g.yaml:6:27: agents[0].card.onUnavailable forwards calls without any checks, and access.tasks needs them (write "onUnavailable: reject" with access.tasks)'
  ],
  [
    'short',
    access('{}', '', 'state: {store: "redis://127.0.0.1:6379", ttl: 1h}\n'),
    'g.yaml:9:47: state.ttl is 1h: callers lose tasks that they do not use for so long (at least as long as tasks live)'
  ],
  [
    'passthrough',
    access('{}', '    passthrough: [/docs]\n', STORE),
    'g.yaml:6:5: agents[0].passthrough bypasses access.tasks: the gateway does not read these requests (remove it)'
  ],
  [
    'unknown methods',
    access('{}', '    unknownMethods: forward\n', STORE),
    'g.yaml:6:5: agents[0].unknownMethods forwards methods whose tasks access.tasks does not check (declare the methods in a policy)'
  ],
  ['nobody', access('{shared: {}}', '', STORE), 'g.yaml:5:30: agents[0].access.tasks.shared must have at least 1 key (known keys: source, subject, client, spiffe, scopes, groups, tenant, claims, anonymous, match)'],
  [
    'nobody with a group',
    access('{shared: {anonymous: true, groups: [g]}}', '', STORE),
    'g.yaml:5:31: agents[0].access.tasks.shared.anonymous contradicts groups: a request without a caller has none of them (keep one of the two)'
  ],
  [
    'an unknown source',
    access('{shared: {source: [support]}}', '', STORE),
    'g.yaml:5:40: agents[0].access.tasks.shared.source[0]: identity has no source "support" (its sources: s)'
  ],
  [
    'an unknown source, for all agents',
    `${AGENT}accessDefaults: {tasks: {shared: {source: [t]}}}\n${IDENTITY}${STORE}`,
    'g.yaml:5:44: accessDefaults.tasks.shared.source[0]: identity has no source "t" (did you mean "s"?)'
  ],
  [
    'no schema',
    access('{shared: {match: {type: text}}}', '', STORE),
    'g.yaml:5:45: agents[0].access.tasks.shared.match cannot be used: /type: not valid against its meta-schema: must be equal to one of the allowed values'
  ],
  [
    'another ttl',
    access('{}', '', 'state: {store: "redis://127.0.0.1:6379", ttl: long}\n'),
    'g.yaml:9:47: state.ttl must be a duration, not "long" (a whole number and one of ms, s, m, h, such as "1500ms")'
  ]
]
