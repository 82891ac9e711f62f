/** The caller in policies, through a real gateway: keys of two callers, both versions and bindings. */
import t from 'tap'
import { EXTENSIONS_HEADER, LEGACY_EXTENSIONS_HEADER } from '#a2a/versions.js'
import type { Answer } from '../helpers/http.js'
import { call, JSON_TYPE, MESSAGE, MESSAGE_03, rpcBody, until, V1 } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import { ACME, basicOf, guarded, USER } from './kit.js'

const U = 'https://x.test/ext/pay/v1'
const POLICY = (more: string): string => `extensions:
  pay:
    uri: ${U}
    owns: {metadata: [$uri, $uri/*]}
    activation: {signals: [header, listed, evidence], callers: {groups: [finance]}${more}}
    methods: {pay.now: {need: none}}
    routes: [{verb: POST, path: /pay, need: none}]
    inject: [{metadata: $uri/by, fromCaller: client}]`
const OPTIONS = {
  agent: { card: (url: string) => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: U }] } }) },
  extra: ['extensions: [pay]']
}
/** In the group finance; nobody. */
const ADA = ['x-api-key', ACME]
const BOB = ['authorization', basicOf('ada', USER)]

interface Side {
  readonly name: string
  readonly header: string
  readonly send: (base: string, message: object, headers: readonly string[]) => Promise<Answer>
}

const post = (url: string, headers: readonly string[], body: string): Promise<Answer> =>
  call(url, { method: 'POST', headers: [...JSON_TYPE, ...headers], body })
const rpcSide = (method: string, common: object, version: readonly string[]): Side['send'] =>
  (base, message, headers) => post(`${base}/rpc`, [...version, ...headers], rpcBody(method, { message: { ...common, ...message } }))
const restSide = (path: string, common: object, version: readonly string[]): Side['send'] =>
  (base, message, headers) => post(base + path, [...version, ...headers], JSON.stringify({ message: { ...common, ...message } }))
const REST_03 = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] }
const SIDES: readonly Side[] = [
  { name: '1.0 JSONRPC', header: EXTENSIONS_HEADER, send: rpcSide('SendMessage', MESSAGE, V1) },
  { name: '0.3 JSONRPC', header: LEGACY_EXTENSIONS_HEADER, send: rpcSide('message/send', MESSAGE_03, []) },
  { name: '1.0 HTTP+JSON', header: EXTENSIONS_HEADER, send: restSide('/rest/message:send', MESSAGE, V1) },
  { name: '0.3 HTTP+JSON', header: LEGACY_EXTENSIONS_HEADER, send: restSide('/rest/v1/message:send', REST_03, ['a2a-version', '0.3']) }
]

t.test('an extension for some callers', async t => {
  for (const strips of [false, true]) {
    const { gateway, agent } = await guarded(t, { ...OPTIONS, root: [POLICY(strips ? ', onForbidden: strip' : ''), 'telemetry: {audit: {enabled: true}}'] })
    for (const { name, header, send } of SIDES) {
      const got = (): string => agent.received.at(-1)?.body.toString() ?? ''
      await send(gateway.url, { metadata: { [`${U}/by`]: 'root' } }, [...ADA, header, U])
      t.match(got(), `"${U}/by":"acme"`, `${name}: the agent knows who calls`)
      t.notMatch(got(), 'root')
      t.equal(agent.received.at(-1)?.headers[header], U)

      const before = agent.received.length
      const bySignal = [
        await send(gateway.url, {}, [...BOB, header, U]),
        await send(gateway.url, {}, [...BOB, header === EXTENSIONS_HEADER ? LEGACY_EXTENSIONS_HEADER : EXTENSIONS_HEADER, `urn:z, ${U}`]),
        await send(gateway.url, { extensions: [U] }, BOB)
      ]
      const byUse = [
        await send(gateway.url, { metadata: { [U]: 1 } }, BOB),
        await post(`${gateway.url}/rpc`, [...V1, ...BOB], rpcBody('pay.now', {})),
        await post(`${gateway.url}/pay`, [...V1, ...BOB], '{}')
      ]
      for (const { text } of [...(strips ? [] : bySignal), ...byUse]) t.match(text, 'EXTENSION_NOT_ALLOWED', name)
      const rejected = strips ? byUse : [...bySignal, ...byUse]
      t.ok(rejected.every(({ headers }) => headers['gateway-decision'] === 'reject;rule="pay/callers"'))
      t.equal(agent.received.length - before, strips ? bySignal.length : 0, 'nothing else reaches the agent')
      for (const { headers, body } of agent.received.slice(before)) t.notMatch(`${JSON.stringify(headers)}${body.toString()}`, U, name)
    }
    await until(() => gateway.audits().some(one => JSON.stringify(one).includes('callers')), 'an audit line')
    const sample = 'a2a_gateway_violations_total{agent="agent",extension="pay",rule="callers",phase="request",mode="enforce"}'
    t.ok(await gateway.metric(sample) > 0)
  }
})
