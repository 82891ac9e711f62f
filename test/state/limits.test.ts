/** Counts in memory: exact against a simple oracle, bounded, and harmless when clocks step back. */
import fc from 'fast-check'
import t from 'tap'
import type { RateRule } from '#policy/limits/charge.js'
import { compileLimits } from '#policy/limits/compile.js'
import type { LimitedHead } from '#policy/limits/keys.js'
import { chargesOf } from '#policy/limits/keys.js'
import type { Principal } from '#identity/principal.js'
import type { LimitKey } from '#state/limits/limit-store.js'
import { MAX_KEYS, MemoryLimits } from '#state/limits/memory-limits.js'
import { networkOf } from '#wire/ip.js'
import { configOf } from '../helpers/gateway.js'
import { check } from '../helpers/seed.js'

const CALLER: Principal = { source: 's', sources: ['s'], kind: 'apiKey', subject: 'ada', client: null, scopes: [], groups: [], tenant: null, spiffe: null, claims: {} }
const rule = (count: number, period: number, burst: number): RateRule => ({ count, period, burst })
const one = (key: string, rate: RateRule): LimitKey[] => [{ key, rule: rate }]

/** A token bucket in whole numbers: `period` parts are one request, and each ms adds `count` parts. */
class Bucket {
  private readonly rate: { readonly count: bigint, readonly period: bigint, readonly burst: bigint }
  private parts: bigint
  private last = 0n

  constructor (rate: Bucket['rate']) {
    this.rate = rate
    this.parts = rate.burst * rate.period
  }

  /** @returns ms to wait; 0 when the request is admitted */
  take (now: bigint): bigint {
    const { count, period, burst } = this.rate
    const full = burst * period
    this.parts += (now - this.last) * count
    this.last = now
    if (this.parts > full) this.parts = full
    if (this.parts < period) return (period - this.parts + count - 1n) / count
    this.parts -= period
    return 0n
  }
}

t.test('the same decisions and waits as a token bucket in whole numbers', async t => {
  const steps = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 80 })
  t.ok(check('state/limits/gcra', fc.property(
    fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 50 }),
    fc.integer({ min: 0, max: 1e9 }), steps,
    (count, period, burst, start, gaps) => {
      const bucket = new Bucket({ count: BigInt(count), period: BigInt(period), burst: BigInt(burst) })
      let now = start
      const limits = new MemoryLimits(() => now)
      const rate = rule(count, period, burst)
      const found: number[] = []
      const expected: number[] = []
      for (const gap of gaps) {
        now += gap
        const { wait } = limits.take(one('k', rate))
        found.push(wait)
        expected.push(Number(bucket.take(BigInt(now))))
        // A request after exactly that wait is admitted.
        if (wait === 0) continue
        now += wait
        found.push(limits.take(one('k', rate)).wait)
        expected.push(Number(bucket.take(BigInt(now))))
      }
      if (found.join() !== expected.join()) throw new Error(`${found.join()} instead of ${expected.join()}`)
    }
  ), { numRuns: 500 }) > 0, 'inputs')
})

t.test('100 at once at 10 in a second, 10 at once: 10 pass, and the 11th waits 100 ms', async t => {
  const limits = new MemoryLimits(() => 5_000)
  const waits = Array.from({ length: 100 }, () => limits.take(one('k', rule(10, 1_000, 10))).wait)
  t.same([waits.filter(wait => wait === 0).length, waits[10]], [10, 100])
  t.same(limits.take(one('other', rule(10, 1_000, 10))).wait, 0)
})

t.test('all or nothing', async t => {
  let now = 0
  const limits = new MemoryLimits(() => now)
  const [narrow, wide] = [rule(1, 60_000, 1), rule(60, 60_000, 60)]
  const both = [{ key: 'wide', rule: wide }, { key: 'narrow', rule: narrow }]
  t.match(limits.take(both), { rejected: -1, used: [1, 1] })
  for (let i = 0; i < 100; i++) t.match(limits.take(both), { rejected: 1, wait: 60_000, used: [1, 1] })
  limits.release([{ key: 'narrow', rule: narrow }])
  t.match(limits.take(both), { rejected: -1, used: [2, 1] }, 'a withdrawn request does not count')
  now = 1_000
  t.match(limits.take(both), { rejected: 1, wait: 59_000, used: [1, 59 / 60] })
  for (let i = 0; i < 59; i++) limits.take(one('wide', wide))
  t.match(limits.take(both), { rejected: 1, wait: 59_000 }, 'the longest wait counts')
})

