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
    return this.run(client, TAKE, [String(keys.length), ...keys.map(key => this.nameOf(key)), ...args]).then(reply => {
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
    const names = spendings.map(spending => this.nameOf(spending))
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

// The scripts that count on a Redis or Valkey server. Each runs as a whole, so that all gateways see one order of requests.

interface Script { readonly text: string, readonly sha1: string }

const script = (text: string): Script => ({ text, sha1: createHash('sha1').update(text).digest('hex') })

/** The time of the server, in ms: clocks of gateways may differ. `spent` returns the amount of a budget, and the end of its window. */
const COMMON = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local function spent(key, window)
  local value = redis.call('GET', key)
  local amount, ends = string.match(value or '', '^(%S+) (%S+)$')
  amount, ends = tonumber(amount), tonumber(ends)
  if not amount or not ends or ends <= now then return 0, now + window end
  return amount, math.min(ends, now + window)
end
`

/**
 * Counts one request under all keys, or under none. As `gcra.ts` and `memory-limits.ts`.
 * Arguments of each key: `count period burst` of a rate, `limit window 0` of a budget. Reply: index from 1 of the key with the longest
 * wait, or 0; the wait in ms; what counts under each key.
 */
const TAKE = script(`${COMMON}
local reply = {0, '0'}
local longest = 0
local used, behind = {}, {}
for i, key in ipairs(KEYS) do
  local a, b, burst = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  local wait = 0
  if burst == 0 then
    local amount, ends = spent(key, b)
    used[i] = amount
    if amount >= a then wait = math.max(1, math.ceil(ends - now)) end
  else
    local level = tonumber(redis.call('GET', key) or nil)
    if level ~= level then level = nil end -- NaN
    local units = level and level - now * a / b or 0
    used[i] = math.min(math.max(units, 0), burst)
    if units > burst then behind[i] = true end
    local over = used[i] + 1 - burst - 1e-6
    if over > 0 then wait = math.ceil(over * b / a) end
  end
  if wait > longest then
    longest = wait
    reply[1], reply[2] = i, string.format('%d', wait)
  end
end
for i, key in ipairs(KEYS) do
  local a, b, burst = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  if longest == 0 and burst > 0 then used[i] = used[i] + 1 end
  -- A level from before the clock stepped back is replaced, even if the request is rejected.
  if burst > 0 and (longest == 0 or behind[i]) then
    redis.call('SET', key, string.format('%.17g', now * a / b + used[i]), 'PX', string.format('%d', math.ceil(used[i] * b / a) + 1))
  end
  reply[i + 2] = string.format('%.17g', used[i])
end
return reply`)

/** Adds amounts. Arguments of each key: window, amount. */
const SPEND = script(`${COMMON}
for i, key in ipairs(KEYS) do
  local amount, ends = spent(key, tonumber(ARGV[2 * i - 1]))
  amount = math.min(amount + tonumber(ARGV[2 * i]), 9007199254740991)
  redis.call('SET', key, string.format('%.17g %.17g', amount, ends), 'PX', string.format('%d', math.max(1, math.ceil(ends - now))))
end
return {1}`)
