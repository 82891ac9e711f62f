/** Compares an agent's own card with the served card, as lines of one JSON text. */
import { isObject } from '#wire/json/object.js'
import { clip } from './text.js'

export type Mark = 'same' | 'added' | 'removed' | 'changed'

export interface DiffLine {
  readonly mark: Mark
  /** Nesting depth. */
  readonly indent: number
  readonly text: string
  /** For a changed value: the value in the agent's card. */
  readonly was?: string
}

export interface CardDiff {
  readonly lines: readonly DiffLine[]
  /** Number of lines omitted at the end. */
  readonly omitted: number
  readonly added: number
  readonly removed: number
  readonly changed: number
}

const LINES = 4_000
const VALUE = 600
const NAME = 200

export function diffOf (own: unknown, served: unknown): CardDiff {
  const writer = new Writer()
  writer.value('', own, served, 0, '')
  const { lines, omitted, counts } = writer
  return { lines, omitted, added: counts.added, removed: counts.removed, changed: counts.changed }
}

/** Stands for a value that the other card does not have. */
const NONE = Symbol('none')

class Writer {
  readonly lines: DiffLine[] = []
  readonly counts: Record<Mark, number> = { same: 0, added: 0, removed: 0, changed: 0 }
  omitted = 0

  /**
   * Writes a value and its members.
   * @param lead text before the value, a name for example
   * @param tail a comma, or ''
   */
  value (lead: string, own: unknown, served: unknown, indent: number, tail: string): void {
    const mark: Mark = own === NONE ? 'added' : served === NONE ? 'removed' : 'same'
    const shown = served === NONE ? own : served
    const pairs = mark === 'same' ? bothOf(own, served) : bothOf(shown, shown)
    if (pairs === null) {
      const text = textOf(shown)
      const was = mark === 'same' && textOf(own) !== text ? textOf(own) : undefined
      return this.line(was === undefined ? mark : 'changed', indent, `${lead}${text}${tail}`, was)
    }
    const [open, close] = Array.isArray(shown) ? ['[', ']'] : ['{', '}']
    if (pairs.length === 0) return this.line(mark, indent, `${lead}${open}${close}${tail}`)
    this.line(mark, indent, `${lead}${open}`)
    pairs.forEach(([name, a, b], i) => {
      const comma = i < pairs.length - 1 ? ',' : ''
      const key = Array.isArray(shown) ? '' : `${JSON.stringify(clip(name, NAME))}: `
      if (mark === 'same') this.value(key, a, b, indent + 1, comma)
      else this.value(key, mark === 'added' ? NONE : a, mark === 'added' ? a : NONE, indent + 1, comma)
    })
    this.line(mark, indent, `${close}${tail}`)
  }

  private line (mark: Mark, indent: number, text: string, was?: string): void {
    this.counts[mark]++
    if (this.lines.length >= LINES) this.omitted++
    else this.lines.push(was === undefined ? { mark, indent, text } : { mark, indent, text, was })
  }
}

function textOf (value: unknown): string {
  return typeof value === 'object' && value !== null
    ? Array.isArray(value)
      ? '[ … ]'
      : '{ … }'
    : typeof value === 'string'
      ? JSON.stringify(clip(value, VALUE))
      : (JSON.stringify(value) ?? 'undefined')
}

/** Returns the members of both values, paired. Null when the values have different types or no members. */
function bothOf (own: unknown, served: unknown): [string, unknown, unknown][] | null {
  if (Array.isArray(own) && Array.isArray(served)) return pairItems(own, served)
  if (!isObject(own) || !isObject(served)) return null
  const names = [...Object.keys(served), ...Object.keys(own).filter(name => !Object.hasOwn(served, name))]
  return names.map(name => [name, Object.hasOwn(own, name) ? own[name] : NONE, Object.hasOwn(served, name) ? served[name] : NONE])
}

/**
 * Pairs items of the same identity, in their order. Unpaired items of the agent's card are removed, unpaired items of the served card are
 * added. So an item that the gateway removes from a list does not affect the pairs of the other items.
 */
function pairItems (own: readonly unknown[], served: readonly unknown[]): [string, unknown, unknown][] {
  const places = new Map<string, number[]>()
  // Iterate backwards, so that `pop` returns the next item.
  for (let at = own.length - 1; at >= 0; at--) {
    const key = identityOf(own[at])
    const list = places.get(key)
    if (list === undefined) places.set(key, [at])
    else list.push(at)
  }
  const pairs: [string, unknown, unknown][] = []
  let i = 0
  for (const item of served) {
    const list = places.get(identityOf(item)) ?? []
    while ((list.at(-1) ?? i) < i) list.pop()
    const at = list.pop()
    if (at === undefined) {
      pairs.push(['', NONE, item])
      continue
    }
    for (; i < at; i++) pairs.push(['', own[i], NONE])
    pairs.push(['', own[i++], item])
  }
  for (; i < own.length; i++) pairs.push(['', own[i], NONE])
  return pairs
}

/**
 * Returns the identity of an item in a card's list: an extension's URI, a skill's id, binding and version of an interface. The gateway
 * changes none of these.
 */
function identityOf (item: unknown): string {
  if (!isObject(item)) return JSON.stringify(item) ?? ''
  const { uri, id, protocolBinding, protocolVersion, transport, tenant } = item
  const named =
    uri ?? id ?? ((protocolBinding ?? transport) === undefined ? undefined : [protocolBinding, protocolVersion, transport, tenant])
  return JSON.stringify(named ?? item)
}
