/** The console on a real admin listener: its files, its data, the permitted callers, and the setting that turns it off. */
import t from 'tap'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { policyLinesOf } from '#console/rules/policy-lines.js'
import { configOf } from '../helpers/gateway.js'
import { hostProblem } from '#server/admin/host-guard.js'
import { call, rpc } from '../helpers/http.js'
import { consoleFor, REQUIRED } from './kit.js'

const PAGE = join(packageRoot(), 'src/console/page')
const pageFiles = (): string[] => readdirSync(PAGE, { encoding: 'utf8', recursive: true }).filter(name => name.includes('.'))

t.test('the page and its files, under a strict policy', async t => {
  const { gateway, api } = await consoleFor(t)
  const root = await call(`${gateway.adminUrl}/`)
  t.equal(root.status, 302)
  t.equal(root.headers.location, '/console/')
  t.equal((await api('').then(() => call(`${gateway.adminUrl}/console`))).headers.location, '/console/')
  const page = await api('')
  t.equal(page.status, 200)
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  const files = pageFiles().filter(name => name !== 'index.html')
  t.ok(files.length > 10)
  for (const name of files) {
    const file = await api(name)
    t.equal(file.status, 200, name)
    t.ok(file.bytes.equals(readFileSync(join(PAGE, name))), name)
    t.match(file.headers['content-type'], { js: /^text\/javascript/, css: /^text\/css/, svg: /^image\/svg/, html: /^text\/html/ }[name.split('.').at(-1) ?? ''])
  }
  for (const answer of [page, root, await api('console.css'), await api('nowhere'), await api('api/overview'), await api('api/nowhere')]) {
    const policy = String(answer.headers['content-security-policy'])
    t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; /)
    t.match(policy, /frame-ancestors 'none'.*require-trusted-types-for 'script'/)
    t.notMatch(policy, /unsafe|\*|data:|blob:/)
    t.match(answer.headers, {
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'cross-origin-resource-policy': 'same-origin'
    })
  }
  const head = await api('', { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.text, '')
})

t.test('the page refers to no other origin, and has no inline code', t => {
  for (const name of pageFiles()) {
    const text = readFileSync(join(PAGE, name), 'utf8').replaceAll('http://www.w3.org/2000/svg', '')
    t.notMatch(text, /https?:\/\/|\/\/[a-z0-9-]+\.[a-z]+\//i, name)
    t.notMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|@import/, name)
    if (name.endsWith('.html')) t.notMatch(text, /<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)/, name)
  }
  t.end()
})

t.test('other paths and methods', async t => {
  const { gateway, api } = await consoleFor(t)
  for (const path of [
    'nowhere',
    'index.html',
    '..%2f..%2fpackage.json',
    '../package.json',
    'page/main.js',
    'api/',
    'api/constructor',
    'api/__proto__',
    'main.js/x'
  ]) {
    t.equal((await api(path)).status, 404, path)
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const answer = await api('api/overview', { method, body: 'x' })
    t.equal(answer.status, 405, method)
    t.equal(answer.headers.allow, 'GET, HEAD')
  }
  t.equal((await api('api/try')).status, 405)
  t.equal((await api('api/agent?name=nobody')).status, 404)
  t.equal((await call(`${gateway.adminUrl}/consolex`)).status, 404)
  t.equal((await call(`${gateway.adminUrl}/metrics`, { method: 'POST', body: 'x' })).status, 405, 'the other endpoints are as they were')
})

