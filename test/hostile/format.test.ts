/** A scenario with a key that no code checks would promise nothing. The reader rejects unknown keys and missing promises. */
import t from 'tap'
import { bytesOf } from './bytes.js'
import { readScenario, scenarioFiles } from './scenario.js'

const GOOD = 'name: x\nwhy: RFC 9112\nclient: [{send: a}]\npromise: {answers: [{status: 400}], agent: []}\n'

t.test('every file is a scenario with a unique name', async t => {
  const names = new Set<string>()
  for (const [file, text] of scenarioFiles()) {
    t.match(file, /^[a-z0-9]+(?:-[a-z0-9]+)*$/)
    const { name } = readScenario(text)
    t.notOk(names.has(name), `${file}: "${name}" is not the name of another`)
    names.add(name)
  }
  t.ok(names.size >= 80, `${names.size} scenarios`)
})

t.test('misspelt keys are rejected, with their place', async t => {
  t.equal(readScenario(GOOD).clients, 1)
  for (const [from, to, place] of [
    ['name: x', 'name: x\nnane: y', /nane/],
    ['client: [{send: a}]', 'client: [{sent: a}]', /client\/0/],
    ['{send: a}', '{send: {repaet: a, times: 2}}', /client\/0/],
    ['{status: 400}', '{status: 400, rulle: x}', /answers\/0 .*rulle/],
    [', agent: []', '', /promise .*agent/],
    ['agent: []', 'agent: [], cosed: true', /promise .*cosed/],
    ['RFC 9112', 'because', /why/]
  ] as const) {
    t.throws(() => readScenario(GOOD.replace(from, to)), { message: place }, to)
  }
})

t.test('bytes match their description', async t => {
  for (const [bytes, text] of [
    ['a\r\n', 'a\r\n'],
    [['a', { hex: '00 ff' }], 'a\0\xff'],
    [{ repeat: 'ab', times: 3 }, 'ababab'],
    [{ count: 'k{n}', times: 3, step: 2, join: ',' }, 'k0,k2,k4'],
    [[{ chunk: 'abc', size: '{hex};x' }, { chunk: '0123456789ab' }], '3;x\r\nabc\r\nc\r\n0123456789ab\r\n'],
    [{ message: { parts: '[]', members: ',"a":1' } }, '{"message":{"messageId":"m1","role":"ROLE_USER","parts":[],"a":1}}'],
    [
      { call: { line: 'GET / HTTP/1.0', without: ['type', 'version'], headers: ['X: y'], body: '{}' } },
      'GET / HTTP/1.0\r\nHost: gateway.example\r\nX: y\r\nContent-Length: 2\r\n\r\n{}'
    ],
    [
      { call: { without: ['host', 'type', 'version'], framing: 'chunked', body: '{}' } },
      'POST /rest/message:send HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'
    ]
  ] as const) {
    t.equal(bytesOf(bytes).toString('latin1'), text)
  }
})
