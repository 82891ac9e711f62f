/**
 * The parser of objects with the same members. Whatever it accepts is accepted by the exact parser, with the same value and the same
 * numbers that may be inexact. The second text repeats the input as elements of an array, so that each object has a predecessor.
 */
import { deepStrictEqual as same, ok } from 'node:assert'
import { isAscii } from 'node:buffer'
import { parseStrict } from '#wire/json/json.js'
import { readRecords } from '#wire/json/records.js'
import type { Reader, Target } from '../engine/target.js'
import { parseSlowly } from '../oracles/slow-json.js'

const LIMITS = [{ depth: 20, members: 10_000 }, { depth: 3, members: 9 }] as const
const LONG = 40

export const records: Target & Reader = {
  name: 'records',
  maxBytes: 1024,
  seeds: [
    '{"a":1,"b":"x"},{"a":2,"b":"y"}',
    '{"a":"a longer text","b":[1,2]},{"a":"a longer text","b":[]},{"a":"another text!","b":[{"c":1},{"c":-0}]}',
    '{"a": 1.25, "b": true}, {"a": -0.5, "b": null}',
    '{"a":1e3},{"a":12345678901234567},{"a":0.1234567890123456}',
    '{"a":"\\u0061\\n"},{"a":"x"},{"a":"\\"}"}',
    '{"2":1,"1":2},{"2":3,"1":4}',
    '{"__proto__":1},{"constructor":2}',
    '{"a":1,"a":2},{"b":1}',
    '{"a":{"x":1,"y":[{}]}},{"a":{"x":2,"y":[{}]}},{"a":{"y":[{}],"x":3}}',
    '{"a":[1,2,{"b":3}]},{"a":"\\\\"},{"a":[1,2,{"b":4}]}',
    '[[],[[]]],[]'
  ],
  dictionary: ['{"a":', '},{', '},{"a":1', '":"', '"\\u0041"', '\\\\', '\\"', ' ', '\n', '-', '.5', 'e1', '00', 'true', 'null', '[', ']', '__proto__'],
  read: bytes => textsOf(bytes).map(text => readRecords(text, LIMITS[0], LONG)),
  check: bytes => { textsOf(bytes).forEach(check) }
}

function textsOf (bytes: Buffer): Buffer[] {
  if (!isAscii(bytes)) return []
  const text = bytes.toString('latin1')
  return [text, `[${text}]`, `[${text},${text}]`, `{"m":[[${text}],{"k":[${text}]}]}`].map(one => Buffer.from(one))
}

function check (bytes: Buffer): void {
  for (const limits of LIMITS) {
    const found = readRecords(bytes, limits, LONG)
    if (found === null) continue
    // Strings of any length are lazy strings of the exact parser here, so it never asks the parser under test.
    const exact = parseStrict(bytes, limits, 0)
    ok(exact.ok, 'accepts what the exact parser rejects')
    same(found.value, exact.value)
    same(JSON.stringify(found.value), JSON.stringify(parseSlowly(bytes)))
    same(found.tokens, exact.inexact === undefined ? null : Reflect.get(exact.inexact, 'tokens'))
  }
}
