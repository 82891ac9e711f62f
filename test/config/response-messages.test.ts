import t from 'tap'
import { ANSWER_ROWS } from './response-rows.js'
import { lines, policyWith } from './rows.js'

for (const [group, rows] of Object.entries(ANSWER_ROWS)) {
  t.test(group, t => {
    for (const [name, text, ...expected] of rows) t.same(lines(text), expected, name)
    t.end()
  })
}

t.test('valid files produce no problems', async t => {
  const right = [
    'uri: urn:p',
    'response: [{id: r, select: {event: first}, count: {max: 0}, when: {taskState: [failed]}}]',
    'response: [{id: r, select: {event: terminal}, schema: {type: object}, when: {taskState: [working, failed]}, unless: {taskState: [failed]}, verdict: reject}]',
    'response: [{id: r, select: {part: {data: true, mediaType: application/json;schema=*}}, schema: {fromCard: ["/schemas/{schema}"]}, chunked: false, verdict: strip, on: [GetTask]}]',
    'response: [{id: r, select: {metadata: {in: [message, status], key: a}}, schema: true, on: [GetTask], error: {message: no, reason: NO}}]',
    'request: [{id: a, select: {part: {}}, schema: true, required: false, when: {taskState: [input-required]}, onUnknown: reject}]\nresponse: [{id: b, select: {part: {take: first}}, count: {min: 1}, when: {requestMatched: a}, verdict: annotate}]',
    'owns: {metadata: [a]}\nactivation: {signals: [evidence]}\ninactive: {request: forward, response: strip}',
    // After "b", which is not listed, anything may follow; where none is said to be the first, any may be.
    'state: {from: {metadata: {in: [message, status], key: s}}, transitions: {"": [a], a: [b], c: []}, onViolation: reject, onUnknown: allow, error: {class: conflict}}',
    'state: {from: {metadata: {in: [message, status], key: s}}, transitions: {a: [], c: []}, maxVisits: {d: 1}}',
    'state: {from: {part: {in: [status], dataKey: phase}}, monotonic: {metadata: {key: n, path: /seq}}}',
    'correlate:\n  - id: c\n    remember: {on: response, select: {metadata: {in: [status], key: $uri}}, pick: [/nested/tools/*/id, /tools/*/id], first: true}\n    check: {on: request, select: {metadata: {in: [message], key: $uri}}, pick: /approvals/*/id, relation: equalSet}\n    unless: {taskState: [working]}\n    verdict: warn\n    onUnknown: reject',
    'correlate: [{id: c, remember: {on: request, select: {metadata: {key: a}}}, check: {on: request, select: {metadata: {key: a}}, relation: sameLength}}]',
    'correlate: [{id: c, remember: {on: response, select: {part: {}}}, check: {on: response, select: {event: last}, pick: /artifacts/*, relation: sameLength}}]',
    'observe:\n  spanAttributes: {acme.zone: {metadata: {in: [task], key: $uri/zone}}}\n  metrics: [{name: tokens, type: counter, from: {metadata: {key: u, path: /tokens}}, by: {from: {metadata: {key: u, path: /model}}, values: [large, small]}}]',
    'echo: synthesize\nredact: [$uri#/a]'
  ]
  for (const text of right) t.same(lines(policyWith(text.replace(/^uri: urn:p$/, 'mode: observe'))), [], text)
})

t.test('catalogue rules for responses produce no warnings where nothing is enforced', async t => {
  const agent = (keys: string, policy: string): string =>
    `version: 1\nagents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"}, ${keys}}\nextensions:\n  p: {uri: "urn:p", ${policy}}\n`
  const rule = (verdict: string): string => `response: [{id: r, select: {part: {}}, schema: true, verdict: ${verdict}}]`
  const quiet = [
    agent('responses: off, extensions: [p]', rule('warn')),
    agent('responses: off, extensions: [p]', `mode: observe, ${rule('reject')}`),
    agent('responses: off, mode: observe, extensions: [p]', rule('reject')),
    agent('responses: off, mode: off, extensions: [p]', `mode: enforce, ${rule('reject')}`),
    agent('responses: observe, extensions: [p]', rule('reject')),
    agent('responses: enforce, extensions: [p]', rule('warn')),
    ...[
      'echo: verify',
      'owns: {metadata: [a]}, inactive: {response: strip}',
      'redact: [a]',
      'state: {from: {metadata: {key: a}}, maxVisits: {a: 1}}'
    ].map(policy => agent('responses: enforce, extensions: [p]', policy))
  ]
  for (const text of quiet) t.same(lines(text), [], text)
})
