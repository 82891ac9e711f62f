/** `check --live` with agents of the official SDKs, and with hand-written cards that no SDK would serve. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { runCheck } from '#cli/check.js'
import { startAgent } from '../helpers/agents.js'
import type { AgentKind, CardOptions } from '../helpers/agents.js'
import { plainCard } from '../helpers/raw.js'
import { sentencesOf, unsaid } from '../helpers/sentences.js'

const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
const printed: string[] = []

async function check (t: Test, agents: string, more = '', files: Record<string, string> = {}, live = true): Promise<{ code: number, lines: string[] }> {
  const directory = t.testdir({ 'g.yaml': `version: 1\nagents:\n${agents}${more}`, ...files })
  const lines: string[] = []
  const code = await runCheck(
    { config: join(directory, 'g.yaml'), live, env: { A: 'x' } },
    {
      out: text => {
        lines.push(text.trimEnd().replaceAll(`${directory}/`, ''))
      },
      err: text => {
        lines.push(text)
      }
    }
  )
  printed.push(...lines)
  return { code, lines }
}

async function sdkAgent (t: Test, kind: AgentKind, card: CardOptions): Promise<string> {
  const agent = await startAgent({ kind, card })
  t.teardown(() => agent.close())
  return agent.url
}

/** Serves one card for each version. */
async function serve (t: Test, plain: unknown, v1 = plain, delay = 0): Promise<{ url: string, busiest: () => number }> {
  let [now, busiest] = [0, 0]
  const server = createServer((req, res) => {
    busiest = Math.max(busiest, ++now)
    setTimeout(() => {
      now--
      res.end(JSON.stringify(req.headers['a2a-version'] === '1.0' ? v1 : plain))
    }, delay)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, busiest: () => busiest }
}

t.test('an agent that gets no credentials, although its card asks for some', async t => {
  const secured = (extra: object): object => ({ ...plainCard('http://127.0.0.1:1'), ...extra })
  const identity = 'identity: {sources: {s: {jwt: {issuer: "https://idp.example.com", audience: [a], keys: discover}}}}\n'
  const found = async (card: object, credentials = '', more = identity): Promise<boolean> => {
    const { url } = await serve(t, card)
    const { lines } = await check(t, `  - {name: a, upstream: {url: "${url}"${credentials}}}\n`, more)
    return lines.some(line => /the card asks for credentials, but the gateway removes those of callers/.test(line))
  }
  const v1 = secured({ securityRequirements: [{ schemes: { bearer: { list: [] } } }] })
  t.equal(await found(v1), true)
  t.equal(await found(secured({ security: [{ bearer: [] }] })), true)
  t.equal(await found(secured({})), false)
  t.equal(await found(secured({ security: [{ bearer: [] }, {}] })), false, 'nobody needs credentials')
  t.equal(await found(v1, ', credentials: {client: forward}'), false)
  t.equal(await found(v1, ', credentials: {send: [{header: x-a, fromSecret: {env: A}}]}'), false)
  t.equal(await found(v1, '', ''), false, 'without identity, the gateway removes nothing')
})

t.test('agents of the SDKs', async t => {
  const url = await sdkAgent(t, 'v1', { extensions: [{ uri: 'urn:one/v1', required: true }], inputModes: ['text/plain'] })
  const dual = await sdkAgent(t, 'dual', {
    extensions: [{ uri: OBJECT_SCHEMAS, params: { schemas: { order: { type: 'object' } } } }],
    inputModes: ['application/json;schema=oder', 'text/plain']
  })
  const old = await sdkAgent(t, 'v03', {
    extensions: [{ uri: OBJECT_SCHEMAS }],
    schemas: { order: { type: 'object', pattern: '(?=x)' } },
    inputModes: ['application/json;schema=order', 'text/plain']
  })
  const { code, lines } = await check(t, `
  - {name: one, path: /one, upstream: {url: "${url}"}}
  - {name: dual, path: /dual, upstream: {url: "${dual}"}}
  - {name: old, path: /old, upstream: {url: "${old}"}, extensions: [object-schemas, two]}
`, 'extensions: {two: {uri: "urn:two/v1"}}\n')
  t.same(lines, [
    `agent one: card ${url}/.well-known/agent-card.json: warning: /capabilities/extensions/0 requires "urn:one/v1", and no policy is for it: the gateway rejects clients that do not request it, and validates no data of it (write a policy for its data; if it only adds data to the card, write required: false in the card)`,
    `agent dual: card ${dual}/.well-known/agent-card.json: warning: defaultInputModes[0] names the schema "oder", which the card does not declare (did you mean "order"?)`,
    `agent dual: card ${dual}/.well-known/agent-card.json: warning: no input or output mode names the schema "order" at "/capabilities/extensions/0/params/schemas/order" (clients find it through application/json;schema=NAME in defaultInputModes or the modes of a skill)`,
    `agent old: card ${old}/.well-known/agent-card.json: warning: schema at /schemas/order/pattern cannot be used: the pattern "(?=x)" cannot run in linear time: look-ahead (?= is not supported; data that names it is rejected (fix the card, or replace the schema with card.schemas)`,
    `agent old: card ${old}/.well-known/agent-card.json: warning: the key "schemas" at the root of the card is not a field of AgentCard: typed parsers drop it (it could be in /capabilities/extensions/0/params/schemas)`,
    `agent old: card ${old}/.well-known/agent-card.json: warning: policy "two" applies to "urn:two/v1", which the card does not declare (it declares "${OBJECT_SCHEMAS}")`,
    'g.yaml: ok: 3 agents, 2 policies'
  ])
  t.equal(code, 0, 'warnings are no failure')
})

t.test('a signed card', async t => {
  const { url } = await serve(t, { name: 'a', url: 'http://a.test/rpc', signatures: [{ protected: 'e30', signature: 'eA' }] })
  const agent = (card: string): string => `  - {name: a, upstream: {url: "${url}"}${card}}\n`
  const { code, lines } = await check(t, agent(''))
  t.same([code, lines], [0, [
    `agent a: card ${url}/.well-known/agent-card.json: warning: the card is signed, and the served card is not: the changed URLs make the signatures invalid (clients that verify signatures need card.signature: verbatim, and an agent that knows its public address)`,
    'g.yaml: ok: 1 agent, 1 policy'
  ]])
  t.same((await check(t, agent(', card: {signature: verbatim}'))).lines, ['g.yaml: ok: 1 agent, 1 policy'])
})

t.test('cards written by hand', async t => {
  const interfaces = [
    { url: 'http://a.test/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: 'http://a.test//x', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: 'http://a.test:9/', protocolBinding: 'GRPC', protocolVersion: '1.0' }
  ]
  const v1 = {
    name: 'a',
    supportedInterfaces: interfaces,
    capabilities: { extensions: [{ uri: 'urn:a,b' }, { uri: 'urn:c\u0007\n\u202e' }, { required: true }, { uri: 'urn:twin/v1' }] }
  }
  const v03 = { name: 'a', url: 'http://a.test/rpc', extensions: [{ uri: 'urn:root/v1', required: 'yes' }] }
  const { url } = await serve(t, v03, v1)
  const { code, lines } = await check(t, `  - {name: a, upstream: {url: "${url}"}}\n`)
  const before = `agent a: card ${url}/.well-known/agent-card.json: warning: `
  t.same(
    lines.map(line => line.replace(before, '')),
    [
      'GRPC 1.0 http://a.test:9/: gRPC clients need host:port, and no URL (fix the card)',
      'capabilities.extensions[0]: "urn:a,b" cannot be named in a header (comma, space, control or non-ASCII character): the gateway ignores it (fix the card)',
      'capabilities.extensions[1]: "urn:c??\\u202e" cannot be named in a header (comma, space, control or non-ASCII character): the gateway ignores it (fix the card)',
      'capabilities.extensions[2] has no URI; the gateway ignores the entry (fix the card)',
      'extensions are declared at the root of the card; they belong in "capabilities.extensions" (fix the card)',
      'extensions[0] (urn:root/v1): "required" is not a boolean; the gateway treats it as true (fix the card)',
      'HTTP+JSON 1.0 http://a.test//x is not served: the path contains an empty segment ("//") (fix the card)',
      'GRPC 1.0 http://a.test:9/ is not served: the gateway has no gRPC listener for the agent (server.grpc.listen, or agents[].grpc) (set server.grpc.listen, or close this port of the agent: calls to it bypass the gateway)',
      '/capabilities/extensions/1/uri contains invisible characters: U+0007, U+202E (remove the characters; card.texts: strip removes them from the served card)',
      'only the card for 0.3 declares "urn:root/v1" (the card of its version applies to each client)',
      'only the card for 1.0 declares "urn:twin/v1" (the card of its version applies to each client)',
      '/extensions/0 requires "urn:root/v1", and no policy is for it: the gateway rejects clients that do not request it, and validates no data of it (write a policy for its data; if it only adds data to the card, write required: false in the card)',
      'g.yaml: ok: 1 agent, 1 policy'
    ]
  )
  t.equal(code, 0)
})

t.test('an agent that cannot be reached, or whose card cannot be used, is a failure', async t => {
  const good = await serve(t, { name: 'a', url: 'http://a.test/rpc' })
  const unrouted = await serve(t, { name: 'a', url: 'http://a.test/.well-known/agent-card.json' })
  const none = await serve(t, { name: 'a' })
  const odd = await serve(t, {
    name: 'a',
    url: 'http://a.test/rpc',
    ...Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`x-${index}`, 1]))
  })
  const { code, lines } = await check(t, `
  - {name: good, path: /good, upstream: {url: "${good.url}"}}
  - {name: away, path: /away, upstream: {url: "http://127.0.0.1:1"}}
  - {name: unrouted, path: /unrouted, upstream: {url: "${unrouted.url}"}}
  - {name: none, path: /none, upstream: {url: "${none.url}"}}
  - {name: odd, path: /odd, upstream: {url: "${odd.url}"}}
`)
  t.equal(code, 1)
  t.equal(lines.length, 54)
  t.same(lines.slice(0, 3), [
    'agent away: card http://127.0.0.1:1/.well-known/agent-card.json cannot be reached: connection refused (ECONNREFUSED) (set card.url or card.file to the location of the card) [A2AGW_ERR_CARD]',
    `agent unrouted: card ${unrouted.url}/.well-known/agent-card.json: no interface of the card can be routed: JSONRPC 0.3 http://a.test/.well-known/agent-card.json is not served: the gateway serves the card at that path (the gateway would reject every call) [A2AGW_ERR_CARD]`,
    `agent none: card ${none.url}/.well-known/agent-card.json does not contain a usable card: the card names no interface: it has neither "supportedInterfaces" nor "url" (set card.url or card.file to the location of the card) [A2AGW_ERR_CARD]`
  ])
  t.equal(lines.at(-1), `agent odd: card ${odd.url}/.well-known/agent-card.json: warning: 10 more warnings not shown (fix these first)`)
})

