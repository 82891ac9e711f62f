/**
 * Counts on a Redis or Valkey server, which several gateways share. One command for each step, with all its keys.
 *
 * No call waits for a server that is down, and none waits longer than `state.timeout`.
 */
import { createHash } from 'node:crypto'
import type { StateStoreConfig } from '#config/model/model.js'
import { isBudget } from '#policy/limits/charge.js'
import type { Client, StoreLog } from '../redis-connection.js'
import { reasonOf, RedisConnection } from '../redis-connection.js'
import { RedisReplies } from '../redis-replies.js'
import type { LimitKey, LimitStore, Spending, Taken } from './limit-store.js'
import type { Script } from './script.js'
import { SPEND, TAKE } from './script.js'

const LOST = 'state: no connection to the store; shared limits are not shared until there is one'

export class RedisLimits implements LimitStore {
  private readonly prefix: string
  private readonly connection: RedisConnection
  private readonly replies: RedisReplies

  constructor ({ store, prefix, timeout }: StateStoreConfig, log: StoreLog) {
    // The tag in braces puts all keys of a step into one slot, behind a proxy for a cluster of servers.
    this.prefix = `${prefix}{limits}:`
    this.connection = new RedisConnection(store, ['TIME'], log, async () => {}, LOST)
    this.replies = new RedisReplies(this.connection, { timeout, log, rejection: 'state: the store rejects the commands of shared limits' })
  }

  take (keys: readonly LimitKey[]): null | Promise<Taken | null> {
    const { client } = this
    if (client === null) return null
    const args = keys.flatMap(({ rule }) =>
      isBudget(rule) ? [String(rule.limit), String(rule.window), '0'] : [String(rule.count), String(rule.period), String(rule.burst)]
    )
    return this.run(client, TAKE, [String(keys.length), ...keys.map(one => this.nameOf(one)), ...args]).then(reply => {
      if (reply === null) return null
      const taken = takenOf(reply, keys.length)
      if (taken === null) this.connection.drop(client, 'PROTOCOL')
      return taken
    })
  }

  release (keys: readonly LimitKey[]): void {
    // The shared limits are the last to be asked: nothing rejects a request after them.
    if (keys.length > 0) throw new Error('shared limits release nothing')
  }

  spend (spendings: readonly Spending[]): false | Promise<boolean> {
    const { client } = this
    if (client === null) return false
    const args = spendings.flatMap(({ rule, amount }) => [String(rule.window), String(amount)])
    const names = spendings.map(one => this.nameOf(one))
    return this.run(client, SPEND, [String(names.length), ...names, ...args]).then(reply => reply !== null)
  }

  close (): Promise<void> {
    return this.connection.close()
  }

  /** Counts have no earlier state that another gateway would have to correct, so a connection that settles can be used too. */
  private get client (): Client | null {
    return this.connection.ready ?? this.connection.settling
  }

  private nameOf ({ key }: Pick<LimitKey, 'key'>): string {
    return this.prefix + createHash('sha256').update(key).digest('base64url')
  }

  /**
   * Runs a script that the server has, or sends it. @returns null when the server rejects it, the connection is lost, or the time is over
   */
  private run (client: Client, { text, sha1 }: Script, args: readonly string[]): Promise<unknown> {
    return this.replies.within(client, this.connection.send(client, ['EVALSHA', sha1, ...args]).catch((error: unknown) => {
      // A server forgets its scripts when it restarts. Nothing of the script has run.
      if (reasonOf(error) !== 'NOSCRIPT') throw error
      return this.connection.send(client, ['EVAL', text, ...args])
    }))
  }
}

/** @returns null when the reply is no reply to the script */
function takenOf (reply: unknown, keys: number): Taken | null {
  if (!Array.isArray(reply) || reply.length !== keys + 2 || typeof reply[0] !== 'number') return null
  const [wait, ...used] = reply.slice(1).map(Number)
  if (wait === undefined || !Number.isFinite(wait) || !used.every(Number.isFinite)) return null
  return { rejected: reply[0] - 1, wait, used }
}
