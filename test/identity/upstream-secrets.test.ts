/** No output of a gateway has a secret, a token or a signed header of `upstream.credentials`, whatever happens. */
import t from 'tap'
import { call, MESSAGE, rpc, until } from '../helpers/http.js'
import { issuerFor, jwtSource, keyOf } from './issuer.js'
import { ACME, guarded, PARTNERS } from './kit.js'
import { identityKeys } from './signing-keys.js'
import { sendJson, tokenEndpoint } from './token-endpoint.js'

const MARKS = { static: 'canary-static', client: 'canary-client', actor: 'canary-actor', token: 'canary-token', words: 'canary-words' }

t.test('canaries', async t => {
  const endpoint = await tokenEndpoint(t)
  const key = await keyOf('a')
  const issuer = await issuerFor(t, [key])
  const { ec } = await identityKeys()
  const { agent, gateway } = await guarded(t, {
    sources: [PARTNERS, jwtSource('corp', issuer.url)],
    upstream: [
      'credentials: {send: [{header: x-agent-key, fromSecret: {env: STATIC}},',
      `{exchange: {endpoint: "${endpoint.url}", client: {id: gw, secret: {env: CLIENT}}, audience: a, actorToken: {env: ACTOR}}, for: [corp]}],`,
      'identity: {key: {file: key.pem}}}'
    ].join(' '),
    root: [
      'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", publicUrl: "https://agents.example.com", console: {enabled: true}}',
      'telemetry: {logs: {level: trace}, audit: {forwarded: true}, traces: {enabled: true}}'
    ],
    env: { STATIC: MARKS.static, CLIENT: MARKS.client, ACTOR: MARKS.actor, OTEL_TRACES_EXPORTER: 'console' },
    files: { 'key.pem': ec }
  })
  const outputs: string[] = []
  const send = async (...headers: string[]): Promise<number> => {
    const answer = await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: MESSAGE }, headers)
    outputs.push(answer.text, JSON.stringify(answer.rawHeaders))
    return answer.status
  }
  const callerToken = async (sub: string): Promise<string> => `Bearer ${await issuer.token(key, { sub })}`
  endpoint.answer = (_call, response) => { sendJson(response, { access_token: MARKS.token, token_type: 'bearer', expires_in: 300 }) }
  t.equal(await send('authorization', await callerToken('ada')), 200)
  const [reached] = agent.received
  const secrets = [...Object.values(MARKS).slice(0, 3), MARKS.token, String(reached?.headers['gateway-identity']).split('.')[2] ?? '']
  t.same([reached?.headers['x-agent-key'], reached?.headers.authorization], [MARKS.static, `Bearer ${MARKS.token}`], 'the agent gets them')
  t.equal(endpoint.calls[0]?.form.get('actor_token'), MARKS.actor)
  t.equal(await send('x-api-key', ACME), 200)

  endpoint.answer = (_call, response) => {
    sendJson(response, { error: 'invalid_grant', error_description: MARKS.words }, 400)
  }
  const mallory = await callerToken('mallory')
  t.equal(await send('authorization', mallory), 401)
  endpoint.answer = (_call, response) => {
    response.writeHead(400, { 'content-type': 'application/json', 'x-words': MARKS.words }).end(`{"error":"${MARKS.words}","token":"${MARKS.client}"}`)
  }
  t.equal(await send('authorization', await callerToken('eve')), 502)
  await endpoint.stop()
  t.equal(await send('authorization', await callerToken('bob')), 502)
  agent.server.close()
  agent.server.closeAllConnections()
  t.equal(await send('x-api-key', ACME), 502, 'an agent that is gone')
  t.equal((await call(`${gateway.url}/.well-known/jwks.json`)).status, 200)

  const pages = ['status', 'overview', 'extensions', 'series', 'agent?name=agent', 'card?name=agent'].map(name => `/console/api/${name}`)
  for (const path of ['/agents', '/metrics', '/readyz', ...pages]) {
    const response = await fetch(gateway.adminUrl + path)
    t.ok(response.status === 200 || path === '/readyz', path)
    outputs.push(await response.text())
  }
  const decisions = await fetch(`${gateway.adminUrl}/console/api/decisions`)
  let shown = ''
  for await (const chunk of decisions.body as AsyncIterable<Uint8Array>) {
    shown += Buffer.from(chunk).toString()
    if (shown.includes('gateway/exchange') && shown.includes('gateway/upstream-credentials')) break
  }
  outputs.push(shown)
  await until(() => gateway.audits().length >= 3 && gateway.spans().length >= 3)
  outputs.push(JSON.stringify(gateway.logs()), JSON.stringify(gateway.audits()), JSON.stringify(gateway.spans()))
  t.ok(gateway.logs().length > 5, 'there was something to read')
  const all = outputs.join('\n')
  for (const mark of [...secrets, ...Object.values(MARKS), mallory.split('.')[2] ?? '', 'BEGIN PRIVATE']) {
    t.ok(mark.length > 5 && !all.includes(mark), mark.slice(0, 20))
  }
})
