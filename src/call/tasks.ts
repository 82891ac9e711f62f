/** Task state: uses the store that the configuration names, which a reload may change. */
import { digest } from '#config/digest.js'
import type { StateStoreConfig } from '#config/model/model.js'
import type { Claimed } from '#policy/request/claims.js'
import type { TaskRecord } from '#policy/task/memory.js'
import type { CountedStore, StoreOptions } from '#state/create-store.js'
import { createStore } from '#state/create-store.js'
import type { ClaimKey, OwnedName, Owners, PushChange, PushCounted, TaskKey } from '#state/store.js'
import type { Log } from '#telemetry/log.js'
import type { Metrics } from '#telemetry/metrics/metrics.js'
import { whenReady } from '#wire/when-ready.js'

export class Tasks {
  private readonly metrics: Metrics
  private readonly log: Log
  private readonly memory: StoreOptions['memory']
  private config: string
  private ttl: number
  private store: CountedStore

  constructor (config: StateStoreConfig, metrics: Metrics, log: Log, memory?: StoreOptions['memory']) {
    this.metrics = metrics
    this.log = log
    this.memory = memory
    this.config = digest(config)
    this.ttl = config.ttl
    this.store = this.create(config)
    metrics.read('tasks_remembered', () => this.store.remembered())
  }

  /** @returns null when the task is unknown, or the store is unavailable; a promise never rejects */
  read (key: TaskKey): TaskRecord | null | Promise<TaskRecord | null> {
    return whenReady(this.store.read(key), record => typeof record === 'string' ? null : record)
  }

  /** Returns the known state of a task without a counted lookup. Also null when only a server could provide it. */
  now (key: TaskKey): TaskRecord | null {
    return this.store.now(key)
  }

  /**
   * @returns a promise, which never rejects, when the store needs time: the client must not get the response before the promise has settled
   */
  write (key: TaskKey, fields: TaskRecord): Promise<unknown> | null {
    return this.store.write(key, fields)
  }

  /** Claims values that may be accepted once. A promise never rejects. */
  claim (agent: string, claims: readonly ClaimKey[]): readonly Claimed[] | Promise<readonly Claimed[]> {
    const claimed = this.store.claim(agent, claims)
    return whenReady(claimed, outcomes => this.counted(agent, outcomes))
  }

  private counted (agent: string, claimed: readonly Claimed[]): readonly Claimed[] {
    for (const outcome of claimed) this.metrics.add('unique_claims_total', agent, outcome)
    return claimed
  }

  /** Claims the one way on for a request that has waited. A promise never rejects. */
  claimOnce (agent: string, key: string): { readonly claim: ClaimKey, readonly outcome: Claimed | Promise<Claimed> } {
    const claim = { key, window: this.ttl }
    return { claim, outcome: whenReady(this.store.claim(agent, [claim]), ([outcome = 'unavailable']) => outcome) }
  }

  /** Withdraws the claims of a request that is not forwarded. */
  release (agent: string, claims: readonly ClaimKey[]): void {
    if (claims.length > 0) this.store.release(agent, claims)
  }

  /** The owners of tasks and contexts. `claim` becomes the owner of those without one. A promise never rejects. */
  owners (agent: string, names: readonly OwnedName[], claim: string | null): Owners | Promise<Owners> {
    return this.store.owners(agent, names, claim)
  }

  /** Changes the push notification configurations that count for a task. A promise never rejects. */
  pushConfigs (change: PushChange): PushCounted | Promise<PushCounted> {
    return this.store.pushConfigs(change)
  }

  /** Called after a reload: keeps the same store while its settings stay the same. From now on, exchanges in flight use the new store. */
  use (config: StateStoreConfig): void {
    const wanted = digest(config)
    if (wanted === this.config) return
    const old = this.store
    this.store = this.create(config)
    this.config = wanted
    this.ttl = config.ttl
    old.close().catch((error: unknown) => { this.log.warn({ err: error }, 'the previous task store could not be closed') })
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
        if (event.kind === 'lookup') metrics.add('task_lookups_total', event.agent, event.outcome)
        else metrics.add('task_writes_total', event.agent, event.outcome)
      }
    })
  }
}
