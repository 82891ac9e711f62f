/** Headers that only the gateway writes: no client gets its own past the gateway, with any credentials and on any path. */
import fc from 'fast-check'
import t from 'tap'
import { plainHeaderName } from '../../src/wire/header-names.js'
import { rawExchange } from '../helpers/raw.js'
import { checkAsync } from '../helpers/seed.js'
import { ACME, basicOf, guarded, USER } from './kit.js'
import { identityKeys } from './signing-keys.js'

const CANARY = 'smuggled'
const SECRET = 'the-secret-of-the-gateway'

const UPSTREAM = [
  'credentials: {client: forward, send: [{header: X-Agent-Key, fromSecret: {env: KEY}, for: [partners]},',
  '{header: authorization, fromSecret: {env: KEY}, prefix: "Key ", for: [partners]}], identity: {key: {file: key.pem}}}'
].join(' ')
const ROOT = ['server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", publicUrl: "https://agents.example.com"}']

t.test('plain names', t => {
  for (const name of ['gateway-identity', 'Gateway-Identity', 'gateway_identity', 'GATEWAY_identity', 'gateway.identity', 'gateway~identity', 'gateway!Identity']) {
    t.equal(plainHeaderName(name), 'gateway-identity', name)
  }
  t.equal(plainHeaderName('gatewayidentity'), 'gatewayidentity')
  t.end()
})

t.test('smuggled headers', async t => {
  const files = { 'key.pem': (await identityKeys()).ec }
  const options = { upstream: UPSTREAM, root: ROOT, env: { KEY: SECRET }, files }
  const states = [
    await guarded(t, { ...options, extra: ['passthrough: [/docs, /rest]'] }),
    await guarded(t, { ...options, agent: { card: () => ({}) }, extra: ['passthrough: [/docs]', 'card: {onUnavailable: forward}'], waitReady: false })
  ]
  const own = ['gateway-identity', 'x-agent-key', 'authorization']
  const spelled = fc.tuple(fc.constantFrom(...own), fc.array(fc.constantFrom('-', '_', '.', '~'), { minLength: 2, maxLength: 2 }), fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }))
    .map(([name, marks, upper]) => name.split('-').reduce((text, part, i) => text + (i === 0 ? '' : marks[i - 1] ?? '-') + part, '')
      .split('').map((char, i) => (upper[i] === true ? char.toUpperCase() : char)).join(''))
  const line = spelled.chain(name => fc.constantFrom(`${name}: ${CANARY}`, `connection: ${name}\r\n${name}: ${CANARY}`, `${name}: ${CANARY}\r\n${name}: ${CANARY}2`))
  const caller = fc.constantFrom(`x-api-key: ${ACME}`, `authorization: ${basicOf('ada', USER)}`)
  const target = fc.constantFrom(
    ['POST', '/rpc', '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"1"}}'],
    ['GET', '/rest/tasks/1', ''], ['GET', '/docs/x', ''], ['POST', '/docs/x', 'x'], ['OPTIONS', '/rpc', '']
  )
  const request = fc.tuple(fc.nat(1), target, caller, fc.array(line, { minLength: 1, maxLength: 3 }))
  await checkAsync('identity/upstream-headers/smuggled', fc.asyncProperty(request, async ([state, [verb, path, body], who, lines]) => {
    const { agent, gateway } = states[state] as (typeof states)[number]
    const preflight = verb === 'OPTIONS' ? 'origin: https://page.example\r\naccess-control-request-method: POST\r\n' : `${who}\r\n`
    const before = agent.received.length
    await rawExchange(gateway.url, [
      `${verb} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n`,
      body === '' ? '' : `content-length: ${body?.length}\r\n`, preflight, ...lines.map(one => `${one}\r\n`), '\r\n', body
    ].join(''), { until: 'close' })
    for (const { rawHeaders } of agent.received.slice(before)) {
      const text = JSON.stringify(rawHeaders)
      if (text.includes(CANARY)) throw new Error(text)
    }
  }), { numRuns: 300 })
  for (const { agent } of states) t.ok(agent.received.length > 50, 'requests reached the agent')
  const [withCard] = states
  const partner = withCard?.agent.received.find(({ headers }) => headers['x-agent-key'] !== undefined)
  t.equal(partner?.headers['x-agent-key'], SECRET)
  t.equal(partner?.headers.authorization, `Key ${SECRET}`)
  t.type(partner?.headers['gateway-identity'], 'string')
  const preflights = withCard?.agent.received.filter(({ method }) => method === 'OPTIONS') ?? []
  t.ok(preflights.length > 0 && preflights.every(({ headers }) => own.every(name => headers[name] === undefined)), 'a request without a caller gets nothing')
})
