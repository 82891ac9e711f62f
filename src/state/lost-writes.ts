/**
 * Tasks of which something could not be written: what a server holds of them is no longer so, and would have healthy calls refused. They count
 * as unknown until the server has forgotten them.
 */
import type { Client } from './redis-connection.js'

/** The newest are kept in mind. */
const MAX = 50_000
/** Keys in one command. */
const BATCH = 500

export class LostWrites {
  private readonly names = new Set<string>()

  get size (): number {
    return this.names.size
  }

  has (name: string): boolean {
    return this.names.size > 0 && this.names.has(name)
  }

  add (name: string): void {
    this.names.delete(name)
    this.names.add(name)
    if (this.names.size <= MAX) return
    const [oldest] = this.names
    if (oldest !== undefined) this.names.delete(oldest)
  }

  /** What the server holds of it is so again, or is gone. */
  settled (name: string): void {
    this.names.delete(name)
  }

  /** Has the server forget them all. Those that it refuses to forget stay. @throws when the connection is lost */
  async forget (client: Client): Promise<void> {
    while (this.names.size > 0) {
      const batch: string[] = []
      for (const name of this.names) if (batch.push(name) === BATCH) break
      if (typeof await client.sendCommand(['DEL', ...batch]) !== 'number') return
      for (const name of batch) this.names.delete(name)
    }
  }
}
