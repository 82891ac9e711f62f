/** The platform's checks of an agent's card, and its additions to the card, which the agent does not know about. */
import t from 'tap'
import { OBJECT_SCHEMAS } from '../policy/fixtures.js'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { call, MESSAGE, rpc, until } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { connect } from '../helpers/sdk-clients.js'
import type { ClientKind } from '../helpers/sdk-clients.js'

quietSdk()

const EXT = 'https://example.com/ext/consent/v1'
const FIGHT = '{type: object, required: [opponent], properties: {opponent: {type: string}}}'
const FIGHT_TYPE = 'application/json;schema=fight'

const cardOf = async (gateway: TestGateway, path = '', version = '1.0'): Promise<Record<string, unknown>> =>
  (await call(`${gateway.url}${path}/.well-known/agent-card.json`, { headers: ['a2a-version', version] })).json()
const about = async (gateway: TestGateway): Promise<About> =>
  ((await (await fetch(`${gateway.adminUrl}/agents`)).json()) as About[])[0] as About

interface About {
  readonly ready: boolean
  readonly card: { readonly warnings: string[]; readonly problem: string | null; readonly changes: object[] }
}

t.test(
  'advertised and required: official clients of both generations see it and must request it, and the agent gets the request',
  async t => {
    for (const [kind, client] of [
      ['v1', 'v1'],
      ['v03', 'v03'],
      ['dual', 'v1'],
      ['dual', 'v03']
    ] as const) {
      const agent = await startAgent({ kind, card: { extensions: [{ uri: 'urn:own' }] } })
      t.teardown(() => agent.close())
      const gateway = await gatewayFor(t, {
        yaml: oneAgent(agent.url, [`card: {advertise: [{uri: "${EXT}", required: true, description: Consent, params: {a: 1}}]}`])
      })
      const entry = { uri: EXT, required: true, description: 'Consent', params: { a: 1 } }
      t.match(
        await cardOf(gateway, '', client === 'v1' ? '1.0' : '0.3'),
        { capabilities: { extensions: [{ uri: 'urn:own' }, entry] } },
        `${kind}, ${client}`
      )
      const cardUrl = `${gateway.url}/.well-known/agent-card.json`
      const plain = await connect({ client: client as ClientKind, transport: 'JSONRPC', cardUrl })
      await t.rejects(plain.send('hello'), { message: /requires an extension .*consent/ })
      t.equal(agent.calls().length, 0, 'nothing has reached the agent')
      const asking = await connect({ client: client as ClientKind, transport: 'JSONRPC', cardUrl, extensions: [EXT] })
      t.ok(await asking.send('hello'))
      const { headers } = agent.calls()[0] ?? { headers: {} as Record<string, string> }
      t.equal(headers[client === 'v1' ? 'a2a-extensions' : 'x-a2a-extensions'], EXT)
      t.match(JSON.stringify(await asking.extendedCard()), EXT, 'the extended card has it too')
    }
  }
)

t.test('schemas of the platform: object schemas for an agent without schemas', async t => {
  for (const [kind, client] of [['v1', 'v1'], ['v03', 'v03'], ['dual', 'v03']] as const) {
    const agent = await startAgent({ kind })
    t.teardown(() => agent.close())
    const gateway = await gatewayFor(t, {
      yaml: oneAgent(agent.url, [`card: {advertise: [{uri: "${OBJECT_SCHEMAS}"}], schemas: {fight: ${FIGHT}}}`])
    })
    t.match(await cardOf(gateway, '', client === 'v1' ? '1.0' : '0.3'), { schemas: { fight: { required: ['opponent'] } } })
    const caller = await connect({
      client: client as ClientKind,
      transport: 'JSONRPC',
      cardUrl: `${gateway.url}/.well-known/agent-card.json`
    })
    await t.rejects(caller.send('fight', { data: {}, mediaType: FIGHT_TYPE }), { message: /opponent is required/ }, kind)
    const refused: unknown = await caller
      .send('fight', { data: {}, mediaType: 'application/json;schema=flight' })
      .catch((error: unknown) => error)
    t.match(`${String(refused)} ${JSON.stringify(refused)}`, /the card declares fight/)
    t.equal(agent.calls().length, 0)
    t.ok(await caller.send('fight', { data: { opponent: 'you' }, mediaType: FIGHT_TYPE }))
  }
})

