/** Fastify applications of a platform team, with the gateway as a plugin. */
import { PassThrough } from 'node:stream'
import { fastify } from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import type { Test } from 'tap'
import type { A2aGatewayOptions } from 'a2a-extension-gateway'
import { a2aGateway } from 'a2a-extension-gateway'

export interface Application {
  readonly app: FastifyInstance
  /** Log lines of the gateway so far, parsed. */
  logs (): Record<string, unknown>[]
}

/** An application with the gateway; the caller adds hooks and routes, and listens. Closes with the test. */
export async function application (
  t: Test,
  config: A2aGatewayOptions['config'],
  {
    before,
    options = {},
    ...rest
  }: { readonly before?: (app: FastifyInstance) => unknown; readonly options?: FastifyServerOptions } & Partial<A2aGatewayOptions> = {}
): Promise<Application> {
  const app = fastify(options) as FastifyInstance
  t.teardown(() => app.close())
  const logs = new PassThrough()
  let text = ''
  logs.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  await before?.(app)
  await app.register(a2aGateway, { config, env: {}, logs, audit: new PassThrough(), ...rest })
  return {
    app,
    logs: () =>
      text
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as Record<string, unknown>)
  }
}

export async function listen (app: FastifyInstance): Promise<string> {
  return await app.listen({ host: '127.0.0.1', port: 0 })
}

export function configuration (agents: readonly object[], more: Record<string, unknown> = {}): Record<string, unknown> {
  return { version: 1, server: { drainTimeout: '300ms' }, telemetry: { logs: { level: 'info' } }, agents, ...more }
}
