/**
 * The changes that policies make to a request: strip, inject, and places where no change is allowed. The tests check the bytes for the
 * agent.
 */
import t from 'tap'
import { bodyOf, forwardedHead } from '#pipeline/request.js'
import type { PolicyConfig } from '#config/model/model.js'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, policyOf, send } from './fixtures.js'

const URI = 'https://x.test/ext/v1'
const OTHER = 'https://y.test/ext/v1'
const SIGNED = 'https://signed.test/v1'
const SIDES: readonly Sent[] = [
  { version: '1.0' },
  { version: '0.3' },
  { version: '1.0', binding: 'HTTP+JSON' },
  { version: '0.3', binding: 'HTTP+JSON' }
]
const ACTIVE = { requested: [URI] }

interface Outcome extends Decision { readonly body: string, readonly rawHeaders: readonly string[], readonly same: boolean }

/** @param request text of the request object: `params`, or the HTTP+JSON body */
function forwarded (policy: AgentPolicy, request: string, sent: Sent = {}): Outcome {
  const method = sent.method ?? (sent.version === '0.3' ? 'message/send' : 'SendMessage')
  const before = sent.binding === 'HTTP+JSON' ? '' : `{"jsonrpc":"2.0", "id":1e0,"method":"${method}","params":`
  const after = sent.binding === 'HTTP+JSON' ? '' : ' }'
  const text = before + request + after
  const headers = sent.headers ?? []
  const decision = send(policy, text, sent)
  const ruling = { decision, policy, requested: sent.requested ?? [], headerName: '', access: null, initiator: null }
  const bytes = Buffer.from(text)
  const result = bodyOf(ruling, bytes)
  const body = result.toString()
  return {
    ...decision,
    same: result === bytes,
    body: body.slice(before.length, body.length - after.length),
    rawHeaders: forwardedHead(ruling, { rawHeaders: headers, headers: {} }).rawHeaders
  }
}

const policyFor = (policies: Record<string, PolicyConfig>, more: object = {}): AgentPolicy =>
  policyOf(declaring(URI, OTHER, SIGNED), policies, more)
const ids = (decision: Decision): string[] =>
  decision.violations.map(found => `${found.mode} ${found.extension}/${found.rule} ${found.path}`)

t.test('data of an inactive extension is removed, every other byte stays', async t => {
  const policy = policyFor({
    ext: {
      uri: URI,
      owns: { metadata: ['$uri', 'x.*'], dataKeys: ['x.*'], mediaTypes: ['application/x'], headers: ['X-Ext'] },
      inactive: { request: 'strip' }
    }
  })
  for (const side of SIDES) {
    const p = side.binding === 'HTTP+JSON' ? '' : 'params.'
    const rows: readonly (readonly [string, string])[] = [
      [
        `{"message":{"parts":[{"text":"é"}], "metadata" : {"${URI}":1 , "y":1e400}}}`,
        '{"message":{"parts":[{"text":"é"}], "metadata" : {"y":1e400}}}'
      ],
      [
        '{"message":{"parts":[{"text":"t"}],"metadata":{ "x.a":1,"\\u0078.b":{"c":[1]} }},"metadata":{"x.c":12345678901234567890,"z":12345678901234567890}}',
        '{"message":{"parts":[{"text":"t"}],"metadata":{  }},"metadata":{"z":12345678901234567890}}'
      ],
      ['{"message":{"parts":[{"text":"t","metadata":{"x.a":1}}]}}', '{"message":{"parts":[{"text":"t","metadata":{}}]}}'],
      [
        '{"message":{"parts":[ {"kind":"data","data":{"x.a":1,"n":1.0}}, {"text":"t"}]}}',
        '{"message":{"parts":[ {"kind":"data","data":{"n":1.0}}, {"text":"t"}]}}'
      ]
    ]
    for (const [before, after] of rows) {
      const found = forwarded(policy, before, side)
      t.equal(found.body, after)
      t.match(found, { rejection: null, edited: ['ext/inactive'] })
      t.match(ids(found), [/^observe ext\/inactive /])
      const active = forwarded(policy, before, { ...side, ...ACTIVE })
      t.ok(active.same, 'the very same buffer where it is active')
      t.same(active.edited, [])
    }
    const headers = ['X-Ext', 'a', 'Y', 'b', 'x_ext', 'c', 'x-ext', 'd', 'x.ext', 'e']
    const found = forwarded(policy, '{"message":{"parts":[{"text":"t"}]}}', { ...side, headers })
    t.same(found.rawHeaders, ['Y', 'b'], 'every line, and the spelling that some servers take for the same')
    t.ok(found.same)
    t.same(forwarded(policy, '{"message":{"parts":[{"text":"t"}]}}', { ...side, ...ACTIVE, headers }).rawHeaders, headers)
    t.equal(
      forwarded(policy, `{"message":{"parts":[{"text":"t"}],"metadata":{"${URI}":1}}}`, side).violations[0]?.path,
      `${p}message.metadata["${URI}"]`
    )
  }
})

