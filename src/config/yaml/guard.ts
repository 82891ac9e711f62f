import { Lexer } from 'yaml'
import type { TextProblem } from '../diagnostics.js'

/** Largest configuration file, bytes. */
export const MAX_FILE_BYTES = 1024 * 1024
/** Greatest nesting depth of `[` and `{`. */
const MAX_FLOW_DEPTH = 64
/** Rightmost column of a block collection. Each level of nesting needs its own column. */
const MAX_INDENT = 256
/** Largest number of lexical tokens. The limit bounds the parser's time to seconds on the worst text. */
const MAX_TOKENS = 400_000

/** Mark that the lexer puts before the text of a plain or block scalar. */
const SCALAR = '\u001f'

const OPENING = '$' + '{'

/**
 * Rejects text that could crash the YAML parser, before the parser reads any of it: yaml 2.9.1 recurses per level and aborts the process at
 * 50,000 unclosed brackets (CVE-2026-33532). The guard reads the parser's own token stream, so quoting cannot hide a bracket. The token
 * stream is produced without recursion. The guard also rejects syntax that this configuration does not use: tags, directives, and `${VAR}`
 * unquoted inside brackets, which YAML reads as a mapping.
 * @returns the first problem, or null
 */
export function guardYaml (text: string): Omit<TextProblem, 'code'> | null {
  let offset = 0
  let tokens = 0
  let depth = 0
  let scalar = false
  let previous = '\n'
  for (const token of new Lexer().lex(text)) {
    if (++tokens > MAX_TOKENS) return { offset, message: 'too many YAML tokens', hint: `at most ${MAX_TOKENS}` }
    if (scalar) {
      scalar = false
    } else if (token === SCALAR) {
      scalar = true
      continue
    } else if (token === '\u0002' || token === '\u0018') {
      continue
    } else if (token === '[' || token === '{') {
      if (token === '{' && depth > 0 && previous.endsWith('$')) {
        return {
          offset: offset - 1,
          message: `"${OPENING}" inside [ ] or { } must be quoted`,
          hint: `write "${OPENING}VAR}" with the quotes`
        }
      }
      if (++depth > MAX_FLOW_DEPTH) {
        return { offset, message: `brackets are nested deeper than ${MAX_FLOW_DEPTH} levels`, hint: 'is one of them never closed?' }
      }
    } else if (token === ']' || token === '}') {
      if (depth > 0) depth--
    } else if (token.startsWith('!')) {
      return { offset, message: 'YAML tags are not supported', hint: 'quote the value to make it a string' }
    } else if (token.startsWith('%')) {
      return { offset, message: 'YAML directives are not supported', hint: 'remove the line' }
    } else if (depth === 0 && isDeep(text, offset, token, previous)) {
      return { offset, message: `indented more than ${MAX_INDENT} columns` }
    }
    previous = token
    offset += token.length
  }
  return null
}

function isDeep (text: string, offset: number, token: string, previous: string): boolean {
  if (token === '-' || token === '?') return offset - text.lastIndexOf('\n', offset) > MAX_INDENT
  return token.length > MAX_INDENT && previous.endsWith('\n') && /^ +$/.test(token)
}
