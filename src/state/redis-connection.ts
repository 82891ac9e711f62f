/**
 * One connection to a Redis or Valkey server, which reconnects whenever the connection is lost. No caller waits for the connection: without
 * one, `ready` is null.
 *
 * The connection is closed at the first reply that does not match its command. Otherwise the client library would assign the next replies
 * to the wrong commands, and one task would get the record of another. The connection uses RESP2, which every version of both servers
 * supports.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisClientOptions, RedisFunctions, RedisModules, RedisScripts } from '@redis/client'

type Options = RedisClientOptions<RedisModules, RedisFunctions, RedisScripts, 2>

/** Log for events of the server. Texts of the server are never logged, because they may repeat a password that was sent. */
export interface StoreLog {
  info (fields: object, message: string): void
  warn (fields: object, message: string): void
}

/** The parts of the library's client that this module uses. */
export interface Client {
  sendCommand (args: readonly string[]): Promise<unknown>
  connect (): Promise<unknown>
  destroy (): void
  readonly isReady: boolean
  /** Lets the process exit while the client is connected. */
  unref (): void
  on (event: 'error', listener: (error: unknown) => void): unknown
}

/** Milliseconds to connect, including TLS and password. */
const CONNECT_TIMEOUT = 3_000
const FIRST_RETRY = 50
const LAST_RETRY = 1_000
/**
 * Milliseconds after a failure during which a new connection is not used for reads. Within this time, every gateway that shares the server
 * has reconnected. No gateway therefore reads a record that another gateway could not replace.
 */
const SETTLING = CONNECT_TIMEOUT + LAST_RETRY
/** Milliseconds after which a connection counts as good, so that the next attempt starts with the short wait again. */
const GOOD = 10_000
/** Maximum number of commands without a reply. */
const MAX_PENDING = 10_000

export class RedisConnection {
  private readonly options: Options
  private readonly server: string
  private readonly probe: readonly string[]
  private readonly log: StoreLog
  private readonly prepare: (client: Client) => Promise<void>
  private readonly lost: string
  private client: Client | null = null
  private settlingClient: Client | null = null
  private pending = 0
  private attempts = 0
  /** True when there was a failure since the last connection. */
  private unsettled = false
  private since = 0
  private retry: NodeJS.Timeout | null = null
  private closed = false
  /** Reason that was logged last; null while the connection works. */
  private lastReason: string | null = null

  /**
   * @param url `redis://` or `rediss://`, with host, port, user, password and database
   * @param probe a command that is allowed wherever the other commands are allowed
   * @param prepare steps on a connection before it is used for sending
   * @param lost message for the log when the connection is lost
   */
  constructor (
    url: string,
    probe: readonly string[],
    log: StoreLog,
    prepare: (client: Client) => Promise<void>,
    lost = 'state: no connection to the store; tasks are unknown until the gateway connects again'
  ) {
    this.options = optionsOf(new URL(url))
    this.server = new URL(url).host
    this.probe = probe
    this.log = log
    this.prepare = prepare
    this.lost = lost
    this.connect()
  }

  /** The connection to send on; null for none. */
  get ready (): Client | null {
    return this.pending < MAX_PENDING ? this.client : null
  }

  /** The connection that must not yet be used for reads or for writes of records; null for none. */
  get settling (): Client | null {
    return this.pending < MAX_PENDING ? this.settlingClient : null
  }

  /** @throws the server's error, or the reason why the connection was lost */
  async send (client: Client, args: readonly string[]): Promise<unknown> {
    this.pending++
    try {
      return await client.sendCommand(args)
    } finally {
      this.pending--
    }
  }

  /** Closes a connection, and schedules a new attempt. */
  drop (client: Client, reason: string): void {
    if (client !== this.client) return
    this.client = null
    client.destroy()
    if (performance.now() - this.since > GOOD) this.attempts = 0
    this.again(reason)
  }

  /** Waits at most half a second for replies that are still due, then closes. */
  async close (): Promise<void> {
    this.closed = true
    if (this.retry !== null) clearTimeout(this.retry)
    const client = this.client ?? this.settlingClient
    this.client = null
    if (client === null) return
    for (let waited = 0; this.pending > 0 && waited < 500; waited += 10) await new Promise(resolve => setTimeout(resolve, 10))
    client.destroy()
  }

