/**
 * Agents whose name moves to another address, or does not resolve for a while: new connections use the new address, and connections that
 * are always busy switch after some time.
 */
import dns from 'node:dns'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { until, untilAtMost } from '../helpers/http.js'
import { random } from '../helpers/seed.js'
import { ask, errors, faultsConfig, isOwn } from './calls.js'
import { answer, faultyAgent } from './faulty-agent.js'
import type { FaultyAgent } from './faulty-agent.js'

const NAME = 'agent.faults.test'

/** Makes the name resolve as `at` says, as `getaddrinfo` would. */
function resolver (t: Test): { at: string | null } {
  const own = { at: '127.0.0.2' as string | null }
  const { lookup } = dns
  t.teardown(() => { dns.lookup = lookup })
  const patched = (
    hostname: string,
    options: dns.LookupAllOptions,
    callback: (error: Error | null, addresses?: unknown, family?: number) => void
  ): void => {
    if (hostname !== NAME) return (lookup as (...given: unknown[]) => void)(hostname, options, callback)
    const { at } = own
    setImmediate(() => {
      if (at === null) callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${NAME}`), { code: 'ENOTFOUND' }))
      else if (options.all) callback(null, [{ address: at, family: 4 }])
      else callback(null, at, 4)
    })
  }
  dns.lookup = patched as unknown as typeof lookup
  return own
}

interface Moving {
  readonly name: { at: string | null }
  readonly before: FaultyAgent
  readonly after: FaultyAgent
  readonly gateway: TestGateway
}

async function moving (t: Test): Promise<Moving> {
  const name = resolver(t)
  const before = await faultyAgent(t, '127.0.0.2')
  const { port } = new URL(before.url)
  const after = await faultyAgent(t, '127.0.0.3', Number(port))
  const gateway = await gatewayFor(t, { yaml: faultsConfig(`http://${NAME}:${port}`, 'off', ', connections: 1') })
  return { name, before, after, gateway }
}

t.test('new connections use the current address of the name', async t => {
  const { name, before, after, gateway } = await moving(t)
  isOwn(t, await ask(gateway, 'REST'), 'REST', 'before')
  name.at = '127.0.0.3'
  await before.down()
  isOwn(t, await ask(gateway, 'REST'), 'REST', 'after')
  t.same([before.calls(), after.calls()], [1, 1])

  name.at = null
  await after.down()
  const gone = await ask(gateway, 'unary JSON-RPC')
  t.equal(gone.status, 502)
  t.match(gone.text, /host name does not resolve/)
  t.equal(await errors(gateway, 'dns'), 1)
  name.at = '127.0.0.3'
  await after.up()
  isOwn(t, await ask(gateway, 'unary JSON-RPC'), 'unary JSON-RPC', 'the name is back')
  await before.up() // for the teardown
})

t.test('a connection that is never idle does not use an old address for ever', async t => {
  const { name, before, after, gateway } = await moving(t)
  isOwn(t, await ask(gateway, 'REST'), 'REST', 'before')
  name.at = '127.0.0.3'
  for (let calls = 0; after.calls() === 0; calls += 4) {
    if (calls > 1_100) return t.fail('still the old address')
    for (const ended of await Promise.all([1, 2, 3, 4].map(() => ask(gateway, 'REST')))) {
      if (ended.status !== 200 || !ended.text.includes(ended.token)) t.fail(`${ended.status} ${ended.text}`)
    }
  }
  t.ok(before.calls() >= 990, `${before.calls()} calls went to the old one`)
  await until(() => before.sockets.size === 0, 'its connection to be closed')
})

t.test('an agent that restarts: every call that is not rejected gets its own response', async t => {
  const agent = await faultyAgent(t)
  const gateway = await gatewayFor(t, { yaml: faultsConfig(agent.url, 'enforce', ', connections: 4') })
  const chance = random('faults/dns')
  agent.fault = { act: ({ socket, good }) => { setTimeout(() => { answer(socket, good) }, chance.below(10)) } }
  const forms = ['unary JSON-RPC', 'REST', 'SSE', 'SSE over REST'] as const
  const stop = new AbortController()
  const seen = { own: 0, refused: 0, broken: 0 }
  const callers = Array.from({ length: 12 }, async (_, i) => {
    for (let n = i; !stop.signal.aborted; n++) {
      const form = forms[n % 4] ?? 'REST'
      const ended = await ask(gateway, form)
      const tokens = new Set(ended.text.match(/token-[\w-]+/g))
      tokens.delete(ended.token)
      t.equal(tokens.size, 0, 'nobody else\'s answer')
      if (ended.status === 200 && ended.whole) {
        if (!ended.text.includes(ended.token)) t.fail('not its own answer')
        seen.own++
      } else if (ended.status === 502) {
        t.match(ended.text, /"kind":"(?:refused|reset)"/)
        if (!form.includes('REST')) t.match(ended.text, `"id":${ended.id}`)
        seen.refused++
      } else {
        t.equal(ended.status, 200)
        seen.broken++
      }
    }
  })
  for (let i = 0; i < 8; i++) {
    await sleep(60)
    await agent.down()
    await sleep(30)
    await agent.up()
  }
  await sleep(60)
  stop.abort()
  await Promise.all(callers)
  t.ok(seen.own > 0 && seen.refused > 0, JSON.stringify(seen))
  for (const form of forms) isOwn(t, await ask(gateway, form), form, 'afterwards')
  await untilAtMost(t, () => agent.sockets.size, 4, 'no connection beyond the pool')
})
