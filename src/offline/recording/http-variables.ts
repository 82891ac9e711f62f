/** `@name = value` and `{{name}}` of `.http` files. */
import { RecordingError } from './recorded-request.js'

interface Definition {
  readonly name: string
  readonly value: string
  readonly line: number
}

/** Largest length of one value, in characters. Definitions can refer to each other. */
const MAX_VALUE = 1024 * 1024
/** Longest chain of definitions that refer to each other. */
const MAX_DEPTH = 32
const USE = /\{\{([^{}\r\n]+)\}\}/g

/**
 * The variables of one file. A use takes the last definition above it, else the first definition below. Both editors agree in the relevant
 * cases.
 */
export class Variables {
  private readonly file: string
  private readonly definitions: Definition[] = []
  private readonly values = new Map<Definition, string>()
  private readonly open = new Set<Definition>()

  constructor (file: string) {
    this.file = file
  }

  /** Adds a definition. Calls come in the order of the file. */
  define (name: string, value: string, line: number): void {
    this.definitions.push({ name, value, line })
  }

  /**
   * Replaces the variables of a text.
   * @param line line where `text` begins, from 1
   * @throws RecordingError for a variable that is not defined in the file
   */
  expand (text: string, line: number): string {
    if (!text.includes('{{')) return text
    let grown = text.length
    return text.replace(USE, (whole, inner: string, offset: number) => {
      const at = line + linesIn(text, offset)
      const value = this.valueOf(inner.trim(), at)
      grown += value.length - whole.length
      if (grown > MAX_VALUE * 64) throw new RecordingError(this.file, at, 'the text grows beyond 64 MiB with its variables', 'write shorter values')
      return value
    })
  }

  private valueOf (name: string, line: number): string {
    const encoded = name.startsWith('%') // REST Client: percent-encoded
    const bare = encoded ? name.slice(1) : name
    const definition = this.definitions.findLast(one => one.name === bare && one.line < line) ?? this.definitions.find(one => one.name === bare)
    if (definition === undefined) throw this.undefinedVariable(bare, line)
    const value = this.resolved(definition)
    return encoded ? encodeURIComponent(value) : value
  }

  private resolved (definition: Definition): string {
    const known = this.values.get(definition)
    if (known !== undefined) return known
    if (this.open.has(definition)) throw new RecordingError(this.file, definition.line, `the variable ${shown(definition.name)} is defined by itself`, 'give it a value')
    if (this.open.size === MAX_DEPTH) throw new RecordingError(this.file, definition.line, `more than ${MAX_DEPTH} variables are defined by each other`, 'write the value itself')
    this.open.add(definition)
    const value = this.expand(definition.value, definition.line)
    this.open.delete(definition)
    if (value.length > MAX_VALUE) throw new RecordingError(this.file, definition.line, `the variable ${shown(definition.name)} is longer than 1 MiB`, 'put the body into a file: < ./body.json')
    this.values.set(definition, value)
    return value
  }

  private undefinedVariable (name: string, line: number): RecordingError {
    if (name.startsWith('$')) return new RecordingError(this.file, line, `${shown(name)} is made up by the editor when it sends`, 'write the value that was sent')
    if (name.includes('.')) return new RecordingError(this.file, line, `${shown(name)} is taken from another answer when the editor sends`, 'write the value that was sent')
    return new RecordingError(this.file, line, `the variable ${shown(name)} is not defined in this file`, 'define it above: @name = value')
  }
}

/**
 * Formats a variable's name for a message. Text between braces in a body may be private data, so it is shown only when it looks like a
 * name.
 */
function shown (name: string): string {
  return /^[\w.$-]{1,64}$/.test(name) ? `{{${name}}}` : 'between {{ and }}'
}

function linesIn (text: string, end: number): number {
  let count = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
}
