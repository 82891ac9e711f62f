/**
 * Certificates with wrong dates, and a certificate that changes while the gateway runs: an old certificate gives no access, and no process
 * needs a restart.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:https'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { plainCard } from '../helpers/raw.js'
import { call, JSON_TYPE, MESSAGE, rpcBody, until, V1 } from '../helpers/http.js'
import type { Answer } from '../helpers/http.js'
import { errors } from './calls.js'
import { inTests } from '../helpers/paths.js'

const FIXTURES = inTests('fixtures/tls')
const pair = (name: string): { key: Buffer; cert: Buffer } => ({
  key: readFileSync(join(FIXTURES, `${name}.key.pem`)),
  cert: readFileSync(join(FIXTURES, `${name}.pem`))
})

/** Answers with the id it was called with; hangs up after each answer, so that every call meets the certificate. */
async function secureAgent (
  t: Test,
  certificate: string
): Promise<{ readonly url: string; readonly server: Server; readonly sockets: ReadonlySet<Socket>; reached: number }> {
  const sockets = new Set<Socket>()
  const server = createServer(pair(certificate), (request, response) => {
    agent.reached++
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      response
        .writeHead(200, { 'content-type': 'application/json', connection: 'close' })
        .end(JSON.stringify({ id: (JSON.parse(body) as { id: number }).id }))
    })
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const agent = { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, server, sockets, reached: 0 }
  return agent
}

function gatewayTo (t: Test, url: string, ca: string): Promise<TestGateway> {
  const directory = t.testdir({ 'card.json': JSON.stringify(plainCard(url)) })
  return gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${url}", tls: {ca: "${join(FIXTURES, ca)}"}}, card: {file: "${join(directory, 'card.json')}"}}]`
  })
}

let ids = 0
async function ask (gateway: TestGateway): Promise<Answer & { readonly id: number }> {
  const id = ++ids
  return {
    ...(await call(`${gateway.url}/rpc`, {
      headers: [...JSON_TYPE, ...V1],
      body: rpcBody('SendMessage', { message: MESSAGE }, String(id))
    })),
    id
  }
}

function isRefused (t: Test, got: Answer & { readonly id: number }): void {
  t.equal(got.status, 502)
  t.match(got.json(), {
    id: got.id,
    error: { code: -32603, message: /certificate/, data: [{ reason: 'UPSTREAM_UNREACHABLE', metadata: { kind: 'tls' } }] }
  })
}

for (const name of ['expired', 'future']) {
  t.test(`a certificate of a trusted authority, ${name}`, async t => {
    const agent = await secureAgent(t, name)
    const gateway = await gatewayTo(t, agent.url, `${name}.pem`)
    isRefused(t, await ask(gateway))
    t.equal(await errors(gateway, 'tls'), 1)
    t.equal(agent.reached, 0, 'not a byte of the call')
    await until(() => agent.sockets.size === 0, 'no connection to be left')
  })
}

t.test('a certificate that is replaced by a wrong one, and corrected again', async t => {
  const agent = await secureAgent(t, 'right')
  const gateway = await gatewayTo(t, agent.url, 'ca.pem')
  const isServed = async (): Promise<void> => {
    const got = await ask(gateway)
    t.same([got.status, got.json()], [200, { id: got.id }])
  }
  await isServed()
  await isServed()
  for (const [i, wrong] of ['wrong', 'expired'].entries()) {
    agent.server.setSecureContext(pair(wrong))
    isRefused(t, await ask(gateway))
    t.equal(await errors(gateway, 'tls'), i + 1)
    agent.server.setSecureContext(pair('right'))
    await isServed()
  }
  t.equal(agent.reached, 4)
})