t.test('a clock that steps back locks nobody out', async t => {
  let now = 1e12
  const limits = new MemoryLimits(() => now)
  const rate = rule(10, 1_000, 5)
  for (let i = 0; i < 5; i++) limits.take(one('k', rate))
  now = 0
  t.equal(limits.take(one('k', rate)).wait, 100, 'as long as the limit itself says, not 30 years')
  now = 100
  t.equal(limits.take(one('k', rate)).wait, 0, 'and then the limit counts as ever')
  now = 0
  t.equal(limits.take(one('k', rate)).wait, 100, 'a small step')
  limits.take(one('new', rate))
  limits.spend([{ key: 'b', rule: { limit: 10, window: 1_000 }, amount: 10 }])
  now = 0
  t.equal(limits.take([{ key: 'b', rule: { limit: 10, window: 1_000 } }]).wait, 1_000)
})

t.test('memory is bounded: of 10^6 keys, at most 10^5 count', async t => {
  const limits = new MemoryLimits(() => 0)
  const rate = rule(1, 3_600_000, 1)
  limits.spend([{ key: 'budget', rule: { limit: 1, window: 3_600_000 }, amount: 1 }])
  for (let i = 0; i < 1_000_000; i++) {
    limits.take(one(`k${i}`, rate))
    // A count in use is not forgotten, even if every use is rejected.
    if (i % 40_000 === 0 && i > 0) t.not(limits.take(one('k0', rate)).wait, 0)
  }
  t.ok(limits.size <= MAX_KEYS + 1 && limits.size >= MAX_KEYS / 2, String(limits.size))
  for (const last of [999_999, 950_000]) t.not(limits.take(one(`k${last}`, rate)).wait, 0)
  t.equal(limits.take(one('k5', rate)).wait, 0, 'the stalest is forgotten')
  t.not(limits.take([{ key: 'budget', rule: { limit: 1, window: 3_600_000 } }]).wait, 0, 'budgets are apart')
  for (let i = 0; i < MAX_KEYS + 10; i++) limits.spend([{ key: `b${i}`, rule: { limit: 1, window: 1 }, amount: 1 }])
  t.ok(limits.size <= 2 * MAX_KEYS, String(limits.size))
})

t.test('a flood of addresses or of named tenants makes nobody forget a caller', async t => {
  const limits = new MemoryLimits(() => 0)
  const agents = '[{name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [usage]}]'
  const config = configOf({
    yaml: [
      `agents: ${agents}`,
      'identity: {sources: {s: {jwt: {issuer: "https://idp.example.com", audience: [a], keys: discover}}}}',
      'extensions: {usage: {uri: "https://e.test/usage", observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: t}}}]}}}',
      'rates: [{id: caller, by: [caller], rate: 1/1h, burst: 1}, {id: address, by: [address], rate: 1/1h, burst: 1}, {id: tenant, by: [tenant], rate: 1/1h, burst: 1}]',
      'budgets: [{id: tokens, by: [tenant], of: usage/tokens, limit: 1, window: 1h}]'
    ].join('\n')
  })
  const { early, late } = compileLimits(config)?.get('a') ?? { early: [], late: [] }
  const call = (tenant: string | null) => ({ operation: 'SendMessage', tenant, extensions: [] }) as const
  const keysOf = (principal: Principal | null, i: number): LimitKey[] =>
    chargesOf([...early, ...late], { agent: 'a', principal, network: `n${i}` }, call(`t${i}`)).map(({ key, open, limit: { rule } }) => ({ key, rule, open }))
  const ada = { ...CALLER, tenant: 'north' }
  const own = keysOf(ada, 0).filter(({ open }) => open !== true)
  t.equal(own.length, 3, 'caller, tenant and budget of the caller')
  limits.take(own)
  limits.spend(own.flatMap(({ key, rule }) => ('limit' in rule ? [{ key, rule, amount: 1 }] : [])))
  for (let i = 0; i < MAX_KEYS + 1_000; i++) {
    const strange = keysOf(null, i).filter(({ open }) => open)
    limits.take(strange)
    limits.spend(strange.flatMap(({ key, rule, open }) => ('limit' in rule ? [{ key, rule, open: open === true, amount: 1 }] : [])))
  }
  for (const key of own) t.not(limits.take([key]).wait, 0, key.key)
  t.ok(limits.size <= 2 * MAX_KEYS + 3, String(limits.size))
})