t.test('agents of gRPC', async t => {
  const grpc = (url: string): object => ({ url, protocolBinding: 'GRPC', protocolVersion: '1.0' })
  const only = await serve(t, { name: 'a', supportedInterfaces: [grpc('a.test:50051')] })
  t.same(await check(t, `  - {name: a, upstream: {url: "${only.url}"}}\n`), {
    code: 1,
    lines: [
      `agent a: card ${only.url}/.well-known/agent-card.json: the card names only gRPC interfaces: GRPC 1.0 a.test:50051 is not served: the gateway has no gRPC listener for the agent (server.grpc.listen, or agents[].grpc); clients that call the agent's own port bypass the gateway (set server.grpc.listen: the gateway would reject every call with 501) [A2AGW_ERR_CARD]`
    ]
  })
  const odd = await serve(t, { name: 'a', supportedInterfaces: [grpc('https://a.test/a2a'), { ...grpc(''), url: 'http://a.test/', protocolBinding: 'JSONRPC' }] })
  const listen = ', grpc: {listen: ":9", publicAddress: "a.test:443"'
  const { code, lines } = await check(t, `  - {name: a, upstream: {url: "${odd.url}"}${listen}}}\n`)
  t.equal(code, 0)
  t.match(lines.filter(line => line.includes('is not served')), [
    /GRPC 1\.0 https:\/\/a\.test\/a2a is not served: its URL has a path, and gRPC clients need host:port; .* \(set grpc\.upstream of the agent\)$/
  ])
  const named = await check(t, `  - {name: a, upstream: {url: "${odd.url}"}${listen}, upstream: "grpc://127.0.0.1:50051"}}\n`)
  t.same(named.lines.filter(line => line.includes('is not served')), [])
})

