/**
 * Automata for patterns on ASCII text. The matcher of regexp.ts takes 600 to 1,500 ns for a name of ten characters, which is more than all
 * other work for its object, and an automaton in text.as a nanosecond for each character.
 *
 * A pattern has an automaton when it uses only characters, escapes and classes of ASCII, groups, alternatives, repetitions and anchors, and
 * when the automaton is small. The checker leaves text beyond ASCII, and all other patterns, to the matcher.
 */

export interface Automaton {
  /** Class of each ASCII character. */
  readonly classes: Uint8Array
  /** Number of classes. */
  readonly width: number
  /** Next state for each state and class; ACCEPTS is added to states that accept. */
  readonly table: Uint16Array
  /** First state, as in the table. */
  readonly start: number
}

export const ACCEPTS = 0x8000
/** Characters of the longest pattern, nodes of the graph, and entries of the table. */
const MAX_PATTERN = 500
const MAX_NODES = 2_000
const MAX_TABLE = 4_096
/** Nodes that the search for states visits for one pattern: 6 ms. */
const MAX_WORK = 60_000
const MAX_REPEAT = 250
const ASCII = 128

/** Thrown for a pattern without an automaton. */
const UNSUPPORTED = new Error('not supported')

/** A set of ASCII characters: bit i stands for character i. */
type Characters = bigint
const ALL: Characters = (1n << 128n) - 1n

/** A node of the graph: goes on to others without a character, or with one of a set. */
interface Node {
  readonly next: number[]
  /** Goes on to `next` only at the beginning, or only at the end, of the text. */
  at: 'anywhere' | 'beginning' | 'end'
  characters: Characters | null
}

/** A part of the graph: the node that begins it, and the node that ends it. */
interface Part { readonly from: number, readonly to: number }

/** @returns null for a pattern without an automaton */
export function automatonOf (pattern: string): Automaton | null {
  if (pattern.length > MAX_PATTERN) return null
  try {
    const graph = new Graph(pattern)
    const whole = graph.read()
    return tableOf(graph.nodes, whole)
  } catch (error) {
    if (error === UNSUPPORTED) return null
    throw error
  }
}

const single = (character: string): Characters => 1n << BigInt(character.charCodeAt(0))

function range (from: number, to: number): Characters {
  let characters = 0n
  for (let code = from; code <= to; code++) characters |= 1n << BigInt(code)
  return characters
}

const DIGITS = range(0x30, 0x39)
const WORD = DIGITS | range(0x41, 0x5a) | range(0x61, 0x7a) | single('_')
const SPACE = range(0x09, 0x0d) | single(' ')
const LINE_ENDS = single('\n') | single('\r')
const CLASSES: Readonly<Record<string, Characters>> = {
  d: DIGITS, D: ALL & ~DIGITS, w: WORD, W: ALL & ~WORD, s: SPACE, S: ALL & ~SPACE
}
const CONTROLS: Readonly<Record<string, Characters>> = {
  t: single('\t'), n: single('\n'), v: single('\v'), f: single('\f'), r: single('\r')
}
const SYNTAX = /[\^$\\.*+?()[\]{}|/-]/

class Graph {
  readonly nodes: Node[] = []
  readonly #pattern: string
  #at = 0

  constructor (pattern: string) {
    this.#pattern = pattern
  }

