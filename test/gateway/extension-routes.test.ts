/** HTTP routes that extensions add beside the operations of A2A, on the wire. */
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/http.js'
import { call, JSON_TYPE, lines, until } from '../helpers/http.js'
import type { FakeAgent, RawRequest } from '../helpers/raw.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'

const U = 'urn:dev-tool:v1'
const POLICY = `extensions:
  dev-tool:
    uri: ${U}
    activation: {signals: [header]}
    routes:
      - {verb: GET, path: /listCommands}
      - {verb: POST, path: /executeCommand, body: {type: object, required: [command]}}
      - {verb: DELETE, path: "/commands/{name}", need: declared}
`
const SIDES = [
  { version: '1.0', stated: ['a2a-version', '1.0'], header: 'A2A-Extensions', other: 'x-a2a-extensions' },
  { version: '0.3', stated: [], header: 'X-A2A-Extensions', other: 'a2a-extensions' }
] as const
const BODY = '{"command" : "ls",  "n": 1.0e2, "big": 12345678901234567890}'

interface Options {
  readonly agent?: string
  readonly base?: string
  readonly path?: string
  readonly card?: (url: string) => unknown
  readonly answer?: NonNullable<Parameters<typeof fakeAgent>[1]>['answer']
}

async function behind (
  t: Test,
  {
    agent: keys = '',
    base = '',
    path = '/',
    card = url => plainCard(`${url}${base}`, { capabilities: { extensions: [{ uri: U }] } }),
    answer
  }: Options = {}
): Promise<{ agent: FakeAgent; gateway: TestGateway; url: string }> {
  const agent = await fakeAgent(t, {
    card,
    answer:
      answer ??
      ((_request, response) => {
        response.writeHead(201, { 'content-type': 'application/json', 'a2a-extensions': U, 'x-own': '1' }).end('{ "done":true }')
      })
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, path: ${path}, upstream: {url: "${agent.url}${base}"}, extensions: [dev-tool]${keys}}]\n${POLICY}`
  })
  return { agent, gateway, url: gateway.url + path.replace(/\/$/, '') }
}

for (const { version, stated, header, other } of SIDES) {
  const outcome = (name: string): string =>
    `a2a_gateway_requests_total{agent="agent",operation="POST /executeCommand",binding="HTTP+JSON",version="${version}",outcome="${name}"}`
  const execute = (url: string, body: string, headers: readonly string[] = []): Promise<Answer> =>
    call(`${url}/executeCommand`, { method: 'POST', headers: [...JSON_TYPE, ...stated, ...headers], body })

  t.test(`${version}: rejected without the extension, forwarded byte for byte with it`, async t => {
    const { agent, gateway, url } = await behind(t)
    const refused = await execute(url, BODY)
    t.equal(refused.status, 400)
    t.equal(refused.headers['gateway-decision'], 'reject;rule="dev-tool/route"')
    t.match(version === '1.0' ? refused.json().error : refused.json(), {
      message: `This agent requires an extension that the request does not activate: ${U}. Send the header "${header}: ${U}" with the request.`
    })
    t.equal(agent.received.length, 0)

    // Either spelling is read; the agent gets that of the version.
    const done = await execute(`${url}`, BODY, [other, U])
    t.equal(done.status, 201)
    t.equal(done.text, '{ "done":true }', 'the answer passes through')
    t.equal(done.headers['x-own'], '1')
    t.equal(done.headers[other], U, 'the echo comes back as the client spells it')
    const [request] = agent.received as [RawRequest]
    t.match(request, { method: 'POST', url: '/executeCommand' })
    t.equal(request.body.toString(), BODY)
    t.same(lines(request.rawHeaders, header.toLowerCase()), [U])
    t.same(lines(request.rawHeaders, other), [])
    t.same(lines(request.rawHeaders, 'a2a-version'), version === '1.0' ? ['1.0'] : [])

    const invalid = await execute(url, '{}', [other, U])
    t.equal(invalid.headers['gateway-decision'], 'reject;rule="dev-tool/route-body"')
    t.match(invalid.text, 'command is required (the schema of the route)')
    t.match(invalid.headers['content-type'], 'application/json')
    t.equal(agent.received.length, 1)
    await until(async () => await gateway.metric(outcome('rejected')) === 2 && await gateway.metric(outcome('forwarded')) === 1)
    t.match(gateway.audits(), [
      { operation: 'POST /executeCommand', rule: 'route', binding: 'HTTP+JSON', version },
      { operation: 'POST /executeCommand', rule: 'route-body' }
    ])
  })

  t.test(`${version}: the body must be strict JSON in UTF-8`, async t => {
    const { agent, url } = await behind(t)
    const asked = [header, U]
    t.equal((await execute(url, '{"command":1,"command":2}', asked)).headers['gateway-decision'], 'reject;rule="gateway/json"')
    t.equal(
      (await call(`${url}/executeCommand`, { method: 'POST', headers: ['content-type', 'text/plain', ...stated, ...asked], body: BODY }))
        .headers['gateway-decision'],
      'reject;rule="gateway/content-type"'
    )
    t.equal(
      (await execute(url, 'x', [...asked, 'content-encoding', 'gzip'])).headers['gateway-decision'],
      'reject;rule="gateway/content-encoding"'
    )
    t.equal((await call(`${url}/listCommands`, { headers: [...stated, ...asked], method: 'GET', body: '{}' })).status, 400)
    t.equal(agent.received.length, 0)
  })

  t.test(`${version}: verbs, parameters and preflights`, async t => {
    const { agent, url } = await behind(t)
    t.equal((await call(`${url}/listCommands?all=1`, { headers: [...stated, header, U] })).status, 201)
    t.equal((await call(`${url}/commands/a%20b?x=%2F`, { method: 'DELETE', headers: stated })).status, 201)
    t.equal((await call(`${url}/executeCommand`, { method: 'OPTIONS', headers: stated })).status, 201)
    t.same(
      agent.received.map(one => `${one.method} ${one.url}`),
      ['GET /listCommands?all=1', 'DELETE /commands/a%20b?x=%2F', 'OPTIONS /executeCommand']
    )
    for (const [method, path, allow] of [
      ['GET', '/executeCommand', 'POST'],
      ['HEAD', '/listCommands', 'GET'],
      ['PATCH', '/commands/x', 'DELETE']
    ] as const) {
      const wrong = await call(url + path, { method, headers: stated })
      t.equal(wrong.status, 405, path)
      t.equal(wrong.headers.allow, allow)
    }
    for (const path of ['/executecommand', '/listCommands/', '/commands', '/commands/a/b']) {
      t.equal((await call(url + path, { headers: stated })).status, 404, path)
    }
    t.equal(agent.received.length, 3)
  })

  t.test(`${version}: observed and off`, async t => {
    for (const [keys, audits] of [[', mode: observe', 1], [', mode: off', 0]] as const) {
      const { agent, gateway, url } = await behind(t, { agent: keys })
      t.equal((await execute(url, '{}')).status, 201)
      t.equal(agent.received[0]?.body.toString(), '{}')
      t.equal(gateway.audits().length, audits)
    }
  })

  t.test(`${version}: a route is inspected below any prefix and in any spelling`, async t => {
    const { agent, url } = await behind(t, { agent: ', passthrough: [/executeCommand, /commands, /EXECUTECOMMAND]' })
    for (const path of ['/executeCommand', '/executeCommand/', '/EXECUTECOMMAND', '/executeCommand;x', '/commands/x;y']) {
      const got = await call(url + path, { method: 'POST', headers: [...JSON_TYPE, ...stated], body: BODY })
      t.match(got.headers['gateway-decision'], /^reject/, path)
    }
    t.equal(agent.received.length, 0)
    t.equal((await call(`${url}/executeCommand/help`, { headers: stated })).status, 201, 'what is no route passes')
  })

  t.test(`${version}: below the agent's path, and at the agent below the path of its URL`, async t => {
    const { agent, url } = await behind(t, { base: '/base', path: '/agents/one' })
    t.equal((await execute(url, BODY, [header, U])).status, 201)
    t.equal(agent.received[0]?.url, '/base/executeCommand')
  })

  t.test(`${version}: redirects and pages are the agent's responses`, async t => {
    const { url } = await behind(t, {
      answer: (request, response) => {
        response.writeHead(request.method === 'GET' ? 302 : 500, { 'content-type': 'text/html', location: '/x' }).end('<p>')
      }
    })
    t.match(await call(`${url}/listCommands`, { headers: [...stated, header, U] }), { status: 302, headers: { location: '/x' } })
    t.match(await execute(url, BODY, [header, U]), { status: 500, text: '<p>' })
  })
}

