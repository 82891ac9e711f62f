/** Declaration, activation and requirement of extensions, as the specification describes them. */
import t from 'tap'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, rpcBody, V1 } from '../helpers/http.js'
import { bench, declares, KONAMI } from './kit.js'

const REQUIRED = declares({ uri: KONAMI, required: true })

t.test('a request that asks for no extension reaches the agent byte for byte, without an extension header', async t => {
  const reply = '{ "jsonrpc":"2.0", "id":1,\n"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"\\u006fk"}], "metadata":{"n":1.0}}}}'
  const { agent, gateway } = await bench(t, {
    card: declares({ uri: KONAMI }),
    answer: (_request, response) => { response.writeHead(200, { 'content-type': 'application/json' }).end(reply) }
  })
  const body = `{ "id" : 1,"jsonrpc":"2.0","method":"SendMessage",\n "params":{"message":${JSON.stringify(MESSAGE)}, "metadata":{"n":1.0,"\\u0061":12345678901234567890}}}`
  const got = await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body })
  t.equal(got.text, reply)
  t.equal(agent.received[0]?.body.toString(), body)
  t.notMatch(agent.received[0]?.rawHeaders.join('\n').toLowerCase(), /a2a-extensions/)
})

t.test('the example of the specification passes in both directions as it is written', async t => {
  const request = { message: MESSAGE_03, metadata: { [`${KONAMI}/code`]: 'motherlode' } }
  const { agent, send03 } = await bench(t, {
    card: declares({ uri: KONAMI, description: 'Provide cheat codes to unlock new fortunes', required: false, params: { hints: ['a', 'b'] } }),
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-a2a-extensions': KONAMI })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { ...MESSAGE_03, role: 'agent' } }))
    }
  })
  const got = await send03(request, ['X-A2A-Extensions', KONAMI])
  t.equal(got.headers['x-a2a-extensions'], KONAMI)
  t.match(got.json(), { result: { role: 'agent' } })
  t.equal(agent.received[0]?.headers['x-a2a-extensions'], KONAMI)
  t.equal(agent.received[0]?.body.toString(), rpcBody('message/send', request))
})

t.test('a declaration with params reaches the client unchanged, and its activation changes no request', async t => {
  const gdpr = { uri: 'https://example.com/ext/gdpr/v1', description: 'Where data is kept', params: { region: 'EU', retentionDays: 30, dpo: { mail: 'dpo@example.com' } } }
  const { agent, gateway, send } = await bench(t, { card: declares(gdpr) })
  const card = (await call(`${gateway.url}/.well-known/agent-card.json`)).json()
  t.same(card.capabilities?.extensions, [gdpr])
  const plain = await send()
  const activated = await send(undefined, ['A2A-Extensions', gdpr.uri])
  t.equal(activated.text, plain.text)
  t.equal(agent.received[1]?.body.toString(), agent.received[0]?.body.toString())
  t.equal(agent.received[1]?.headers['a2a-extensions'], gdpr.uri)
})

t.test('a required extension is demanded in every binding and version and of streams, before the agent is called', async t => {
  const { agent, gateway, send, send03, rest } = await bench(t, { card: REQUIRED })
  const missing = { error: { code: -32008, data: [{ reason: 'EXTENSION_SUPPORT_REQUIRED', metadata: { missingExtensions: KONAMI } }] } }
  t.match((await send()).json(), missing)
  t.match((await send(undefined, [], 'SendStreamingMessage')).json(), missing)
  t.match((await send03()).json(), { error: { code: -32008, message: new RegExp(KONAMI) } })
  t.match((await send03(undefined, [], 'message/stream')).json(), { error: { code: -32008 } })
  for (const path of ['/message:send', '/message:stream']) {
    const got = await rest(path, { message: MESSAGE })
    t.equal(got.status, 400)
    t.match(got.json(), { error: { details: [{ reason: 'EXTENSION_SUPPORT_REQUIRED' }] } })
  }
  t.match(
    (await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1, 'accept', 'text/event-stream'], body: rpcBody('SendStreamingMessage', { message: MESSAGE }) })).text,
    /^data: .*-32008/
  )
  t.equal(agent.received.length, 0)
  t.equal((await send(undefined, ['A2A-Extensions', KONAMI])).status, 200)
  t.equal(agent.received.length, 1)
})

