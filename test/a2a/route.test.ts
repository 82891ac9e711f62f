import t from 'tap'
import type { MappedInterface } from '#a2a/card/map.js'
import { Router } from '#a2a/route.js'
import type { Binding, Version } from '#a2a/versions.js'

function at (publicPath: string, binding: Binding, version: Version, upstream = `/up${publicPath}`): MappedInterface {
  return {
    binding,
    version,
    tenant: null,
    upstreamPath: upstream.replace(/(?<=.)\/$/, ''),
    dialPath: upstream,
    publicPath,
    url: `http://agent.test${upstream}`
  }
}
const router = (...interfaces: MappedInterface[]): Router => new Router(interfaces, false)

t.test('one URL supports both versions: the request decides', async t => {
  const both = router(at('/rpc', 'JSONRPC', '1.0', '/a'), at('/rpc', 'JSONRPC', '0.3', '/b'))
  t.match(both.match('POST', '/rpc', '1.0'), {
    kind: 'operation',
    binding: 'JSONRPC',
    version: '1.0',
    upstreamPath: '/a',
    supported: true,
    versions: ['1.0', '0.3'],
    operation: null
  })
  t.match(both.match('POST', '/rpc', '0.3'), { version: '0.3', upstreamPath: '/b', supported: true })
  const rest = router(at('', 'HTTP+JSON', '1.0', '/'), at('', 'HTTP+JSON', '0.3', '/'))
  t.match(rest.match('POST', '/message:send', '1.0'), {
    version: '1.0',
    supported: true,
    upstreamPath: '/message:send',
    operation: 'SendMessage',
    versions: ['1.0', '0.3']
  })
  t.match(rest.match('POST', '/v1/message:send', '0.3'), { version: '0.3', supported: true, upstreamPath: '/v1/message:send' })
})

t.test('the first interface of an address and version wins', async t => {
  const twice = router(at('/rpc', 'JSONRPC', '1.0', '/first'), at('/rpc', 'JSONRPC', '1.0', '/second'))
  t.match(twice.match('POST', '/rpc', '1.0'), { upstreamPath: '/first', versions: ['1.0'] })
})

t.test('JSON-RPC and HTTP+JSON share a base', async t => {
  for (const base of ['', '/a2a']) {
    const shared = router(at(base, 'JSONRPC', '1.0'), at(base, 'HTTP+JSON', '1.0'))
    t.match(shared.match('POST', base, '1.0'), { binding: 'JSONRPC', operation: null })
    t.match(shared.match('POST', `${base}/message:send`, '1.0'), {
      binding: 'HTTP+JSON',
      operation: 'SendMessage',
      upstreamPath: `/up${base}/message:send`
    })
    t.match(shared.match('GET', `${base}/tasks`, '1.0'), { binding: 'HTTP+JSON', operation: 'ListTasks' })
    t.match(shared.match('GET', base, '1.0'), { kind: 'verb', binding: 'JSONRPC', allow: 'POST' })
    t.equal(shared.match('POST', `${base}/other`, '1.0'), null)
  }
})

t.test('a trailing slash on a JSON-RPC URL does not matter, either way; the agent gets its own spelling', async t => {
  for (const dial of ['/up/rpc', '/up/rpc/']) {
    const one = router(at('/rpc', 'JSONRPC', '1.0', dial))
    for (const path of ['/rpc', '/rpc/']) t.match(one.match('POST', path, '1.0'), { binding: 'JSONRPC', upstreamPath: dial }, path)
    t.equal(one.match('POST', '/rpc//', '1.0'), null)
    t.equal(one.match('POST', '/rpcx', '1.0'), null)
  }
  const root = router(at('', 'JSONRPC', '1.0', '/'))
  for (const path of ['', '/']) t.match(root.match('POST', path, '1.0'), { upstreamPath: '/' }, `"${path}"`)
  const rest = router(at('/rest', 'HTTP+JSON', '1.0'))
  t.match(rest.match('POST', '/rest/message:send/', '1.0'), { upstreamPath: '/up/rest/message:send' }, 'agents read one spelling')
  t.match(rest.match('POST', '/rest/message%3Asend', '1.0'), { upstreamPath: '/up/rest/message:send' })
  t.match(rest.match('GET', '/rest/tasks/a%3Ab', '1.0'), { upstreamPath: '/up/rest/tasks/a%3Ab' }, 'and an id as written')
})

t.test('v1 is a tenant of 1.0 unless the agent may read it as the prefix of 0.3', async t => {
  const one = at('/rest', 'HTTP+JSON', '1.0')
  t.match(router(one).match('POST', '/rest/v1/message:send', '1.0'), { supported: true, tenant: 'v1', operation: 'SendMessage' })
  for (const old of [at('/rest', 'HTTP+JSON', '0.3'), at('/rest/v1', 'HTTP+JSON', '0.3')]) {
    for (const both of [router(one, old), router(old, one)]) {
      t.match(both.match('POST', '/rest/v1/message:send', '1.0'), { supported: false, version: '0.3', tenant: null }, old.publicPath)
      t.match(both.match('POST', '/rest/v1/message:send', '0.3'), { supported: true, version: '0.3', tenant: null }, old.publicPath)
      t.match(both.match('POST', '/rest/v2/message:send', '1.0'), { supported: true, tenant: 'v2' })
    }
  }
})

t.test('a path with two readings is no operation', async t => {
  t.same(router(at('/rest', 'HTTP+JSON', '1.0')).match('GET', '/rest/tasks/extendedAgentCard', '1.0'), {
    kind: 'ambiguous',
    binding: 'HTTP+JSON',
    version: '1.0'
  })
})

