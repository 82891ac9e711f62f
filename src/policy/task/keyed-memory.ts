/**
 * The memory of one key of a task, such as one tool call. All keys of a policy share one field of the record, because a record has few
 * fields: a JSON object whose names are the key's digest and the field.
 */
import { jsonDigest } from '#jsonschema/digest.js'
import { spendBudget } from '#jsonschema/evaluation.js'
import { isObject } from '#wire/json/object.js'
import { parseJson } from '#wire/json/parse-json.js'
import type { TaskMemory } from './memory.js'
import { FIELDS } from './memory.js'

/** The part of a task's memory that checks of its state use. */
export type StateMemory = Pick<TaskMemory, 'get' | 'set' | 'elsewhere' | 'knows'>

/** Maximum characters of all keys of one policy in one task. A record has 32 KiB. A key takes about 30. */
const MAX_KEYS_LENGTH = 12 * 1024
/** Characters of a digest: 72 bits of SHA-256. */
const DIGEST = 12
/** Steps of a character that is read or written. */
const CHARACTER = 1 / 100
/** Steps of a name that is compared. */
const NAME = 1 / 20

type States = Record<string, string>

/** The keys of one policy in one task, read once for a message. */
export class KeyedMemory {
  private readonly memory: TaskMemory
  private readonly field: string
  private readonly states: States
  private readonly known: Set<string>
  private length: number
  /** The states that other connections have written. Read when a message first has a key that is unknown here. */
  private others: States | null = null

  constructor (memory: TaskMemory, policy: string) {
    this.memory = memory
    this.field = FIELDS.keyed(policy)
    const text = memory.get(this.field)
    this.length = text?.length ?? 0
    this.states = parse(text)
    this.known = new Set(Object.keys(this.states).map(name => name.slice(0, DIGEST)))
  }

  /** @returns null for a key too many */
  of (key: string | number): StateMemory | null {
    const digest = jsonDigest(key).slice(0, DIGEST)
    // Another connection of the task may have seen the key.
    if (!this.known.has(digest)) this.take(digest)
    if (!this.known.has(digest) && this.length > MAX_KEYS_LENGTH) return null
    const { memory, states } = this
    return {
      get: field => states[digest + field] ?? null,
      set: (field, value) => { this.set(digest, field, value) },
      elsewhere: field => {
        const value = parse(memory.elsewhere(this.field))[digest + field]
        return value === undefined || value === states[digest + field] ? null : value
      },
      knows: policy => memory.knows(policy)
    }
  }

  private take (digest: string): void {
    this.others ??= parse(this.memory.elsewhere(this.field))
    const names = Object.keys(this.others)
    spendBudget(names.length * NAME)
    for (const name of names) {
      if (!name.startsWith(digest)) continue
      this.states[name] = this.others[name] ?? ''
      this.known.add(digest)
    }
  }

  private set (digest: string, field: string, value: string): void {
    if (this.states[digest + field] === value) return
    this.states[digest + field] = value
    this.known.add(digest)
    const text = JSON.stringify(this.states)
    this.length = text.length
    spendBudget(text.length * CHARACTER)
    this.memory.set(this.field, text)
  }
}

function parse (text: string | null): States {
  if (text === null) return {}
  spendBudget(text.length * CHARACTER)
  const value: unknown = parseJson(text)
  return isObject(value) ? { ...value } as States : {}
}
