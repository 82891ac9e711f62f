/**
 * A simple parser of JSON as RFC 8259 defines it: one function after another for the rules of the grammar, and every value with its
 * original bytes. The parser is slow and recursive, and uses nothing from src/wire, so that it has no faults in common with src/wire.
 */
export type Node =
  | { readonly kind: 'object', readonly start: number, readonly end: number, readonly members: readonly Member[] }
  | { readonly kind: 'array', readonly start: number, readonly end: number, readonly items: readonly Node[] }
  | { readonly kind: 'string', readonly start: number, readonly end: number, readonly text: string }
  | { readonly kind: 'number' | 'true' | 'false' | 'null', readonly start: number, readonly end: number }

export interface Member { readonly name: string, readonly nameStart: number, readonly nameEnd: number, readonly value: Node }

export interface SlowJson {
  /** Null when the bytes are not JSON. */
  readonly root: Node | null
  /** Offset of the fault: the first byte after which no continuation can be JSON. */
  readonly fault: number
  readonly utf8: boolean
  readonly mark: boolean
  /** Maximum number of containers open at once. */
  readonly depth: number
  /** Number of object members and array elements. */
  readonly members: number
  /** Offsets of names that their object already contains, in the order of the text. */
  readonly duplicates: readonly number[]
}

export function readSlowly (bytes: Buffer): SlowJson {
  const utf8 = isUtf8Slowly(bytes)
  const mark = bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))
  const reader = new Reader(bytes)
  let root: Node | null = null
  let fault = -1
  try {
    root = reader.text()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    fault = error.at
  }
  return { root, fault, utf8, mark, depth: reader.deepest, members: reader.members, duplicates: reader.duplicates.sort((a, b) => a - b) }
}

/** The value of a node. JSON.parse is used only for numbers. */
export function valueOf (node: Node, bytes: Buffer): unknown {
  switch (node.kind) {
    case 'object': return Object.fromEntries(node.members.map(({ name, value }) => [name, valueOf(value, bytes)]))
    case 'array': return node.items.map(item => valueOf(item, bytes))
    case 'string': return node.text
    case 'number': return Number(bytes.toString('latin1', node.start, node.end))
    case 'null': return null
    default: return node.kind === 'true'
  }
}

class Fault extends Error {
  readonly at: number

  constructor (at: number) {
    super('no JSON')
    this.at = at
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

class Reader {
  readonly duplicates: number[] = []
  deepest = 0
  members = 0
  readonly #bytes: Buffer
  #at = 0
  #depth = 0

  constructor (bytes: Buffer) {
    this.#bytes = bytes
  }

  text (): Node {
    const root = this.#element()
    if (this.#at < this.#bytes.length) throw new Fault(this.#at)
    return root
  }

  get #char (): string {
    const byte = this.#bytes[this.#at]
    return byte === undefined ? '' : String.fromCharCode(byte)
  }

  #take (char: string): boolean {
    if (this.#char !== char) return false
    this.#at++
    return true
  }

  #need (char: string): void {
    if (!this.#take(char)) throw new Fault(this.#at)
  }

  #space (): void {
    while (/^[ \t\n\r]$/.test(this.#char)) this.#at++
  }

  #element (): Node {
    this.#space()
    const node = this.#value()
    this.#space()
    return node
  }

  #value (): Node {
    const start = this.#at
    switch (this.#char) {
      case '{': return this.#object(start)
      case '[': return this.#array(start)
      case '"': {
        const text = this.#string()
        return { kind: 'string', start, end: this.#at, text }
      }
      case 't': return this.#word('true', start)
      case 'f': return this.#word('false', start)
      case 'n': return this.#word('null', start)
      default: return this.#number(start)
    }
  }

  #word (kind: 'true' | 'false' | 'null', start: number): Node {
    for (const letter of kind) this.#need(letter)
    return { kind, start, end: this.#at }
  }

  #number (start: number): Node {
    this.#take('-')
    if (!this.#take('0')) this.#digits()
    if (this.#take('.')) this.#digits()
    if (this.#take('e') || this.#take('E')) {
      if (!this.#take('-')) this.#take('+')
      this.#digits()
    }
    return { kind: 'number', start, end: this.#at }
  }

  #digits (): void {
    if (!/^[0-9]$/.test(this.#char)) throw new Fault(this.#at)
    while (/^[0-9]$/.test(this.#char)) this.#at++
  }

  #object (start: number): Node {
    const members: Member[] = []
    const names = new Set<string>()
    this.#open()
    if (!this.#take('}')) {
      do {
        this.#space()
        const nameStart = this.#at
        const name = this.#string()
        const nameEnd = this.#at
        this.#space()
        this.#need(':')
        this.members++
        if (names.has(name)) this.duplicates.push(nameStart)
        names.add(name)
        members.push({ name, nameStart, nameEnd, value: this.#element() })
      } while (this.#take(','))
      this.#need('}')
    }
    this.#depth--
    return { kind: 'object', start, end: this.#at, members }
  }

  #array (start: number): Node {
    const items: Node[] = []
    this.#open()
    if (!this.#take(']')) {
      do {
        this.members++
        items.push(this.#element())
      } while (this.#take(','))
      this.#need(']')
    }
    this.#depth--
    return { kind: 'array', start, end: this.#at, items }
  }

  #open (): void {
    this.#at++
    this.deepest = Math.max(this.deepest, ++this.#depth)
    this.#space()
  }

  #string (): string {
    this.#need('"')
    let text = ''
    let plain = this.#at
    const flush = (): void => { text += this.#bytes.toString('utf8', plain, this.#at) }
    for (;;) {
      const char = this.#char
      if (char === '' || char < ' ') throw new Fault(this.#at)
      if (char === '"') {
        flush()
        this.#at++
        return text
      }
      if (char !== '\\') {
        this.#at++
        continue
      }
      flush()
      this.#at++
      if (this.#take('u')) {
        let code = 0
        for (let i = 0; i < 4; i++) {
          if (!/^[0-9a-fA-F]$/.test(this.#char)) throw new Fault(this.#at)
          code = code * 16 + parseInt(this.#char, 16)
          this.#at++
        }
        text += String.fromCharCode(code)
      } else {
        const meant = ESCAPES[this.#char]
        if (meant === undefined) throw new Fault(this.#at)
        this.#at++
        text += meant
      }
      plain = this.#at
    }
  }
}

/** Table 3-7 of the Unicode Standard: well-formed UTF-8 byte sequences. */
export function isUtf8Slowly (bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length;) {
    const first = bytes[i++] as number
    if (first < 0x80) continue
    const more = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : first >= 0xf0 && first <= 0xf4 ? 3 : 0
    if (more === 0) return false
    for (let k = 0; k < more; k++) {
      const low = k > 0 ? 0x80 : first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
      const high = k > 0 ? 0xbf : first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
      const byte = bytes[i++]
      if (byte === undefined || byte < low || byte > high) return false
    }
  }
  return true
}

/**
 * The value of a text, without the engine's parser: V8 13.6 reads escaped names wrongly. Of two members with one name, the last one counts.
 * @throws SyntaxError when the text is not JSON
 */
export function parseSlowly (text: string | Buffer): unknown {
  const bytes = Buffer.from(text as string)
  const { root } = readSlowly(bytes)
  if (root === null) throw new SyntaxError('no JSON')
  return valueOf(root, bytes)
}