  read (): Part {
    const whole = this.#alternatives()
    if (this.#at < this.#pattern.length) throw UNSUPPORTED
    return whole
  }

  #alternatives (): Part {
    const first = this.#sequence()
    if (this.#pattern[this.#at] !== '|') return first
    const from = this.#node()
    const to = this.#node()
    this.#join(from, first.from)
    this.#join(first.to, to)
    while (this.#pattern[this.#at] === '|') {
      this.#at++
      const other = this.#sequence()
      this.#join(from, other.from)
      this.#join(other.to, to)
    }
    return { from, to }
  }

  #sequence (): Part {
    const from = this.#node()
    let to = from
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== '|' && this.#pattern[this.#at] !== ')') {
      const begin = this.#at
      let part = this.#atom()
      const repeat = this.#repeat()
      if (repeat !== null) part = this.#repeated(part, begin, this.#at, repeat)
      this.#join(to, part.from)
      to = part.to
    }
    return { from, to }
  }

  #atom (): Part {
    const character = this.#pattern[this.#at++] as string
    switch (character) {
      case '(': return this.#group()
      case '[': return this.#one(this.#class())
      case '.': return this.#one(ALL & ~LINE_ENDS)
      case '^': return this.#anchor('beginning')
      case '$': return this.#anchor('end')
      case '\\': return this.#one(this.#escape())
      default:
        if (SYNTAX.test(character) && character !== '-' && character !== '/') throw UNSUPPORTED
        return this.#one(ascii(character))
    }
  }

  #group (): Part {
    if (this.#pattern[this.#at] === '?') {
      if (this.#pattern[this.#at + 1] !== ':') throw UNSUPPORTED
      this.#at += 2
    }
    const part = this.#alternatives()
    if (this.#pattern[this.#at++] !== ')') throw UNSUPPORTED
    return part
  }

  #escape (): Characters {
    const character = this.#pattern[this.#at++] ?? ''
    const characters = CLASSES[character] ?? CONTROLS[character]
    if (characters !== undefined) return characters
    if (!SYNTAX.test(character)) throw UNSUPPORTED
    return ascii(character)
  }

  #class (): Characters {
    const isNegated = this.#pattern[this.#at] === '^'
    if (isNegated) this.#at++
    let characters = 0n
    while (this.#pattern[this.#at] !== ']') {
      const low = this.#classAtom()
      const isRange = this.#pattern[this.#at] === '-' && this.#pattern[this.#at + 1] !== ']'
      if (!isRange) {
        characters |= low.characters
        continue
      }
      this.#at++
      const high = this.#classAtom()
      if (low.code === null || high.code === null || high.code < low.code) throw UNSUPPORTED
      characters |= range(low.code, high.code)
    }
    this.#at++
    if (characters === 0n) throw UNSUPPORTED
    return isNegated ? ALL & ~characters : characters
  }

  #classAtom (): { readonly characters: Characters, readonly code: number | null } {
    const character = this.#pattern[this.#at++]
    if (character === undefined || character === '[') throw UNSUPPORTED
    if (character !== '\\') return { characters: ascii(character), code: character.charCodeAt(0) }
    const escaped = this.#pattern[this.#at] ?? ''
    const characters = this.#escape()
    return { characters, code: SYNTAX.test(escaped) ? escaped.charCodeAt(0) : null }
  }

  /** @returns null where none follows */
  #repeat (): { readonly min: number, readonly max: number } | null {
    const [text, sign, from, comma, to] = /^(?:([*+?])|\{(\d{1,4})(?:(,)(\d{0,4}))?\})\??/.exec(this.#pattern.slice(this.#at)) ?? []
    if (text === undefined) return null
    this.#at += text.length
    if (sign !== undefined) return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
    const min = Number(from)
    const max = comma === undefined ? min : to === '' || to === undefined ? Number.POSITIVE_INFINITY : Number(to)
    if (max < min || min > MAX_REPEAT || (max !== Number.POSITIVE_INFINITY && max > MAX_REPEAT)) throw UNSUPPORTED
    return { min, max }
  }

  /** Reads the atom again for each repetition. */
  #repeated (first: Part, begin: number, end: number, { min, max }: { readonly min: number, readonly max: number }): Part {
    const next = (): Part => {
      this.#at = begin
      return this.#atom()
    }
    const from = this.#node()
    let to = from
    let part: Part | null = first
    for (let i = 0; i < min; i++) {
      part ??= next()
      this.#join(to, part.from)
      to = part.to
      part = null
    }
    if (max === Number.POSITIVE_INFINITY) {
      part ??= next()
      const loop = this.#node()
      this.#join(to, loop)
      this.#join(loop, part.from)
      this.#join(part.to, loop)
      to = loop
    } else {
      const out = this.#node()
      for (let i = min; i < max; i++) {
        part ??= next()
        this.#join(to, out)
        this.#join(to, part.from)
        to = part.to
        part = null
      }
      this.#join(to, out)
      to = out
    }
    this.#at = end
    return { from, to }
  }

  #anchor (at: 'beginning' | 'end'): Part {
    const from = this.#node()
    const to = this.#node()
    this.#join(from, to);
    (this.nodes[from] as Node).at = at
    return { from, to }
  }

  #one (characters: Characters): Part {
    const from = this.#node()
    const to = this.#node()
    this.#join(from, to);
    (this.nodes[from] as Node).characters = characters
    return { from, to }
  }

  #node (): number {
    if (this.nodes.length === MAX_NODES) throw UNSUPPORTED
    return this.nodes.push({ next: [], at: 'anywhere', characters: null }) - 1
  }

  #join (from: number, to: number): void {
    (this.nodes[from] as Node).next.push(to)
  }
}

