import t from 'tap'
import { mapInterfaces, publicUrlOf } from '#a2a/card/map.js'
import type { CardInterface } from '#a2a/card/card.js'
import { PathScope } from '#a2a/card/path-scope.js'

const at = (text: string, more: Partial<CardInterface> = {}): CardInterface =>
  ({ binding: 'JSONRPC', version: '1.0', tenant: null, url: new URL(text), text, ...more })

const scope = (upstream: string, allowed: readonly string[] = [], reserved: readonly string[] = []): PathScope =>
  new PathScope({ upstreamUrl: new URL(upstream), allowed, reserved })

t.test('public path', async (t) => {
  const cases: [upstream: string, card: string, upstreamPath: string, dialPath: string, publicPath: string, served: string][] = [
    ['http://a:1', 'http://x', '/', '/', '', 'https://g/p'],
    ['http://a:1', 'http://x/', '/', '/', '', 'https://g/p/'],
    ['http://a:1/', 'http://x/rpc', '/rpc', '/rpc', '/rpc', 'https://g/p/rpc'],
    ['http://a:1/', 'http://x/rpc/', '/rpc', '/rpc/', '/rpc', 'https://g/p/rpc/'],
    ['http://a:1/base', 'http://x/base', '/base', '/base', '', 'https://g/p'],
    ['http://a:1/base/', 'http://x/base/', '/base', '/base/', '', 'https://g/p/'],
    ['http://a:1/base', 'https://x:9/base/v1', '/base/v1', '/base/v1', '/v1', 'https://g/p/v1'],
    ['http://a:1/my%20base', 'http://x/my%20base/rpc', '/my%20base/rpc', '/my%20base/rpc', '/rpc', 'https://g/p/rpc'],
    ['http://a:1', 'http://x/%61%c3%a4', '/%61%c3%a4', '/%61%c3%a4', '/a%C3%A4', 'https://g/p/a%C3%A4'],
    ['http://a:1', 'http://u:p@x/ä', '/%C3%A4', '/%C3%A4', '/%C3%A4', 'https://g/p/%C3%A4']
  ]
  for (const [upstream, card, upstreamPath, dialPath, publicPath, served] of cases) {
    const { mapped, conflicts } = mapInterfaces([at(card)], scope(upstream))
    t.same(
      mapped,
      [{ binding: 'JSONRPC', version: '1.0', tenant: null, upstreamPath, dialPath, publicPath, url: card }],
      `${card} of ${upstream}`
    )
    t.same(conflicts, [])
    t.equal(mapped[0] && publicUrlOf(mapped[0], 'https://g/p'), served)
  }
})

t.test('two agent paths at one public path: the first stays', async (t) => {
  const { mapped, conflicts } = mapInterfaces(
    [at('http://a/x'), at('http://a/base/x'), at('http://a/x/', { binding: 'HTTP+JSON' }), at('http://a/x', { tenant: 'acme' })],
    scope('http://a/base', ['/'])
  )
  t.match(mapped, [{ upstreamPath: '/x', dialPath: '/x' }, { upstreamPath: '/x', dialPath: '/x/' }, { upstreamPath: '/x', tenant: 'acme' }])
  t.equal(conflicts.length, 1)
  t.match(conflicts[0], 'http://a/base/x is not served: its public path "/x" already belongs to "/x"')
  t.equal(mapInterfaces([at('http://a/base'), at('http://a/')], scope('http://a/base', ['/'])).mapped.length, 1)
})

t.test('paths that two readers may read differently are not served', async (t) => {
  for (const path of [
    '//x',
    '/x//y',
    '/x//',
    '/./x',
    '/x/../y',
    '/x/..',
    '/x/..;/y',
    '/x/.;a/y',
    '/%2e/x',
    '/x%2Fy',
    '/x%5Cy',
    '/%00',
    '/x%0d',
    '/x%7f',
    '/x%',
    '/x%zz',
    '/%252e%252e/x',
    '/x%2561',
    '/%ff',
    '/x;/../y',
    '/x/%2e%2E;a/y'
  ]) {
    const { mapped, conflicts } = mapInterfaces([at(`http://a${path}`)], scope('http://a'))
    t.same(mapped, [], path)
    t.equal(conflicts.length, 1)
  }
  for (const path of ['/.hidden', '/a.b', '/..x', '/x%20y', '/~x', '/x;v=1']) {
    t.equal(mapInterfaces([at(`http://a${path}`)], scope('http://a')).mapped.length, 1, path)
  }
})

t.test('an interface cannot use the paths of the card', async (t) => {
  t.match(mapInterfaces([at('http://a/.well-known/agent-card.json')], scope('http://a')), { mapped: [], conflicts: [/serves the card/] })
})

t.test('query and fragment are dropped, with a warning', async (t) => {
  for (const tail of ['?key=secret', '#f', '?', '?/..//']) {
    const { mapped, conflicts } = mapInterfaces([at(`http://a/x${tail}`)], scope('http://a'))
    t.match(mapped, [{ publicPath: '/x', dialPath: '/x' }])
    t.match(conflicts, ['JSONRPC 1.0 http://a/x is served without the query or fragment of its URL'])
    t.equal(mapped[0] && publicUrlOf(mapped[0], 'https://g'), 'https://g/x')
  }
})

