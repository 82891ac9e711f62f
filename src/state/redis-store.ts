/**
 * Task state on a Redis or Valkey server, which several gateways may share. One hash per task.
 *
 * No call waits for a server that is down. A call waits for a slow server at most until the timeout.
 */
import type { StateStoreConfig } from '#config/model/model.js'
import type { Claimed } from '#policy/request/claims.js'
import type { TaskRecord } from '#policy/task/memory.js'
import { claimName, fieldLength, MAX_FIELDS, MAX_LENGTH, ownerKey, pushKey, recordKey } from './record-key.js'
import type { Client, StoreLog } from './redis-connection.js'
import { RedisConnection } from './redis-connection.js'
import { RedisReplies } from './redis-replies.js'
import type { ClaimKey, Lookup, OwnedName, Owners, PushChange, PushCounted, TaskKey, TaskStore } from './store.js'

export class RedisStore implements TaskStore {
  private readonly prefix: string
  private readonly ttl: string
  private readonly connection: RedisConnection
  private readonly lost = new LostWrites()
  private readonly replies: RedisReplies

  constructor ({ store, prefix, ttl, timeout }: StateStoreConfig, log: StoreLog) {
    this.prefix = prefix
    this.ttl = String(ttl)
    this.connection = new RedisConnection(store, ['HGETALL', `${prefix}task:`], log, client => this.forget(client))
    this.replies = new RedisReplies(this.connection, {
      timeout,
      log,
      rejection: 'state: the store rejects commands; the gateway does not remember rejected changes'
    })
  }

  read (key: TaskKey): Lookup | Promise<Lookup> {
    const client = this.connection.ready
    if (client === null) return 'unavailable'
    const name = this.prefix + recordKey(key)
    if (this.lost.has(name)) return 'unknown'
    // A read counts as use of the task, so PEXPIRE renews the record. PEXPIRE does not create a missing key.
    return this.ask(client, [['HGETALL', name], ['PEXPIRE', name, this.ttl]]).then(replies => {
      if (replies === null) return 'unavailable'
      const record = isNumber(replies[1]) ? recordOf(replies[0]) : null
      if (record !== null) return record.size === 0 ? 'unknown' : record
      this.connection.drop(client, 'PROTOCOL')
      return 'unavailable'
    })
  }

  write (key: TaskKey, fields: TaskRecord): null | Promise<boolean> {
    const client = this.connection.ready
    const name = this.prefix + recordKey(key)
    if (client === null) {
      this.lost.add(name)
      const { settling } = this.connection
      return settling === null ? LOST : this.forgetOne(settling, name).then(() => false)
    }
    const { set, left } = sorted(fields)
    const commands = [['PEXPIRE', name, this.ttl]]
    if (left.length > 0) commands.unshift(['HDEL', name, ...left])
    if (set.length > 0) commands.unshift(['HSET', name, ...set])
    const before = this.lost.has(name)
    if (before) commands.unshift(['DEL', name])
    return this.ask(client, commands).then(replies => {
      if (replies?.every(isNumber) === true) {
        if (before) this.lost.settled(name)
        return left.length === 0
      }
      this.lost.add(name)
      if (replies !== null) this.connection.drop(client, 'PROTOCOL')
      else if (this.connection.ready === client) this.forgetOne(client, name)
      return false
    })
  }

  claim (agent: string, claims: readonly ClaimKey[]): readonly Claimed[] | Promise<readonly Claimed[]> {
    const client = this.connection.ready
    if (client === null) return claims.map(() => 'unavailable')
    const commands = claims.map(({ key, window }) => ['SET', this.prefix + claimName(agent, key), '', 'NX', 'PX', String(window)])
    return this.ask(client, commands).then(replies => {
      if (replies === null) return claims.map(() => 'unavailable')
      if (!replies.every(reply => reply === 'OK' || reply === null)) this.connection.drop(client, 'PROTOCOL')
      return replies.map(reply => reply === 'OK' ? 'new' : reply === null ? 'seen' : 'unavailable')
    })
  }

  release (agent: string, claims: readonly ClaimKey[]): void {
    const client = this.connection.ready
    if (client === null || claims.length === 0) return
    // Never rejects. Claims that stay expire.
    this.ask(client, [['DEL', ...claims.map(({ key }) => this.prefix + claimName(agent, key))]])
  }

  owners (agent: string, names: readonly OwnedName[], claim: string | null): Owners | Promise<Owners> {
    const client = this.connection.ready
    if (client === null) return 'unavailable'
    if (names.length === 0) return []
    const keys = names.map(name => this.prefix + ownerKey(agent, name))
    // SET writes the owner and its time to live in one step: a record without one would never expire.
    const commands = claim === null ? [] : keys.map(key => ['SET', key, claim, 'NX', 'PX', this.ttl])
    // A read counts as use, except for the tasks of a list: a page may have thousands.
    const renewals = names.length > RENEWED ? [] : keys.map(key => ['PEXPIRE', key, this.ttl])
    return this.ask(client, [...commands, ...renewals, ['MGET', ...keys]]).then(replies => {
      const owners = replies?.at(-1)
      if (replies === null) return 'unavailable'
      if (Array.isArray(owners) && owners.length === names.length && owners.every(isOwner)) return owners
      this.connection.drop(client, 'PROTOCOL')
      return 'unavailable'
    })
  }

