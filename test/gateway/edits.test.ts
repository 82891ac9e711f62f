/** The request that the agent receives when a policy changes it: on real sockets, byte for byte. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, JSON_TYPE, V1 } from '../helpers/http.js'
import type { FakeAgent } from '../helpers/raw.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const URI = 'https://x.test/ext/v1'
const SIGNED = 'https://signed.test/v1'
const SECRET = 'hunter2-hunter2'
const declaring = (url: string): unknown =>
  plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: URI }, { uri: SIGNED }] } })

interface Way {
  readonly name: string
  readonly path: string
  readonly headers: readonly string[]
  readonly ask: string
  readonly wrap: (request: string) => string
}

const rpc =
  (method: string) =>
    (request: string): string =>
    `\n{"jsonrpc":"2.0" ,"id":"\\u0031","method":"${method}","params": ${request} }\n`
const WAYS: readonly Way[] = [
  { name: 'JSON-RPC 1.0', path: '/rpc', headers: [...JSON_TYPE, ...V1], ask: 'A2A-Extensions', wrap: rpc('SendMessage') },
  { name: 'JSON-RPC 0.3', path: '/rpc', headers: JSON_TYPE, ask: 'X-A2A-Extensions', wrap: rpc('message/send') },
  {
    name: 'HTTP+JSON 1.0',
    path: '/rest/message:send',
    headers: [...JSON_TYPE, ...V1],
    ask: 'A2A-Extensions',
    wrap: request => ` ${request}\r\n`
  },
  { name: 'HTTP+JSON 0.3', path: '/rest/v1/message:send', headers: JSON_TYPE, ask: 'X-A2A-Extensions', wrap: request => request }
]
const message = (metadata: string, key = 'parts'): string =>
  `{ "message":{"${key}":[ {"text":"é\\u0041", "n":12345678901234567890} ],"messageId":"m","metadata":${metadata}} }`

const POLICY = [
  'extensions:',
  '  ext:',
  `    uri: ${URI}`,
  '    owns: {metadata: [x], headers: [x-ext]}',
  '    inactive: {request: strip}',
  '    inject:'
]

const last = (agent: FakeAgent): FakeAgent['received'][number] => {
  const request = agent.received.at(-1)
  if (request === undefined) throw new Error('the agent received nothing')
  return request
}

t.test('strip and inject reach the agent, in both versions and bindings; all other bytes stay the same', async t => {
  const agent = await fakeAgent(t, { card: declaring })
  const gateway = await gatewayFor(t, {
    yaml: oneAgent(
      agent.url,
      ['extensions: [ext]'],
      [...POLICY, '      - {metadata: $uri/token, fromSecret: {env: TOKEN}}', 'telemetry: {logs: {level: debug}}']
    ),
    env: { TOKEN: SECRET }
  })
  for (const way of WAYS) {
    const key = way.name === 'HTTP+JSON 0.3' ? 'content' : 'parts'
    const post = async (request: string, more: readonly string[] = []): Promise<number> =>
      (
        await call(`${gateway.url}${way.path}`, {
          headers: [...way.headers, 'content-digest', 'sha-256=:x:', 'x-ext', '1', ...more],
          body: way.wrap(request)
        })
      ).status

    t.equal(await post(message('{"a":1E+400}', key)), 200, way.name)
    t.equal(last(agent).body.toString(), way.wrap(message('{"a":1E+400}', key)), `${way.name}: nothing to change`)
    t.equal(last(agent).headers['content-digest'], 'sha-256=:x:', 'the digest holds')
    t.equal(last(agent).headers['x-ext'], undefined, 'the header is the extension\'s')

    t.equal(await post(message('{"a":1E+400 , "\\u0078":[1]}', key)), 200)
    t.equal(last(agent).body.toString(), way.wrap(message('{"a":1E+400 }', key)), `${way.name}: stripped`)
    t.equal(last(agent).headers['content-length'], String(last(agent).body.length))
    t.equal(last(agent).headers['content-digest'], undefined, 'the digest would be wrong')

    t.equal(await post(message('{"a":1E+400}', key), [way.ask, URI]), 200)
    t.equal(last(agent).body.toString(), way.wrap(message(`{"a":1E+400,"${URI}/token":"${SECRET}"}`, key)), `${way.name}: injected`)
    t.equal(last(agent).headers['x-ext'], '1')
  }
  // The agent answers everybody with the same, which is recorded of its answers.
  const audits = gateway.audits().filter(line => line.phase === 'request')
  t.match(audits, WAYS.flatMap(() => [
    { decision: 'edited', rule: 'inactive', edited: ['ext/inactive'] }, { decision: 'edited', rule: 'inactive', edited: ['ext/inactive'] }
  ]))
  t.equal(audits.length, 2 * WAYS.length, 'what was only injected has no line')
  const shown = [
    JSON.stringify(gateway.audits()),
    JSON.stringify(gateway.logs()),
    await (await fetch(`${gateway.adminUrl}/agents`)).text(),
    await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  ].join('\n')
  t.notMatch(shown, SECRET, 'the secret shows nowhere')
  t.match(shown, URI)
})

t.test('a secret comes from a file, and a changed file takes effect with the next reload', async t => {
  const agent = await fakeAgent(t, { card: declaring })
  const directory = t.testdir({ 'token.json': `\n{"key": 12345678901234567890, "s": "${SECRET}"}\n` })
  const options = {
    yaml: oneAgent(agent.url, ['extensions: [ext]'], [...POLICY, '      - {metadata: $uri, as: json, fromSecret: {file: token.json}}']),
    baseDir: directory
  }
  const gateway = await gatewayFor(t, options)
  const [way] = WAYS
  if (way === undefined) throw new Error('no way')
  const send = async (): Promise<string> => {
    await call(`${gateway.url}${way.path}`, { headers: [...way.headers, way.ask, URI], body: way.wrap(message('{}')) })
    return last(agent).body.toString()
  }
  t.equal(await send(), way.wrap(message(`{"${URI}":{"key": 12345678901234567890, "s": "${SECRET}"}}`)), 'JSON as it stands')
  const before = configOf(options)
  writeFileSync(join(directory, 'token.json'), '[1.0]')
  const after = configOf(options)
  t.equal(after.hash, before.hash, 'the hash tells nothing of it')
  t.notMatch(JSON.stringify(after), SECRET)
  t.match(await gateway.reload(after), { ok: true, agents: { changed: ['agent'] } })
  t.equal(await send(), way.wrap(message(`{"${URI}":[1.0]}`)))
  writeFileSync(join(directory, 'token.json'), `[${SECRET}`)
  const refused = await gateway.reload(after)
  t.same(refused, { ok: false, problems: [`extensions.ext: the file ${join(directory, 'token.json')} is not valid JSON`] })
  t.equal(await send(), way.wrap(message(`{"${URI}":[1.0]}`)), 'the last good one stays')
})

t.test('verbatim: headers line by line and in the client\'s spelling, and the same body', async t => {
  const agent = await fakeAgent(t, { card: declaring })
  const policies = [
    'extensions:',
    `  signed: {uri: "${SIGNED}", integrity: verbatim, request: [{id: sig, select: {header: signature}, count: {min: 1}}]}`,
    `  ext: {uri: "${URI}", owns: {metadata: [x]}, inactive: {request: strip}, activation: {default: inject}, inject: [{metadata: k, value: 1, when: {taskId: present}}]}`
  ]
  // Injected by the gateway, the other extension is active; so it is only inactive where nothing may be added.
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['extensions: [signed, ext]'], policies) })
  for (const way of WAYS) {
    const key = way.name === 'HTTP+JSON 0.3' ? 'content' : 'parts'
    const sent = ['X-A2A-Extensions', `${SIGNED} ,urn:b`, 'A2A-Extensions', `urn:c,${SIGNED}`, 'signature', 's', 'content-digest', 'd']
    const got = await call(`${gateway.url}${way.path}`, { headers: [...way.headers, ...sent], body: way.wrap(message('{}', key)) })
    t.equal(got.status, 200, way.name)
    const { rawHeaders, headers, body } = last(agent)
    t.equal(body.toString(), way.wrap(message('{}', key)))
    t.match(headers, {
      'x-a2a-extensions': `${SIGNED} ,urn:b`,
      'a2a-extensions': `urn:c,${SIGNED}`,
      signature: 's',
      'content-digest': 'd',
      'a2a-version': way.headers.includes('A2A-Version') || way.headers.includes('a2a-version') ? '1.0' : undefined
    })
    t.equal(rawHeaders.filter((_, i) => i % 2 === 0).filter(name => /a2a-extensions$/i.test(name)).length, 2, 'and no line more')

    const refused = await call(`${gateway.url}${way.path}`, { headers: [...way.headers, ...sent], body: way.wrap(message('{"x":1}', key)) })
    t.match(refused.headers['gateway-decision'], /rule="ext\/inactive"/)
    t.match(refused.bytes.toString(), /requires that the request is forwarded unchanged/)

    await call(`${gateway.url}${way.path}`, { headers: [...way.headers, 'signature', 's'], body: way.wrap(message('{}', key)) })
    t.match(last(agent).rawHeaders.join('\n'), URI, 'without that extension the gateway asks for what it is told to')
  }
})
