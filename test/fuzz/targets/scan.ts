/**
 * The structural scan. With the scan, the strict parser gives the same value, inexact numbers, rejections and messages as the plain code,
 * wherever the text lies in the scan's blocks of 64 bytes.
 */
import { deepStrictEqual as same, ok } from 'node:assert'
import { isUtf8 } from 'node:buffer'
import { parseStrict } from '#wire/json/json.js'
import { LONG } from '#wire/json/lazy-string.js'
import { scanStructure } from '#wire/json/structural-scan.js'
import type { Reader, Target } from '../engine/target.js'
import { json } from './json.js'
import type { JsonLimits } from '#wire/json/json-result.js'

const ROOMY: JsonLimits = { depth: 64, members: 10_000 }
const LIMITS: readonly JsonLimits[] = [ROOMY, { depth: 3, members: 6 }]
/** White space before the text. The first bytes of the text end a block, or follow one. */
const SHIFTS = [0, 57, 62, 63].map(size => Buffer.alloc(size, ' '))

export const scan: Target & Reader = {
  name: 'scan',
  maxBytes: 1024,
  seeds: [
    ...json.seeds,
    `{"${'n'.repeat(70)}":1,"${'n'.repeat(69)}m":2}`,
    `[${'1234567890123456.5e-3,'.repeat(9)}0]`,
    `["${'\\\\'.repeat(40)}","${'\\\\'.repeat(40)}\\"",{"a":{"a":{}},"b":[{"a":1},{"a":2}]}]`,
    `["${'\\"a\\u00e9'.repeat(12)}",true,1E5,-0.1,123456789012345,1234567890123456]`
  ],
  dictionary: [
    ...json.dictionary,
    ' '.repeat(60),
    'x'.repeat(60),
    '\\'.repeat(61),
    '1234567890123456',
    'e5',
    '"a":{"a":1}',
    '\\u12'
  ],
  read: bytes => SHIFTS.map(shift => parseStrict(Buffer.concat([shift, bytes]), ROOMY, LONG, 0)),
  check (bytes) {
    const valid = isUtf8(bytes) && parseStrict(bytes, ROOMY, LONG, Infinity).ok
    for (const shift of SHIFTS) {
      const text = Buffer.concat([shift, bytes])
      for (const limits of LIMITS) {
        for (const long of [0, LONG]) same(parseStrict(text, limits, long, 0), parseStrict(text, limits, long, Infinity))
      }
      if (valid) ok(scanStructure(text, ROOMY, LONG) !== null, 'what is acceptable needs no closer look')
    }
  }
}
