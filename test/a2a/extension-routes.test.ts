/** Extensions can add routes beside the operations of a card, but never replace them. */
import t from 'tap'
import type { MappedInterface } from '#a2a/card/map.js'
import type { ExtensionRoute } from '#a2a/extension-routes.js'
import { routeKey } from '#a2a/extension-routes.js'
import { PathScope } from '#a2a/card/path-scope.js'
import { Router } from '#a2a/route.js'
import type { Binding, Version } from '#a2a/versions.js'

const at = (publicPath: string, binding: Binding, version: Version): MappedInterface => ({
  binding,
  version,
  tenant: null,
  upstreamPath: `/up${publicPath}`,
  dialPath: `/up${publicPath}`,
  publicPath,
  url: `http://agent.test/up${publicPath}`
})
const BOTH = [at('/rpc', 'JSONRPC', '1.0'), at('/rpc', 'JSONRPC', '0.3'), at('/rest', 'HTTP+JSON', '1.0'), at('/rest', 'HTTP+JSON', '0.3')]
const VERSIONS: readonly Version[] = ['0.3', '1.0']

function router (added: readonly (string | ExtensionRoute)[], interfaces = BOTH): Router {
  return new Router(interfaces, true, added.map(one => {
    if (typeof one !== 'string') return one
    const [verb = '', path = ''] = one.split(' ')
    return { verb, path, versions: VERSIONS }
  }), { scope: new PathScope({ upstreamUrl: new URL('http://agent.test/up') }), uncarried: [] })
}

t.test('a route is found by verb and path, below the path of the upstream', async t => {
  const one = router(['GET /listCommands', 'POST /executeCommand', 'POST /commands/{name}/run'])
  for (const version of VERSIONS) {
    t.same(one.match('POST', '/executeCommand', version), {
      kind: 'operation',
      binding: 'HTTP+JSON',
      version,
      operation: 'Extension',
      extensionRoute: 'POST /executeCommand',
      tenant: null,
      upstreamPath: '/up/executeCommand',
      supported: true,
      versions: VERSIONS
    })
    t.match(one.match('GET', '/listCommands', version), { extensionRoute: 'GET /listCommands' })
    t.match(one.match('POST', '/commands/a%20b;c/run', version), {
      extensionRoute: 'POST /commands/{}/run',
      upstreamPath: '/up/commands/a%20b;c/run'
    })
  }
  for (const path of [
    '/executecommand',
    '/executeCommand/',
    '/executeCommand;x',
    '/executeCommand/x',
    '/commands//run',
    '/commands/run',
    '/commands/a/b/run',
    '',
    '/'
  ]) { t.equal(one.match('POST', path, '1.0'), null, path) }
})

t.test('other verbs get the allowed verbs; a preflight reaches the agent', async t => {
  const one = router(['POST /things', 'GET /things', 'DELETE /things/{id}'])
  for (const verb of ['PUT', 'HEAD', 'DELETE']) {
    t.same(one.match(verb, '/things', '0.3'), { kind: 'verb', binding: 'HTTP+JSON', version: '0.3', allow: 'GET, POST' }, verb)
  }
  t.match(one.match('GET', '/things/1', '1.0'), { kind: 'verb', allow: 'DELETE' })
  t.same(one.match('OPTIONS', '/things/1', '1.0'), { kind: 'preflight', upstreamPath: '/up/things/1' })
})

t.test('a plain segment comes before a parameter, in any order of writing', async t => {
  for (const routes of [
    ['GET /c/{x}', 'GET /c/list', 'PUT /c/{x}', 'GET /{x}/list'],
    ['GET /{y}/list', 'PUT /c/{y}', 'GET /c/list', 'GET /c/{y}']
  ]) {
    const one = router(routes)
    t.match(one.match('GET', '/c/list', '1.0'), { extensionRoute: 'GET /c/list' })
    t.match(one.match('GET', '/c/other', '1.0'), { extensionRoute: 'GET /c/{}' })
    t.match(one.match('GET', '/d/list', '1.0'), { extensionRoute: 'GET /{}/list' })
    t.match(one.match('PUT', '/c/list', '1.0'), { extensionRoute: 'PUT /c/{}' }, 'the plain one has no PUT')
    t.match(one.match('POST', '/c/list', '1.0'), { kind: 'verb', allow: 'GET, PUT' })
  }
  t.equal(routeKey('GET', '/a/{b}/c/{d}'), routeKey('GET', '/a/{x}/c/{y}'))
})

t.test('operations and the card win, and routes at their paths are reported', async t => {
  const one = router([
    'GET /rpc',
    'POST /rest/message:send',
    'GET /rest/{any}/{of}',
    'POST /{any}',
    'GET /rest/tasks/{id}',
    'GET /agent/authenticatedExtendedCard',
    'GET /{a}/{b}',
    'POST /free'
  ])
  t.match(one.match('POST', '/rpc', '1.0'), { binding: 'JSONRPC', operation: null, extensionRoute: null })
  t.match(one.match('GET', '/rpc', '1.0'), { kind: 'verb', binding: 'JSONRPC', allow: 'POST' })
  t.match(one.match('POST', '/rest/message:send', '1.0'), { operation: 'SendMessage', extensionRoute: null })
  t.match(one.match('GET', '/rest/message:send', '1.0'), { kind: 'verb', allow: 'POST' })
  t.match(one.match('GET', '/rest/tasks/1', '1.0'), { operation: 'GetTask' })
  t.match(one.match('GET', '/.well-known/agent-card.json', '1.0'), { kind: 'card' })
  t.equal(one.match('GET', '/.well-known/other.json', '1.0'), null, 'no parameter covers what is well known')
  t.match(one.match('POST', '/other', '1.0'), { extensionRoute: 'POST /{}' })
  t.same(one.shadowed, ['GET /rpc', 'POST /rest/message:send', 'GET /rest/tasks/{id}', 'GET /agent/authenticatedExtendedCard'])
})

t.test('versions: where the extension is declared', async t => {
  const one = router([
    { verb: 'POST', path: '/run', versions: ['1.0'] },
    { verb: 'GET', path: '/run', versions: ['0.3'] },
    { verb: 'GET', path: '/run', versions: ['1.0'] }
  ])
  t.match(one.match('POST', '/run', '1.0'), { supported: true, version: '1.0', versions: ['1.0'] })
  t.match(one.match('POST', '/run', '0.3'), { supported: false, version: '1.0', versions: ['1.0'] })
  t.match(one.match('GET', '/run', '0.3'), { supported: true, version: '0.3', versions: ['0.3', '1.0'] })
})

t.test('claims: no passthrough prefix forwards a route without inspection, however a lenient agent reads its path', async t => {
  const one = router(['POST /executeCommand', 'GET /commands/{name}/Run'])
  for (const path of [
    '/executeCommand',
    '/EXECUTEcommand',
    '/executeCommand/',
    '/executeCommand;x=1',
    '/commands/x/run',
    '/Commands/%C3%A9/RUN/',
    '/commands;a/b/run'
  ]) { t.equal(one.claims(path), true, path) }
  for (const path of ['/executeCommand/x', '/commands/x', '/commands//run', '/', '']) t.equal(one.claims(path), false, path)
  t.equal(router([]).claims('/executeCommand'), false)
})