t.test('the client\'s own spellings are found: snake_case, content of HTTP+JSON 0.3, request', async t => {
  const policy = policyFor({
    ext: { uri: URI, owns: { dataKeys: ['x'], mediaTypes: ['application/x'], metadata: ['x'] }, inactive: { request: 'strip' } }
  })
  const rest: Sent = { version: '0.3', binding: 'HTTP+JSON' }
  t.equal(
    forwarded(policy, '{"message":{"content":[{"data":{"data":{"x":1,"y":2}}},{"text":"t"}]}}', rest).body,
    '{"message":{"content":[{"data":{"data":{"y":2}}},{"text":"t"}]}}'
  )
  t.equal(
    forwarded(policy, '{"request":{"content":[{"text":"t"}],"metadata":{"x":1}}}', rest).body,
    '{"request":{"content":[{"text":"t"}],"metadata":{}}}'
  )
  t.equal(
    forwarded(policy, '{"message":{"parts":[{"data":{},"media_type":"application/x"},{"text":"t"}]}}').body,
    '{"message":{"parts":[{"text":"t"}]}}'
  )
  t.equal(
    forwarded(policy, '{"message":{"parts":[{"text":"t"},{"kind":"data","data":{},"metadata":{"mime_type":"application/x"}}]}}', {
      version: '0.3'
    }).body,
    '{"message":{"parts":[{"text":"t"}]}}'
  )
})