t.test('no other way to send a message avoids a required extension', async t => {
  const { agent, gateway, send } = await bench(t, { card: REQUIRED })
  const post = async (path: string, body: string): Promise<string> =>
    (await call(gateway.url + path, { headers: [...JSON_TYPE, ...V1], body })).text
  const sent = rpcBody('SendMessage', { message: MESSAGE })
  const ways: Record<string, string> = {
    batch: await post('/rpc', `[${sent}]`),
    'method in another case': await post('/rpc', rpcBody('sendMessage', { message: MESSAGE })),
    'unknown method': await post('/rpc', rpcBody('SendMessageNow', { message: MESSAGE })),
    'method of another version': await post('/rpc', rpcBody('message/send', { message: MESSAGE_03 })),
    'another path': await post('/RPC', sent),
    'the URI in the message only': (await send({ message: { ...MESSAGE, extensions: [KONAMI] } })).text,
    'a spelling of the route': await post('/rest/message%3Asend/', JSON.stringify({ message: MESSAGE }))
  }
  t.same(Object.entries(ways).filter(([, text]) => !text.includes('"error"')), [])
  t.equal(agent.received.length, 0)
})

t.test('URIs are compared character by character: another spelling or version is another extension', async t => {
  const others = [`${KONAMI}/`, KONAMI.toUpperCase(), KONAMI.replace('https', 'http'), KONAMI.replace('v1', 'v2'), `${KONAMI}#`]
  const { agent, send } = await bench(t, { card: REQUIRED })
  for (const other of others) t.match((await send(undefined, ['A2A-Extensions', other])).json(), { error: { code: -32008 } }, other)
  t.equal(agent.received.length, 0)
})

t.test('another version than the declared one is not activated, and the request is served without it', async t => {
  const v2 = KONAMI.replace('v1', 'v2')
  const root = [
    'extensions:',
    '  konami:',
    `    uri: ${KONAMI}`,
    '    activation: {signals: [header]}',
    '    owns: {metadata: [$uri/*]}',
    '    request: [{id: code, select: {metadata: {in: [params], key: $uri/code}}, count: {min: 1}}]'
  ]
  const forward = await bench(t, { card: declares({ uri: KONAMI }), agent: ['extensions: [konami]'], root })
  t.equal((await forward.send(undefined, ['A2A-Extensions', v2])).json().error, undefined)
  t.equal(forward.agent.received[0]?.headers['a2a-extensions'], v2, 'the agent gets the version that the client named, and no other')
  t.match((await forward.send(undefined, ['A2A-Extensions', KONAMI])).json(), { error: { code: -32602 } }, 'the declared version is enforced')
  const strip = await bench(t, { card: declares({ uri: KONAMI }), agent: ['extensions: [konami]', 'unlistedExtensions: strip'], root })
  t.equal((await strip.send(undefined, ['A2A-Extensions', v2])).json().error, undefined)
  t.equal(strip.agent.received[0]?.headers['a2a-extensions'], undefined)
})

t.test('a rejection links to the specification of the extension', async t => {
  const { send } = await bench(t, { card: REQUIRED })
  const { error } = (await send()).json()
  const help = (error?.data as unknown as Record<string, unknown>[]).find(one => String(one['@type']).endsWith('google.rpc.Help'))
  t.match(help, { links: [{ url: KONAMI }] })
})

t.test('the agent alone decides which requested extensions are activated', async t => {
  const other = 'https://example.com/ext/other/v1'
  let echo: string | null = null
  const { agent, send } = await bench(t, {
    card: declares({ uri: KONAMI }, { uri: other }),
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', ...(echo === null ? {} : { 'a2a-extensions': echo }) })
      response.end('{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}}')
    }
  })
  for (echo of [null, KONAMI, other]) {
    t.equal((await send(undefined, ['A2A-Extensions', `${KONAMI}, ${other}`])).headers['a2a-extensions'], echo ?? undefined)
  }
  t.equal(agent.received.length, 3)
})

t.test('a method that an extension adds passes the same checks as the methods of A2A, with the credentials of the caller', async t => {
  const { agent, send } = await bench(t, {
    card: declares({ uri: KONAMI, required: true }, { uri: 'https://example.com/ext/history/v1' }),
    agent: ['extensions: [history]'],
    root: ['extensions: {history: {uri: "https://example.com/ext/history/v1", methods: {tasks/search: {need: declared}}}}']
  })
  t.match((await send({ query: 'x' }, ['authorization', 'Bearer secret'], 'tasks/search')).json(), { error: { code: -32008 } })
  t.equal(agent.received.length, 0)
  t.equal((await send({ query: 'x' }, ['authorization', 'Bearer secret', 'A2A-Extensions', KONAMI], 'tasks/search')).status, 200)
  t.equal(agent.received[0]?.headers.authorization, 'Bearer secret')
})
