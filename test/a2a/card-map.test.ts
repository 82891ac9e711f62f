import t from 'tap'
import { mapInterfaces, publicUrlOf } from '../../src/a2a/card-map.js'
import type { CardInterface } from '../../src/a2a/card.js'

const at = (text: string, more: Partial<CardInterface> = {}): CardInterface =>
  ({ binding: 'JSONRPC', version: '1.0', tenant: null, url: new URL(text), text, ...more })

t.test('public path', async (t) => {
  const cases: [upstream: string, card: string, upstreamPath: string, dialPath: string, publicPath: string, served: string][] = [
    ['http://a:1', 'http://x', '/', '/', '', 'https://g/p'],
    ['http://a:1', 'http://x/', '/', '/', '', 'https://g/p/'],
    ['http://a:1/', 'http://x/rpc', '/rpc', '/rpc', '/rpc', 'https://g/p/rpc'],
    ['http://a:1/', 'http://x/rpc/', '/rpc', '/rpc/', '/rpc', 'https://g/p/rpc/'],
    ['http://a:1/base', 'http://x/base', '/base', '/base', '', 'https://g/p'],
    ['http://a:1/base/', 'http://x/base/', '/base', '/base/', '', 'https://g/p/'],
    ['http://a:1/base', 'https://x:9/base/v1', '/base/v1', '/base/v1', '/v1', 'https://g/p/v1'],
    ['http://a:1/base', 'http://x/based', '/based', '/based', '/based', 'https://g/p/based'],
    ['http://a:1/base', 'http://x/other/rpc', '/other/rpc', '/other/rpc', '/other/rpc', 'https://g/p/other/rpc'],
    ['http://a:1', 'http://u:p@x/ä', '/%C3%A4', '/%C3%A4', '/%C3%A4', 'https://g/p/%C3%A4']
  ]
  for (const [upstream, card, upstreamPath, dialPath, publicPath, served] of cases) {
    const { mapped, conflicts } = mapInterfaces([at(card)], new URL(upstream))
    t.same(mapped, [{ binding: 'JSONRPC', version: '1.0', tenant: null, upstreamPath, dialPath, publicPath, url: card }], `${card} of ${upstream}`)
    t.same(conflicts, [])
    t.equal(mapped[0] && publicUrlOf(mapped[0], 'https://g/p'), served)
  }
})

t.test('two agent paths at one public path: the first stays', async (t) => {
  const { mapped, conflicts } = mapInterfaces(
    [at('http://a/x'), at('http://a/base/x'), at('http://a/x/', { binding: 'HTTP+JSON' }), at('http://a/x', { tenant: 'acme' })], new URL('http://a/base'))
  t.match(mapped, [{ upstreamPath: '/x', dialPath: '/x' }, { upstreamPath: '/x', dialPath: '/x/' }, { upstreamPath: '/x', tenant: 'acme' }])
  t.equal(conflicts.length, 1)
  t.match(conflicts[0], 'http://a/base/x is not carried: its public path "/x" already stands for "/x"')
  t.equal(mapInterfaces([at('http://a/base'), at('http://a/')], new URL('http://a/base')).mapped.length, 1)
})

t.test('paths that two readers may read differently are not carried', async (t) => {
  for (const path of ['//x', '/x//y', '/x//', '/./x', '/x/../y', '/x/..', '/x/..;/y', '/x/.;a/y', '/%2e/x', '/x%2Fy', '/x%5Cy', '/%00', '/x%0d', '/x%7f', '/x%', '/x%zz']) {
    const { mapped, conflicts } = mapInterfaces([at(`http://a${path}`)], new URL('http://a'))
    t.same(mapped, [], path)
    t.equal(conflicts.length, 1)
  }
  for (const path of ['/.hidden', '/a.b', '/..x', '/x%20y', '/~x', '/x;v=1']) {
    t.equal(mapInterfaces([at(`http://a${path}`)], new URL('http://a')).mapped.length, 1, path)
  }
})

t.test('the card\'s own paths are taken', async (t) => {
  t.match(mapInterfaces([at('http://a/.well-known/agent-card.json')], new URL('http://a')), { mapped: [], conflicts: [/serves the card/] })
})

t.test('query and fragment are dropped, and that is said', async (t) => {
  for (const tail of ['?key=secret', '#f', '?', '?/..//']) {
    const { mapped, conflicts } = mapInterfaces([at(`http://a/x${tail}`)], new URL('http://a'))
    t.match(mapped, [{ publicPath: '/x', dialPath: '/x' }])
    t.match(conflicts, ['JSONRPC 1.0 http://a/x is carried without the query or fragment of its URL'])
    t.equal(mapped[0] && publicUrlOf(mapped[0], 'https://g'), 'https://g/x')
  }
})
