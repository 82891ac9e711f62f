/** Gateways in front of the agents of a suite, from the built sources. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseConfig } from '../../dist/src/config/load.js'
import { startGateway } from '../../dist/src/server/start.js'

/**
 * Starts a gateway with no settings but the agent's address, and returns when the gateway has the card.
 * @param keys of the agent, after a comma
 * @param settings lines beside `agents`
 * @param grpcAddress `host:port` of the gRPC listener; without it, the gateway serves HTTP only
 */
export async function gatewayTo (upstream, { keys = '', settings = '', grpcAddress } = {}) {
  const grpc = grpcAddress === undefined ? '' : `, grpc: {listen: "${grpcAddress}", publicAddress: "${grpcAddress}"}`
  const loaded = parseConfig(`
version: 1
server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 100ms${grpc}}
telemetry: {logs: {level: silent}, audit: {enabled: false}}
${settings}
agents: [{name: agent, upstream: {url: "${upstream}"}${keys}}]
`, { file: 'conformance.yaml', baseDir: process.cwd(), env: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const gateway = await startGateway(loaded.config)
  for (const end = Date.now() + 30_000; ; await sleep(10)) {
    const response = await fetch(`${gateway.adminUrl}/readyz`)
    const text = await response.text()
    if (response.ok) return gateway
    if (Date.now() > end) {
      await gateway.close()
      throw new Error(`the gateway in front of ${upstream} is not ready: ${text}`)
    }
  }
}

/**
 * Starts a server that clients of a suite ask for the gateway in front of an agent: `GET /?url=` the URL of a call. The response is the
 * origin to call instead. An agent that serves no card gets a card with the binding and the path of the first call. An
 * agent without an interface over HTTP, a gateway, and a server that is not the target of an A2A call keep their own origin.
 */
export async function startDirectory () {
  const origins = new Map()
  const gateways = []
  const scratch = mkdtempSync(join(tmpdir(), 'conformance-cards-'))
  let served = 0
  const server = createServer(async (request, response) => {
    const url = new URL(new URL(request.url, 'http://directory').searchParams.get('url'))
    if (!origins.has(url.origin)) {
      origins.set(url.origin, inFront(url).then(gateway => {
        if (gateway === null) return url.origin
        served++
        gateways.push(gateway)
        origins.set(gateway.url, Promise.resolve(gateway.url))
        return gateway.url
      }))
    }
    const origin = await origins.get(url.origin).catch(error => error)
    if (origin instanceof Error) response.writeHead(500)
    response.end(origin instanceof Error ? origin.message : origin)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  async function inFront (url) {
    const response = await fetch(`${url.origin}/.well-known/agent-card.json`, { headers: { 'A2A-Version': '1.0' } })
    const card = response.ok ? await response.json().catch(() => null) : null
    // Some agents answer every path, with a JSON-RPC error.
    if (typeof card?.name === 'string') return hasHttp(card) ? await gatewayTo(url.origin) : null
    const file = join(scratch, `${url.port}.json`)
    writeFileSync(file, JSON.stringify(cardFor(url)))
    return await gatewayTo(url.origin, { keys: `, card: {file: "${file}"}` })
  }

  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Without a gateway, both runs would be the same by mistake. */
    mustHaveServed () {
      if (served === 0) throw new Error('no call of the suite went through a gateway')
      console.log(`   ${served} gateways, each in front of an agent of the suite; ${origins.size - 2 * served} servers without an interface over HTTP`)
    },
    async close () {
      server.closeAllConnections()
      server.close()
      await Promise.all(gateways.map(gateway => gateway.close()))
      rmSync(scratch, { recursive: true, force: true })
    }
  }
}

/** Starts a server that forwards to a gateway over HTTP, and writes gRPC addresses in responses as `http://host:port` instead of `host:port`. */
export async function withSchemes (gateway) {
  const server = createServer(async (request, response) => {
    const { host, connection, ...headers } = request.headers
    const body = request.method === 'POST' ? Buffer.concat(await request.toArray()) : undefined
    const forwarded = await fetch(gateway + request.url, { method: request.method, headers, body, redirect: 'manual' }).catch(error => error)
    if (forwarded instanceof Error) return response.writeHead(502).end(forwarded.message)
    const { 'content-length': length, ...others } = Object.fromEntries(forwarded.headers)
    const text = await forwarded.text()
    response.writeHead(forwarded.status, others).end(text.replace(/("url":\s*")(127\.0\.0\.1:\d+")/g, '$1http://$2'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async close () {
      server.closeAllConnections()
      server.close()
    }
  }
}

function hasHttp (card) {
  return [...(card.supportedInterfaces ?? []), ...(card.additionalInterfaces ?? []), { protocolBinding: card.preferredTransport ?? (card.url === undefined ? 'GRPC' : 'JSONRPC') }]
    .some(one => ['JSONRPC', 'HTTP+JSON'].includes(one.protocolBinding ?? one.transport))
}

function cardFor (url) {
  const base = /^(.*?)\/(?:message:|tasks\b|extendedAgentCard\b)/.exec(url.pathname)?.[1]
  const interfaces = base === undefined
    ? ['1.0', '0.3'].map(protocolVersion => ({ url: url.origin + url.pathname, protocolBinding: 'JSONRPC', protocolVersion }))
    // The last segment of the base may be a tenant.
    : [base, base.replace(/\/[^/]*$/, '')].map(path => ({ url: url.origin + path, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }))
  return {
    name: 'agent',
    description: 'An agent without a card',
    version: '1',
    supportedInterfaces: interfaces,
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: []
  }
}