  pushConfigs ({ agent, taskId, kind, entries, token, max }: PushChange): PushCounted | Promise<PushCounted> {
    const client = this.connection.ready
    if (client === null) return 'unavailable'
    // Rare enough for the text of the script with each call.
    const command = ['EVAL', CHANGE_PUSH, '1', this.prefix + pushKey(agent, taskId), kind, this.ttl, token, String(max), ...entries]
    return this.ask(client, [command]).then(replies => {
      const reply = replies?.[0]
      if (replies === null) return 'unavailable'
      if (Array.isArray(reply) && reply[0] === -1) return 'full'
      if (Array.isArray(reply) && reply.length === entries.length && reply.every(isNumber)) return reply.map(value => value === 1)
      this.connection.drop(client, 'PROTOCOL')
      return 'unavailable'
    })
  }

  close (): Promise<void> {
    return this.connection.close()
  }

  /** Sends commands together. @returns null when the server refuses one, the connection is lost, or the timeout has passed */
  private ask (client: Client, commands: readonly (readonly string[])[]): Promise<readonly unknown[] | null> {
    return this.replies.within(client, Promise.all(commands.map(args => this.connection.send(client, args))))
  }

  /**
   * Deletes one record: after a write that the server refused or that took too long, or while the connection must not be used for writes.
   */
  private async forgetOne (client: Client, name: string): Promise<void> {
    const replies = await this.ask(client, [['DEL', name]])
    if (replies?.every(isNumber) === true) this.lost.settled(name)
  }

  /** Called before a new connection is used. Records that the server refuses to delete stay unknown to this gateway. */
  private async forget (client: Client): Promise<void> {
    try {
      await this.lost.forget(client)
    } catch (error) {
      if (!client.isReady) throw error
    }
  }
}

/** Maximum number of records whose time to live one look-up renews. */
const RENEWED = 128

function isOwner (reply: unknown): reply is string | null {
  return reply === null || typeof reply === 'string'
}

const LOST = Promise.resolve(false)

/**
 * Returns the fields that fit, as HSET expects them, and the names of the fields that do not. The stored values of the latter are out of
 * date.
 */
function sorted (fields: TaskRecord): { readonly set: string[], readonly left: string[] } {
  const set: string[] = []
  const left: string[] = []
  let length = 0
  for (const [field, value] of fields) {
    const longer = length + fieldLength(field, value)
    if (longer > MAX_LENGTH || set.length >= 2 * MAX_FIELDS) {
      left.push(field)
    } else {
      set.push(field, value)
      length = longer
    }
  }
  return { set, left }
}

function isNumber (reply: unknown): boolean {
  return typeof reply === 'number'
}

/** @returns null when the reply is no reply to HGETALL */
function recordOf (reply: unknown): TaskRecord | null {
  if (!Array.isArray(reply) || reply.length % 2 !== 0 || !reply.every(text => typeof text === 'string')) return null
  const record = new Map<string, string>()
  for (let i = 0; i < reply.length; i += 2) record.set(reply[i] as string, reply[i + 1] as string)
  return record
}

// Tasks with a failed write. The record on the server is out of date and would cause the rejection of valid calls. These tasks count as
// unknown until the server has deleted their records.

/** Maximum number of names. The newest names are kept. */
const MAX = 50_000
/** Keys in one command. */
const BATCH = 500

class LostWrites {
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

/**
 * Changes the push notification configurations that count for a task, on a Redis or Valkey server: a hash of the token of the last change,
 * by digest of the configuration's id. As `memory-push.ts`. Runs as a whole, so that all gateways see one order of changes.
 * Arguments: kind, time to live in ms, token, maximum, entries. Reply: 1 for each new entry and 0 for others; -1 when the task is full.
 */
const CHANGE_PUSH = `
local key, kind, token = KEYS[1], ARGV[1], ARGV[3]
local added, count = {}, 0
for i = 5, #ARGV do
  local new = 1 - redis.call('HEXISTS', key, ARGV[i])
  added[i - 4] = new
  count = count + new
end
local full = kind == 'reserve' and count > 0 and redis.call('HLEN', key) + count > tonumber(ARGV[4])
for i = 5, #ARGV do
  if kind == 'free' then
    if redis.call('HGET', key, ARGV[i]) == token then redis.call('HDEL', key, ARGV[i]) end
  elseif not full and (kind ~= 'mark' or added[i - 4] == 0) then
    redis.call('HSET', key, ARGV[i], token)
  end
end
redis.call('PEXPIRE', key, ARGV[2])
if full then return {-1} end
return added`
