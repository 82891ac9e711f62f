/** Connection pools: separate pools for each agent, never shared, with TLS verified. */
import type { Dispatcher } from 'undici'
import type { UpstreamConfig } from '#config/model/model.js'
import type { AddressGuard } from './address-guard.js'
import { ConnectionPool } from './connection-pool.js'
import { ConnectionQueue } from './connection-queue.js'
import type { GrpcAddress } from './grpc/pool.js'
import { GrpcPool } from './grpc/pool.js'
import type { TlsFiles } from './tls.js'

/** Calls per connection. The limit makes a connection that is never idle follow a host name that has moved. */
const CALLS_PER_CONNECTION = 1_000

/**
 * Creates a pool of HTTP/1.1 connections without pipelining: on a shared connection, a well-formed early response would count as the
 * response to the next caller. Idle connections are closed after 4 s, before the 5 s of Node and most servers, so that a request seldom
 * meets a closing socket.
 */
function createPool (origin: string, config: UpstreamConfig, files: TlsFiles, guard: AddressGuard | null): ConnectionPool {
  const { timeouts, tls } = config
  return new ConnectionPool(origin, {
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
      allowH2: false,
      timeout: timeouts.connect,
      rejectUnauthorized: true,
      ...(guard === null ? {} : { lookup: guard.lookup }),
      ...(files.ca === null ? {} : { ca: files.ca }),
      ...(files.cert === null ? {} : { cert: files.cert }),
      ...(files.key === null ? {} : { key: files.key }),
      ...(tls.serverName === null ? {} : { servername: tls.serverName })
    }
  })
}

/** Connections for cards. The gateway requests a card in two versions. */
const CARD_CONNECTIONS = 2
/** Connections for callers whose access to the card the agent decides. `concurrency.requests` bounds the callers that wait. */
const CALLER_CONNECTIONS = 8

/** The pools of one agent: one for its calls, and others for its card, which must be available while calls use every connection. */
export class AgentPools {
  readonly main: ConnectionPool
  /** Queue where calls wait for a connection of `main`. */
  readonly queue: ConnectionQueue
  private readonly origin: string
  private readonly config: UpstreamConfig
  private readonly files: TlsFiles
  /** Null: the addresses come from the configuration, and may be any. */
  private readonly guard: AddressGuard | null
  private readonly cards = new Map<string, ConnectionPool>()
  /** By `grpc://host:port`, or `grpcs://` with TLS. A card may name several ports. */
  private readonly grpc = new Map<string, GrpcPool>()

  constructor (config: UpstreamConfig, files: TlsFiles, guard: AddressGuard | null = null) {
    this.guard = guard
    this.origin = new URL(config.url).origin
    this.config = config
    this.files = files
    this.main = createPool(this.origin, config, files, guard)
    this.queue = new ConnectionQueue(this.main, config.timeouts.queue)
  }

  /** Returns the pool for cards of an origin. Called only with origins that the configuration names. */
  for (origin: string): Dispatcher {
    return this.poolFor(origin, origin, CARD_CONNECTIONS)
  }

  /** Returns the pool for requests that callers cause at the origin of the card. They must not delay the refresh of the card. */
  forCallers (origin: string): Dispatcher {
    return this.poolFor(`callers ${origin}`, origin, CALLER_CONNECTIONS)
  }

  /** Returns the pool for gRPC calls to a server of the agent. */
  forGrpc (address: GrpcAddress): GrpcPool {
    const key = `${address.tls ? 'grpcs' : 'grpc'}://${address.host}:${address.port}`
    let pool = this.grpc.get(key)
    if (pool === undefined) {
      pool = new GrpcPool(address, this.config, this.files, this.guard)
      this.grpc.set(key, pool)
    }
    return pool
  }

  private poolFor (key: string, origin: string, connections: number): Dispatcher {
    let pool = this.cards.get(key)
    if (pool === undefined) {
      const { config } = this
      const tls = origin === this.origin ? config.tls : { ...config.tls, serverName: null }
      pool = createPool(origin, { ...config, connections, tls }, this.files, this.guard)
      this.cards.set(key, pool)
    }
    return pool
  }

  async close (): Promise<void> {
    for (const pool of this.grpc.values()) pool.close()
    await Promise.all([this.main, ...this.cards.values()].map(pool => pool.destroy()))
  }
}