t.test('if no part would be left, the request is rejected, and the data is not forwarded', async t => {
  const policy = policyFor({ ext: { uri: URI, owns: { mediaTypes: ['application/x'] }, inactive: { request: 'strip' } } })
  const part = (n: number): string => `{"data":{"n":${n}},"mediaType":"application/x"}`
  const found = send(policy, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[${part(1)}, ${part(2)}]}}}`)
  t.same(ids(found), [
    'observe ext/inactive params.message.parts[0].mediaType',
    'enforce ext/inactive params.message.parts[0]',
    'enforce ext/inactive params.message.parts[1]'
  ])
  t.match(found.rejection, {
    reason: 'EXTENSION_DATA_INVALID',
    rule: 'ext/inactive',
    message:
      'params.message.parts[0] must be removed, and no part of the message would remain; send a part that is allowed; params.message.parts[1] must be removed'
  })
  t.equal(forwarded(policy, `{"message":{"parts":[${part(1)},{"text":"t"}]}}`).body, '{"message":{"parts":[{"text":"t"}]}}')
  t.equal(
    forwarded(policy, `{"message":{"parts":[${part(1)},7]}}`).body,
    '{"message":{"parts":[7]}}',
    'what the agent will refuse is an element all the same'
  )
  const observed = policyFor({
    ext: { uri: URI, mode: 'observe', owns: { mediaTypes: ['application/x'] }, inactive: { request: 'strip' } }
  })
  t.equal(forwarded(observed, `{"message":{"parts":[${part(1)}]}}`).rejection, null)
})

t.test('in mode observe nothing is changed, only recorded', async t => {
  const policies: Record<string, PolicyConfig> = {
    ext: { uri: URI, mode: 'observe', owns: { metadata: ['x'], headers: ['x'] }, inactive: { request: 'strip' } },
    other: {
      uri: OTHER,
      mode: 'observe',
      request: [{ id: 'none', select: { metadata: { key: 'y' } }, count: { max: 0 }, verdict: 'strip' }]
    }
  }
  const found = forwarded(policyFor(policies), '{"message":{"parts":[{"text":"t"}],"metadata":{"x":1,"y":2}}}', { headers: ['x', '1'] })
  t.ok(found.same)
  t.match(found, { rejection: null, edited: [], rawHeaders: ['x', '1'] })
  t.same(ids(found), ['observe ext/inactive params.message.metadata.x', 'observe other/none params.message.metadata.y'])
})

t.test('verdict strip removes the violating data: value, part, key of data, line of a header', async t => {
  const rules: PolicyConfig['request'] = [
    { id: 'short', select: { metadata: { in: ['message', 'params'], key: 's*' } }, schema: { maxLength: 2 }, verdict: 'strip' },
    { id: 'inner', select: { metadata: { key: 'deep', path: '/a/1/b' } }, schema: { type: 'number' }, verdict: 'strip' },
    { id: 'two', select: { part: { mediaType: 'application/x' } }, count: { max: 1 }, schema: { required: ['n'] }, verdict: 'strip' },
    { id: 'key', select: { part: { dataKey: 'k*' } }, count: { max: 2 }, verdict: 'strip' },
    { id: 'pointer', select: { pointer: '/message/metadata/p/0' }, schema: false, verdict: 'strip' },
    { id: 'line', select: { header: 'x-n' }, count: { max: 2 }, schema: { pattern: '^[0-9]$' }, verdict: 'strip' }
  ]
  const policy = policyFor({ ext: { uri: URI, request: rules } })
  for (const side of SIDES) {
    const strip = (request: string, headers: readonly string[] = []): Outcome => forwarded(policy, request, { ...side, ...ACTIVE, headers })
    const text = '{"kind":"text","text":"t"}'
    const meta = (inner: string): string => `{"message":{"parts":[${text}],"metadata":${inner}}}`
    t.equal(strip(meta('{"s1":"ab", "s2":"abc" ,"t":"abc"}')).body, meta('{"s1":"ab" ,"t":"abc"}'))
    t.equal(strip(meta('{"deep":{"a":[0, {"b":"x","c":1}]}}')).body, meta('{"deep":{"a":[0, {"c":1}]}}'))
    t.equal(strip(meta('{"p":[1,2]}')).body, meta('{"p":[2]}'))
    if (side.version === '1.0') {
      const part = (data: string): string => `{"data":${data},"mediaType":"application/x"}`
      const found = strip(`{"message":{"parts":[${part('{}')},${part('{"n":1}')},${text}]}}`)
      t.equal(found.body, `{"message":{"parts":[${text}]}}`, 'the first breaks the schema, the second is surplus')
      t.same(found.edited, ['ext/two'])
      t.equal(
        strip(`{"message":{"parts":[${part('{"n":0}')},${part('{"n":1}')},${text}]}}`).body,
        `{"message":{"parts":[${part('{"n":0}')},${text}]}}`
      )
    }
    t.equal(
      strip('{"message":{"parts":[{"kind":"data","data":{"k1":1,"k2":2,"k3":3}},{"kind":"data","data":{"k4":4}}]}}').body,
      '{"message":{"parts":[{"kind":"data","data":{"k1":1,"k2":2}},{"kind":"data","data":{}}]}}'
    )
    t.same(strip(meta('{}'), ['X-N', '1', 'a', 'b', 'x-n', 'no', 'x-n', '3']).rawHeaders, ['X-N', '1', 'a', 'b'])
    t.ok(strip(meta('{"s1":"ab"}'), ['x-n', '1']).same)
  }
})

t.test('removals have no limit, unlike recorded violations', async t => {
  const policy = policyFor({
    ext: { uri: URI, request: [{ id: 'none', select: { metadata: { key: 'x*' } }, schema: false, verdict: 'strip' }] }
  })
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x${i}`, i]))
  const found = forwarded(policy, JSON.stringify({ message: { parts: [{ text: 't' }], metadata: { ...many, kept: 1 } } }), ACTIVE)
  t.equal(found.body, '{"message":{"parts":[{"text":"t"}],"metadata":{"kept":1}}}')
  t.equal(found.violations.length, 20)
})

t.test('a rule that rejects still rejects, and then nothing is forwarded', async t => {
  const policy = policyFor({
    ext: {
      uri: URI,
      request: [
        { id: 'a', select: { metadata: { key: 'a' } }, count: { max: 0 }, verdict: 'strip' },
        { id: 'b', select: { metadata: { key: 'a' } }, count: { max: 0 } }
      ]
    }
  })
  t.match(forwarded(policy, '{"message":{"parts":[{"text":"t"}],"metadata":{"a":1}}}', ACTIVE), { rejection: { rule: 'ext/b' } })
})