t.test('an added schema replaces that of the card, and /agents reports it; a reload changes the additions', async t => {
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { capabilities: { extensions: [{ uri: OBJECT_SCHEMAS }] }, schemas: { fight: false, other: true } })
  })
  const yaml = (schema: string): string => oneAgent(agent.url, [`card: {schemas: {fight: ${schema}}}`])
  const gateway = await gatewayFor(t, { yaml: yaml('{type: string}') })
  const send = async (data: unknown): Promise<unknown> =>
    (await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, parts: [{ data, mediaType: FIGHT_TYPE }] } })).json().error
  t.equal(await send('text'), undefined)
  t.match(await send(7), { message: /must be a string/ })
  t.match(await cardOf(gateway), { schemas: { fight: { type: 'string' }, other: true } })
  t.same((await about(gateway)).card.warnings, ['the card\'s own schema "fight" is replaced by that of card.schemas in the configuration'])
  t.match(await gateway.reload(configOf({ yaml: yaml('{type: number}') })), { ok: true, agents: { changed: ['agent'] } })
  t.equal(await send(7), undefined)
  t.match(await send('text'), { message: /must be a number/ })
})

const CHECKED = (onInvalid: string, mode = 'enforce'): string[] => [
  'extensions:',
  `  consent: {uri: "${EXT}", mode: ${mode}, card: {onInvalid: ${onInvalid}, params: {required: [scopes], properties: {scopes: {type: array}}}}}`
]
const SAMPLE = (mode: string): string =>
  `a2a_gateway_violations_total{agent="agent",extension="consent",rule="card-params",phase="card",mode="${mode}"}`

t.test('a card that violates a policy is reported, counted once per card, and still used', async t => {
  for (const [onInvalid, mode] of [['warn', 'enforce'], ['refuse', 'observe']] as const) {
    let params: object = {}
    const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { extensions: [{ uri: EXT, params }] } }) })
    const gateway = await gatewayFor(t, {
      yaml: oneAgent(
        agent.url,
        ['extensions: [consent]', 'card: {refresh: 20ms}'],
        [...CHECKED(onInvalid, mode), 'telemetry: {logs: {level: warn}}']
      )
    })
    const said = `policy "consent" (${EXT}): in the card, capabilities.extensions[0].params.scopes is required`
    t.same((await about(gateway)).card.warnings, [said])
    t.equal((await rpc(`${gateway.url}/rpc`)).json().error, undefined)
    t.match(gateway.logs().filter(line => line.level === 'warn'), [{ msg: `agent agent: ${said}` }])
    t.equal(await gateway.metric(SAMPLE(mode)), 1)
    params = { scopes: [] }
    await until(async () => (await about(gateway)).card.warnings.length === 0)
    params = { scopes: 'all' }
    await until(async () => (await about(gateway)).card.warnings.length === 1)
    t.equal(await gateway.metric(SAMPLE(mode)), 2)
  }
})

t.test('a card that a policy rejects is not used: the last good one stays, if there is one', async t => {
  let params: object = { scopes: [] }
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, { name: JSON.stringify(params), capabilities: { extensions: [{ uri: EXT, params }] } })
  })
  const yaml = oneAgent(agent.url, ['extensions: [consent]', 'card: {refresh: 20ms}'], CHECKED('refuse'))
  const gateway = await gatewayFor(t, { yaml })
  params = {}
  await until(async () => (await about(gateway)).card.problem !== null)
  t.match(
    (await about(gateway)).card.problem,
    /does not contain a usable card: policy "consent" \(.*\): in the card, capabilities\.extensions\[0\]\.params\.scopes is required/
  )
  t.match(await cardOf(gateway), { name: '{"scopes":[]}' })
  t.equal((await rpc(`${gateway.url}/rpc`)).json().error, undefined)
  await until(
    async () => (await gateway.metric('a2a_gateway_card_refreshes_total{agent="agent",outcome="invalid"}')) > 3,
    'the card to be loaded again and again'
  )
  t.equal(await gateway.metric(SAMPLE('enforce')), 1, 'tried again and again, counted once')
  params = { scopes: ['x'] }
  await until(async () => (await about(gateway)).card.problem === null)
  t.match(await cardOf(gateway), { name: '{"scopes":["x"]}' })

  params = {}
  const fresh = await gatewayFor(t, { yaml }, false)
  t.equal((await rpc(`${fresh.url}/rpc`)).status, 503)
  t.equal((await about(fresh)).ready, false)
})