function ascii (character: string): Characters {
  if (character.charCodeAt(0) >= ASCII) throw UNSUPPORTED
  return single(character)
}

/** The states of a pattern that may begin at every place: sets of nodes. */
function tableOf (nodes: readonly Node[], { from, to }: Part): Automaton {
  const { classes, samples } = classesOf(nodes)
  const states = new Map<string, number>()
  const sets: Array<ReadonlySet<number>> = []
  const table: number[] = []
  let work = 0
  /** The nodes that are reached from others without a character. */
  const reached = (first: Iterable<number>, isBeginning: boolean, isEnd: boolean): Set<number> => {
    const set = new Set(first)
    for (const node of set) {
      if (++work > MAX_WORK) throw UNSUPPORTED
      const { next, at, characters } = nodes[node] as Node
      if (characters !== null || (at === 'beginning' && !isBeginning) || (at === 'end' && !isEnd)) continue
      for (const successor of next) set.add(successor)
    }
    return set
  }
  const stateOf = (set: ReadonlySet<number>, isFirst: boolean): number => {
    // A match that has ended stays one.
    const isFound = set.has(to)
    const members = isFound ? new Set([to]) : set
    const key = [...members].sort((a, b) => a - b).join()
    let state = states.get(key)
    if (state === undefined) {
      state = sets.push(members) - 1
      states.set(key, state)
    }
    return isFound || reached(members, isFirst, true).has(to) ? state | ACCEPTS : state
  }
  const start = stateOf(reached([from], true, false), true)
  const anywhere = reached([from], false, false)
  for (const set of sets) {
    for (const sample of samples) {
      const after = [...set].filter(node => ((nodes[node] as Node).characters ?? 0n) & sample).flatMap(node => (nodes[node] as Node).next)
      table.push(stateOf(set.has(to) ? set : new Set([...reached(after, false, false), ...anywhere]), false))
      if (table.length > MAX_TABLE) throw UNSUPPORTED
    }
  }
  return { classes, width: samples.length, table: Uint16Array.from(table), start }
}

/** Characters that no part of the pattern distinguishes are one class. `samples` has one character of each. */
function classesOf (nodes: readonly Node[]): { readonly classes: Uint8Array, readonly samples: readonly Characters[] } {
  const sets = [...new Set(nodes.flatMap(({ characters }) => characters ?? []))]
  const classes = new Uint8Array(ASCII)
  const numbers = new Map<string, number>()
  const samples: Characters[] = []
  for (let code = 0; code < ASCII; code++) {
    const character = 1n << BigInt(code)
    const key = sets.map(set => (set & character) === 0n ? '0' : '1').join('')
    let number = numbers.get(key)
    if (number === undefined) {
      number = samples.push(character) - 1
      numbers.set(key, number)
    }
    classes[code] = number
  }
  return { classes, samples }
}
