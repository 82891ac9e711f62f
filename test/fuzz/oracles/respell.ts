/** Writes the same JSON in other bytes: other white space, escapes and order of members. Numbers keep their digits. */
import type { Random } from '../engine/random.js'
import type { Node } from './slow-json.js'

const SPACES = ['', '', '', ' ', '\n', '\t ', '\r\n']
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t'
}

/** @param bytes the bytes from which the node was parsed */
export function respell (node: Node, bytes: Buffer, random: Random): Buffer {
  const space = (): string => random.pick(SPACES)
  const list = (open: string, inner: readonly string[], close: string): string =>
    `${open}${space()}${inner.join(`${space()},${space()}`)}${space()}${close}`
  const write = (one: Node): string => {
    switch (one.kind) {
      case 'object':
        return list(
          '{',
          random.shuffled(one.members).map(({ name, value }) => `${quote(name, random)}${space()}:${space()}${write(value)}`),
          '}'
        )
      case 'array':
        return list('[', one.items.map(write), ']')
      case 'string':
        return quote(one.text, random)
      default:
        return bytes.toString('latin1', one.start, one.end)
    }
  }
  return Buffer.from(`${space()}${write(node)}${space()}`)
}

function quote (text: string, random: Random): string {
  let out = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string
    const code = text.charCodeAt(i)
    const surrogate = code >= 0xd800 && code <= 0xdfff
    const unicode = `\\u${code.toString(16).padStart(4, '0')}`
    if (surrogate || (code < 0x20 && !(char in SHORT)) || random.chance(12)) { out += random.chance(2) ? unicode : unicode.toUpperCase().replace('\\U', '\\u') } else out += SHORT[char] ?? char
  }
  return `"${out}"`
}
