/** `server.tls`: the main listener with a real certificate, real clients, and files that change while it runs. */
import { once } from 'node:events'
import { copyFileSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { RequestOptions } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { Agent, fetch as undiciFetch } from 'undici'
import t from 'tap'
import type { Test } from 'tap'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { JSON_TYPE, MESSAGE, readAnswer, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'
import { connect as connectClient } from '../helpers/sdk-clients.js'

const FILES = inTests('fixtures/tls')
const file = (name: string): string => join(FILES, name)
const CA = readFileSync(file('ca.pem'))
const pair = (name: string): ConnectionOptions => ({ cert: readFileSync(file(`${name}.pem`)), key: readFileSync(file(`${name}.key.pem`)) })
const FAILED = 'a2a_gateway_client_errors_total{kind="tls_handshake"}'

function yamlOf (url: string, tls: string, level = 'silent'): string {
  return [
    `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, tls: ${tls}}`,
    `telemetry: {logs: {level: ${level}}}`,
    `agents: [{name: agent, upstream: {url: "${url}"}}]`
  ].join('\n')
}

const OWN = `cert: "${file('right.pem')}", key: "${file('right.key.pem')}"`

async function secure (t: Test, more = '', level?: string): Promise<{ gateway: TestGateway; url: string }> {
  const agent = await fakeAgent(t)
  return { gateway: await gatewayFor(t, { yaml: yamlOf(agent.url, `{${OWN}${more}}`, level) }), url: agent.url }
}

async function ask (gateway: TestGateway, tls: ConnectionOptions = {}): Promise<Answer> {
  const outgoing = request(`${gateway.url}/rpc`, { method: 'POST', ca: CA, agent: false, ...tls } as RequestOptions)
  for (const [name, value] of [JSON_TYPE, V1] as [string, string][]) outgoing.setHeader(name, value)
  outgoing.end(rpcBody('SendMessage', { message: MESSAGE }))
  const [response] = await once(outgoing, 'response') as [IncomingMessage]
  return await readAnswer(response)
}

async function handshake (gateway: TestGateway, options: ConnectionOptions): Promise<TLSSocket> {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect({ host: hostname, port: Number(port), ca: CA, ...options })
  await once(socket, 'secureConnect')
  return socket
}

t.test('an SDK client follows the card over TLS', async t => {
  const { gateway } = await secure(t)
  t.match(gateway.url, /^https:/)
  const dispatcher = new Agent({ connect: { ca: CA } })
  t.teardown(() => dispatcher.close())
  const fetchImpl = ((url: string, options: object) => undiciFetch(url, { ...options, dispatcher })) as unknown as typeof fetch
  const fetched = await fetchImpl(`${gateway.url}/.well-known/agent-card.json`)
  const card = await fetched.text()
  t.match(card, gateway.url, 'the card names the https URL')
  t.notMatch(card, /"http:/)
  const client = await connectClient({
    client: 'v1',
    cardUrl: `${gateway.url}/.well-known/agent-card.json`,
    transport: 'JSONRPC',
    fetch: fetchImpl
  })
  t.match(await client.send('hello'), { messageId: 'a' })
})

t.test('a call, and the protocol of the connection', async t => {
  const { gateway } = await secure(t)
  t.match((await ask(gateway)).json(), { result: { message: { messageId: 'a' } } })
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await handshake(gateway, { maxVersion, ALPNProtocols: ['h2', 'http/1.1'] })
    t.same([socket.getProtocol(), socket.alpnProtocol], [maxVersion, 'http/1.1'])
    socket.destroy()
  }
})

t.test('connections that are not TLS 1.2 or later are counted', async t => {
  const { gateway } = await secure(t)
  const { hostname, port } = new URL(gateway.url)
  const plain = connectPlain({ host: hostname, port: Number(port) })
  plain.resume()
  plain.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(plain, 'close')
  await until(async () => await gateway.metric(FAILED) === 1, 'the plain request to be counted')
  await t.rejects(handshake(gateway, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }))
  await until(async () => await gateway.metric(FAILED) === 2, 'the old protocol to be counted')
  // A probe of a load balancer that only connects is no error.
  const probe = connectPlain({ host: hostname, port: Number(port) })
  await once(probe, 'connect')
  probe.end()
  t.match((await ask(gateway)).status, 200)
  t.equal(await gateway.metric(FAILED), 2)
})

t.test('client certificates', async t => {
  const isServed = async (gateway: TestGateway, client: ConnectionOptions): Promise<boolean> =>
    await ask(gateway, client).then(({ status }) => status === 200, () => false)
  for (const [mode, without, invalid] of [['none', true, true], ['request', true, false], ['require', false, false]] as const) {
    t.test(mode, async t => {
      const { gateway } = await secure(t, mode === 'none' ? '' : `, clientCa: "${file('ca.pem')}", clientCertificate: ${mode}`, 'info')
      t.equal(await isServed(gateway, {}), without, 'without a certificate')
      t.equal(await isServed(gateway, pair('wrong')), true, 'with a certificate of the authority')
      t.equal(await isServed(gateway, pair('expired')), invalid, 'with a expired certificate of another authority')
      const reasons = [...without ? [] : [/no client certificate/], ...invalid ? [] : [/invalid client certificate: CERT_HAS_EXPIRED/]]
      t.match(gateway.logs().filter(({ kind }) => kind === 'tls_handshake'), reasons.map(reason => ({ reason, client: '127.0.0.1' })))
      t.equal(await gateway.metric(FAILED), reasons.length)
    })
  }
})

t.test('new files are in use without a restart; unusable files are not', async t => {
  const agent = await fakeAgent(t)
  const folder = t.testdir()
  const put = (name: string): void => {
    copyFileSync(file(`${name}.pem`), join(folder, 'cert.pem'))
    copyFileSync(file(`${name}.key.pem`), join(folder, 'key.pem'))
  }
  put('right')
  const yaml = yamlOf(agent.url, `{cert: "${join(folder, 'cert.pem')}", key: "${join(folder, 'key.pem')}"}`, 'info')
  const gateway = await gatewayFor(t, { yaml })
  const nameOf = async (): Promise<string | undefined> => {
    const socket = await handshake(gateway, { rejectUnauthorized: false })
    const { subjectaltname } = socket.getPeerCertificate()
    socket.destroy()
    return subjectaltname
  }
  t.match(await nameOf(), 'localhost')
  put('wrong')
  t.match(await gateway.reload(configOf({ yaml })), { ok: true })
  t.match(await nameOf(), 'other.example')
  t.match(gateway.logs().filter(({ validTo }) => validTo !== undefined), [{ certificate: /localhost/ }, { certificate: /other\.example/ }])
  copyFileSync(file('right.pem'), join(folder, 'cert.pem'))
  await gateway.reload(configOf({ yaml }))
  t.match(await nameOf(), 'other.example', 'a key that does not belong to the certificate')
  t.ok(gateway.logs().some(({ msg }) => /last good ones stay in use/.test(String(msg))))
})

t.test('settings that need a restart', async t => {
  const { gateway, url } = await secure(t)
  const asked = `{${OWN}, clientCa: "${file('ca.pem')}", clientCertificate: require}`
  t.match(await gateway.reload(configOf({ yaml: yamlOf(url, asked) })), { ok: true, needsRestart: ['server.tls'] })
  t.equal((await ask(gateway)).status, 200)
  t.match(await gateway.reload(configOf({ yaml: yamlOf(url, '{}') })), { ok: true, needsRestart: ['server.tls'] })
  t.equal((await ask(gateway)).status, 200)
})

t.test('the console sends calls to a TLS listener', async t => {
  const agent = await fakeAgent(t)
  const yaml = yamlOf(agent.url, `{${OWN}}`).replace('drainTimeout', 'console: {tryIt: true}, drainTimeout')
  const gateway = await gatewayFor(t, { yaml })
  const response = await fetch(`${gateway.adminUrl}/console/api/try`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', origin: gateway.adminUrl },
    body: JSON.stringify({ agent: 'agent', binding: 'JSONRPC', version: '1.0', body: rpcBody('SendMessage', { message: MESSAGE }) })
  })
  t.match(await response.json(), { problem: null, answer: { status: 200 } })
})