t.test('rules of an extension whose data is stripped run only if it is active', async t => {
  const policy = policyFor({
    ext: {
      uri: URI,
      owns: { metadata: ['x'] },
      inactive: { request: 'strip' },
      request: [{ id: 'need', select: { metadata: { key: 'x' } }, count: { min: 1 }, schema: { type: 'string' } }]
    }
  })
  t.equal(
    forwarded(policy, '{"message":{"parts":[{"text":"t"}],"metadata":{"x":1}}}').body,
    '{"message":{"parts":[{"text":"t"}],"metadata":{}}}'
  )
  t.equal(forwarded(policy, '{"message":{"parts":[{"text":"t"}]}}').rejection, null)
  t.match(forwarded(policy, '{"message":{"parts":[{"text":"t"}],"metadata":{"x":1}}}', ACTIVE), { rejection: { rule: 'ext/need' } })
})

t.test('inject adds to the client\'s metadata, or creates it', async t => {
  const inject: PolicyConfig['inject'] = [
    { metadata: '$uri', value: { n: 1, t: 'é' } },
    { metadata: '$uri/token', fromSecret: { env: 'X' } },
    { metadata: 'req', in: 'params', value: null }
  ]
  const policy = policyFor({ ext: { uri: URI, inject } })
  const added = `"${URI}":{"n":1,"t":"é"},"${URI}/token":"a secret"`
  for (const side of SIDES) {
    const sent = { ...side, ...ACTIVE }
    t.equal(
      forwarded(policy, '{"message":{"parts":[{"text":"t"}],"metadata":{ "a":1e400 }} }', sent).body,
      `{"message":{"parts":[{"text":"t"}],"metadata":{ "a":1e400,${added} }},"metadata":{"req":null} }`
    )
    t.equal(
      forwarded(policy, '{"metadata":{},"message":{"parts":[{"text":"t"}]}}', sent).body,
      `{"metadata":{"req":null},"message":{"parts":[{"text":"t"}],"metadata":{${added}}}}`
    )
    const found = forwarded(policy, '{"message":{"parts":[{"text":"t"}],"metadata":null}}', sent)
    t.equal(found.body, `{"message":{"parts":[{"text":"t"}],"metadata":{${added}}},"metadata":{"req":null}}`)
    t.match(found, { rejection: null, edited: ['ext/inject'], violations: [] })
    t.ok(forwarded(policy, '{"message":{"parts":[{"text":"t"}]}}', side).same, 'only where the extension is active')
    t.match(forwarded(policy, '{"message":{"parts":[{"text":"t"}],"metadata":"x"}}', sent), {
      rejection: { rule: 'gateway/ambiguous-fields', fields: [{ description: 'must be an object' }] }
    })
  }
  t.ok(forwarded(policy, '{"id":"1"}', { ...ACTIVE, method: 'GetTask' }).same, 'only into messages')
  t.equal(
    forwarded(policyFor({ ext: { uri: URI, mode: 'observe', inject: [{ metadata: 'k', value: 1 }] } }), '{"message":{"parts":[]}}', ACTIVE)
      .body,
    '{"message":{"parts":[],"metadata":{"k":1}}}',
    'as activation.default: inject, in observe too'
  )
})

t.test('the client\'s own member: replaced, kept or rejected', async t => {
  const ALIAS = 'https://old.test/ext'
  const of = (existing: 'replace' | 'keep' | 'reject', mode: 'enforce' | 'observe' = 'enforce'): AgentPolicy =>
    policyFor({
      ext: { uri: URI, mode, aliases: [{ uri: ALIAS, relation: 'same' }], inject: [{ metadata: '$uri', value: 'ours', existing }] }
    })
  const message = (inner: string): string => `{"message":{"parts":[{"text":"t"}],"metadata":{${inner}}}}`
  for (const side of SIDES) {
    const run = (policy: AgentPolicy, inner: string): Outcome => forwarded(policy, message(inner), { ...side, ...ACTIVE })
    t.equal(run(of('replace'), `"${URI}" : "theirs","b":1`).body, message(`"${URI}" : "ours","b":1`))
    t.equal(run(of('replace'), `"${ALIAS}" : "theirs","b":1`).body, message(`"b":1,"${URI}":"ours"`), 'under its other names too')
    t.ok(run(of('keep'), `"${URI}":"theirs"`).same)
    t.ok(run(of('keep'), `"${ALIAS}":"theirs"`).same)
    const refused = run(of('reject'), `"${ALIAS}":"theirs"`)
    t.match(refused, { rejection: { rule: 'ext/inject', message: /supplied by the platform; leave it out/ } })
    t.notMatch(JSON.stringify(refused.violations), /ours|theirs/)
    for (const existing of ['replace', 'reject'] as const) {
      const observed = run(of(existing, 'observe'), `"${URI}":"theirs"`)
      t.ok(observed.same, 'observe takes nothing away')
      t.match(observed, { rejection: null, violations: [{ mode: 'observe', rule: 'inject' }] })
    }
  }
})

