/** The agent's card beside the served card, line by line. */
import t from 'tap'
import { diffOf } from '#console/card-diff.js'

function told (own: unknown, served: unknown): string[] {
  return diffOf(own, served).lines.map(
    ({ mark, indent, text, was }) =>
      `${{ same: ' ', added: '+', removed: '-', changed: '~' }[mark]}${'  '.repeat(indent)}${text}${was === undefined ? '' : ` was ${was}`}`
  )
}

t.test('values, members and items', t => {
  t.same(
    told(
      { name: 'a', url: 'http://in', signatures: [{ x: 1 }], list: [1, 2, 3] },
      { name: 'a', url: 'http://out', list: [1, 3], extra: true }
    ),
    [
      ' {',
      '   "name": "a",',
      '~  "url": "http://out", was "http://in"',
      '   "list": [',
      '     1,',
      '-    2,',
      '     3',
      '   ],',
      '+  "extra": true,',
      '-  "signatures": [',
      '-    {',
      '-      "x": 1',
      '-    }',
      '-  ]',
      ' }'
    ]
  )
  t.end()
})

t.test('items of a card are identified by members that the gateway does not change', t => {
  const rpc = { protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
  const diff = diffOf(
    {
      supportedInterfaces: [
        { url: 'grpc://a', protocolBinding: 'GRPC', protocolVersion: '1.0' },
        { url: 'http://in', ...rpc }
      ],
      extensions: [{ uri: 'urn:a', required: false }]
    },
    { supportedInterfaces: [{ url: 'http://out', ...rpc }], extensions: [{ uri: 'urn:a', required: true }, { uri: 'urn:b' }] }
  )
  t.match(
    diff.lines.filter(one => one.mark === 'changed'),
    [
      { text: '"url": "http://out",', was: '"http://in"' },
      { text: '"required": true', was: 'false' }
    ]
  )
  t.equal(diff.changed, 2)
  t.equal(diff.removed, 5)
  t.equal(diff.added, 3)
  t.end()
})

t.test('the same card has no marks; another kind of value is a change', t => {
  t.ok(diffOf({ a: [1, { b: null }] }, { a: [1, { b: null }] }).lines.every(one => one.mark === 'same'))
  t.match(told({ a: [1] }, { a: { b: 1 } }), [' {', '~  "a": { … } was [ … ]', ' }'])
  t.end()
})

t.test('hostile cards are cut', t => {
  const long = diffOf({ description: 'x'.repeat(1_000_000) }, { description: 'x'.repeat(1_000_000) })
  t.ok(JSON.stringify(long).length < 2_000)
  t.match(long.lines[1]?.text, /\(1000000 characters\)/)
  const list = Array.from({ length: 30_000 }, (_, i) => i)
  const wide = diffOf({ list }, { list: list.toReversed() })
  t.equal(wide.lines.length, 4_000)
  t.ok(wide.omitted > 26_000)
  const distinct = diffOf({ list }, { list: list.map(one => one + 100_000) })
  t.equal(distinct.removed, 30_000, 'in a time that is linear: nothing to wait for')
  t.match(told(JSON.parse('{"__proto__": {"a": 1}}'), {}), [' {', '-  "__proto__": {', '-    "a": 1', '-  }', ' }'])
  t.end()
})
