/** Every sentence about `decisionPoints` and `external`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'

const POINT = 'url: "https://pdp.example.com/access/v1/evaluation"'

/** Line 4 has `external`, from column 5; line 5 has `decisionPoints`. */
function asking (entries: string, points = `{corp: {${POINT}}}`, root = ''): string {
  return `version: 1\nagents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"},\n    external: [${entries}]}\ndecisionPoints: ${points}\n${root}`
}

const point = (keys: string): string => asking('{id: e, use: corp}', `{corp: {${POINT}, ${keys}}}`)
const rule = (keys: string, side = 'request'): string =>
  `version: 1\nagents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [p]}\ndecisionPoints: {corp: {${POINT}}}\nextensions:\n  p: {uri: "urn:p", ${side}: [{id: r, select: {part: {}}, ${keys}}]}\n`

export const EXTERNAL_ROWS: readonly Row[] = [
  ['right', asking('{id: e, use: corp, operations: [messages, CancelTask], phase: both, send: message, redact: [/a/*/b], mode: observe, when: {taskId: absent, active: "urn:x", match: {type: object}}}')],
  ['right, a rule', rule('external: corp')],
  ['right, a rule for responses', rule('external: corp, verdict: reject', 'response')],
  ['right, this machine', asking('{id: e, use: corp}', '{corp: {url: "http://127.0.0.1:8181", cache: {ttl: 10s}, timeout: 1s, concurrency: 5}}')],
  ['no id', asking('{use: corp}'), 'g.yaml:4:16: agents[0].external[0].id is required (such as "id: spend")'],
  ['an unknown server', asking('{id: e, use: crop}'), 'g.yaml:4:29: agents[0].external[0].use: no decision point is named "crop" (did you mean "corp"?)'],
  ['no servers', asking('{id: e, use: other}', '{}'), 'g.yaml:4:29: agents[0].external[0].use: no decision point is named "other" (define it in decisionPoints)'],
  ['an unknown server of a rule', rule('external: nobody'), 'g.yaml:6:69: extensions.p.request[0].external: no decision point is named "nobody" (decisionPoints has corp)'],
  ['two of one id', asking('{id: e, use: corp}, {id: e, use: corp}'), 'g.yaml:4:41: agents[0].external[1].id is the id of agents[0].external[0] too (give each entry a separate id)'],
  ['redact without a message', asking('{id: e, use: corp, redact: [/a]}'), 'g.yaml:4:35: agents[0].external[0].redact has no effect without send: message (facts have no values of the message)'],
  ['responses without messages', asking('{id: e, use: corp, phase: both, operations: [GetExtendedAgentCard]}'), 'g.yaml:4:60: agents[0].external[0].operations: responses of GetExtendedAgentCard have no message and no task to ask about (write phase: request)'],
  ['a condition on a caller without identity', asking('{id: e, use: corp, when: {caller: {groups: [x]}}}'), 'g.yaml:4:42: agents[0].external[0].when.caller never matches: without identity, no request has a caller (configure identity)'],
  ['schema and external', rule('external: corp, schema: {type: object}'), 'g.yaml:6:59: extensions.p.request[0] has both schema and external (write two rules)'],
  [
    'pause and external',
    rule('external: corp, pause: {state: input-required, text: t, evidence: {select: {header: x}}}'),
    'g.yaml:6:75: extensions.p.request[0] has both pause and external (write two rules)'
  ],
  ['strip and external', rule('external: corp, verdict: strip'), 'g.yaml:6:59: extensions.p.request[0] has both external and verdict: strip (the policy server can ask to remove values, with an obligation)'],
  ['a server that is not used', asking('', `{corp: {${POINT}}}`), 'g.yaml:5:18: decision point "corp" is not used (name it in "use" of external, or in "external" of a rule)'],
  ['over a network in clear text', asking('{id: e, use: corp}', '{corp: {url: "http://pdp.example.com/x"}}'), 'g.yaml:5:30: decisionPoints.corp.url asks over http at pdp.example.com: everybody on the network can change the answer (use https)'],
  [
    'a decision that counts, and an agent that works without its card',
    asking('{id: e, use: corp}').replace('external:', 'card: {onUnavailable: forward}, external:'),
    'g.yaml:4:47: agents[0].external contradicts card.onUnavailable: forward, which forwards calls without a question while there is no card (write onUnavailable: reject)'
  ],
  ['forward', point('onError: forward'), 'g.yaml:5:87: decisionPoints.corp.onError: forward lets every call pass while the server does not respond (write reject where the decision must count)'],
  ['a header without a value', point('headers: {x-a: {}}'), 'g.yaml:5:93: decisionPoints.corp.headers.x-a needs file or env (such as "{env: CARD_TOKEN, prefix: \'Bearer \'}")'],
  ['a secret that is not set', point('headers: {x-a: {env: NOT_SET}}'), 'g.yaml:5:99: decisionPoints.corp.headers.x-a.env: environment variable NOT_SET is not set'],
  ['a certificate without a key', point('tls: {cert: nowhere.crt}'), 'g.yaml:5:90: decisionPoints.corp.tls.cert: cannot read "nowhere.crt": no such file (paths are relative to the configuration file)', 'g.yaml:5:90: decisionPoints.corp.tls.cert also needs key']
]