t.test('security schemes', async t => {
  const KEYS = `- {id: a, sha256: ${'a'.repeat(64)}}`
  const schemes = {
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      google: { type: 'openIdConnect', openIdConnectUrl: 'https://accounts.google.com/.well-known/openid-configuration' }
    }
  }
  const plain = { name: 'a', url: 'http://a.test/rpc', ...schemes, security: [{ key: [] }] }
  const { url } = await serve(t, plain)
  const jwt = '{jwt: {issuer: "https://accounts.google.com", audience: ["https://agents.example.com/"], keys: discover}}'
  t.same(await check(t, `  - {name: a, upstream: {url: "${url}"}}\n`), {
    code: 0,
    lines: [
      `agent a: card ${url}/.well-known/agent-card.json: warning: the gateway does not verify the credentials of the card's security schemes: "key" (apiKey in header "X-Key"), "google" (openIdConnect) (to verify callers here, adapt: identity: {sources: {key: {apiKey: {header: X-Key, keys: {file: secrets/key.yaml}}}, google: ${jwt}}})`,
      'g.yaml: ok: 1 agent, 1 policy'
    ]
  })
  const skills = [{ id: 'pay', security: [{ key: [] }] }]
  const odd = await serve(t, { ...plain, security: [{ key: ['read'] }, {}, { google: [] }], skills })
  const bare = await serve(t, { ...plain, securitySchemes: {}, security: [{ none: [] }] })
  const crowd = await serve(t, { ...plain, securitySchemes: Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`s${i}`, { type: 'http', scheme: 'digest' }])), security: undefined })
  const { code, lines } = await check(t, [
    `  - {name: any, path: /any, upstream: {url: "${url}"}}`,
    `  - {name: odd, path: /odd, upstream: {url: "${odd.url}"}, access: {require: card}}`,
    `  - {name: bare, path: /bare, upstream: {url: "${bare.url}"}, access: {require: card}}`,
    `  - {name: crowd, path: /crowd, upstream: {url: "${crowd.url}"}}`,
    'identity: {sources: {partners: {apiKey: {header: x-key, keys: {file: keys.yaml}}}}}',
    ''
  ].join('\n'), '', { 'keys.yaml': KEYS })
  t.equal(code, 0)
  const sent = 'the card asks for credentials, but the gateway removes those of callers and sends none itself (set upstream.credentials.send, or upstream.credentials.client: forward)'
  const of = (name: string): string[] =>
    lines.filter(line => line.startsWith(`agent ${name}:`)).map(line => line.replace(/^.*?warning: /, '')).filter(line => line !== sent)
  const propose = `(to verify callers here, adapt: identity: {sources: {google: ${jwt}}})`
  t.same(of('any'), [`no source of identity covers the security schemes "google" (openIdConnect) of the card ${propose}`])
  t.same(of('odd'), [
    `access.require: card: no source of identity covers "google" (openIdConnect) ${propose}`,
    'access.require: card: the card accepts callers without credentials (write access.require as a list if that is not intended)',
    'access.require: card: the card requires scopes, which this key does not enforce (name the scopes in access.allow)',
    'the skills "pay" have separate security requirements, which are not enforced: a request names no skill (give skills with other callers a separate agent)'
  ])
  t.same(of('bare'), [
    'access.require: card: no source of identity covers "none" (which the card does not define) (compare the card with identity.sources, or write access.require)',
    'the agent accepts no caller: no caller can satisfy an alternative of access.require (compare the card with identity.sources, or write access.require)'
  ])
  t.match(of('crowd'), [/^no source of identity covers the security schemes "s0" .* of the card/])
  const none = await check(t, `  - {name: a, upstream: {url: "${crowd.url}"}}\n`)
  t.equal(none.lines.length, 1, 'nothing to propose')
})

