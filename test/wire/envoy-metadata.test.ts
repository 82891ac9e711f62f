/** Values in the metadata of Envoy. */
import t from 'tap'
import { run } from '#wire/envoy/fields.js'
import { readObject, valueIn } from '#wire/envoy/metadata.js'
import { codec } from '../front/envoy-proto.js'
import { protoMetadata, protoValue } from '../front/mesh-kit.js'

const BOUNDS = { depth: 16, members: 1_000 }
const PLACE = { namespace: 'a.filter', key: 'payload' }
const PAYLOAD = {
  iss: 'https://idp.test/',
  aud: ['a', 'b'],
  exp: 1_900_000_000,
  half: 0.5,
  zero: 0,
  empty: '',
  yes: true,
  no: false,
  nothing: null,
  list: [],
  realm: { roles: ['x', { deep: 'ü' }] },
  none: {},
  ['__proto__']: { admin: true }
}

const encoded = (value: unknown): Buffer => codec('Value').encode(protoValue(value))

t.test('every kind of value', async t => {
  const found = readObject(encoded(PAYLOAD), BOUNDS)
  t.equal(JSON.stringify(Object.entries(found ?? {}).sort()), JSON.stringify(Object.entries(PAYLOAD).sort()))
  t.equal(Object.getPrototypeOf(found), Object.prototype)
  t.notOk('admin' in (found ?? {}))
})

t.test('a place, and no other', async t => {
  const metadata = codec('Metadata').encode(protoMetadata({ 'a.filter': { payload: PAYLOAD, other: 1 }, 'b.filter': { payload: 'x' } }))
  const value = valueIn(metadata, PLACE)
  t.equal(readObject(value ?? Buffer.alloc(0), BOUNDS)?.['iss'], PAYLOAD.iss)
  t.equal(valueIn(metadata, { ...PLACE, key: 'none' }), undefined)
  t.equal(valueIn(metadata, { ...PLACE, namespace: 'none' }), undefined)
})

t.test('what is no object, or cannot be read, is null', async t => {
  let deep: unknown = 'x'
  for (let i = 0; i < 20; i++) deep = { deep }
  const member = (name: Buffer | string, ...values: Buffer[]): Buffer => run(1, run(1, name), ...values.map(value => run(2, value)))
  const struct = (...members: Buffer[]): Buffer => run(5, ...members)
  const rows: Readonly<Record<string, Buffer>> = {
    'a text': encoded('{}'),
    'a list': encoded([{}]),
    'a number': encoded(1),
    nothing: Buffer.alloc(0),
    null: encoded(null),
    'too deep': encoded(deep),
    'too many members': encoded(Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`m${i}`, i]))),
    'a number that is not finite': encoded({ exp: Infinity }),
    'no number': encoded({ exp: NaN }),
    'one member twice': struct(member('sub', encoded('a')), member('sub', encoded('b'))),
    'a member without a value': struct(member('sub')),
    'a value of an unknown kind': struct(member('sub', run(9, 'x'))),
    'a text that is not UTF-8': struct(member('sub', run(3, Buffer.from([0xc3])))),
    'a name that is not UTF-8': struct(member(Buffer.from([0xff]), encoded('a')))
  }
  for (const [name, bytes] of Object.entries(rows)) t.equal(readObject(bytes, BOUNDS), null, name)
  const whole = encoded(PAYLOAD)
  for (let length = 0; length < whole.length; length++) t.equal(readObject(whole.subarray(0, length), BOUNDS), null, `${length} bytes`)
})