t.test('an agent of 1.0 only may be called without a version, but not with another', async t => {
  const { agent, url } = await behind(t, {
    card: url => ({
      ...plainCard(url, { capabilities: { extensions: [{ uri: U }] } }),
      supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    })
  })
  t.equal((await call(`${url}/listCommands`, { headers: ['a2a-extensions', U] })).status, 201)
  t.match(agent.received[0]?.headers, { 'a2a-extensions': U, 'a2a-version': '1.0' })
  for (const version of ['0.3', '9.9']) {
    const got = await call(`${url}/listCommands`, { headers: ['a2a-extensions', U, 'a2a-version', version] })
    t.equal(got.headers['gateway-decision'], 'reject;rule="gateway/version"')
    t.match(got.text, /The agent supports 1\.0/)
  }
  t.equal(agent.received.length, 1)
})

t.test('without the extension in the card there is no route; at the path of an operation neither, with a warning', async t => {
  const none = await behind(t, { card: url => plainCard(url) })
  t.equal((await call(`${none.url}/listCommands`, { headers: ['x-a2a-extensions', U] })).status, 404)
  const card = (url: string): unknown =>
    plainCard(url, {
      capabilities: { extensions: [{ uri: U }] },
      supportedInterfaces: [{ url: `${url}/executeCommand`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    })
  const taken = await behind(t, { card })
  t.equal(
    (
      await call(`${taken.url}/executeCommand`, {
        method: 'POST',
        headers: [...JSON_TYPE, 'a2a-version', '1.0', 'a2a-extensions', U],
        body: BODY
      })
    ).headers['gateway-decision'],
    'reject;rule="gateway/envelope"',
    'JSON-RPC it is'
  )
  const agents = await (await fetch(`${taken.gateway.adminUrl}/agents`)).text()
  t.match(agents, 'policy \\"dev-tool\\": the route POST /executeCommand is never reached: the card has an operation at its path')
})

t.test('base: interface puts a route below each HTTP+JSON interface, at the agent too', async t => {
  // The interface is outside the path of upstream.url.
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, {
      capabilities: { extensions: [{ uri: U }] },
      supportedInterfaces: [
        { url: `${url}/base/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
        { url: `${url}/other/rest/`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }
      ]
    })
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, path: /a, upstream: {url: "${agent.url}/base"}, card: {interfaces: [/other], url: "${agent.url}/.well-known/agent-card.json"}, extensions: [dev-tool]}]\n` +
      `extensions: {dev-tool: {uri: "${U}", routes: [{verb: POST, path: "/commands/{name}", base: interface, need: declared, body: {type: object, required: [command]}}]}}`
  })
  const ask = (path: string, body = BODY, method = 'POST'): Promise<Answer> =>
    call(`${gateway.url}/a${path}`, { method, headers: [...JSON_TYPE, 'a2a-version', '1.0'], ...(method === 'POST' ? { body } : {}) })
  for (const [path, upstream] of [['/rest/commands/ls', '/base/rest/commands/ls'], ['/other/rest/commands/ls', '/other/rest/commands/ls']] as const) {
    t.equal((await ask(path)).status, 200, path)
    t.equal(agent.received.at(-1)?.url, upstream)
    t.match((await ask(path, '{}')).text, /command is required/, 'the body is validated')
    t.equal((await ask(path, '', 'GET')).headers.allow, 'POST')
    t.equal((await ask(path, '', 'OPTIONS')).status, 200)
    t.equal(agent.received.at(-1)?.url, upstream, 'a preflight')
  }
  t.equal((await ask('/commands/ls')).status, 404, 'not below the agent itself')
})

t.test('a route below an interface that the card lacks is reported', async t => {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, {
      capabilities: { extensions: [{ uri: U }] },
      supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    })
  })
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${agent.url}"}, extensions: [dev-tool]}]\nextensions: {dev-tool: {uri: "${U}", routes: [{verb: GET, path: /x, base: interface}]}}`
  })
  t.match(
    await (await fetch(`${gateway.adminUrl}/agents`)).text(),
    'policy \\"dev-tool\\": the route GET {interface}/x is never reached: the card has no HTTP+JSON interface'
  )
})