t.test('an interface is below upstream.url, or at a path that card.interfaces allows', async (t) => {
  const rows: [upstream: string, allowed: string[], card: string, publicPath: string | null][] = [
    ['http://a/rogue', [], '/rogue', ''],
    ['http://a/rogue', [], '/rogue/', ''],
    ['http://a/rogue/', [], '/rogue', ''],
    ['http://a/rogue/', [], '/rogue/rpc', '/rpc'],
    ['http://a/rogue', [], '/r%6Fgue/rpc', '/rpc'],
    ['http://a/rogue', [], '/', null],
    ['http://a/rogue', [], '/rpc', null],
    ['http://a/rogue', [], '/victim/rpc', null],
    ['http://a/rogue', [], '/rogues', null],
    ['http://a/rogue', [], '/rogue-victim/rpc', null],
    ['http://a/rogue', [], '/rogu', null],
    ['http://a/rogue', [], '/Rogue/rpc', null],
    ['http://a/rogue', [], '/rogue;x/rpc', null],
    ['http://a/rogue', [], '/rogue/../victim/rpc', null],
    ['http://a/rogue', [], '/rogue/..', null],
    ['http://a/rogue', [], '/rogue/%2e%2e/victim/rpc', null],
    ['http://a/rogue', [], '/rogue/%2E./victim/rpc', null],
    ['http://a/rogue', [], '/rogue/..%2fvictim/rpc', null],
    ['http://a/rogue', [], '/rogue/..;/victim/rpc', null],
    ['http://a/rogue', [], '/rogue/%252e%252e/victim/rpc', null],
    ['http://a/rogue', [], '//victim/rpc', null],
    ['http://a/rogue', [], '/rogue//../victim', null],
    ['http://a/rogue', [], '/%72ogue%2Fvictim', null],
    ['http://a/rogue', ['/shared'], '/shared/rpc', '/shared/rpc'],
    ['http://a/rogue', ['/shared'], '/shared', '/shared'],
    ['http://a/rogue', ['/shared'], '/shared/', '/shared'],
    ['http://a/rogue', ['/shared'], '/sharedx', null],
    ['http://a/rogue', ['/shared'], '/shared/../victim', null],
    ['http://a/rogue', ['/shared'], '/Shared/rpc', null],
    ['http://a/rogue', ['/'], '/victim/rpc', '/victim/rpc'],
    ['http://a/my%20team', [], '/my%20team/rpc', '/rpc'],
    ['http://a/my%20team', [], '/my+team/rpc', null],
    ['http://a/%c3%a4', [], '/%C3%A4/rpc', '/rpc'],
    ['http://a/%c3%a4', [], '/\u00e4/rpc', '/rpc'],
    ['http://a', [], '/anything/rpc', '/anything/rpc']
  ]
  const mismatches = rows.flatMap(([upstream, allowed, card, expected]) => {
    const { mapped, conflicts } = mapInterfaces([at(`http://x${card}`)], scope(upstream, allowed))
    const found = mapped[0]?.publicPath ?? null
    return found === expected && conflicts.length === (expected === null ? 1 : 0)
      ? []
      : [{ upstream, allowed, card, expected, found, conflicts }]
  })
  t.same(mismatches, [])
  t.same(mapInterfaces([at('http://x/victim/rpc')], scope('http://a/rogue')).conflicts, [
    'JSONRPC 1.0 http://x/victim/rpc is not served: its path is not below that of upstream.url, "/rogue"; card.interfaces can allow it'
  ])
})

t.test('below the upstream.url of another agent, an interface belongs to that agent', async (t) => {
  const rows: [upstream: string, allowed: string[], reserved: string[], card: string, carried: boolean][] = [
    ['http://a', [], ['/victim'], '/victim/rpc', false],
    ['http://a', [], ['/victim'], '/victim', false],
    ['http://a', [], ['/victim'], '/Victim/rpc', false],
    ['http://a', [], ['/victim'], '/victim;x/rpc', false],
    ['http://a', [], ['/victim'], '/victim%3Bx/rpc', false],
    ['http://a', [], ['/my victim'], '/my%20victim/rpc', false],
    ['http://a', [], ['/victim'], '/victims/rpc', true],
    ['http://a', [], ['/victim'], '/rpc', true],
    ['http://a', ['/'], ['/victim'], '/victim/rpc', false],
    ['http://a', ['/victim'], ['/victim'], '/victim/rpc', true],
    ['http://a', ['/victim/shared'], ['/victim'], '/victim/shared/rpc', true],
    ['http://a', ['/victim/shared'], ['/victim'], '/victim/rpc', false],
    ['http://a/team', [], ['/team/victim'], '/team/victim/rpc', false],
    ['http://a/team', [], ['/team/victim'], '/team/rpc', true]
  ]
  const mismatches = rows.filter(([upstream, allowed, reserved, card, carried]) =>
    (mapInterfaces([at(`http://x${card}`)], scope(upstream, allowed, reserved)).mapped.length === 1) !== carried)
  t.same(mismatches, [])
  t.match(mapInterfaces([at('http://x/victim/rpc')], scope('http://a', [], ['/victim'])).conflicts, [
    /its path is below "\/victim", the path of the upstream.url of another agent/
  ])
})