t.test('many agents are requested in parallel, but not all at once', async t => {
  const { url, busiest } = await serve(t, { name: 'a', url: 'http://a.test/rpc' }, undefined, 30)
  const { code, lines } = await check(
    t,
    Array.from({ length: 40 }, (_, index) => `  - {name: a${index}, path: /${index}, upstream: {url: "${url}"}}\n`).join('')
  )
  t.same([code, lines], [0, ['g.yaml: ok: 40 agents, 1 policy']])
  t.ok(busiest() > 2 && busiest() <= 16, `${busiest()} at once: two of each agent`)
})

t.test('no agent is requested for a file with problems', async t => {
  t.same(await check(t, '  - {name: a, upstream: {url: "http://127.0.0.1:1"}, mode: on}\n'), {
    code: 1,
    lines: ['g.yaml:3:60: agents[0].mode must be one of enforce, observe, off, not "on" [A2AGW_ERR_CONFIG_VALUE]']
  })
})

t.test('a policy and a list that lower what the card declares, with the card at hand and without', async t => {
  const url = 'https://example.com/ext/a/v1'
  const card = { ...plainCard('http://127.0.0.1:1'), capabilities: { extensions: [{ uri: url, required: true }, { uri: OBJECT_SCHEMAS }] }, schemas: {} }
  const { url: upstream } = await serve(t, card)
  const policy = (more: string): string => `extensions:\n  consent: {uri: "${url}", ${more}}\n`
  const agent = (more: string): string => `  - {name: a, upstream: {url: "${upstream}"}, ${more}}\n`
  const found = [/the card requires "https:\/\/example\.com\/ext\/a\/v1"; because of mode: observe of the policy "consent"/, /leaves out "object-schemas"/]

  const live = await check(t, agent('extensions: [consent]'), policy('mode: observe'))
  t.equal(live.code, 0)
  for (const one of found) t.equal(live.lines.filter(line => one.test(line)).length, 1, `${String(one)} in ${live.lines.join('\n')}`)
  t.notMatch(live.lines.join('\n'), /does not use the policy "object-schemas" for it/, 'says it once')

  const files = { 'card.json': JSON.stringify(card) }
  const offline = await check(t, agent('extensions: [consent], card: {file: card.json}'), policy('mode: observe'), files, false)
  t.equal(offline.code, 0)
  for (const one of found) t.equal(offline.lines.filter(line => one.test(line) && line.includes('card.json') && line.includes('warning: ')).length, 1, String(one))
  const kept = await check(t, agent('extensions: [object-schemas, consent], card: {file: card.json}'), policy('request: []'), files, false)
  t.same(kept.lines, ['g.yaml: ok: 1 agent, 2 policies'])

  const unread = await check(t, agent('extensions: [consent]'), policy('mode: observe'), {}, false)
  t.same(unread.lines, [
    'note: check did not read the card of agent "a". Run check --live to see whether these settings lower what the card declares: mode: observe of policy consent, extensions without object-schemas',
    'g.yaml: ok: 1 agent, 1 policy'
  ])
  t.same((await check(t, agent('mode: enforce'), '', {}, false)).lines, ['g.yaml: ok: 1 agent, 1 policy'])
  const intended = await check(t, agent('extensions: [{object-schemas: {mode: off, activation: {required: never}}}, consent]'), policy('mode: observe, activation: {required: observe}'), {}, false)
  t.same(intended.lines, ['g.yaml: ok: 1 agent, 2 policies'])
})

t.test('every message has been printed', async t => {
  const elsewhere = ['the files of upstream.tls changed while they were read', 'upstream.tls: …']
  t.same(unsaid(sentencesOf('src/cli/live.ts').filter(({ text }) => !elsewhere.includes(text)), printed), [])
})
