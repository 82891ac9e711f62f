/** Splits the text of shell commands into words, as a POSIX shell does. Expands nothing: a text with variables is not what was sent. */
import { RecordingError } from './recorded-response.js'

export interface ShellCommand {
  /** Line of the first word, from 1. */
  readonly line: number
  readonly words: readonly string[]
  /** The here-document, or null. */
  readonly input: string | null
}

const ANSI_ESCAPES: Readonly<Record<string, string>> = {
  n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v', e: '\x1b', E: '\x1b'
}
/** `\xHH`, `\uHHHH`, `\UHHHHHHHH` and `\OOO` of `$'...'`. */
const ANSI_CODE = /^(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3}))/
const EXPANSION = /^\$(?:[A-Za-z_{(0-9@*#?$!-])/
/** A redirection, with the number of a file descriptor. Its target is the next word. */
const REDIRECTION = /^(?:\d*>>?&?|\d*<&?|&>>?)/
const HERE_DOCUMENT = /^<<(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([^\s'";|&<>()]+))/

/**
 * Reads commands that are separated by line ends, `;`, `|` and `&`.
 * @throws {RecordingError} for expansions, quotes without an end and input that is a file
 */
export function shellCommands (text: string, file: string): ShellCommand[] {
  return new Shell(text, file).read()
}

class Shell {
  private readonly text: string
  private readonly file: string
  private readonly commands: ShellCommand[] = []
  private at = 0
  private words: string[] = []
  /** The word that is being read. Null: between words, because a quoted word may be empty. */
  private word: string | null = null
  private line = 1
  private input: string | null = null
  private here: { readonly end: string, readonly tabs: boolean, readonly literal: boolean } | null = null

  constructor (text: string, file: string) {
    this.text = text.replaceAll('\r\n', '\n')
    this.file = file
  }

  read (): ShellCommand[] {
    while (this.at < this.text.length) this.step()
    this.endCommand()
    return this.commands
  }

  private step (): void {
    const { text, at } = this
    const character = text[at] as string
    if (character === '\\') {
      // A backslash before a line end joins the lines.
      if (text[at + 1] !== '\n') this.add(text[at + 1] ?? '')
      this.at += 2
    } else if (character === "'") this.quoted(at + 1)
    else if (character === '"') this.doubleQuoted()
    else if (text.startsWith("$'", at)) this.ansiQuoted()
    else if (character === '`' || EXPANSION.test(text.slice(at, at + 2))) this.expansion(at)
    else if (character === '\n') {
      this.endCommand()
      this.at++
      this.readHere()
    } else if (/\s/.test(character)) {
      this.endWord()
      this.at++
    } else if (this.word === null && character === '#') {
      const end = text.indexOf('\n', at)
      this.at = end < 0 ? text.length : end
    } else if (text.startsWith('<<', at)) this.hereDocument()
    else if (this.word === null && REDIRECTION.test(text.slice(at, at + 8))) this.redirection()
    else if (/[;|&()]/.test(character)) {
      this.endCommand()
      this.at++
    } else {
      this.add(character)
      this.at++
    }
  }

  private add (text: string): void {
    if (this.words.length === 0 && this.word === null) this.line = this.lineAt(this.at)
    this.word = (this.word ?? '') + text
  }

  private endWord (): void {
    if (this.word !== null) this.words.push(this.word)
    this.word = null
  }

  private endCommand (): void {
    this.endWord()
    // The here-document follows on the next line.
    if (this.words.length > 0 && this.here === null) this.keep()
  }

  private keep (): void {
    this.commands.push({ line: this.line, words: this.words, input: this.input })
    this.words = []
    this.input = null
  }

  private quoted (from: number): void {
    const end = this.text.indexOf("'", from)
    if (end < 0) this.unclosed(from)
    this.add(this.text.slice(from, end))
    this.at = end + 1
  }

  private doubleQuoted (): void {
    const { text, at } = this
    this.add('')
    for (let i = at + 1; i < text.length; i++) {
      const character = text[i] as string
      if (character === '"') {
        this.at = i + 1
        return
      }
      if (character === '`' || EXPANSION.test(text.slice(i, i + 2))) this.expansion(i)
      const escaped = text[i + 1] ?? ''
      if (character !== '\\') this.add(character)
      else {
        i++
        if (escaped !== '\n') this.add('$`"\\'.includes(escaped) ? escaped : `\\${escaped}`)
      }
    }
    this.unclosed(at)
  }

  private ansiQuoted (): void {
    const { text, at } = this
    this.add('')
    for (let i = at + 2; i < text.length; i++) {
      const character = text[i] as string
      if (character === "'") {
        this.at = i + 1
        return
      }
      if (character !== '\\') {
        this.add(character)
        continue
      }
      const next = text[i + 1] ?? ''
      const code = ANSI_CODE.exec(text.slice(i + 1, i + 10))
      const point = code === null ? 0 : parseInt(code[1] ?? code[2] ?? code[3] ?? code[4] ?? '0', code[4] === undefined ? 16 : 8)
      if (code === null) this.add(ANSI_ESCAPES[next] ?? next)
      else this.add(point > 0x10ffff ? '\ufffd' : String.fromCodePoint(point))
      i += code === null ? 1 : code[0].length
    }
    this.unclosed(at)
  }

  private hereDocument (): void {
    const delimiterMatch = HERE_DOCUMENT.exec(this.text.slice(this.at))
    if (delimiterMatch === null) {
      this.fail(
        this.at, 'the input is not a here-document', 'name the file of the body with --data-binary @FILE'
      )
    }
    this.endWord()
    const [all, dash, single, double, bare = ''] = delimiterMatch as RegExpExecArray
    this.here = {
      end: single ?? double ?? bare, tabs: dash === '-', literal: single !== undefined || double !== undefined || all.includes('\\')
    }
    this.at += all.length
  }

  /** Reads the here-document that a line has announced, and ends its command. */
  private readHere (): void {
    if (this.here === null) return
    const { end, tabs, literal } = this.here
    const start = this.at
    const lines: string[] = []
    while (this.at < this.text.length) {
      const feed = this.text.indexOf('\n', this.at)
      const next = feed < 0 ? this.text.length : feed
      const raw = this.text.slice(this.at, next)
      const line = tabs ? raw.replace(/^\t+/, '') : raw
      this.at = next + 1
      if (line === end) {
        const input = lines.map(line => `${line}\n`).join('')
        if (!literal && /\$[A-Za-z_{(]|`/.test(input)) this.expansion(start + Math.max(0, input.search(/[$`]/)))
        this.input = input
        this.here = null
        this.keep()
        return
      }
      lines.push(line)
    }
    this.fail(start, 'the here-document has no end', `end it with a line ${end}`)
  }

  private redirection (): void {
    const [operator = ''] = REDIRECTION.exec(this.text.slice(this.at, this.at + 8)) ?? []
    if (operator.includes('<')) this.fail(this.at, 'the input is a file', 'name the file of the body with --data-binary @FILE')
    this.at += operator.length
    while (/[ \t]/.test(this.text[this.at] ?? '')) this.at++
    while (/[^\s;|&()]/.test(this.text[this.at] ?? '')) this.at++
  }

  private expansion (at: number): never {
    const [name = '`'] = /^\$(?:\w+|[^\s"']?)/.exec(this.text.slice(at, at + 60)) ?? []
    return this.fail(at, `${name} is replaced by the shell`, 'write the value that was sent')
  }

  private unclosed (at: number): never {
    return this.fail(at, 'a quote has no end', 'paste the whole command')
  }

  private fail (at: number, what: string, remedy: string): never {
    throw new RecordingError(this.file, this.lineAt(at), what, remedy)
  }

  private lineAt (at: number): number {
    return this.text.slice(0, at).split('\n').length
  }
}
