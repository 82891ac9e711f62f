/** Creates the store that the configuration names, and counts every lookup and write. */
import type { StateStoreConfig } from '#config/model/model.js'
import type { TaskRecord } from '#policy/task/memory.js'
import { MemoryStore } from './memory-store.js'
import type { StoreLog } from './redis-connection.js'
import { RedisStore } from './redis-store.js'
import type { Lookup, TaskKey, TaskStore } from './store.js'
import { whenReady } from '#wire/when-ready.js'

export type StoreEvent =
  | { readonly kind: 'lookup', readonly agent: string, readonly outcome: 'known' | 'unknown' | 'unavailable' }
  | { readonly kind: 'write', readonly agent: string, readonly outcome: 'kept' | 'lost' }

export interface StoreOptions {
  readonly log: StoreLog
  /** Called when a lookup or write is complete. */
  readonly onEvent: (event: StoreEvent) => void
  /** Creates the store that replaces memory in this process. */
  readonly memory?: ((config: StateStoreConfig) => TaskStore) | undefined
}

export interface CountedStore extends TaskStore {
  /** Number of tasks held in this process; null when a server holds them. */
  remembered (): number | null
  /** A lookup that is not counted; null when a server holds the tasks, or the task is unknown. */
  now (key: TaskKey): TaskRecord | null
}

/** Never throws: the store retries a server that cannot be reached in the background. */
export function createStore (
  config: StateStoreConfig,
  { log, onEvent, memory = settings => new MemoryStore(settings) }: StoreOptions
): CountedStore {
  const store = config.store === 'memory' ? memory(config) : new RedisStore(config, log)
  const looked = (agent: string, lookup: Lookup): Lookup => {
    onEvent({ kind: 'lookup', agent, outcome: typeof lookup === 'string' ? lookup : 'known' })
    return lookup
  }
  const wrote = (agent: string, isKept: boolean): boolean => {
    onEvent({ kind: 'write', agent, outcome: isKept ? 'kept' : 'lost' })
    return isKept
  }
  return {
    read (key: TaskKey): Lookup | Promise<Lookup> {
      const record = store.read(key)
      return whenReady(record, lookup => looked(key.agent, lookup))
    },
    write (key: TaskKey, fields: TaskRecord): null | Promise<boolean> {
      const done = store.write(key, fields)
      if (done !== null) return done.then(isKept => wrote(key.agent, isKept))
      wrote(key.agent, true)
      return null
    },
    claim: (agent, claims) => store.claim(agent, claims),
    release: (agent, claims) => { store.release(agent, claims) },
    owners: (agent, names, claim) => store.owners(agent, names, claim),
    pushConfigs: change => store.pushConfigs(change),
    now: key => {
      const record = store instanceof MemoryStore ? store.read(key) : 'unavailable'
      return typeof record === 'string' ? null : record
    },
    remembered: () => store instanceof MemoryStore ? store.size : null,
    close: () => store.close()
  }
}