  private async connect (): Promise<void> {
    let client: Client | null = null
    let timer: NodeJS.Timeout | null = null
    try {
      const newClient = await makeClient(this.options)
      client = newClient
      // The listener stays for ever, even on a closed client: an `error` event without a listener ends the process.
      const failed = new Promise<never>((_resolve, reject) => {
        newClient.on('error', error => {
          reject(error instanceof Error ? error : new Failure('ERROR'))
          this.drop(newClient, reasonOf(error))
        })
      })
      newClient.unref()
      const late = new Promise<never>((_resolve, reject) => { timer = setTimeout(() => reject(new Failure('TIMEOUT')), CONNECT_TIMEOUT) })
      const reply = await Promise.race([failed, late, newClient.connect().then(() => newClient.sendCommand(this.probe))])
      if (!Array.isArray(reply)) throw new Failure('PROTOCOL')
      clearTimeout(timer ?? undefined)
      if (this.unsettled) await Promise.race([failed, this.settle(newClient)])
      await Promise.race([failed, this.prepare(newClient)])
      if (this.closed) return newClient.destroy()
      this.client = newClient
      this.unsettled = false
      this.since = performance.now()
      this.lastReason = null
      this.log.info({ server: this.server }, 'state: connected to the store')
    } catch (error) {
      client?.destroy()
      this.again(reasonOf(error))
    } finally {
      this.settlingClient = null
      if (timer !== null) clearTimeout(timer)
    }
  }

  private async settle (client: Client): Promise<void> {
    this.settlingClient = client
    await sleep(SETTLING, undefined, { ref: false })
  }

  private again (reason: string): void {
    if (this.closed) return
    this.unsettled = true
    const unreachable = UNREACHABLE.test(reason)
    if (this.lastReason === null || (reason !== this.lastReason && !(unreachable && UNREACHABLE.test(this.lastReason)))) {
      this.log.warn({ server: this.server, reason }, this.lost)
    }
    this.lastReason = reason
    const wait = Math.min(LAST_RETRY, FIRST_RETRY * 2 ** Math.min(this.attempts++, 10)) * (0.5 + Math.random() / 2)
    this.retry = setTimeout(() => { this.connect() }, wait)
    this.retry.unref()
  }
}

/** Error codes of the network that all mean: the server is unreachable. */
const UNREACHABLE = /^(?:E[A-Z0-9]+|TIMEOUT|[A-Z][A-Za-z]*[a-z])$/

class Failure extends Error {
  readonly code: string

  constructor (code: string) {
    super(code)
    this.code = code
  }
}

/**
 * Creates a client. The library is loaded only when needed: loading takes 150 ms and 18 MB. Its own reconnecting is off, because this
 * module reconnects.
 */
async function makeClient (options: Options): Promise<Client> {
  const { createClient } = await import('#vendor/redis.js')
  return createClient(options) as unknown as Client
}

function optionsOf (url: URL): Options {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const database = Number(url.pathname.slice(1))
  const socket = {
    host,
    port: url.port === '' ? 6379 : Number(url.port),
    connectTimeout: CONNECT_TIMEOUT,
    reconnectStrategy: false as const
  }
  return {
    socket: url.protocol === 'rediss:' ? { ...socket, tls: true } : socket,
    ...(url.username === '' ? {} : { username: decoded(url.username) }),
    ...(url.password === '' ? {} : { password: decoded(url.password) }),
    ...(database > 0 ? { database } : {}),
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandsQueueMaxLength: 4 * MAX_PENDING
  }
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const CODE = /^[A-Z][A-Z0-9_]{1,40}$/

/**
 * Returns one word: the code of a system error, or the code at the start of a server's error. The rest of the text may repeat what was
 * sent, even a password.
 */
export function reasonOf (error: unknown): string {
  if (!(error instanceof Error)) return 'ERROR'
  const { code } = error as { code?: unknown }
  if (typeof code === 'string' && CODE.test(code)) return code
  const first = error.message.split(' ', 1)[0] ?? ''
  return CODE.test(first) ? first : error.constructor.name
}
