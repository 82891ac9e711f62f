/** Connection pools: one per agent, never shared, TLS verified. */
import type { Dispatcher } from 'undici'
import { Pool } from 'undici'
import type { UpstreamConfig } from '../config/model.js'
import type { TlsFiles } from './tls.js'

/** So that a connection that is never idle follows a host name that has moved. */
const CALLS_PER_CONNECTION = 1_000

/**
 * HTTP/1.1 without pipelining: on a shared connection a well-formed early answer would be the next caller's answer.
 * Idle connections are given up after 4 s, before Node's and most servers' 5 s, so that a request seldom meets a closing socket.
 */
export function createPool (origin: string, config: UpstreamConfig, files: TlsFiles): Pool {
  const { timeouts, tls } = config
  return new Pool(origin, {
    connections: config.connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 60_000,
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.idle,
    maxHeaderSize: 32_768,
    maxRequestsPerClient: CALLS_PER_CONNECTION,
    strictContentLength: true,
    connect: {
      timeout: timeouts.connect,
      rejectUnauthorized: true,
      ...(files.ca === null ? {} : { ca: files.ca }),
      ...(files.cert === null ? {} : { cert: files.cert }),
      ...(files.key === null ? {} : { key: files.key }),
      ...(tls.serverName === null ? {} : { servername: tls.serverName })
    }
  })
}

/** The pools of one agent: its own origin, and that of a card kept elsewhere. */
export class AgentPools {
  readonly main: Pool
  private readonly origin: string
  private readonly config: UpstreamConfig
  private readonly files: TlsFiles
  private readonly others = new Map<string, Pool>()

  constructor (config: UpstreamConfig, files: TlsFiles) {
    this.origin = new URL(config.url).origin
    this.config = config
    this.files = files
    this.main = createPool(this.origin, config, files)
  }

  /** Only origins that the configuration names are ever asked for. */
  for (origin: string): Dispatcher {
    if (origin === this.origin) return this.main
    let pool = this.others.get(origin)
    if (pool === undefined) {
      pool = createPool(origin, { ...this.config, tls: { ...this.config.tls, serverName: null } }, this.files)
      this.others.set(origin, pool)
    }
    return pool
  }

  async close (): Promise<void> {
    await Promise.all([this.main, ...this.others.values()].map(pool => pool.destroy()))
  }
}