t.test('the longest base wins', async t => {
  const nested = router(at('', 'HTTP+JSON', '1.0', '/short'), at('/acme', 'HTTP+JSON', '1.0', '/long'))
  t.match(
    nested.match('POST', '/acme/message:send', '1.0'),
    { upstreamPath: '/long/message:send', tenant: null },
    'not a tenant of the shorter one'
  )
  t.match(nested.match('POST', '/other/message:send', '1.0'), { upstreamPath: '/short/other/message:send', tenant: 'other' })
  t.match(
    nested.match('POST', '/acmes/message:send', '1.0'),
    { upstreamPath: '/short/acmes/message:send', tenant: 'acmes' },
    'bases end at a slash'
  )
})

t.test('an unsupported version differs from an unknown path', async t => {
  const only10 = router(at('/rpc', 'JSONRPC', '1.0'), at('/rest', 'HTTP+JSON', '1.0'))
  t.match(only10.match('POST', '/rpc', '0.3'), { kind: 'operation', supported: false, versions: ['1.0'], version: '0.3' })
  t.match(only10.match('POST', '/rest/message:send', '0.3'), {
    kind: 'operation',
    supported: false,
    versions: ['1.0'],
    version: '1.0',
    operation: 'SendMessage'
  })
  t.match(only10.match('POST', '/rest/v1/message:send', '0.3'), { supported: false, versions: ['1.0'] })
  t.equal(only10.match('POST', '/nowhere', '0.3'), null)
  const only03 = router(at('', 'HTTP+JSON', '0.3'))
  t.match(only03.match('POST', '/v1/message:send', '1.0'), { supported: false, versions: ['0.3'] })
  t.match(only03.match('GET', '/v1/message:send', '1.0'), { kind: 'verb', allow: 'POST' })
})

t.test('a preflight reaches the agent at every operation', async t => {
  const both = router(at('/rpc', 'JSONRPC', '1.0', '/up/rpc/'), at('', 'HTTP+JSON', '1.0'))
  t.same(both.match('OPTIONS', '/rpc', '1.0'), { kind: 'preflight', upstreamPath: '/up/rpc/' })
  t.same(both.match('OPTIONS', '/message:send', '0.3'), { kind: 'preflight', upstreamPath: '/up/message:send' })
  t.equal(both.match('OPTIONS', '/other', '1.0'), null)
})

t.test('the card is read at both well-known paths', async t => {
  const one = router(at('/rpc', 'JSONRPC', '1.0'))
  for (const path of ['/.well-known/agent-card.json', '/.well-known/agent.json']) {
    for (const verb of ['GET', 'HEAD']) t.same(one.match(verb, path, '1.0'), { kind: 'card' })
    t.match(one.match('POST', path, '1.0'), { kind: 'verb', allow: 'GET, HEAD' })
  }
  t.equal(one.match('GET', '/.well-known/agent-card.json/', '1.0'), null)
  t.equal(one.match('GET', '/.well-known/other.json', '1.0'), null)
})

t.test('0.2 agents have their extended card next to their URL', async t => {
  const legacy = new Router([at('/a2a/rpc', 'JSONRPC', '0.3', '/x/y/rpc')], true)
  t.match(legacy.match('GET', '/a2a/agent/authenticatedExtendedCard', '0.3'), {
    kind: 'operation',
    operation: 'GetExtendedAgentCard',
    upstreamPath: '/x/y/agent/authenticatedExtendedCard',
    version: '0.3',
    supported: true
  })
  t.equal(legacy.match('POST', '/a2a/agent/authenticatedExtendedCard', '0.3'), null)
  t.equal(new Router([at('/rpc', 'JSONRPC', '0.3')], false).match('GET', '/agent/authenticatedExtendedCard', '0.3'), null)
  t.match(new Router([at('', 'JSONRPC', '0.3', '/')], true).match('GET', '/agent/authenticatedExtendedCard', '0.3'), {
    upstreamPath: '/agent/authenticatedExtendedCard'
  })
})

t.test('claims: no passthrough prefix forwards an operation without inspection, however a lenient agent reads its path', async t => {
  const all = new Router(
    [at('/Rpc', 'JSONRPC', '1.0'), at('/rest', 'HTTP+JSON', '1.0'), at('/old', 'HTTP+JSON', '0.3'), at('/older/v1', 'HTTP+JSON', '0.3')],
    true
  )
  for (const path of [
    '/Rpc', '/Rpc/', '/rpc', '/RPC', '/Rpc;a=b', '/%52pc',
    '/.well-known/agent-card.json', '/.well-known/agent.json', '/.Well-Known/Agent-Card.json', '/.well-known/agent-card.json/',
    '/agent/authenticatedExtendedCard', '/AGENT/authenticatedextendedcard',
    '/rest/message:send', '/rest/message%3asend', '/rest/message%3Asend', '/rest/MESSAGE:SEND', '/rest/message:send/',
    '/rest/message:send;x=1', '/rest;x/message:send', '/REST/message:stream', '/rest/message:send%3Bx',
    '/rest/acme/message:send', '/rest/tasks', '/rest/Tasks/1', '/rest/tasks/1%3acancel', '/rest/tasks/1/PushNotificationConfigs',
    '/rest/extendedagentcard',
    '/old/v1/message:send', '/old/V1/Message:Send', '/older/v1/message:send', '/older/v1/v1/message:send', '/old/v1/CARD'
  ]) t.equal(all.claims(path), true, path)
  for (const path of ['', '/', '/docs', '/rest', '/rest/docs', '/rest/docs/message', '/old/message:send', '/rpc/x', '/rest/v1', '/%zz']) {
    t.equal(all.claims(path), false, path)
  }
})
