/** When policies change a request, the explanation shows the agent's request. The test compares it with a real gateway, byte for byte. */
import t from 'tap'
import { dryRunRequest } from '#pipeline/dry-run.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { explanationText } from '#offline/explain/explain-text.js'
import type { Explanation } from '#offline/explain/explanation.js'
import { placeOf, plainRequest, sentHeaders } from '#offline/place.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { loadCardsOnce } from '#agents/card/card-once.js'
import { readTlsFiles } from '#upstream/tls.js'
import type { GatewayOptions } from '../helpers/gateway.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import { fakeAgent, plainCard, rawExchange } from '../helpers/raw.js'
import type { Recorded } from './explain-kit.js'
import { asShown, explaining, http, readAnswer, requestIn, SECRET, SPELLINGS, wire } from './explain-kit.js'

const PASSPORT = 'https://passport.example/v1'
const ACCESS = 'https://access.example/v1'
const TIDY = 'https://tidy.example/v1'
const SIGNED = 'https://signed.example/v1'
const TOKEN = 'token-of-the-platform'

const yaml = (url: string): string => `
agents:
  - {name: edited, path: /edited, upstream: {url: "${url}"}, extensions: [passport, access, tidy, signed]}
  - {name: secret, path: /secret, upstream: {url: "${url}"}, extensions: [{access: {inject: [{metadata: $uri/token, fromSecret: {env: TOKEN}}, {metadata: plain, value: 1}]}}]}
extensions:
  passport:
    uri: ${PASSPORT}
    owns: {metadata: [passport], headers: [x-passport]}
    inactive: {request: strip}
  access:
    uri: ${ACCESS}
    inject: [{metadata: $uri/token, value: {key: ${TOKEN}, limit: 12.50}}]
  tidy:
    uri: ${TIDY}
    request:
      - {id: texts, select: {metadata: {key: note}}, schema: {type: string}, verdict: strip}
      - {id: one-tag, select: {header: x-tag}, count: {max: 1}, verdict: strip}
      - {id: gently, select: {metadata: {key: watched}}, count: {max: 0}, verdict: warn}
  signed: {uri: ${SIGNED}, integrity: verbatim}
`
const card = (url: string): Record<string, unknown> =>
  plainCard(url, { capabilities: { extensions: [PASSPORT, ACCESS, TIDY, SIGNED].map(uri => ({ uri })) } })

interface Case {
  readonly what: string
  readonly agent: '/edited' | '/secret'
  readonly asks: readonly string[]
  readonly headers?: readonly string[]
  readonly metadata: object
  readonly says: Partial<Pick<Explanation, 'decision' | 'rule' | 'edited' | 'verbatim'>>
  readonly removed?: readonly string[]
  readonly text: RegExp
}

const CASES: readonly Case[] = [
  {
    what: 'nothing to change',
    agent: '/edited',
    asks: [],
    metadata: {},
    says: { decision: 'forward', edited: [], verbatim: false },
    text: /^decision {3}forward$/m
  },
  {
    what: 'removed as inactive',
    agent: '/edited',
    asks: [],
    headers: ['X-Passport: 1', 'X_Passport: 2', 'Content-Digest: sha-256=:x:'],
    metadata: { passport: SECRET },
    says: { decision: 'forward', edited: ['passport/inactive'] },
    removed: ['x-passport', 'x_passport', 'content-digest'],
    text: /the extension is not active\n {4}the data of the extension is removed\n[^]*passport\/inactive: violated; the gateway removes the data\n[^]*^decision {3}forward, edited by passport\/inactive\n[^]*^ {2}- x-passport, by the policies$[^]*, edited$/m
  },
  {
    what: 'removed by rules',
    agent: '/edited',
    asks: [],
    headers: ['X-Tag: a', 'X-Tag: b'],
    metadata: { note: 7, watched: 1 },
    says: { decision: 'forward', edited: ['tidy/texts', 'tidy/one-tag'] },
    removed: ['x-tag'],
    text: /texts: violated; the gateway removes the data\n[^]*gently: violated, observed only\n[^]*edited by tidy\/texts, tidy\/one-tag; other violations are only observed\n[^]*- x-tag, some of its lines, by the policies/
  },
  {
    what: 'added',
    agent: '/edited',
    asks: [ACCESS],
    metadata: {},
    says: { decision: 'forward', edited: ['access/inject'] },
    text: /active\n {4}the data of the platform is added\n[^]*edited by access\/inject\n/
  },
  {
    what: 'added and removed',
    agent: '/edited',
    asks: [ACCESS],
    metadata: { [`${ACCESS}/token`]: SECRET, passport: 1, note: 'kept' },
    says: { decision: 'forward', edited: ['passport/inactive', 'access/inject'] },
    text: /the body, \d+ bytes, edited/
  },
  {
    what: 'verbatim',
    agent: '/edited',
    asks: [SIGNED, ACCESS],
    headers: ['Content-Digest: sha-256=:x:', 'X_A2A_Extensions: a'],
    metadata: { note: 'text' },
    says: { decision: 'forward', edited: [], verbatim: true },
    text: /^decision {3}forward, unchanged \(verbatim\); violations are only observed$/m
  },
  {
    what: 'verbatim, and something to remove',
    agent: '/edited',
    asks: [SIGNED],
    metadata: { passport: SECRET },
    says: { decision: 'reject', rule: 'passport/inactive', edited: [], verbatim: false },
    text: /passport\/inactive: violated\n/
  },
  {
    what: 'a secret added',
    agent: '/secret',
    asks: [ACCESS],
    metadata: {},
    says: { decision: 'forward', edited: ['access/inject'] },
    text: /the body, \d+ bytes and a secret, edited/
  },
  {
    what: 'a secret, and nothing to add it to',
    agent: '/secret',
    asks: [],
    metadata: {},
    says: { decision: 'forward', edited: [] },
    text: /the body, \d+ bytes, unchanged/
  }
]

