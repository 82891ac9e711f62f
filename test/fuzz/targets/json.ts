/**
 * Strict JSON. The parser accepts what RFC 8259 accepts, without duplicate names, within limits, in UTF-8. The parser rejects
 * everything else with the correct reason.
 */
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import { parseStrict } from '#wire/json/json.js'
import type { ExactReading } from '#wire/json/exact-reader.js'
import { isBackslashName, readExactly } from '#wire/json/exact-reader.js'
import { hasEscapedName, parseJson } from '#wire/json/parse-json.js'
import { outcomeOf } from '../../runtimes/exact.js'
import type { Reader, Target } from '../engine/target.js'
import { readSlowly, valueOf } from '../oracles/slow-json.js'
import type { Member, Node, SlowJson } from '../oracles/slow-json.js'
import type { JsonLimits, JsonProblem } from '#wire/json/json-result.js'

const LIMITS: readonly JsonLimits[] = [{ depth: 64, members: 10_000 }, { depth: 3, members: 6 }]
const NO_JSON: readonly JsonProblem['kind'][] = ['empty', 'encoding', 'bom', 'depth', 'members', 'syntax']

export const json: Target & Reader = {
  name: 'json',
  maxBytes: 2048,
  seeds: [
    '{"a":"left out 1","b":"left out 0"}',
    '{"a":[1,-0.5e+3,true,false,null,"x\\u00e9\\n"],"b":{"c":{}}}',
    '[]',
    '"\\ud83d\\ude00"',
    ' [ {"a" : 1 , "\\u0061":2} ] ',
    '{"__proto__":1,"constructor":{"a":[]}}',
    '[[[[1]]]]',
    '',
    '\ufeff{}',
    `{"long":"${'x'.repeat(70)}\\"${'y'.repeat(40)}\\\\"}`,
    '12345678901234567890',
    Buffer.from([0x22, 0xc3, 0x28, 0x22]),
    '{"é":"ü","\\u00e9":1}',
    '[{"x":1,"\\\\u00":1},{"x":1,"\\u0064ata":2}]',
    '[{"https:\\\\/\\\\/a":1},{"https:\\/\\/a.b":2},{"\\\\":{}},{"\\n":[]}]'
  ],
  dictionary: [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\"',
    '\\\\',
    '\\u',
    '\\u0061',
    '"\\\\u00":',
    '"\\u0064ata":',
    '"\\\\":',
    '\\ud800',
    '\\udc00',
    '"a":',
    '"\\u0061":',
    '"__proto__":',
    'true',
    'false',
    'null',
    '-',
    '1e5',
    '0.1',
    '01',
    '{}',
    '[]',
    ',"a":1',
    '\u2028',
    'é',
    '\ufeff',
    '\\/',
    '\\b',
    '\n'
  ],
  read: bytes => [
    outcomeOf(() => parseJson(bytes)),
    ...LIMITS.flatMap(limits => [parseStrict(bytes, limits), parseStrict(bytes, limits, 0)])
  ],
  check (bytes) {
    const slow = readSlowly(bytes)
    lenient(bytes, slow)
    for (const limits of LIMITS) {
      const result = parseStrict(bytes, limits)
      const good =
        slow.root !== null &&
        slow.utf8 &&
        !slow.mark &&
        slow.duplicates.length === 0 &&
        slow.depth <= limits.depth &&
        slow.members <= limits.members
      equal(result.ok, good, result.ok ? 'accepts what it must refuse' : `refuses what it must accept: ${result.problem.kind}`)
      if (result.ok) {
        same(result.value, slow.root === null ? undefined : valueOf(slow.root, bytes))
        // The parser leaves out everything that it may leave out, and the comparison reads these values later.
        same(parseStrict(bytes, limits, 0), result)
      } else {
        reason(result.problem, slow, limits, bytes)
        same(parseStrict(bytes, limits, 0), result)
      }
    }
  }
}

/**
 * The reader of all other texts. The engine reads each text before, and reads an array of the text twice, so that V8 13.6 expects the
 * literal names of this text and of all earlier ones.
 */
function lenient (bytes: Buffer, slow: SlowJson): void {
  const text = bytes.toString()
  for (const one of [text, `[${text},${text}]`]) outcome(() => JSON.parse(one))
  if (!slow.utf8) return
  const expected = slow.root === null ? null : [valueOf(slow.root, bytes)]
  for (const input of [text, bytes]) same(outcome(() => parseJson(input)), expected)
  const exact = outcome(() => readExactly(text))
  same(exact === null ? null : [(exact[0] as ExactReading).value], expected)
  if (slow.root === null) return
  equal(hasEscapedName(text), names(slow.root).some(({ nameStart, nameEnd }) => bytes.subarray(nameStart, nameEnd).includes('\\')))
  equal((exact?.[0] as ExactReading).backslashName, names(slow.root).some(({ name }) => isBackslashName(name)))
}

/** [value], or null for a text that is not JSON. */
function outcome (read: () => unknown): [unknown] | null {
  try {
    return [read()]
  } catch (error) {
    ok(error instanceof SyntaxError, String(error))
    return null
  }
}

function names (node: Node): readonly Member[] {
  if (node.kind === 'array') return node.items.flatMap(names)
  return node.kind === 'object' ? node.members.flatMap(member => [member, ...names(member.value)]) : []
}

/** Checks that the reported reason is true for the bytes. */
function reason ({ kind, offset, message }: JsonProblem, slow: SlowJson, limits: JsonLimits, bytes: Buffer): void {
  ok(/^[\x20-\x7e]+$/.test(message), 'a message in printable ASCII')
  ok(offset === null || (offset >= 0 && offset <= bytes.length))
  equal(kind === 'bom', slow.mark)
  equal(kind === 'encoding', !slow.utf8 && !slow.mark)
  equal(kind === 'empty', /^[ \t\r\n]*$/.test(bytes.toString('latin1')))
  if (slow.root === null) {
    ok(NO_JSON.includes(kind), kind)
    if (kind === 'syntax' && !message.endsWith('inside a string')) equal(offset, slow.fault)
    return
  }
  if (kind === 'depth') ok(slow.depth > limits.depth)
  else if (kind === 'members') ok(slow.members > limits.members)
  else if (kind === 'duplicate') equal(offset, slow.duplicates[0])
  else ok(kind === 'bom' || kind === 'encoding', `${kind} of what is JSON`)
}
