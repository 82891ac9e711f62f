/** `caller:` in policy tests, and `explain --caller`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ExplainArguments } from '#cli/explain.js'
import type { Explanation } from '#offline/explain/explanation.js'
import type { ExplainRun } from './explain-run.js'
import { runExplainWith } from './explain-run.js'
import { runFiles } from './kit.js'

const URI = 'https://e.test/pay'

const POLICIES = `extensions:
  pay:
    uri: ${URI}
    owns: {dataKeys: [payment]}
    activation: {callers: {groups: [finance], scopes: [pay]}}
    request:
      - id: small
        select: {part: {dataKey: payment}}
        unless: {caller: {groups: [treasurers]}}
        schema: {properties: {amount: {maximum: 1000}}}
      - id: partners
        select: {metadata: {key: order}}
        when: {caller: {source: [partners]}}
        required: true
    response:
      - id: receipt
        select: {part: {dataKey: receipt}}
        when: {caller: {tenant: [north]}}
        required: true
        verdict: reject
`
const CARD = `{"capabilities": {"extensions": [{"uri": "${URI}"}]}}`
const HEAD = `card: ${CARD}\nagent: {extensions: [pay], responses: enforce}\n${POLICIES}`

const test = (name: string, caller: string, request: string, expect: string, more = ''): string =>
  `  - {name: ${name}, ${caller === '' ? '' : `caller: ${caller}, `}versions: ['1.0'], request: ${request}, ${more}expect: ${expect}}\n`
const PAYS = `{extensions: ['${URI}'], message: {parts: [{data: {payment: {amount: 5000}}}]}}`
const HELLO = '{message: {parts: [{text: x}]}}'

t.test('callers of policy tests', async t => {
  const { out, code } = runFiles(t, {
    'a.test.yaml': `${HEAD}tests:\n${[
      test('allowed', '{groups: [finance, treasurers], scopes: [pay]}', PAYS, `{decision: forward, active: ['${URI}'], forbidden: []}`),
      test('limited', '{groups: [finance], scopes: [pay, other]}', PAYS, '{decision: reject, rule: pay/small}'),
      test('forbidden', '{groups: [finance]}', PAYS, `{decision: reject, rule: pay/callers, reason: EXTENSION_NOT_ALLOWED, forbidden: ['${URI}']}`),
      test('nobody', '', PAYS, '{decision: reject, rule: pay/callers, message: may not use}'),
      test('by source', '{source: partners}', HELLO, '{decision: reject, rule: pay/partners}'),
      test('another source', '{source: corp}', HELLO, '{decision: forward}'),
      test('the response', '{tenant: north}', HELLO, '{decision: forward, answer: {decision: reject, rule: pay/receipt}}', 'answer: {task: {status: {state: completed}, artifacts: [{parts: [{text: x}]}]}}, '),
      test('the response for others', '{tenant: south}', HELLO, '{decision: forward, answer: {decision: forward}}', 'answer: {task: {status: {state: completed}, artifacts: [{parts: [{text: x}]}]}}, ')
    ].join('')}`
  })
  t.equal(code, 0, out)
})

t.test('the caller of the file, of a test and of an exchange before it', async t => {
  const tests = (first: string): string => `${HEAD}caller: {groups: [finance], scopes: [pay]}\ntests:\n${[
    test('of the file', '', '{extensions: [\'https://e.test/pay\'], message: {parts: [{text: x}]}}', '{decision: forward}'),
    test('nobody', 'null', '{extensions: [\'https://e.test/pay\'], message: {parts: [{text: x}]}}', '{decision: reject}'),
    test(
      'before',
      '{subject: x}',
      HELLO,
      '{decision: forward}',
      `before: [{${first}request: {extensions: ['${URI}'], message: {parts: [{text: x}]}}, answer: {task: {id: t1, status: {state: working}}}}], `
    )
  ].join('')}`
  const good = runFiles(t, { 'a.test.yaml': tests('caller: {groups: [finance], scopes: [pay]}, ') })
  t.equal(good.code, 0, good.out)
  t.match(runFiles(t, { 'a.test.yaml': tests('') }), { code: 1, out: /not ok|✗|failed/ }, 'the caller of the test')
})

t.test('mistakes in a caller', async t => {
  const { err, out, code } = runFiles(t, { 'a.test.yaml': `${HEAD}tests:\n${test('x', '{groups: finance, subjekt: a, scopes: [""]}', HELLO, '{decision: forward}')}` })
  t.equal(code, 2)
  t.match(err + out, /a\.test\.yaml:\d+:\d+: tests\[0\]\.caller\.groups must be a list/)
  t.match(err + out, /unknown key "subjekt" in tests\[0\]\.caller \(did you mean "subject"\?\)/)
})

async function explain (directory: string, args: Partial<ExplainArguments>): Promise<ExplainRun> {
  const { code, out, err } = await runExplainWith({
    recordings: [join(directory, 'call.http')],
    config: join(directory, 'gateway.yaml'),
    card: join(directory, 'card.json'),
    ...args
  })
  return { code, out: out.replaceAll(`${directory}/`, ''), err: err.replaceAll(`${directory}/`, '') }
}

t.test('explain', async t => {
  const directory = t.testdir({
    'keys.yaml': `- {id: a, sha256: ${'a'.repeat(64)}}\n`,
    'gateway.yaml': `version: 1\nidentity: {sources: {corp: {basic: {keys: {file: keys.yaml}}}, partners: {apiKey: {header: x-key, keys: {file: keys.yaml}}}}}\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [pay]}]\n${POLICIES}`,
    'card.json': JSON.stringify({
      name: 'a',
      supportedInterfaces: [{ url: 'http://127.0.0.1:1/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      capabilities: { extensions: [{ uri: URI }] }
    }),
    'call.http': `POST http://gw/rpc\nContent-Type: application/json\nA2A-Version: 1.0\nA2A-Extensions: ${URI}\n\n${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } } })}\n`
  })
  const of = async (caller: string | null): Promise<string> => (await explain(directory, { caller })).out

  const none = await of(null)
  t.match(none, 'note       there is no caller: where identity needs one, the gateway rejects the request')
  t.match(none, `  forbidden  ${URI}`)
  t.match(none, '    not for this caller: the request has no caller')
  t.match(none, 'decision   reject, by the rule pay/callers (EXTENSION_NOT_ALLOWED)')
  t.match(none, '    small: passed', 'the rules are shown')

  const bob = await of('{"subject": "bob", "groups": ["staff"], "scopes": ["read"]}')
  t.match(bob, 'caller     bob of corp, groups staff, scopes read', 'the first source is the default')
  t.match(bob, '    not for this caller: the caller is not in "finance"')
  t.match(bob, '    partners: does not apply: its "when" does not match: the source is "corp", not "partners"')

  const scopes = await of('{groups: [finance], scopes: [read], source: partners, claims: {a: 1}}')
  t.match(scopes, 'not for this caller: the caller lacks the scopes pay')
  t.match(scopes, '    partners: violated')

  writeFileSync(join(directory, 'ada.yaml'), 'groups: [finance, treasurers]\nscopes: [pay]\nclient: ui\ntenant: north\n')
  const ada = await of(join(directory, 'ada.yaml'))
  t.match(ada, 'caller     ui of corp, client ui, tenant north, groups finance treasurers, scopes pay')
  t.match(ada, '    small: does not apply: its "unless" matches')
  t.notMatch(ada, 'forbidden')
  t.notMatch(ada, 'not for this caller')

  const json = async (caller: string | null): Promise<Explanation | undefined> =>
    (JSON.parse((await explain(directory, { caller, json: true })).out) as { requests: Explanation[] }).requests[0]
  t.match(await json('{"subject": "bob", "claims": {"level": 3}}'), {
    caller: { source: 'corp', subject: 'bob', client: null, spiffe: null, scopes: [], groups: [], tenant: null, claims: { level: 3 } },
    extensions: { forbidden: [URI], active: [] },
    policies: [{ name: 'object-schemas' }, { name: 'pay', active: false, forbidden: /finance/, rules: [{ why: null }, { why: /the source is "corp"/ }] }].slice(1)
  })
  t.match(await json(null), { caller: null })

  for (const [caller, message] of [
    ['{"groups": "x"}', '--caller: groups must be a list, not a string'],
    ['{"source": "cord"}', '--caller: the configuration has no source "cord" (did you mean "corp"?)'],
    ['{"subject"', '--caller: '],
    ['[]', '--caller []: '],
    [join(directory, 'nowhere.json'), '--caller nowhere.json: cannot read the file: no such file']
  ] as const) {
    const { code, err, out } = await explain(directory, { caller })
    t.equal(code, 2, caller)
    t.match(err, message)
    t.equal(out, '')
  }
})
