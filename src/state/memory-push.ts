/** Push notification configurations of tasks in the memory of this process. The memory is bounded, and empty after a restart. */
import { pushKey } from './record-key.js'
import type { PushChange, PushCounted } from './store.js'

interface Task {
  /** Token of the last change, by digest of the configuration's id. */
  readonly entries: Map<string, string>
  expires: number
}

export class MemoryPush {
  private readonly now: () => number
  private readonly ttl: number
  private readonly max: number
  /** In order of last use, which is also the order of expiry. No entry therefore needs a timer. */
  private readonly tasks = new Map<string, Task>()

  /**
   * @param now a clock that never goes back, ms
   * @param ttl ms after the last use
   * @param max number of tasks; the least recently used is forgotten first
   */
  constructor (now: () => number, ttl: number, max: number) {
    this.now = now
    this.ttl = ttl
    this.max = max
  }

  /** As `TaskStore.pushConfigs`, and as the script in `push-script.ts`. */
  change ({ agent, taskId, kind, entries, token, max }: PushChange): PushCounted {
    this.sweep()
    const key = pushKey(agent, taskId)
    const known = this.tasks.get(key)?.entries ?? new Map<string, string>()
    const added = entries.map(entry => !known.has(entry))
    const count = added.filter(Boolean).length
    const full = kind === 'reserve' && count > 0 && known.size + count > max
    entries.forEach((entry, i) => {
      if (kind === 'free') {
        if (known.get(entry) === token) known.delete(entry)
      } else if (!full && (kind !== 'mark' || added[i] === false)) known.set(entry, token)
    })
    this.tasks.delete(key)
    if (known.size > 0) this.tasks.set(key, { entries: known, expires: this.now() + this.ttl })
    const [oldest] = this.tasks.keys()
    if (this.tasks.size > this.max && oldest !== undefined) this.tasks.delete(oldest)
    return full ? 'full' : added
  }

  clear (): void {
    this.tasks.clear()
  }

  private sweep (): void {
    const now = this.now()
    for (const [key, { expires }] of this.tasks) {
      if (expires > now) return
      this.tasks.delete(key)
    }
  }
}
