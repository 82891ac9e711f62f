/** Task state with several processes: the primary keeps the store of `state.store: memory`, and workers query the primary. */
import type { StateStoreConfig } from '#config/model/model.js'
import type { Claimed } from '#policy/request/claims.js'
import type { TaskRecord } from '#policy/task/memory.js'
import { MemoryStore } from '#state/memory-store.js'
import type { ClaimKey, Lookup, OwnedName, Owners, PushChange, PushCounted, TaskKey, TaskStore } from '#state/store.js'
import type { TaskFound, ToPrimary } from './messages.js'

export type TaskQuestion = ToPrimary & { readonly kind: 'task' | 'claim' | 'owners' | 'push' }

/** Milliseconds that a worker waits for the primary. A slower primary is overloaded, and the task then counts as unknown. */
const PATIENCE = 5_000

/** The task store in the primary. */
export class KeptTasks {
  private config: StateStoreConfig
  private store: MemoryStore | null

  constructor (config: StateStoreConfig) {
    this.config = config
    this.store = storeOf(config)
  }

  get remembered (): number | null {
    return this.store?.size ?? null
  }

  /** Keeps the same store while its settings stay the same, as `call/tasks.ts` does. */
  use (config: StateStoreConfig): void {
    const { store, ttl, maxTasks } = this.config
    this.config = config
    if (store !== config.store || ttl !== config.ttl || maxTasks !== config.maxTasks) this.store = storeOf(config)
  }

  async response (question: TaskQuestion): Promise<TaskFound> {
    const { store } = this
    if (question.kind === 'claim') {
      const { agent, claims, release } = question
      if (!release) return store?.claim(agent, claims) ?? claims.map(() => 'unavailable')
      store?.release(agent, claims)
      return true
    }
    if (question.kind === 'owners') return store?.owners(question.agent, question.names, question.claim) ?? 'unavailable'
    if (question.kind === 'push') return store?.pushConfigs(question.change) ?? 'unavailable'
    const { key, write } = question
    if (write === null) return store?.read(key) ?? 'unavailable'
    if (store === null) return false
    return await (store.write(key, write) ?? true)
  }
}

function storeOf (config: StateStoreConfig): MemoryStore | null {
  return config.store === 'memory' ? new MemoryStore(config) : null
}

/** The task store in a worker. */
export class RemoteTasks implements TaskStore {
  /** @returns false when the message cannot be sent to the primary */
  private readonly send: (question: TaskQuestion) => boolean
  private readonly waiting = new Map<number, (taskFound: TaskFound | null) => void>()
  private lastId = 0

  constructor (send: (question: TaskQuestion) => boolean) {
    this.send = send
  }

  async read (key: TaskKey): Promise<Lookup> {
    const reply = await this.ask(id => ({ kind: 'task', id, key, write: null }))
    return reply instanceof Map || reply === 'unknown' ? reply : 'unavailable'
  }

  async write (key: TaskKey, fields: TaskRecord): Promise<boolean> {
    return await this.ask(id => ({ kind: 'task', id, key, write: fields })) === true
  }

  async claim (agent: string, claims: readonly ClaimKey[]): Promise<readonly Claimed[]> {
    const reply = await this.ask(id => ({ kind: 'claim', id, agent, claims: claims.map(keyOf), release: false }))
    return Array.isArray(reply) ? reply as readonly Claimed[] : claims.map(() => 'unavailable')
  }

  release (agent: string, claims: readonly ClaimKey[]): void {
    this.send({ kind: 'claim', id: ++this.lastId, agent, claims: claims.map(keyOf), release: true })
  }

  owners (agent: string, names: readonly OwnedName[], claim: string | null): Owners | Promise<Owners> {
    return names.length === 0 ? [] : this.askOwners(agent, names, claim)
  }

  private async askOwners (agent: string, names: readonly OwnedName[], claim: string | null): Promise<Owners> {
    const reply = await this.ask(id => ({ kind: 'owners', id, agent, names: names.map(({ kind, id }) => ({ kind, id })), claim }))
    return Array.isArray(reply) ? reply as (string | null)[] : 'unavailable'
  }

  async pushConfigs (change: PushChange): Promise<PushCounted> {
    const reply = await this.ask(id => ({ kind: 'push', id, change }))
    return reply === 'full' || Array.isArray(reply) ? reply as PushCounted : 'unavailable'
  }

  /** Does nothing: one store serves every configuration and holds nothing of this process. */
  async close (): Promise<void> {}

  settled (id: number, taskFound: TaskFound | null): void {
    this.waiting.get(id)?.(taskFound)
  }

  /** Settles all waiting questions with null. Called when the primary is gone. */
  lost (): void {
    for (const id of [...this.waiting.keys()]) this.settled(id, null)
  }

  private ask (question: (id: number) => TaskQuestion): Promise<TaskFound | null> {
    return new Promise(resolve => {
      const id = ++this.lastId
      const timer = setTimeout(() => { this.settled(id, null) }, PATIENCE)
      this.waiting.set(id, taskFound => {
        this.waiting.delete(id)
        clearTimeout(timer)
        resolve(taskFound)
      })
      if (!this.send(question(id))) this.settled(id, null)
    })
  }
}

/** A claim without its rule, which is no message. */
function keyOf ({ key, window }: ClaimKey): ClaimKey {
  return { key, window }
}
