/** Tests of policies that change requests: expectations about the agent's request pass when they should, and fail when they should. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import { runFiles } from './kit.js'

const page = (name: string): string => readFileSync(join(packageRoot(), 'docs', name), 'utf8')

const HEAD = `card:
  capabilities: {extensions: [{uri: 'https://e.test/passport'}, {uri: 'https://e.test/access'}, {uri: 'https://e.test/tidy'}, {uri: 'https://e.test/signed'}]}
agent: {extensions: [passport, access, tidy, signed]}
extensions:
  passport: {uri: 'https://e.test/passport', owns: {metadata: [$uri, passport], headers: [x-passport], dataKeys: [passport]}, inactive: {request: strip}}
  access:
    uri: https://e.test/access
    inject: [{metadata: $uri/token, fromSecret: {file: not-here.txt}}, {metadata: plan, in: params, value: {limit: 12.50}}]
  tidy:
    uri: https://e.test/tidy
    request:
      - {id: texts, select: {metadata: {key: note}}, schema: {type: string}, verdict: strip}
      - {id: one-tag, select: {header: x-tag}, count: {max: 1}, verdict: strip}
      - {id: orders, select: {part: {data: true, dataKey: order}}, schema: {type: object}, verdict: strip}
  signed: {uri: 'https://e.test/signed', integrity: verbatim}
`

/** Name, request, what holds, what does not, and the key that then fails. */
const CASES: readonly (readonly [name: string, request: string, holds: string, fails: string, key: string])[] = [
  [
    'inactive: metadata of message, request and key by URI',
    "{metadata: {passport: 1}, message: {parts: [{text: a}], metadata: {passport: 2, 'https://e.test/passport': 3, other: 4}}}",
    'unchanged: false, body: {/metadata: {}, /metadata/passport: null, /message/metadata: {other: 4}}',
    'body: {/message/metadata/passport: 2}',
    'body /message/metadata/passport'
  ],
  [
    'inactive: headers, and the body is as it was',
    '{headers: {X-Passport: a, X-Other: b, Content-Digest: d}, message: {parts: [{text: a}]}}',
    'unchanged: true, headers: {X-Passport: null, x-other: b, content-digest: d}',
    'headers: {X-Passport: a}',
    'headers.X-Passport'
  ],
  [
    'inactive: a digest goes with the body it was of',
    '{headers: {Content-Digest: d}, message: {parts: [{text: a}], metadata: {passport: 1}}}',
    'unchanged: false, headers: {content-digest: null}',
    'unchanged: true',
    'unchanged'
  ],
  [
    'inactive: active, all stays',
    "{extensions: ['https://e.test/passport'], headers: {X-Passport: a}, message: {parts: [{text: a}], metadata: {passport: 1}}}",
    'unchanged: true, headers: {X-Passport: a}, body: {/message/metadata/passport: 1}',
    'unchanged: false',
    'unchanged'
  ],
  [
    'inject: a secret is not looked for, a value is',
    "{extensions: ['https://e.test/access'], message: {parts: [{text: a}], metadata: {'https://e.test/access/token': mine}}}",
    'unchanged: false, body: {/metadata: {plan: {limit: 12.5}}, /message/metadata/https:~1~1e.test~1access~1token: (secret)}',
    'body: {/message/metadata/https:~1~1e.test~1access~1token: mine}',
    'body /message/metadata/https:~1~1e.test~1access~1token'
  ],
  [
    'inject: not active, nothing is added',
    '{message: {parts: [{text: a}]}}',
    'unchanged: true, body: {/metadata: null}',
    'body: {/metadata/plan/limit: 12.5}',
    'body /metadata/plan/limit'
  ],
  [
    'verdict strip: metadata',
    '{message: {parts: [{text: a}], metadata: {note: 1, other: 2}}}',
    'unchanged: false, body: {/message/metadata: {other: 2}}, violations: [tidy/texts]',
    'body: {/message/metadata/note: 1}',
    'body /message/metadata/note'
  ],
  [
    'verdict strip: what holds stays',
    '{headers: {X-Tag: a}, message: {parts: [{text: a}], metadata: {note: a}}}',
    'unchanged: true, headers: {x-tag: a}, violations: []',
    'headers: {x-tag: null}',
    'headers.x-tag'
  ],
  [
    'verbatim: body and extension headers as sent',
    "{extensions: ['https://e.test/signed', 'urn:b'], headers: {Content-Digest: d}, message: {parts: [{text: a}]}}",
    "unchanged: true, headers: {A2A-Extensions: 'https://e.test/signed, urn:b', content-digest: d}",
    'unchanged: false',
    'unchanged'
  ],
  [
    'verbatim: nothing is added',
    "{extensions: ['https://e.test/signed', 'https://e.test/access'], message: {parts: [{text: a}]}}",
    'unchanged: true, violations: [access/inject]',
    'body: {/metadata/plan: {limit: 12.5}}',
    'body /metadata/plan'
  ]
]

