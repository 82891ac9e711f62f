/** Media types: exactly the texts of the grammar in RFC 9110 §8.3.1, with each parameter once. */
import { deepStrictEqual as same, equal, ok, throws } from 'node:assert'
import { compileMediaTypePattern, isJsonContentType, isUtf8Of, looseMediaType, parseMediaType } from '#wire/media-type.js'
import { outcomeOf } from '../../runtimes/exact.js'
import type { Reader, Target } from '../engine/target.js'

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
// quoted-string of §5.6.4: qdtext and quoted-pair, including obs-text.
const QUOTED = '"(?:[\\t !\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t \\x21-\\x7e\\x80-\\xff])*"'
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(?:(${TOKEN})=(${TOKEN}|${QUOTED}))?`, 'gy')
const WHOLE = new RegExp(`^(${TOKEN}/${TOKEN})((?:[ \\t]*;[ \\t]*(?:${TOKEN}=(?:${TOKEN}|${QUOTED}))?)*)$`)

export const mediaType: Target & Reader = {
  name: 'media-type',
  maxBytes: 256,
  seeds: [
    'application/json',
    'application/json; charset=utf-8',
    'a/b;c="d\\"e";f=g',
    'APPLICATION/JSON ; Charset="UTF-8"',
    'a/b;;c=d;',
    'a/b;c=d;C=e',
    'application/json;schema=*',
    'a/*',
    'text/event-stream;charset=utf8',
    'a/b; ',
    ' a/b',
    'a/b;c = d',
    'application/a2a+json'
  ],
  dictionary: [
    'application/json',
    'text/event-stream',
    'application/a2a+json',
    ';',
    '; ',
    '=',
    '"',
    '\\"',
    '\\',
    'charset',
    'utf-8',
    'UTF8',
    'schema',
    '*',
    '/',
    ' ',
    '\t',
    ',',
    'é',
    '\x7f',
    '\0',
    '\n'
  ],
  read: bytes => {
    const text = bytes.toString('latin1')
    return {
      exact: parseMediaType(text),
      loose: looseMediaType(text),
      is: [isJsonContentType(text, false), isJsonContentType(text, true), isUtf8Of(text, ['text/event-stream'])],
      pattern: outcomeOf(() => compileMediaTypePattern(text))
    }
  },
  check (bytes) {
    const text = bytes.toString('latin1')
    const expected = grammar(text)
    const read = parseMediaType(text)
    same(read === null ? null : { essence: read.essence, parameters: [...read.parameters] }, expected)
    const charset = expected?.parameters.find(([name]) => name === 'charset')?.[1].toLowerCase()
    const utf8 = charset === undefined || charset === 'utf-8'
    equal(isJsonContentType(text, false), expected?.essence === 'application/json' && utf8)
    equal(isJsonContentType(text, true), (expected?.essence === 'application/json' || expected?.essence === 'application/a2a+json') && utf8)
    equal(isUtf8Of(text, ['text/event-stream']), expected?.essence === 'text/event-stream' && (utf8 || charset === 'utf8'))
    if (expected === null || expected.essence.includes('*')) {
      throws(() => compileMediaTypePattern(text), SyntaxError)
      return
    }
    const pattern = compileMediaTypePattern(text)
    ok(read !== null)
    same(
      [...(pattern.match(read) ?? ['no match'])],
      expected.parameters.filter(([, value]) => value === '*')
    )
    equal(pattern.match({ essence: `${expected.essence}x`, parameters: read.parameters }), null)
    const [first] = expected.parameters
    if (first !== undefined) {
      equal(
        pattern.match({ essence: read.essence, parameters: new Map(expected.parameters.slice(1)) }),
        null,
        'a parameter that is missing'
      )
    }
  }
}

function grammar (text: string): { readonly essence: string, readonly parameters: readonly [string, string][] } | null {
  const whole = WHOLE.exec(text)
  if (whole === null) return null
  const parameters: [string, string][] = []
  for (const [, name, value] of (whole[2] as string).matchAll(PARAMETER)) {
    if (name === undefined || value === undefined) continue
    parameters.push([name.toLowerCase(), value.startsWith('"') ? value.slice(1, -1).replace(/\\([^])/g, '$1') : value])
  }
  return new Set(parameters.map(([name]) => name)).size === parameters.length
    ? { essence: (whole[1] as string).toLowerCase(), parameters }
    : null
}
