/**
 * Tasks with a failed write. The record on the server is out of date and would cause the rejection of valid calls. These tasks count as
 * unknown until the server has deleted their records.
 */
import type { Client } from './redis-connection.js'

/** Maximum number of names. The newest names are kept. */
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

  /** Called when the record on the server is up to date again, or is deleted. */
  settled (name: string): void {
    this.names.delete(name)
  }

  /**
   * Deletes all these records on the server. Records that the server refuses to delete stay in the list. @throws when the connection is
   * lost
   */
  async forget (client: Client): Promise<void> {
    while (this.names.size > 0) {
      const batch: string[] = []
      for (const name of this.names) if (batch.push(name) === BATCH) break
      if (typeof await client.sendCommand(['DEL', ...batch]) !== 'number') return
      for (const name of batch) this.names.delete(name)
    }
  }
}
