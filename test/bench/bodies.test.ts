import t from 'tap'
import { REAL_WORKS, WORKS, callBody, responseBody } from '../../bench/agent/bodies.js'
import { textOf } from '../../bench/agent/texts.js'

t.test('every body has exactly its size, and a part that the schema validates', async t => {
  for (const work of [...WORKS, ...REAL_WORKS]) {
    for (const [kind, body] of [['request', callBody(work)], ['response', responseBody(work)]] as const) {
      t.equal(body.length, work.bytes, `${kind}, ${work.name}`)
      t.match(JSON.parse(String(body)), { jsonrpc: '2.0' })
      t.ok(body.includes('"mediaType":"application/json;schema=order"'))
    }
    t.ok(callBody(work).equals(callBody(work)), 'the same bytes each time')
  }
})

t.test('texts have the shares of escapes of real text', async t => {
  const shares = { text: [0.01, 0.02], markdown: [0.1, 0.12], json: [0.22, 0.26], chinese: [0, 0.01] } as const
  for (const [kind, [least, most]] of Object.entries(shares)) {
    for (const bytes of [3_700, 50_000, 1_000_000]) {
      const written = JSON.stringify(textOf(kind as keyof typeof shares, bytes)).slice(1, -1)
      t.equal(Buffer.byteLength(written), bytes)
      const share = (written.match(/\\./g)?.length ?? 0) / bytes
      t.ok(share >= least && share <= most, `${kind}, ${bytes} bytes: ${(share * 100).toFixed(1)}%`)
    }
  }
  t.ok((textOf('chinese', 50_000).match(/[^\0-\x7f]/g)?.length ?? 0) > 15_000, 'Chinese takes three bytes a character')
})

t.test('data are many objects, and most of the body', async t => {
  const counts = REAL_WORKS.filter(({ shape }) => shape === 'data').map(work => String(callBody(work)).match(/"sku"/g)?.length ?? 0)
  t.same(counts.map(count => count > 50), [true, true, true], counts.join(', '))
  t.ok((counts[1] ?? 0) > 700)
})