t.test('inject follows its conditions, and counts for the rule that requires the same value', async t => {
  const policy = policyFor({
    ext: {
      uri: URI,
      activation: { default: 'inject' },
      request: [{ id: 'need', select: { metadata: { key: 'k' } }, count: { min: 1 }, schema: { type: 'string' } }],
      inject: [{ metadata: 'k', value: 'v', existing: 'keep', when: { taskId: 'absent' } }]
    }
  })
  t.equal(forwarded(policy, '{"message":{"parts":[]}}').body, '{"message":{"parts":[],"metadata":{"k":"v"}}}')
  t.match(forwarded(policy, '{"message":{"parts":[],"taskId":"1"}}'), { rejection: { rule: 'ext/need' } }, 'not supplied here')
  t.ok(forwarded(policy, '{"message":{"parts":[],"taskId":"1","metadata":{"k":"mine"}}}').same)
  const asked = policyFor({
    ext: {
      uri: URI,
      request: [{ id: 'need', select: { metadata: { key: 'k' } }, count: { min: 1 } }],
      inject: [{ metadata: 'k', value: 'v' }]
    }
  })
  t.equal(forwarded(asked, '{"message":{"parts":[]}}', ACTIVE).rejection, null)
  t.match(
    forwarded(asked, '{"message":{"parts":[]}}'),
    { rejection: { rule: 'ext/need' } },
    'nothing is supplied where the extension is not active'
  )
  t.match(
    forwarded(policy, '{"message":{"parts":[],"metadata":{"k":1}}}'),
    { rejection: { rule: 'ext/need' } },
    'what the client sends is judged all the same'
  )
})

t.test('a name that is stripped and injected has the platform\'s value', async t => {
  const policy = policyFor({
    ext: {
      uri: URI,
      request: [{ id: 'none', select: { pointer: '/message/metadata' }, schema: false, verdict: 'strip' }],
      inject: [{ metadata: 'k', value: 'ours' }]
    }
  })
  const found = forwarded(policy, '{"message":{"parts":[],"metadata":{"k":"theirs","l":1}}}', ACTIVE)
  t.equal(found.body, '{"message":{"parts":[],"metadata":{"k":"ours"}}}')
  t.same(found.edited, ['ext/none', 'ext/inject'])
})

t.test('digests are removed when the body changes', async t => {
  const headers = [
    'Content-Digest',
    'sha-256=:x:',
    'repr-digest',
    'x',
    'Digest',
    'x',
    'content-md5',
    'x',
    'content_digest',
    'x',
    'content.md5',
    'x',
    'X',
    'content-digest'
  ]
  const policy = policyFor({ ext: { uri: URI, inject: [{ metadata: 'k', value: 1 }] } })
  t.same(forwarded(policy, '{"message":{"parts":[]}}', { ...ACTIVE, headers }).rawHeaders, ['X', 'content-digest'])
  t.same(forwarded(policy, '{"message":{"parts":[]}}', { headers }).rawHeaders, headers)
  const stripped = policyFor({ ext: { uri: URI, owns: { headers: ['X'] }, inactive: { request: 'strip' } } })
  t.same(forwarded(stripped, '{"message":{"parts":[]}}', { headers }).rawHeaders, headers.slice(0, -2), 'the body is as it was')
})

