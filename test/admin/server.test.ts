import t from 'tap'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { buildAdmin } from '#server/admin/server.js'
import type { AdminLimits, AdminState } from '#server/admin/server.js'
import { createLogger } from '#telemetry/logging.js'
import { Metrics } from '#telemetry/metrics/metrics.js'
import { untilAtMost } from '../helpers/http.js'

const LIMITS: AdminLimits = { headersTimeout: 10_000, requestTimeout: 30_000, idleTimeout: 5_000, connections: 0 }

function build (state: Partial<AdminState> = {}, log: string[] = [], limits = LIMITS): ReturnType<typeof buildAdmin> {
  return buildAdmin({
    state: { live: () => true, ready: () => ({ ready: true, reasons: [] }), agents: () => [], ...state },
    metrics: new Metrics({ process: false }),
    log: createLogger({ level: 'info', format: 'json' }, { write (line) { log.push(line) } })
  }, limits)
}

t.test('/livez', async t => {
  const app = build()
  const response = await app.inject('/livez')
  t.equal(response.statusCode, 200)
  t.equal(response.body, '{"status":"ok"}')
  t.equal(response.headers['cache-control'], 'no-store')
  t.equal((await build({ live: () => false }).inject('/livez?verbose')).statusCode, 503)
})

t.test('/readyz gives the reasons', async t => {
  let reasons = ['agent weather: no card yet']
  const app = build({ ready: () => ({ ready: reasons.length === 0, reasons }) })
  const before = await app.inject('/readyz')
  t.equal(before.statusCode, 503)
  t.same(before.json(), { status: 'not ready', reasons: ['agent weather: no card yet'] })
  reasons = []
  const after = await app.inject('/readyz')
  t.equal(after.statusCode, 200)
  t.same(after.json(), { status: 'ready', reasons: [] })
})

t.test('/readyz requires all agents, or any of them', async t => {
  const app = build({ ready: enough => ({ ready: enough === 'any', reasons: [] }) })
  t.equal((await app.inject('/readyz')).statusCode, 503)
  t.equal((await app.inject('/readyz?agents=all')).statusCode, 503)
  t.equal((await app.inject('/readyz?agents=any')).statusCode, 200)
  for (const query of ['agents=some', 'agents=', 'agents=any&agents=any']) {
    const refused = await app.inject(`/readyz?${query}`)
    t.equal(refused.statusCode, 400)
    t.same(refused.json(), { error: 'agents must be "all" or "any"' })
  }
})