t.test('budgets: a window begins with the first amount', async t => {
  let now = 0
  const limits = new MemoryLimits(() => now)
  const budget = { limit: 100, window: 1_000 }
  const left = (): number => limits.take([{ key: 'b', rule: budget }]).wait
  const spend = (amount: number): void => { limits.spend([{ key: 'b', rule: budget, amount }]) }
  now = 500
  t.equal(left(), 0)
  spend(99)
  t.equal(left(), 0, 'something is left')
  spend(50)
  t.equal(left(), 1_000)
  now = 1_400
  t.equal(left(), 100)
  now = 1_500
  t.equal(left(), 0, 'whole again')
  spend(1e300)
  spend(1e300)
  t.equal(left(), 1_000)
  t.match(limits.take([{ key: 'b', rule: budget }]).used, [Number.MAX_SAFE_INTEGER], 'a sum stays a number')
})

t.test('keys', async t => {
  const config = configOf({
    yaml: `agents:
  - {name: a, upstream: {url: "http://h"}}
  - {name: b, path: /b, upstream: {url: "http://h"}}
identity: {sources: {s: {jwt: {issuer: "https://idp.example.com", audience: [x], keys: discover}}}}
rates:
  - {id: all, by: [caller, client, source, tenant, address, agent, operation, extension], rate: 1/1s}
  - {id: early, by: [caller, address], rate: 7/1m, burst: 3}
  - {id: own, by: [agent], rate: 7/1m, agents: [b]}
  - {id: sends, by: [client], rate: 7/1m, on: [messages, GetTask]}
`
  })
  const limits = compileLimits(config)
  const a = limits?.get('a')
  const b = limits?.get('b')
  t.same([a, b].map(one => [one?.early.map(({ id }) => id), one?.late.map(({ id }) => id)]), [[['early'], ['all', 'sends']], [['early', 'own'], ['all', 'sends']]])
  t.match(a?.early[0], { rule: { count: 7, period: 60_000, burst: 3 } })
  t.match(a?.late[1], { rule: { burst: 7 } }, 'the default of burst')
  const head = (more: Partial<Principal> | null, network = '1'): LimitedHead => ({ agent: 'a', principal: more === null ? null : { ...CALLER, ...more }, network })
  const early = (one: LimitedHead): string => chargesOf(a?.early ?? [], one, null).map(({ key }) => key).join()
  const same = [[{}, {}], [null, null], [{ client: 'x' }, { client: 'y' }]] as const
  for (const [one, other] of same) t.equal(early(head(one)), early(head(other)))
  const differ = [[{}, null], [{}, { subject: 'bob' }], [{}, { source: 'z' }], [{ source: 'a', sources: ['a'], subject: 'bc' }, { source: 'ab', sources: ['ab'], subject: 'c' }]] as const
  for (const [one, other] of differ) t.not(early(head(one)), early(head(other)))
  t.not(early(head({})), early(head({}, '2')))
  t.equal(early(head({ subject: 'x'.repeat(8_000), client: 'y'.repeat(8_000) })).length < 200, true)
  const late = (principal: LimitedHead, operation: 'SendMessage' | 'GetTask' | 'ListTasks', tenant: string | null = null, extensions: string[] = []): string[] =>
    chargesOf(a?.late ?? [], principal, { operation, tenant, extensions }).map(({ limit, key }) => `${limit.id}: ${key}`)
  t.equal(late(head({}), 'ListTasks').length, 0, 'neither an operation of the limit nor an extension')
  t.equal(late(head({}), 'GetTask').length, 1)
  t.equal(late(head({}), 'SendMessage', null, ['x', 'y', 'x']).length, 3, 'each extension once')
  const tenant = (own: string | null, named: string | null): string => late(head({ tenant: own }), 'ListTasks', named, ['x']).join()
  t.equal(tenant('north', 'south'), tenant('north', 'east'), 'a caller with a tenant has the counts of that tenant only')
  t.not(tenant(null, 'south'), tenant(null, 'east'))
  t.not(tenant(null, 'north'), tenant('north', null), 'a tenant that a client names is another one')
  t.notMatch(late(head({ subject: 'secret', client: 'secret', tenant: 'secret' }), 'SendMessage', 'secret', ['x']).join(), /secret/)
  t.equal(compileLimits({ ...config, rates: [], budgets: [] }), null)
})

t.test('networks of customers', async t => {
  t.equal(networkOf('192.0.2.1'), networkOf('::ffff:192.0.2.1'))
  t.equal(networkOf('2001:db8::1'), networkOf('2001:db8:0:0:ffff:ffff:ffff:ffff'))
  t.not(networkOf('2001:db8::1'), networkOf('2001:db8:0:1::1'))
  t.not(networkOf('192.0.2.1'), networkOf('192.0.2.2'))
  for (const none of [undefined, '', 'x']) t.equal(networkOf(none), '')
})
