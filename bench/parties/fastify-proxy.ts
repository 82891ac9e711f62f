/**
 * The bare `@fastify/http-proxy`, started as its README describes, with as many connections to the agent as the other parties have.
 *
 *     node fastify-proxy.js AGENT_URL
 */
import type { AddressInfo } from 'node:net'
import proxy from '@fastify/http-proxy'
import { fastify } from 'fastify'
import { announce } from '../processes.js'

const app = fastify()
await app.register(proxy, {
  upstream: process.argv[2] as string,
  undici: { connections: 4_096, pipelining: 1, keepAliveTimeout: 4_000, headersTimeout: 120_000, bodyTimeout: 0 }
})
await app.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 })
announce((app.server.address() as AddressInfo).port)