t.test('/metrics returns the metrics', async t => {
  const response = await build().inject('/metrics')
  t.equal(response.statusCode, 200)
  t.equal(response.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  t.match(response.body, /^# HELP a2a_gateway_requests_total /)
})

t.test('/agents is JSON for people', async t => {
  const agents = [{ name: 'weather', card: { hash: 'abc' } }]
  const response = await build({ agents: () => agents }).inject('/agents')
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(response.body, JSON.stringify(agents, null, 2) + '\n')
})

t.test('HEAD responds like GET, without a body', async t => {
  const app = build({ ready: () => ({ ready: false, reasons: ['x'] }) })
  for (const [url, status] of [['/livez', 200], ['/readyz', 503], ['/metrics', 200], ['/agents', 200]] as const) {
    const response = await app.inject({ method: 'HEAD', url })
    t.equal(response.statusCode, status, url)
    t.equal(response.body, '')
  }
})

t.test('other paths and methods', async t => {
  const app = build()
  const unknown = await app.inject('/')
  t.equal(unknown.statusCode, 404)
  t.same(unknown.json(), { error: 'not found', endpoints: ['/livez', '/readyz', '/metrics', '/agents', '/agent-sources', '/docs/'] })
  t.equal(unknown.headers['cache-control'], 'no-store')
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    const response = await app.inject({ method, url: '/metrics', headers: { 'content-type': 'text/odd' }, payload: 'x'.repeat(5000) })
    t.equal(response.statusCode, 405, method)
    t.equal(response.headers.allow, 'GET, HEAD')
    t.equal(response.headers['cache-control'], 'no-store')
    t.equal((await app.inject({ method, url: '/nowhere', headers: { 'content-type': 'text/odd' }, payload: 'x' })).statusCode, 404)
  }
  const odd = await app.inject('/%zz')
  t.equal(odd.statusCode, 400)
  t.same(odd.json(), { error: 'bad request' })
})

t.test('over a socket: methods Fastify does not know', async t => {
  const app = build()
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  for (const method of ['PROPFIND', 'TRACE', 'SEARCH']) {
    const answer = await new Promise<string>((resolve, reject) => {
      let text = ''
      const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
      socket.on('data', chunk => { text += chunk.toString() }).on('close', () => resolve(text)).on('error', reject)
      socket.write(`${method} /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    })
    t.match(answer, /^HTTP\/1\.1 40[45] /, method)
    t.notOk(answer.includes('    at '), 'no stack')
  }
})

t.test('a failure is reported without details and logged with them', async t => {
  const log: string[] = []
  const response = await build({ agents: () => { throw new Error('SECRET detail') } }, log).inject('/agents')
  t.equal(response.statusCode, 500)
  t.equal(response.body, '{"error":"internal error"}')
  t.equal(response.headers['cache-control'], 'no-store')
  t.match(log.join(''), /SECRET detail.*stack|stack.*SECRET detail/)
})

t.test('probes write no log lines', async t => {
  const log: string[] = []
  const app = build({}, log)
  await app.inject('/livez')
  await app.inject('/nowhere')
  await app.inject('/metrics')
  t.same(log, [])
})

t.test('two lines of a header that two readers could read differently', async t => {
  const app = build()
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const statusOf = async (path: string, lines: string): Promise<string> => await new Promise((resolve, reject) => {
    let text = ''
    connect(port, '127.0.0.1', function (this: Socket) { this.write(`GET ${path} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`) })
      .on('data', chunk => { text += String(chunk) })
      .on('close', () => { resolve(text.slice(9, 12)) })
      .on('error', reject)
  })
  for (const path of ['/livez', '/readyz', '/metrics', '/agents']) {
    t.equal(await statusOf(path, 'Host: 127.0.0.1\r\n'), '200', path)
    t.equal(await statusOf(path, 'Host: 127.0.0.1\r\nHost: evil.test\r\n'), '400', path)
    t.equal(await statusOf(path, 'Host: 127.0.0.1\r\nAuthorization: a\r\nAuthorization: b\r\n'), '400', path)
  }
})

t.test('connections that send no request, or a part of one, end; their number is bounded', async t => {
  const app = build({}, [], { headersTimeout: 300, requestTimeout: 30_000, idleTimeout: 5_000, connections: 0 })
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  t.ok(app.server.headersTimeout === 300 && app.server.requestTimeout === 10_000 && app.server.keepAliveTimeout === 5_000)
  const starts = ['', 'GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n', 'G']
  const ended = starts.map(start => new Promise(resolve => {
    connect(port, '127.0.0.1', function (this: Socket) { this.write(start) }).on('close', resolve).on('error', () => {}).resume()
  }))
  // With the interval of Node's default, 30 s, the test would run into its timeout.
  await Promise.all(ended)
  const sockets = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').on('error', () => {}).resume())
  let open = sockets.length
  for (const socket of sockets) socket.on('close', () => { open-- })
  await untilAtMost(t, () => open, 256, 'connections beyond 256 are closed')
  for (const socket of sockets) socket.destroy()
  const few = build({}, [], { headersTimeout: 10_000, requestTimeout: 5_000, idleTimeout: 5_000, connections: 20 })
  t.same([few.server.maxConnections, few.server.requestTimeout, few.server.headersTimeout], [20, 5_000, 5_000])
})

t.test('pages of other sites read no data', async t => {
  const app = build()
  for (const [site, status] of [['cross-site', 403], ['same-site', 403], ['same-origin', 200], ['none', 200], [undefined, 200]] as const) {
    const headers = { host: '127.0.0.1', ...(site === undefined ? {} : { 'sec-fetch-site': site }) }
    t.equal((await app.inject({ url: '/agents', headers })).statusCode, status, `/agents ${site ?? 'without a site'}`)
    for (const url of ['/livez', '/readyz', '/metrics']) t.equal((await app.inject({ url, headers })).statusCode, 200, `${url} has nothing to protect`)
  }
})
