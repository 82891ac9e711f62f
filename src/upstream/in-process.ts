/** HTTP connections within the process: no socket, no port, nothing that another process could see. */
import { Duplex } from 'node:stream'
import { guarded, ownerOf } from '#guard.js'
import { ConnectionPool } from './connection-pool.js'

/** One end of a connection, with the members of a socket that Node's server and undici call. */
class End extends Duplex {
  other: End | null = null
  readonly remoteAddress = '127.0.0.1'
  /** Confirms the last write of the other end, which waits for this end to read. */
  private taken: (() => void) | null = null

  override _read (): void {
    const { taken } = this
    this.taken = null
    taken?.()
  }

  override _write (chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const { other } = this
    if (other === null || other.destroyed || other.push(chunk)) done()
    else other.taken = done
  }

  override _final (done: () => void): void {
    this.other?.push(null)
    done()
  }

  override _destroy (error: Error | null, done: (error: Error | null) => void): void {
    this.other?.destroy()
    done(error)
  }

  ref (): this { return this }
  unref (): this { return this }
  setTimeout (): this { return this }
  setNoDelay (): this { return this }
  setKeepAlive (): this { return this }
}

/** The two ends of a new connection. */
export function ends (): readonly [client: Duplex, server: Duplex] {
  const [client, server] = [new End(), new End()]
  client.other = server
  server.other = client
  return [client, server]
}

/** More connections than the warm-up ever has at once. */
const CONNECTIONS = 64

/** @param accept takes the server's end of each new connection */
export function connectionsTo (accept: (end: Duplex) => void): ConnectionPool {
  return new ConnectionPool('http://in-process.invalid', {
    connections: CONNECTIONS,
    pipelining: 1,
    connect: (_options, callback) => {
      const [client, server] = ends()
      // undici expects a connection later than its call.
      setImmediate(guarded(ownerOf('upstream', () => { client.destroy() }), () => {
        accept(server)
        callback(null, client as never)
      }))
    }
  })
}