function file (request: string, expect: string): string {
  return `${HEAD}tests:\n  - name: it\n    bindings: [JSONRPC, HTTP+JSON]\n    request: ${request}\n    expect: ${expect}\n`
}

for (const [name, request, holds, fails, key] of CASES) {
  t.test(name, async t => {
    const passed = runFiles(t, { 'a.test.yaml': file(request, `{decision: forward, ${holds}}`) })
    t.match(passed, { code: 0, err: '' }, passed.out)
    t.match(passed.out, '4 passed', 'both versions and bindings')
    const failed = runFiles(t, { 'b.test.yaml': file(request, `{decision: forward, ${fails}}`) })
    t.match(failed, { code: 1 }, failed.err)
    t.equal(failed.out.split(`        ${key}\n`).length - 1, 4, failed.out)
  })
}

t.test('members of data and lines of headers, in requests of one binding', async t => {
  const ran = runFiles(t, {
    'data.test.yaml': `${HEAD}tests:
  - {name: v1, versions: ['1.0'], bindings: [JSONRPC, HTTP+JSON], request: {message: {parts: [{text: a}, {data: {order: 1, passport: 2, other: 3}}]}}, expect: {decision: forward, body: {/message/parts/1/data: {other: 3}}}}
  - {name: v03, versions: ['0.3'], request: {message: {parts: [{text: a}, {data: {order: 1, passport: 2, other: 3}}]}}, expect: {decision: forward, body: {/message/parts/1/data: {other: 3}}}}
  - {name: rest, versions: ['0.3'], bindings: [HTTP+JSON], request: {message: {parts: [{text: a}, {data: {order: 1, passport: 2, other: 3}}]}}, expect: {decision: forward, body: {/message/content/1/data/data: {other: 3}}}}
  - {name: recorded, request: {http: two.http}, expect: {decision: forward, unchanged: false, headers: {x-tag: first}, body: {/message/metadata: {}}}}
`,
    'two.http':
      'POST http://agent.test/message:send\nContent-Type: application/json\nA2A-Version: 1.0\nX-Tag: first\nX-Tag: second\n\n{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a"}], "metadata": {"note" : 1}}}\n'
  })
  t.match(ran, { code: 0, err: '' }, ran.out)
  t.match(ran.out, 'recorded (1.0 HTTP+JSON)')
})

t.test('changes that verbatim forbids are rejected', async t => {
  const ran = runFiles(t, {
    'a.test.yaml': file(
      "{extensions: ['https://e.test/signed'], message: {parts: [{text: a}], metadata: {note: 1}}}",
      '{decision: reject, rule: tidy/texts, reason: EXTENSION_CONFLICT}'
    )
  })
  t.match(ran, { code: 0, err: '' }, ran.out)
})

t.test('a configuration is tested without its secrets', async t => {
  const ran = runFiles(t, {
    'gateway.yaml': `version: 1
agents: [{name: shop, upstream: {url: 'http://agent.test'}, extensions: [access]}]
extensions: {access: {uri: 'https://e.test/access', inject: [{metadata: a, fromSecret: {file: not-here.txt}}, {metadata: b, as: json, fromSecret: {env: NOT_THERE}}]}}
`,
    'a.test.yaml': `card: {capabilities: {extensions: [{uri: 'https://e.test/access'}]}}
agent: shop
tests: [{name: it, request: {extensions: ['https://e.test/access'], message: {parts: [{text: a}]}}, expect: {decision: forward, body: {/message/metadata: {a: (secret), b: (secret)}}}}]
`
  })
  t.match(ran, { code: 0, err: '' }, ran.out)
})

t.test('the policies of docs/how-to/change-requests.md pass the test in docs/reference/policy-tests.md', async t => {
  const policies = /\n```yaml\n(extensions:\n[^]*?)```/.exec(page('how-to/change-requests.md'))?.[1] ?? ''
  const [test = ''] = /^ {2}- name: a passport without activation[^]*?(?=^```)/m.exec(page('reference/policy-tests.md')) ?? []
  const ran = runFiles(t, {
    'page.test.yaml': `card: {capabilities: {extensions: [{uri: 'https://example.com/ext/passport/v1'}, {uri: 'https://example.com/ext/model-access/v1'}]}}
agent: {extensions: [passport, model-access]}
${policies}tests:
${test}
  - name: the first photo may pass
    versions: ['1.0']
    request: {extensions: ['https://example.com/ext/passport/v1'], message: {parts: [{raw: aGk=, mediaType: image/png}, {raw: aGk=, mediaType: image/png}, {text: a}]}}
    expect: {decision: forward, body: {/message/parts/1: {text: a}, /message/parts/2: null}, violations: [passport/one-photo]}
`
  })
  t.match(ran, { code: 0, err: '' }, ran.out + ran.err)
})
