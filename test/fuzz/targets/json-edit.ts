/** Edits in place. The result is the edited value, every byte outside of the edits is unchanged, and spans match the values. */
import { deepStrictEqual as same, equal, ok } from 'node:assert'
import { editJson } from '#wire/json/edit.js'
import type { JsonEdit, JsonPath } from '#wire/json/edit.js'
import { memberSpan } from '#wire/json/span.js'
import { outcomeOf } from '../../runtimes/exact.js'
import { Random } from '../engine/random.js'
import type { Reader, Target } from '../engine/target.js'
import { applySlowly, sameBytes } from '../oracles/slow-edit.js'
import { readSlowly } from '../oracles/slow-json.js'
import type { Node } from '../oracles/slow-json.js'

const VALUES = ['1', '"x"', '{}', '{"n": [0]}', 'null', '[]'].map(text => Buffer.from(text))
const STEPS: readonly (string | number)[] = ['a', 'b', '__proto__', 'é', '', 0, 1, 7, -1, 'new']

export const jsonEdit: Target & Reader = {
  name: 'json-edit',
  maxBytes: 600,
  seeds: [
    '{"a":1,"b":[1,{"c":null},3],"d":{"e":"f"}}',
    '[[],{},[1,2,3],{"a":{}}]',
    ' { "a" : 1 , "b" : 2 , "c" : 3 } ',
    'null',
    '{"a":null}',
    '{"\\u0061":[ 1 ,\n2 ],"é":"\\"}"}',
    '{"__proto__":{"a":1},"":[]}',
    '[ 1 , 2 , 3 ]',
    '{"m":{"metadata":{"a":1,"b":2},"parts":[{"text":"t"},{"data":{"a":1}}]}}'
  ],
  dictionary: [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a":',
    '"b":',
    '"\\u0061":',
    'null',
    '{}',
    '[]',
    ' ',
    '\n',
    '"',
    '\\"',
    '1',
    '"x"',
    '"__proto__":',
    '"é":'
  ],
  read: bytes => STEPS.flatMap(first => STEPS.map(second => [
    outcomeOf(() => memberSpan(bytes, [first, second])),
    outcomeOf(() => editJson(bytes, [{ path: [first, second], value: VALUES[3] as Buffer }, { path: [second], value: null }]))
  ])),
  check (bytes) {
    const slow = readSlowly(bytes)
    const { root } = slow
    if (root === null || !slow.utf8 || slow.mark || slow.duplicates.length > 0) return
    const random = Random.of(bytes)
    const places: { readonly path: JsonPath; readonly node: Node }[] = []
    const walk = (node: Node, path: JsonPath): void => {
      places.push({ path, node })
      if (node.kind === 'object') for (const { name, value } of node.members) walk(value, [...path, name])
      if (node.kind === 'array') node.items.forEach((item, i) => walk(item, [...path, i]))
    }
    walk(root, [])
    for (const { path, node } of places) {
      const span = memberSpan(bytes, path)
      ok(span !== null, 'a value without a span')
      same({ ...span }, { start: node.start, end: node.end })
      for (const step of STEPS) {
        if (!places.some(other => same_(other.path, [...path, step]))) equal(memberSpan(bytes, [...path, step]), null)
      }
    }
    for (let round = 0; round < 4; round++) {
      const edits: JsonEdit[] = []
      do {
        const { path } = random.pick(places)
        const longer = random.chance(3) ? [...path, random.pick(STEPS), ...(random.chance(3) ? [random.pick(STEPS)] : [])] : path
        edits.push({ path: longer, value: random.chance(2) ? null : random.pick(VALUES) })
      } while (random.chance(2))
      const after = editJson(bytes, edits)
      const read = readSlowly(after)
      ok(read.root !== null && read.duplicates.length === 0, 'edits leave JSON')
      sameBytes(applySlowly(root, edits), read.root, bytes, after)
      equal(editJson(bytes, edits).equals(after), true)
    }
    equal(editJson(bytes, []), bytes)
  }
}

function same_ (a: JsonPath, b: JsonPath): boolean {
  return a.length === b.length && a.every((step, i) => step === b[i])
}
