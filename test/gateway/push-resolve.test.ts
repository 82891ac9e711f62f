/** `push.resolve`: names in push notification URLs are resolved. The resolver of the system is replaced: the tests have no network. */
import dns from 'node:dns'
import t from 'tap'
import type { Test } from 'tap'
import { configOf, gatewayFor, oneAgent } from '../helpers/gateway.js'
import { call, PUSH_FORMS, sendWith, setConfig } from '../helpers/push-calls.js'
import type { PushForm } from '../helpers/push-calls.js'
import { fakeAgent } from '../helpers/raw.js'
import type { Seen, TaskCall } from '../helpers/task-calls.js'
import { NameResolver } from '#upstream/name-resolver.js'

type Found = readonly string[] | 'error' | 'late'

/** Replaces `dns.lookup` for the names below `test`. @returns the names that were looked up */
function names (t: Test, found: (name: string) => Found): string[] {
  const asked: string[] = []
  const { lookup } = dns
  const replaced = (name: string, options: unknown, done: (...args: unknown[]) => void): void => {
    if (!name.endsWith('.test')) return (lookup as (...args: unknown[]) => void)(name, options, done)
    asked.push(name)
    const result = found(name)
    if (result === 'late') return
    setImmediate(() => {
      if (result === 'error') done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
      else done(null, result.map(address => ({ address, family: address.includes(':') ? 6 : 4 })))
    })
  }
  dns.lookup = replaced as never
  t.teardown(() => { dns.lookup = lookup })
  return asked
}

const ADDRESSES: Readonly<Record<string, Found>> = {
  'public.test': ['93.184.216.34', '2606:2800:220:1::1'],
  'private.test': ['10.0.0.5'],
  'mixed.test': ['93.184.216.34', '127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'mapped.test': ['::ffff:10.0.0.1'],
  'nat64.test': ['64:ff9b::7f00:1'],
  'local6.test': ['fd00::1'],
  'shared.test': ['100.64.0.1'],
  'scoped.test': ['fe80::1%eth0'],
  'unknown.test': 'error',
  'empty.test': []
}

async function target (t: Test, push: string) {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, [`push: ${push}`]) })
  const send = (one: TaskCall): Promise<Seen> => {
    agent.received.length = 0
    return call(gateway.url, { ...one, path: one.path.replace('/a2a/jsonrpc', '/rpc').replace('/a2a/rest', '/rest') })
  }
  return { agent, send }
}

t.test('private addresses are rejected in each place, version and binding', async t => {
  names(t, name => ADDRESSES[name] ?? 'error')
  const { agent, send } = await target(t, '{}')
  const mismatches: object[] = []
  for (const form of PUSH_FORMS) {
    for (const name of Object.keys(ADDRESSES)) {
      const config = { id: 'c', url: `https://${name}/a2a` }
      for (const one of [setConfig(form, 't', config), sendWith(form, null, config), sendWith(form, 't', config, 'x', true)]) {
        const { text } = await send(one)
        const reached = agent.received.length > 0
        const rejected = /must not name a host with a private|cannot resolve/.test(text)
        if (rejected === (name === 'public.test') || reached === rejected) mismatches.push({ form, name, text, reached })
        if (rejected && /10\.0|127\.0|fd00/.test(text)) mismatches.push({ shown: text })
      }
    }
  }
  t.same(mismatches, [])
})

t.test('names of the list and literal addresses are not resolved; `resolve: false` resolves nothing', async t => {
  const asked = names(t, () => ['10.0.0.5'])
  const form = PUSH_FORMS[0] as PushForm
  const set = (url: string) => setConfig(form, 't', { id: 'c', url })
  const listed = await target(t, '{allow: ["https://*.hooks.test", "https://93.184.216.34", "https://*/open/*"]}')
  for (const url of ['https://a.hooks.test/', 'https://93.184.216.34/']) {
    await listed.send(set(url))
    t.equal(listed.agent.received.length, 1, url)
  }
  t.same(asked, [])
  t.match((await listed.send(set('https://b.any.test/open/x'))).text, 'private', 'a host that a list of any host allows')
  t.same(asked, ['b.any.test'])
  const off = await target(t, '{resolve: false}')
  await off.send(set('https://c.any.test/'))
  t.equal(off.agent.received.length, 1)
  const unlisted = await target(t, '{require: {https: true}}')
  t.match((await unlisted.send(set('http://d.any.test/'))).text, 'https URL')
  t.same(asked, ['b.any.test'], 'a URL that is rejected in any case is not resolved')
})

t.test('rebinding: a later look-up may find another address; known addresses are not looked up again', async t => {
  let address = '93.184.216.34'
  const asked = names(t, () => [address])
  const resolver = new NameResolver()
  t.same(await resolver.resolve('rebind.test'), ['93.184.216.34'])
  address = '127.0.0.1'
  t.same(await resolver.resolve('rebind.test'), ['93.184.216.34'], 'known for 30 s')
  t.same(await new NameResolver().resolve('rebind.test'), ['127.0.0.1'], 'what an agent finds later')
  t.equal(asked.length, 2)
})

t.test('one look-up per name, few at once, bounded in time and number', async t => {
  const asked = names(t, () => 'late')
  const resolver = new NameResolver()
  const start = performance.now()
  const found = await Promise.all([
    ...Array.from({ length: 20 }, () => resolver.resolve('same.test')),
    ...Array.from({ length: 200 }, (_, i) => resolver.resolve(`n${i}.test`))
  ])
  t.ok(found.every(one => one === null))
  t.same(asked, ['same.test', 'n0.test'], 'two at once')
  const took = performance.now() - start
  t.ok(took > 1_900 && took < 4_000, `${took} ms`)
})

t.test('push_urls_total counts each URL by decision', async t => {
  names(t, name => ADDRESSES[name] ?? 'error')
  const agent = await fakeAgent(t)
  const yaml = (mode: string): string => oneAgent(agent.url, [`push: {mode: ${mode}, perTask: 1}`])
  const gateway = await gatewayFor(t, { yaml: yaml('enforce') })
  const counts = async (): Promise<number[]> => await Promise.all(['allow', 'observe', 'reject'].map(async decision => await gateway.metric(`a2a_gateway_push_urls_total{agent="agent",decision="${decision}"}`)))
  const form = PUSH_FORMS.find(({ version, binding }) => version === '1.0' && binding === 'JSONRPC') as PushForm
  const send = async (taskId: string | null, url: string, at = gateway.url): Promise<void> => {
    const one = taskId === null ? sendWith(form, null, { id: 'c', url }) : setConfig(form, taskId, { id: url, url })
    await call(at, { ...one, path: one.path.replace('/a2a/jsonrpc', '/rpc') })
  }
  await send(null, 'https://public.test/a2a')
  t.same(await counts(), [1, 0, 0])
  await send('t1', 'https://public.test/a2a')
  await send('t1', 'https://public.test/a2a?2')
  t.same(await counts(), [2, 0, 1], 'beyond push.perTask')
  await send(null, 'https://private.test/a2a')
  t.same(await counts(), [2, 0, 2], 'by its address')
  await send(null, 'https://127.0.0.1/a2a')
  t.same(await counts(), [2, 0, 3])
  await call(gateway.url, { ...setConfig(form, 't1', { id: 'c', url: 'https://public.test/a2a' }), path: '/nowhere' })
  t.same(await counts(), [2, 0, 3], 'the gateway did not read it')
  t.ok((await gateway.reload(configOf({ yaml: yaml('observe') }))).ok)
  await send('t2', 'https://127.0.0.1/a2a')
  t.same(await counts(), [2, 1, 3])
})