t.test('verbatim: nothing is added, and a necessary removal is rejected', async t => {
  const signed: PolicyConfig = { uri: SIGNED, integrity: 'verbatim' }
  const asSigned = (requested: readonly string[] = [SIGNED]): Sent => ({ requested })
  const request = (metadata = '{}'): string => `{"message":{"parts":[{"text":"t"}],"metadata":${metadata}}}`
  for (const side of SIDES) {
    const run = (policies: Record<string, PolicyConfig>, sent: Sent, text = request(), more: object = {}): Outcome =>
      forwarded(policyFor(policies, more), text, { ...side, ...sent })
    const inactive: PolicyConfig = { uri: URI, owns: { metadata: ['x'] }, inactive: { request: 'strip' } }
    const refused = run({ signed, ext: inactive }, asSigned(), request('{"x":1}'))
    t.match(refused, {
      verbatim: true,
      rejection: {
        reason: 'EXTENSION_CONFLICT',
        rule: 'ext/inactive',
        message: new RegExp(`would be removed, but the extension ${SIGNED} requires that the request is forwarded unchanged`)
      }
    })
    t.equal(run({ signed, ext: inactive }, {}, request('{"x":1}')).body, request('{}'), 'without that extension it is removed')
    const rule: PolicyConfig = {
      uri: URI,
      request: [{ id: 'r', select: { metadata: { key: 'x' } }, schema: { type: 'string' }, verdict: 'strip' }]
    }
    t.match(run({ signed, ext: rule }, asSigned([SIGNED, URI]), request('{"x":1}')), {
      rejection: { rule: 'ext/r', reason: 'EXTENSION_CONFLICT' }
    })
    t.match(run({ signed, ext: rule }, asSigned([SIGNED, URI]), request('{"x":"a"}')), { rejection: null, same: true })
    t.match(run({ signed, ext: { ...rule, mode: 'observe' } }, asSigned([SIGNED, URI]), request('{"x":1}')), {
      rejection: null,
      same: true
    })

    const supplied: PolicyConfig = { uri: URI, inject: [{ metadata: 'k', value: 1 }] }
    const notAdded = run({ signed, ext: supplied }, asSigned([SIGNED, URI]))
    t.match(notAdded, { rejection: null, same: true, violations: [{ mode: 'observe', extension: 'ext', rule: 'inject' }] })
    t.match(
      run({ signed, ext: supplied }, asSigned([SIGNED, URI]), request('{"k":2}')),
      { rejection: { rule: 'ext/inject', reason: 'EXTENSION_CONFLICT' } },
      "the client's own would pass for the platform's"
    )

    const asked: PolicyConfig = { uri: URI, activation: { default: 'inject' } }
    t.match(run({ signed, ext: asked }, asSigned()), {
      rejection: null,
      outbound: [SIGNED],
      injected: [],
      violations: [{ mode: 'observe', extension: 'ext', rule: 'not-injected' }]
    })
    t.match(run({ signed, ext: asked }, {}), { verbatim: false, outbound: [URI], injected: [URI] })
    t.match(
      run({ signed, ext: { uri: URI, activation: { default: 'inject', required: 'always' } } }, asSigned()),
      { rejection: { rule: 'ext/required' } },
      'unless it is required'
    )
    const adding: PolicyConfig = { uri: URI, activation: { requires: ['other'], onMissing: 'add' } }
    t.match(run({ signed, ext: adding, other: { uri: OTHER } }, asSigned([SIGNED, URI])), {
      rejection: { rule: 'ext/requires' },
      outbound: [SIGNED, URI]
    })

    t.match(
      run({ signed: { ...signed, aliases: [{ uri: 'urn:old', relation: 'same' }] } }, asSigned(['urn:old', 'urn:old2'])),
      { verbatim: true, outbound: ['urn:old', 'urn:old2'] },
      "in the client's spelling"
    )
    t.match(run({ signed }, asSigned([SIGNED, 'urn:z']), request(), { unlistedExtensions: 'strip' }), {
      rejection: { rule: 'gateway/unlisted', reason: 'EXTENSION_CONFLICT' }
    })
    t.match(run({ signed }, asSigned([SIGNED, 'urn:z']), request(), { unlistedExtensions: 'reject' }), {
      rejection: { rule: 'gateway/unlisted', reason: 'EXTENSION_NOT_ALLOWED' }
    })
    t.match(run({ signed }, asSigned([SIGNED, 'urn:z'])), { rejection: null, outbound: [SIGNED, 'urn:z'] })
  }
})

t.test('a requirement that injections satisfy, each in its own case, is satisfied', async t => {
  const policy = policyFor({
    ext: {
      uri: URI,
      activation: { signals: ['always'] },
      inject: [
        { metadata: 'k', value: 1, when: { taskId: 'present' } },
        { metadata: 'k', value: 2, when: { taskId: 'absent' } }
      ],
      request: [{ id: 'needs', select: { metadata: { key: 'k' } }, count: { min: 1 } }]
    }
  })
  t.match(forwarded(policy, '{"message":{"parts":[{"text":"t"}]}}').body, '"k":2')
  t.match(forwarded(policy, '{"message":{"taskId":"t","parts":[{"text":"t"}]}}').body, '"k":1')
})