for (const spelling of SPELLINGS) {
  t.test(spelling.name, async t => {
    const agent = await fakeAgent(t, { card })
    const options: GatewayOptions = { yaml: yaml(agent.url), env: { TOKEN } }
    const gateway = await gatewayFor(t, options)
    const explain = explaining(options)
    for (const { what, agent: path, asks, headers = [], metadata, says, removed = [], text } of CASES) {
      // Blanks and digits that no parser would write again.
      const body = spelling
        .body({ big: 'BIG', ...metadata })
        .replace('"BIG"', ' 12345678901234567890.0 ')
        .replace('"metadata":', '"metadata" : ')
      const recorded = http(
        what,
        `POST ${path}${spelling.path}`,
        [...spelling.lines, ...asks.map(uri => `${spelling.extensions}: ${uri}`), ...headers],
        body
      )
      const explanation = await explain(recorded)
      t.match(explanation, says, what)
      t.match(explanationText(explanation), text, what)
      t.notMatch(JSON.stringify(explanation) + explanationText(explanation), new RegExp(`${SECRET}|${TOKEN}`), `${what}: no value shows`)

      const before = agent.received.length
      const answer = readAnswer(await rawExchange(gateway.url, wire(recorded.text)))
      const [got] = agent.received.slice(before)
      const { forwarded, refusal } = explanation
      if (forwarded === null) {
        t.same(
          answer,
          { line: `HTTP/1.1 ${refusal?.status} ${refusal?.phrase}`, headers: refusal?.headers, body: refusal?.body },
          `${what}: refused with the same bytes`
        )
        t.equal(got, undefined)
        continue
      }
      if (got === undefined) return t.fail(`${what}: the agent received nothing`)
      const shown = asShown(requestIn(recorded), got.rawHeaders)
      t.same(forwarded.removed, removed, `${what}: removed`)
      t.equal(forwarded.body.unchanged, got.body.equals(requestIn(recorded).body), what)
      const offline = await bodyOffline(options, recorded)
      if (says.edited?.length !== 0 && path === '/secret') {
        t.equal(offline, got.body.toString().replace(JSON.stringify(TOKEN), SECRET_HIDDEN()), `${what}: the bytes but for the secret`)
        t.match(
          forwarded.body,
          { bytes: got.body.length - JSON.stringify(TOKEN).length, secret: true },
          `${what}: its length does not show`
        )
        t.same(
          { ...shown, headers: shown.headers.map(one => (one.name === 'content-length' ? { ...one, value: '(with the secret)' } : one)) },
          { headers: forwarded.headers, dropped: forwarded.dropped },
          `${what}: headers`
        )
      } else {
        t.equal(offline, got.body.toString(), `${what}: the bytes`)
        t.match(forwarded.body, { bytes: got.body.length, secret: false }, what)
        t.same(shown, { headers: forwarded.headers, dropped: forwarded.dropped }, `${what}: headers`)
      }
    }
  })
}

/** The body as the explanation's decision has it; of the explanation itself only its length can be seen. */
async function bodyOffline (options: GatewayOptions, recorded: Recorded): Promise<string> {
  const { agents, limits } = configOf(options)
  const request = requestIn(recorded)
  const sent = { ...request, headers: sentHeaders(request, []) }
  const place = placeOf(sent, agents, null)
  if (place === null) throw new Error('no agent is served there')
  const loaded = await loadCardsOnce(place.config, limits, readTlsFiles(place.config.upstream.tls), {})
  if (!loaded.ok) throw new Error(loaded.problem)
  const state = buildAgentState(loaded.cards, {
    agent: place.config,
    maxExtensions: limits.extensions,
    previous: null,
    secretOf: SECRET_HIDDEN
  })
  return dryRunRequest({ config: place.config, state }, plainRequest(sent, place.path, state), limits).forwarded?.body?.toString() ?? ''
}
