/** The directory of agents on the main listener (`server.console.public`). */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { Test } from 'tap'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import { call, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'
import { ACME, guarded } from '../identity/kit.js'
import { application, configuration, listen } from '../plugin/kit.js'

const OPEN = 'https://example.com/ext/open/v1'
const SECRET = 'https://example.com/ext/secret/v1'
const REQUIRED = 'https://example.com/ext/required/v1'
const skill = (id: string, more: object = {}): object => ({ id, name: `Skill ${id}`, description: `It does ${id}.`, tags: [], ...more })

const card = (url: string): Record<string, unknown> => plainCard(url, {
  name: 'Billing & more',
  capabilities: {
    streaming: true,
    extensions: [{ uri: OPEN, description: 'An open one.' }, { uri: SECRET, params: { endpoint: 'internal' } }, { uri: REQUIRED, required: true }]
  },
  skills: [skill('status', { examples: ["What's the status?"] }), skill('pay')],
  schemas: { invoice: { type: 'object', required: ['number'], properties: { number: { type: 'string' } } } },
  securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } }
})

const server = (path = '/catalogue', more = ''): string =>
  `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, console: {public: ${path}}${more}}`
const entry = (agent: FakeAgent, name: string, more = ''): string => `  - {name: ${name}, path: /${name}, upstream: {url: "${agent.url}"}${more}}`
const HTML = ['accept', 'text/html,application/xhtml+xml,*/*;q=0.8']
const names = ({ text }: Answer): unknown[] => [...text.matchAll(/<h2><bdi>([^<]*)/g)].map(([, name]) => name)

/** The first `pre` of the page as text, as a reader copies it. */
function firstCall (page: string): string {
  const [, html = ''] = /<pre[^>]*><code>([^]*?)<\/code>/.exec(page) ?? []
  return html.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
}

/** Runs a command of the page in an empty folder; @returns the output, and whether the command has made a file there */
async function run (t: Test, command: string): Promise<{ readonly output: string, readonly wrote: boolean }> {
  const folder = mkdtempSync(join(tmpdir(), 'directory-'))
  t.teardown(() => { rmSync(folder, { recursive: true }) })
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { cwd: folder, env: { PATH: process.env.PATH, API_KEY: 'x' } })
  return { output: stdout, wrote: existsSync(join(folder, 'pwned')) }
}

t.test('the page shows what the served cards say, and a call that works', async t => {
  const agent = await fakeAgent(t, { card })
  const gateway = await gatewayFor(t, { yaml: [server(), 'agents:', entry(agent, 'billing'), entry(agent, 'other')].join('\n') })
  const url = `${gateway.url}/catalogue`
  const page = await call(url, { headers: HTML })
  t.equal(page.status, 200)
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  t.equal(page.headers['cache-control'], 'public, max-age=60')
  t.match(page.headers['content-security-policy'], /^default-src 'none'; style-src 'sha256-/)
  for (const text of ['Billing &amp; more', OPEN, REQUIRED, 'Skill pay', 'invoice', `${gateway.url}/billing/rest`, '"#/other"', 'id="/other"']) {
    t.ok(page.text.includes(text), text)
  }
  t.notMatch(page.text, /<script|invalid/)
  const command = firstCall(page.text)
  const { output } = await run(t, command)
  t.match(JSON.parse(output), { result: { message: { parts: [{ text: 'ok' }] } } }, command)
  t.match(agent.received.at(-1)?.body.toString(), "What's the status?")
  const counted = 'a2a_gateway_requests_total{agent="other",operation="Directory",binding="HTTP+JSON",version="1.0",outcome="forwarded"}'
  await until(async () => await gateway.metric(counted) >= 1, counted)

  t.equal((await call(`${url}?format=json`, { headers: ['accept', 'application/json'] })).text, page.text, 'programs read the AI Catalog')

  const etag = page.headers.etag ?? ''
  const again = await call(url, { headers: [...HTML, 'if-none-match', etag] })
  t.equal(again.status, 304)
  t.equal(again.text, '')
  const head = await call(url, { method: 'HEAD', headers: HTML })
  t.strictSame([head.status, head.headers['content-length'], head.headers.etag], [200, String(page.bytes.length), etag])
  const elsewhere = await call(url, { headers: [...HTML, 'host', 'one.example', 'if-none-match', etag] })
  t.equal(elsewhere.status, 200, 'another host is another page')
  t.ok(elsewhere.text.includes('http://one.example/billing/rpc'))
  t.equal((await call(url, { headers: ['host', "it's"] })).status, 400)

  for (const path of ['/catalogue/', '/Catalogue', '/catalogue/x']) t.equal((await call(gateway.url + path)).status, 404, path)
  t.equal((await call(`${gateway.url}/%63atalogue`)).status, 400, 'a spelling that Fastify takes for the path')
  t.equal((await call(url, { method: 'POST', headers: V1, body: '{}' })).status, 404)
})

t.test('without the setting there is no page', async t => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: ['agents:', entry(agent, 'billing')].join('\n') })
  t.equal((await call(`${gateway.url}/catalogue`)).status, 404)
})

