/** What the gateway remembers of tasks: the store that the configuration names, which a reload may change. */
import { digest } from '../config/digest.js'
import type { StateStoreConfig } from '../config/model/model.js'
import type { TaskRecord } from '../policy/task/memory.js'
import type { CountedStore, StoreOptions } from '../state/create-store.js'
import { createStore } from '../state/create-store.js'
import type { TaskKey } from '../state/store.js'
import type { Log } from '../telemetry/log.js'
import type { Metrics } from '../telemetry/metrics/metrics.js'

export class Tasks {
  private readonly metrics: Metrics
  private readonly log: Log
  private readonly memory: StoreOptions['memory']
  private config: string
  private store: CountedStore

  constructor (config: StateStoreConfig, metrics: Metrics, log: Log, memory?: StoreOptions['memory']) {
    this.metrics = metrics
    this.log = log
    this.memory = memory
    this.config = digest(config)
    this.store = this.create(config)
    metrics.tasksRemembered(() => this.store.remembered())
  }

  /** @returns null where nothing is known of the task, or nobody can tell; a promise never rejects */
  read (key: TaskKey): TaskRecord | null | Promise<TaskRecord | null> {
    const found = this.store.read(key)
    if (found instanceof Promise) return found.then(one => typeof one === 'string' ? null : one)
    return typeof found === 'string' ? null : found
  }

  /** What is known of a task by now, not counted as a look-up; null also where a server would have to be asked. */
  now (key: TaskKey): TaskRecord | null {
    return this.store.now(key)
  }

  /** @returns a promise, which never rejects, where the store takes its time: nobody may see the answer before it has ended */
  write (key: TaskKey, fields: TaskRecord): Promise<unknown> | null {
    return this.store.write(key, fields)
  }

  /** After a reload: the same store as long as its settings are the same. Exchanges in flight use the new one from now on. */
  use (config: StateStoreConfig): void {
    const wanted = digest(config)
    if (wanted === this.config) return
    const old = this.store
    this.store = this.create(config)
    this.config = wanted
    old.close().catch((error: unknown) => { this.log.warn({ err: error }, 'the former store of tasks could not be closed') })
  }

  async close (): Promise<void> {
    await this.store.close()
  }

  private create (config: StateStoreConfig): CountedStore {
    const { metrics, log, memory } = this
    return createStore(config, {
      log,
      memory,
      onEvent: event => {
        if (event.kind === 'lookup') metrics.taskLookup(event.agent, event.outcome)
        else metrics.taskWrite(event.agent, event.outcome)
      }
    })
  }
}
