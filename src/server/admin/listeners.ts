/** The admin listener and, with `server.metrics`, a second listener for metrics and probes only. */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { guarded, ownerOf } from '#guard.js'
import type { Config } from '#config/model/model.js'
import { adminNames } from './host-guard.js'
import type { AdminOptions } from './server.js'
import { buildAdmin } from './server.js'
import type { HostPort } from '#config/model/listener-model.js'

/** Milliseconds for the requests in flight when the listeners close. */
const LAST = 500

export class AdminListeners {
  private readonly admin: FastifyInstance
  private readonly metrics: FastifyInstance | null
  private readonly server: Config['server']

  constructor ({ server, limits }: Pick<Config, 'server' | 'limits'>, options: AdminOptions) {
    this.server = server
    this.admin = buildAdmin({ ...options, names: adminNames(server) }, limits)
    this.metrics = server.metrics === null ? null : buildAdmin({ ...options, console: null, probesOnly: true }, limits)
  }

  async listen (): Promise<{ readonly adminUrl: string, readonly metricsUrl: string | null }> {
    const adminUrl = await listen(this.admin, this.server.admin)
    const metricsUrl = this.metrics === null || this.server.metrics === null ? null : await listen(this.metrics, this.server.metrics)
    return { adminUrl, metricsUrl }
  }

  /** Lets requests in flight end for a moment. A connection whose request ends now would stay open for 72 s, Fastify's keep-alive. */
  async close (): Promise<void> {
    const timer = setTimeout(guarded(ownerOf('admin'), () => {
      this.admin.server.closeAllConnections()
      this.metrics?.server.closeAllConnections()
    }), LAST)
    await Promise.all([this.admin.close(), this.metrics?.close()])
    clearTimeout(timer)
  }
}

/** @returns the URL of the listener; localhost replaces a wildcard address, because not every client can connect to a wildcard address */
export async function listen (app: FastifyInstance, at: HostPort, scheme: 'http' | 'https' = 'http'): Promise<string> {
  await app.listen({ host: at.host, port: at.port })
  const { port } = app.server.address() as AddressInfo
  return urlOf({ host: at.host, port }, scheme)
}

export function urlOf (at: HostPort, scheme: 'http' | 'https' = 'http'): string {
  const host = at.host === '0.0.0.0' || at.host === '::' || at.host === '' ? 'localhost' : at.host.includes(':') ? `[${at.host}]` : at.host
  return `${scheme}://${host}:${at.port}`
}