t.test('names that an attacker could rebind are rejected, addresses and known names are accepted', async t => {
  const { gateway, api } = await consoleFor(t, '{hosts: [Ops.Example.com]}')
  const { port } = new URL(gateway.adminUrl)
  for (const host of [
    `localhost:${port}`,
    `127.0.0.1:${port}`,
    '10.1.2.3',
    '[::1]:9901',
    'gateway.localhost',
    'ops.example.com:443',
    'OPS.example.com.'
  ]) {
    t.equal((await api('api/status', { headers: ['host', host] })).status, 200, host)
  }
  for (const host of ['evil.example.com', `ops.example.com.evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.nip.io']) {
    for (const path of ['', 'api/status', 'api/decisions', 'main.js']) {
      const answer = await api(path, { headers: ['host', host] })
      t.equal(answer.status, 403, `${host} ${path}`)
      t.match(answer.json(), { error: /server\.adminHosts/ })
    }
  }
  t.equal((await api('', { headers: ['host', 'a b'] })).status, 400)
  t.equal(hostProblem(undefined, new Set())?.status, 400)
  t.equal(
    (await call(`${gateway.adminUrl}/livez`, { headers: ['host', 'evil.example.com'] })).status,
    200,
    'probes may be sent under any name'
  )
})

t.test('the page gets the address of traces', async t => {
  const { api } = await consoleFor(t, '{traceUrl: "https://traces.example.com/#/trace/{traceId}"}')
  t.match((await api('api/status')).json(), { traceUrl: 'https://traces.example.com/#/trace/{traceId}' })
})

t.test('pages of other sites cannot read', async t => {
  const { api } = await consoleFor(t)
  for (const [site, status] of [['cross-site', 403], ['same-site', 403], ['same-origin', 200], ['none', 200]] as const) {
    t.equal((await api('api/status', { headers: ['sec-fetch-site', site] })).status, status, site)
  }
  t.equal((await api('api/decisions', { headers: ['sec-fetch-site', 'cross-site'] })).status, 403)
})

t.test('off with one setting', async t => {
  const { gateway, api } = await consoleFor(t, '{enabled: false}')
  for (const path of ['', 'main.js', 'api/overview', 'api/decisions']) t.equal((await api(path)).status, 404, path)
  const root = await call(`${gateway.adminUrl}/`)
  t.equal(root.status, 404)
  t.same(root.json(), { error: 'not found', endpoints: ['/livez', '/readyz', '/metrics', '/agents', '/agent-sources', '/docs/'] })
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200, 'calls are refused and counted all the same')
  t.equal(await gateway.metric(`a2a_gateway_refusals_total{agent="agent",rule="${REQUIRED}/required"}`), 1)
})

t.test('the page shows the counts and the policies in force', async t => {
  const { gateway, api } = await consoleFor(t, '{}', ', extensions: [{x402: {mode: enforce}}]')
  for (let i = 0; i < 3; i++) await rpc(`${gateway.url}/rpc`)
  await rpc(`${gateway.url}/rpc`, 'SendMessage', undefined, ['a2a-extensions', REQUIRED])
  const overview = (await api('api/overview')).json()
  t.match(overview, {
    ready: true,
    reasons: [],
    tryIt: false,
    workers: null,
    totals: { rejected: 3, forwarded: 1 },
    agents: [
      {
        name: 'agent',
        ready: true,
        counts: { rejected: 3, forwarded: 1, agentFailed: 0, gatewayFailed: 0 },
        card: { state: 'ok', problem: null },
        lastRefusals: [{ rule: `${REQUIRED}/required` }, {}, {}]
      }
    ]
  })
  t.equal(
    await gateway.metric(
      'a2a_gateway_requests_total{agent="agent",operation="SendMessage",binding="JSONRPC",version="1.0",outcome="rejected"}'
    ),
    3
  )
  t.same((await api('api/overview?q=nobody')).json().agents, [])
  t.match((await api('api/extensions')).json(), {
    rows: [
      { agent: 'agent', uri: REQUIRED, declared: 'card', required: 'card', policy: null, mode: 'enforce', has: null, seen: { client: 1 } },
      { agent: 'agent', declared: null, required: null, policy: 'x402', mode: 'enforce' }
    ]
  })
  t.match((await api('api/agent?name=agent')).json(), { name: 'agent', interfaces: [{ binding: 'JSONRPC' }, {}] })
  const card = (await api('api/card?name=agent&version=1.0')).json()
  t.equal(String(card.diff?.changed), '4', 'the addresses of the interfaces')
  const policy = (await api('api/policy?name=agent')).json() as unknown as {
    settings: { key: string }[]
    policies: { lines: { key: string; from: string; at: string }[] }[]
  }
  t.match(policy.settings.find(one => one.key === 'mode'), { value: 'enforce', from: 'default', at: null })
  t.match(policy.settings.find(one => one.key === 'path'), { value: '/', from: 'default' })
  const lines = policy.policies[0]?.lines ?? []
  t.match(lines.find(one => one.key === 'mode'), { value: 'enforce', from: 'agent', at: 'test.yaml:4' })
  t.match(lines.find(one => one.key === 'uri'), { from: 'catalogue', at: /^config\/extensions\/x402\.yaml:\d+$/ })
  t.match((await api('api/series')).json(), { slot: 5000, slots: Array })
})

t.test('the source of each line of a policy, without secrets', t => {
  const policies = ', extensions: [own, {x402: {about: {title: t}, activation: {required: never}}}]'
  const config = configOf({
    yaml: `agents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"}, mode: observe${policies}}\nextensions:\n  own:\n    uri: urn:own\n    inject:\n      - {metadata: key, value: "$\{SECRET}"}\n  x402:\n    mode: enforce`,
    env: { SECRET: 'hunter2' }
  })
  const view = policyLinesOf(config, 'a')
  t.match(view?.settings.find(one => one.key === 'mode'), { value: 'observe', from: 'file', at: 'test.yaml:5' })
  const [own, x402] = view?.policies ?? []
  t.match(own?.lines.find(one => one.key === 'inject'), { from: 'file', at: 'test.yaml:9' })
  t.notMatch(JSON.stringify(view), /hunter2/)
  t.same(x402?.layers, ['catalogue', 'file', 'agent'])
  t.match(x402?.lines.find(one => one.key === 'mode'), { value: 'enforce', from: 'file', at: 'test.yaml:12' })
  t.match(x402?.lines.find(one => one.key === 'activation.required'), { value: 'never', from: 'agent', at: 'test.yaml:5' })
  t.equal(policyLinesOf(config, 'nobody'), null)
  t.end()
})
