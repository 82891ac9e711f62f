/** Every sentence about `rates` and `budgets`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'

const IDENTITY = 'identity: {sources: {s: {jwt: {issuer: "https://idp.example.com", audience: [x], keys: discover}}}}\n'
const AGENTS = `version: 1
agents:
  - {name: billing, upstream: {url: "http://h"}, extensions: [usage, {more: {mode: observe}}]}
  - {name: silent, path: /b, upstream: {url: "http://h"}, responses: off, extensions: [usage]}
extensions:
  usage: {uri: "urn:u", observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: t}}}, {name: price, type: gauge, from: {metadata: {key: p}}}]}}
  more: {uri: "urn:m"}
`
const SERVER = 'state: {store: "redis://h"}\n'

const rate = (lines: string, root = IDENTITY): string => `${AGENTS}${root}rates:\n  - {id: a, by: [address], rate: 1/1s}\n  - ${lines}\n`
const budget = (lines: string, root = IDENTITY): string =>
  `${AGENTS.replace('responses: off, ', '')}${root}budgets:\n  - {id: b, by: [caller], limit: 10, window: 1h, ${lines}}\n`

export const RATE_ROWS: readonly Row[] = [
  ['right', rate('{id: b, by: [caller, agent], rate: 600/1m, burst: 100, scope: shared, replicas: 3, on: [messages, GetTask], extension: more}', IDENTITY + SERVER)],
  ['right, of failures', rate('{id: failed-authentications, by: [address, agent], rate: 20/10s, burst: 50, on: failures}')],
  ['right, a budget', budget('of: usage/tokens, max: 5')],
  ['no rate', rate('{id: b, by: [caller]}'), 'g.yaml:11:5: rates[1].rate is required (such as "rate: 600/1m")'],
  ['nothing to count by', rate('{id: b, by: [], rate: 1/1s}'), 'g.yaml:11:17: rates[1].by must have at least 1 entry'],
  [
    'an unknown value to count by',
    rate('{id: b, by: [user], rate: 1/1s}'),
    'g.yaml:11:18: rates[1].by[0] must be one of caller, client, source, tenant, address, agent, operation, extension, not "user"'
  ],
  [
    'no duration',
    rate('{id: b, by: [caller], rate: 10}'),
    'g.yaml:11:33: rates[1].rate must be a string, not the number 10 (put it in quotes)'
  ],
  ...['0/1m', '10/0s', '1.5/1s', '10 / 1m', '-1/1s', '10/1d'].map((text): Row => [
    `the rate ${text}`,
    rate(`{id: b, by: [caller], rate: "${text}"}`),
    'g.yaml:11:33: rates[1].rate must be a rate (whole numbers above 0: requests, "/" and a duration, such as "600/1m")'
  ]),
  ['too fast', rate('{id: b, by: [caller], rate: 101/1ms}'), 'g.yaml:11:33: rates[1].rate must be a rate (at most 100000 requests in a second)'],
  ['too slow', rate('{id: b, by: [caller], rate: 1/721h}'), 'g.yaml:11:33: rates[1].rate must be a rate (at most 720h)'],
  ['no burst', rate('{id: b, by: [caller], rate: 1/1s, burst: 0}'), 'g.yaml:11:46: rates[1].burst must be from 1 to 10000000, not 0'],
  ['another text', rate('{id: b, by: [address], rate: 1/1s, on: messages}'), 'g.yaml:11:44: rates[1].on must be a list of operations, or "failures" (such as "[messages]")'],
  ['two of one id', rate('{id: a, by: [address], rate: 1/1s}'), 'g.yaml:11:10: rates[0] and rates[1] have the same id, "a"'],
  [
    'the id of a budget',
    `${budget('of: usage/tokens')}rates: [{id: b, by: [address], rate: 1/1s}]\n`,
    'g.yaml:10:10: rates[0] and budgets[0] have the same id, "b"'
  ],
  [
    'the id of the built-in limit',
    rate('{id: failed-authentications, by: [address], rate: 1/1s}'),
    'g.yaml:11:10: rates[1].id is the name of the built-in limit of failures (choose another)'
  ],
  [
    'shared without a server',
    rate('{id: b, by: [address], rate: 1/1s, scope: shared}'),
    'g.yaml:11:47: rates[1].scope needs a server that gateways share (set state.store to the URL of a Redis or Valkey server)'
  ],
  [
    'an unknown agent',
    rate('{id: b, by: [address], rate: 1/1s, agents: [biling]}'),
    'g.yaml:11:49: rates[1].agents[0]: no agent has the name "biling" (did you mean "billing"?)'
  ],
  [
    'another unknown agent',
    rate('{id: b, by: [address], rate: 1/1s, agents: [zzzzzzzzzz]}'),
    'g.yaml:11:49: rates[1].agents[0]: no agent has the name "zzzzzzzzzz" (agents: billing, silent)'
  ],
  [
    'an unknown policy',
    rate('{id: b, by: [address], rate: 1/1s, extension: moer}'),
    'g.yaml:11:51: rates[1].extension: no policy has the name "moer" (did you mean "more"?)'
  ],
  [
    'a policy of no agent',
    rate('{id: b, by: [address], rate: 1/1s, extension: object-schemas}'),
    'g.yaml:11:51: rates[1].extension: no agent uses the policy "object-schemas" (name it in an agent\'s extensions)'
  ],
  [
    'failures by caller',
    rate('{id: b, by: [address, caller], rate: 1/1s, on: failures}'),
    'g.yaml:11:27: rates[1].by[1]: a failed authentication has no caller (use address, and agent for a separate count per agent)'
  ],
  [
    'shared failures',
    rate('{id: b, by: [address], rate: 1/1s, on: failures, scope: shared}', IDENTITY + SERVER),
    'g.yaml:12:61: rates[1].scope cannot be shared with on: failures (each process counts failures for itself)'
  ],
  [
    'failures of an extension',
    rate('{id: b, by: [address], rate: 1/1s, on: failures, extension: more}'),
    'g.yaml:11:54: rates[1].extension has no effect with on: failures (remove it)'
  ],
  [
    'failures without identity',
    rate('{id: b, by: [address], rate: 1/1s, on: failures}', ''),
    'g.yaml:10:44: rates[1].on: without identity, no authentication fails (configure identity)'
  ],
  [
    'callers without identity',
    rate('{id: b, by: [address, caller], rate: 1/1s}', ''),
    'g.yaml:10:27: rates[1].by[1]: without identity, all requests have the same caller (configure identity, or use address)'
  ],
  ['no metric', budget('of: tokens'), 'g.yaml:10:54: budgets[0].of must be the names of a policy and of one of its metrics (such as "usage/tokens")'],
  ['an unknown policy of a metric', budget('of: usgae/tokens'), 'g.yaml:10:54: budgets[0].of: no policy has the name "usgae" (did you mean "usage"?)'],
  ['an unknown metric', budget('of: usage/token'), 'g.yaml:10:54: budgets[0].of: the policy "usage" has no metric "token" (did you mean "tokens"?)'],
  ['a policy without metrics', budget('of: more/tokens'), 'g.yaml:10:54: budgets[0].of: the policy "more" has no metric "tokens" (define it in observe.metrics of the policy)'],
  ['a gauge', budget('of: usage/price'), 'g.yaml:10:54: budgets[0].of: the metric "price" is a gauge (a budget counts amounts: use a metric of type: counter)'],
  ['an amount below 0', budget('of: usage/tokens, max: -1'), 'g.yaml:10:73: budgets[0].max must be from 0.000001 to 1000000000000000, not -1'],
  [
    'responses that are not read',
    budget('of: usage/tokens').replace('path: /b,', 'path: /b, responses: off,'),
    'g.yaml:10:54: budgets[0].of counts nothing of agent "silent", which has responses: off (the gateway must read its responses)'
  ]
]