t.test('the page shows to everybody what a caller without credentials gets', async t => {
  const views = (shown: string): string =>
    `card: {public: ${shown}, views: [{id: all, caller: {source: [partners]}, skills: [all], extensions: [all]}]}`
  const rows: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['card: {public: full}', ['pay', SECRET, 'invoice'], []],
    ['card: {public: minimal, publicSkills: [status]}', [REQUIRED, 'Skill status'], ['pay', SECRET, 'invoice', OPEN]],
    ['card: {public: none}', ['No agent shows its card'], [REQUIRED, 'status', 'Billing', '/rpc']],
    [views('minimal'), [REQUIRED], ['pay', 'status', SECRET, OPEN]],
    [views('none'), ['No agent shows its card'], [REQUIRED, 'Billing', '/rpc']],
    ['card: {public: none, views: [{id: strangers, caller: {anonymous: true}, skills: [pay], extensions: []}]}', ['Skill pay'], ['status', SECRET]]
  ]
  await Promise.all(rows.map(async ([extra, shown, hidden]) => {
    const { gateway } = await guarded(t, { agent: { card }, extra: [extra], root: [server()] })
    const pages = await Promise.all([[], ['x-api-key', ACME]].map(more => call(`${gateway.url}/catalogue`, { headers: [...HTML, ...more] })))
    const text = pages[0]?.text ?? ''
    t.equal(pages[1]?.text, text, extra)
    t.same(shown.filter(one => !text.includes(one)), [], extra)
    t.same(hidden.filter(one => text.includes(one)), [], extra)
  }))
})