t.test('the served card requires what the gateway requires: always and never', async t => {
  const policies = [
    'extensions:',
    `  always: {uri: "${EXT}", activation: {required: always}}`,
    '  stricter: {uri: "urn:stricter", aliases: [{uri: "urn:strict", relation: same}], activation: {required: always}}',
    '  never: {uri: "urn:never", activation: {required: never}}',
    '  watched: {uri: "urn:watched", mode: observe, activation: {required: always}}'
  ]
  for (const [kind, client] of [['v1', 'v1'], ['v03', 'v03'], ['dual', 'v1'], ['dual', 'v03']] as const) {
    const agent = await startAgent({ kind, card: { extensions: [{ uri: 'urn:strict' }, { uri: 'urn:never', required: true }] } })
    t.teardown(() => agent.close())
    const gateway = await gatewayFor(t, {
      yaml: oneAgent(agent.url, ['extensions: [always, stricter, never, watched]'], policies)
    })
    const { extensions } = (await cardOf(gateway, '', client === 'v1' ? '1.0' : '0.3')).capabilities as {
      extensions: { uri: string; required?: boolean }[]
    }
    t.same(
      extensions.filter(one => one.required === true).map(one => one.uri),
      ['urn:strict', EXT],
      `${kind}, ${client}`
    )
    t.notOk(extensions.some(one => one.uri === 'urn:watched'), 'nothing that is only observed')
    const cardUrl = `${gateway.url}/.well-known/agent-card.json`
    const missing = await connect({ client, transport: 'JSONRPC', cardUrl, extensions: ['urn:strict'] })
    await t.rejects(missing.send('hello'), { message: /requires an extension .*consent/ })
    t.equal(agent.calls().length, 0)
    const asking = await connect({ client, transport: 'JSONRPC', cardUrl, extensions: ['urn:strict', 'urn:never', EXT] })
    t.ok(await asking.send('hello'), 'the agent itself requires urn:never')
    t.match(JSON.stringify(await asking.extendedCard()), EXT, 'the extended card too')
    t.same((await about(gateway)).card.changes, [
      { part: 'extension', name: EXT, change: 'added', by: 'policy "always": activation.required' },
      { part: 'extension', name: 'urn:strict', change: 'required', by: 'policy "stricter": activation.required' },
      { part: 'extension', name: 'urn:never', change: 'optional', by: 'policy "never": activation.required' }
    ])
  }
})

t.test('signatures that the gateway removes are reported', async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, { signatures: [{ protected: 'e30', signature: 'eA' }] }) })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [], ['telemetry: {logs: {level: warn}}']) })
  t.notOk('signatures' in await cardOf(gateway))
  const { card } = await about(gateway)
  t.same(card.changes, [{ part: 'signatures', name: 'signatures', change: 'removed', by: 'card.signature' }])
  t.same(card.warnings, ['the card is signed, and the served card is not: the changed URLs make the signatures invalid'])
  t.match(gateway.logs(), [{ msg: /^agent agent: the card is signed, and the served card is not: / }])
  const verbatim = await gatewayFor(t, { yaml: oneAgent(agent.url, ['card: {signature: verbatim}']) })
  t.match(await cardOf(verbatim), { signatures: [{ signature: 'eA' }] })
  t.match((await about(verbatim)).card, { changes: [], warnings: [] })
})

t.test('a policy that lowers a requirement of the card is in the log and in /agents, and one that says so is not', async t => {
  const agent = await startAgent({ kind: 'v1', card: { extensions: [{ uri: EXT, required: true }] } })
  t.teardown(() => agent.close())
  const run = async (policy: string): Promise<{ warnings: string[], logged: string[], decision: string }> => {
    const gateway = await gatewayFor(t, {
      yaml: oneAgent(agent.url, ['extensions: [object-schemas, consent]'],
        [`extensions: {consent: {uri: "${EXT}", ${policy}}}`, 'telemetry: {logs: {level: warn}}'])
    })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } } })
    const response = await call(`${gateway.url}/a2a/jsonrpc`, { method: 'POST', headers: ['content-type', 'application/json', 'a2a-version', '1.0'], body })
    return {
      warnings: (await about(gateway)).card.warnings.filter(one => one.includes('the card requires')),
      logged: gateway.logs().map(({ msg }) => String(msg)).filter(one => one.includes('the card requires')),
      decision: String(response.headers['gateway-decision'] ?? 'none').replace(/;.*/, '')
    }
  }
  const lowered = await run('mode: observe')
  t.match(lowered, { decision: 'none', warnings: [/mode: observe of the policy "consent".*activation\.required: observe/], logged: [/^agent agent: the card requires/] })
  t.same(await run('mode: observe, activation: {required: observe}'), { warnings: [], logged: [], decision: 'none' })
  const warn = 'request: [{id: r, select: {metadata: {key: $uri}}, required: true, verdict: warn}]'
  t.same(await run(warn), { warnings: [], logged: [], decision: 'reject' })
})