t.test('texts of a card are texts of the page', async t => {
  const evil = '</code></style><script>alert(1)</script>'
  const agent = await fakeAgent(t, {
    card: url => plainCard(url, {
      name: evil,
      version: evil,
      description: `${evil}"'&`,
      documentationUrl: 'javascript:alert(1)',
      provider: { organization: evil, url: 'data:text/html,x' },
      capabilities: { extensions: [{ uri: "urn:x:'$(touch<pwned)'", required: true, description: evil }, { uri: 'javascript:alert(2)' }] },
      skills: [skill(evil, { tags: [evil], examples: ["'; touch pwned; '\u202e$(touch pwned)"] }), null, 'x', { id: 7 }],
      schemas: { [evil]: { title: evil }, wide: { description: 'x'.repeat(20_000) } },
      securitySchemes: { [evil]: { type: 'apiKey', in: 'header', name: 'X"$(touch pwned)' } },
      security: [{ [evil]: [] }]
    })
  })
  const gateway = await gatewayFor(t, { yaml: [server(), 'agents:', entry(agent, 'billing')].join('\n') })
  const { text } = await call(`${gateway.url}/catalogue`, { headers: HTML })
  t.notMatch(text, /<script|href="(?!https?:|#|\?|data:,)|x{10000}/)
  const command = firstCall(text)
  t.notMatch(command, '\u202e')
  const { wrote } = await run(t, command)
  t.equal(wrote, false, command)
  t.match(agent.received.at(-1)?.body.toString(), /touch pwned/, 'the text of the example has arrived')
})

t.test('an agent keeps its paths', async t => {
  const at = async (path: string, agentKeys: string, cardOf = card, extensions = ''): Promise<string> => {
    const agent = await fakeAgent(t, { card: cardOf, answer: (_request, response) => { response.end('of the agent') } })
    const gateway = await gatewayFor(t, { yaml: [server(path), 'agents:', `  - {name: a, upstream: {url: "${agent.url}"}${agentKeys}}`, extensions].join('\n') })
    const { text } = await call(gateway.url + path, { headers: HTML })
    return /<title>Agents/.test(text) ? 'page' : text
  }
  t.equal(await at('/catalogue', ''), 'page', 'below an agent at /, where no operation is')
  t.equal(await at('/rest/v1/tasks/t1', ', enforceOn: messages'), 'of the agent', 'an operation of the card')
  t.match(await at('/rpc', ''), /POST/, 'an address of JSON-RPC')
  const ext = (url: string): Record<string, unknown> => plainCard(url, { capabilities: { extensions: [{ uri: OPEN }] } })
  const policy = `extensions: {open: {uri: "${OPEN}", activation: {signals: [header]}, routes: [{verb: GET, path: /catalogue, need: declared}]}}`
  t.equal(await at('/catalogue', ', extensions: [open]', ext, policy), 'of the agent', 'a route of a policy')
  const closed = await fakeAgent(t, { card: () => 'no card', answer: (_request, response) => { response.end('of the agent') } })
  const open = await gatewayFor(t, { yaml: [server(), `agents: [{name: a, upstream: {url: "${closed.url}"}, card: {onUnavailable: forward}}]`].join('\n') })
  t.equal((await call(`${open.url}/catalogue`)).text, 'of the agent', 'an agent that needs no card')
})

t.test('an agent gets the path with a reload, while the setting waits for a restart', async t => {
  const agent = await fakeAgent(t, { card, answer: (_request, response) => { response.end('of the agent') } })
  const yaml = (path: string, more: string): string => [server(path), `agents: [{name: a, upstream: {url: "${agent.url}"}${more}}]`].join('\n')
  const gateway = await gatewayFor(t, { yaml: yaml('/catalogue', '') })
  t.match((await call(`${gateway.url}/catalogue`, { headers: HTML })).text, /<title>Agents/)
  const report = await gateway.reload(configOf({ yaml: yaml('/other', ', passthrough: [/catalogue]') }))
  t.match(report, { ok: true, needsRestart: ['server.console'] })
  t.equal((await call(`${gateway.url}/catalogue`, { headers: HTML })).text, 'of the agent')
})

t.test('the host decides which agents the page lists', async t => {
  const agents = await Promise.all(['everywhere', 'one', 'below'].map(name => fakeAgent(t, { card: url => plainCard(url, { name }) })))
  const yaml = [
    server(),
    'agents:',
    `  - {name: a, path: /a, upstream: {url: "${agents[0]?.url ?? ''}"}}`,
    `  - {name: b, path: /b, host: one.example, upstream: {url: "${agents[1]?.url ?? ''}"}}`,
    `  - {name: c, path: /a, host: two.example, upstream: {url: "${agents[2]?.url ?? ''}"}}`
  ].join('\n')
  const gateway = await gatewayFor(t, { yaml })
  const at = async (host: string): Promise<unknown[]> => names(await call(`${gateway.url}/catalogue`, { headers: ['host', host] }))
  t.same(await at('any.example'), ['everywhere'])
  t.same(await at('one.example:80'), ['everywhere', 'one'])
  t.same(await at('two.example'), ['below'], 'the agent of the host has the path of the other one')
  t.same(await at('any.example'), ['everywhere'])
  const report = await gateway.reload(configOf({ yaml: yaml.replace(/\n {2}- \{name: a.*/, '') }))
  t.equal(report.ok, true)
  t.same(await at('any.example'), [], 'after a reload')
})

t.test('publicUrl is in the page of every host; at /, the page is the front door', async t => {
  const agent = await fakeAgent(t, { card })
  const gateway = await gatewayFor(t, { yaml: [server('/', ', publicUrl: "https://agents.example.com/x"'), 'agents:', entry(agent, 'billing')].join('\n') })
  const pages = await Promise.all(['one.example', 'two.example'].map(host => call(`${gateway.url}/`, { headers: [...HTML, 'host', host] })))
  t.ok(pages[0]?.text.includes('https://agents.example.com/x/billing/rpc'))
  t.equal(pages[0]?.headers.etag, pages[1]?.headers.etag)
})

t.test('in an application, beside its routes and hooks', async t => {
  const agent = await fakeAgent(t, { card })
  const agents = [{ name: 'a', path: '/a', upstream: { url: agent.url } }]
  const { app } = await application(t, configuration(agents, { server: { console: { public: '/catalogue' } } }), {
    before: app => {
      app.get('/own', (_request, reply) => { reply.send('own') })
      app.addHook('onRequest', async (_request, reply) => { reply.header('x-team', 'yes') })
    }
  })
  const url = await listen(app)
  const page = await call(`${url}/catalogue`, { headers: HTML })
  t.match(page.text, /Billing &amp; more/)
  t.equal(page.headers['x-team'], 'yes')
  t.equal((await call(`${url}/own`)).text, 'own')
})
