/** Chains of callers, and the decision about them, without a gateway. */
import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import type { Chain } from '#identity/chain.js'
import { claimsOfChain, chainKeysOf, readChain, signChain } from '#identity/chain.js'
import { readJwkSet } from '#identity/jwk-set.js'
import type { Principal } from '#identity/principal.js'
import { readSigningKey } from '#identity/signing-key.js'
import type { DelegationRequest } from '#pipeline/access/delegation.js'
import { readBudgets, writeBudgets } from '#pipeline/access/chain-budgets.js'
import { delegate } from '#pipeline/access/delegation.js'

const principal = (subject: string, more: Partial<Principal> = {}): Principal => ({
  source: 'corp',
  sources: ['corp'],
  kind: 'jwt',
  subject,
  client: null,
  scopes: [],
  groups: [],
  tenant: null,
  spiffe: null,
  claims: {},
  ...more
})
const ALICE = principal('alice', { client: 'app', groups: ['staff'], scopes: ['a', 'b'], tenant: 'north', spiffe: 'spiffe://x/y' })
const CHAIN: Chain = { id: 'c1', budgets: { tokens: [100, 40] }, deadline: null, initiator: ALICE, hops: ['edge/a'], depth: 1, mayReach: [['b', 'c/*']], presenter: { client: 'a' } }
const A = principal('service', { client: 'a' })
const REQUEST: DelegationRequest = {
  config: { maxDepth: 2, maxTime: null, initiator: 'authorize', mayReach: null, as: { client: 'b' } },
  mode: 'enforce',
  gateway: 'east',
  agent: 'b',
  caller: A,
  chain: CHAIN,
  via: undefined,
  isAgent: true,
  anonymous: false,
  newId: () => 'c2',
  asked: new Map(),
  now: 1_000
}
const decide = (more: Partial<DelegationRequest>): ReturnType<typeof delegate> => delegate({ ...REQUEST, ...more })
const act = (...actors: readonly string[]): object =>
  actors.reduceRight<object>((inner, sub) => ({ sub, ...(Object.keys(inner).length === 0 ? {} : { act: inner }) }), {})

t.test('a chain keeps what it says, with each kind of key', t => {
  for (const { privateKey } of [generateKeyPairSync('ec', { namedCurve: 'P-256' }), generateKeyPairSync('ed25519'), generateKeyPairSync('rsa', { modulusLength: 2_048 })]) {
    const key = readSigningKey(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), null)
    if ('problem' in key) return t.fail(key.problem)
    const set = readJwkSet(Buffer.from(JSON.stringify({ keys: [key.jwk] })))
    const keys = chainKeysOf('keys' in set ? set.keys : [])
    const now = 1_700_000_000_000
    const text = signChain(key, claimsOfChain(CHAIN, 'test') ?? {}, 60_000, now)
    t.same(readChain(text, keys, 'test', now), { ...CHAIN, initiator: { ...ALICE, claims: {} } }, key.jwk.alg)
    t.same(readChain(text, keys, 'test', now + 89_000), { ...CHAIN, initiator: { ...ALICE, claims: {} } }, 'clocks may differ')
    t.same(readChain(text, keys, 'test', now + 90_000), { problem: 'expired' })
    t.same(readChain(text, keys, 'test', now - 31_000), { problem: 'expired' })
    t.same(readChain(text, keys, 'other', now), { problem: 'malformed' })
    t.same(readChain(text, [], 'test', now), { problem: 'unknown_key' })
    const anonymous = signChain(key, claimsOfChain({ ...CHAIN, initiator: null }, 'test') ?? {}, 60_000, now)
    t.same(readChain(anonymous, keys, 'test', now), { ...CHAIN, initiator: null })
  }
  t.equal(claimsOfChain({ ...CHAIN, initiator: principal('x', { groups: Array.from({ length: 400 }, (_, i) => `a-long-group-${i}`) }) }, 'test'), null, 'too long')
  t.end()
})

t.test('who may present a chain', t => {
  t.equal(decide({}).problem, null)
  t.equal(decide({ caller: null }).problem, 'presenter')
  t.equal(decide({ caller: principal('a') }).problem, 'presenter', 'another property')
  t.equal(decide({ caller: principal('s', { client: 'a', source: 'x', sources: ['x'] }), chain: { ...CHAIN, presenter: { client: 'a', source: 'corp' } } }).problem, 'presenter')
  t.equal(decide({ chain: { ...CHAIN, presenter: { subject: 'service' } } }).problem, null)
  t.equal(decide({ chain: { ...CHAIN, presenter: { spiffe: 'spiffe://x/a' } }, caller: principal('s', { spiffe: 'spiffe://x/a' }) }).problem, null)
  t.equal(decide({ chain: { ...CHAIN, presenter: { subject: 'planner' } }, caller: principal('alice', { claims: { act: act('planner') } }) }).problem, null, 'the actor of a token')
  t.equal(decide({ chain: { ...CHAIN, presenter: { subject: 'planner' } }, caller: principal('alice', { claims: { act: act('other', 'planner') } }) }).problem, 'presenter', 'a prior actor')
  t.end()
})

t.test('actors of a token count without a header', t => {
  const exchanged = (...actors: readonly string[]): Partial<DelegationRequest> => ({ chain: null, caller: principal('alice', { claims: { act: act(...actors) } }) })
  t.match(decide(exchanged('a')), { problem: null, depth: 1, authorize: undefined, next: { initiator: { subject: 'alice' }, hops: ['east/b'], depth: 2 } })
  t.equal(decide(exchanged('a', 'x')).problem, null)
  t.match(decide(exchanged('a', 'x', 'y')), { problem: 'depth', depth: 3, rejection: { reason: 'DELEGATION_NOT_ALLOWED', metadata: { problem: 'depth' } } })
  t.equal(decide(exchanged('a', 'b')).problem, 'loop', 'the agent itself is an actor')
  t.equal(decide({ chain: null }).problem, 'missing')
  t.equal(decide({ chain: null, isAgent: false }).problem, null)
  t.equal(decide({ ...exchanged('a'), caller: principal('alice', { kind: 'apiKey', claims: { act: act('a') } }) }).problem, 'missing', 'only tokens are delegated')
  t.match(decide({ caller: principal('alice', { client: 'a', claims: { act: act('x', 'y') } }) }), { depth: 2, next: { depth: 3 } }, 'the larger depth counts')
  t.end()
})

t.test('what goes on', t => {
  t.match(decide({}), { depth: 1, hops: ['edge/a'], authorize: { subject: 'alice' } })
  t.strictSame(decide({}).next, { id: 'c1', initiator: ALICE, hops: ['edge/a', 'east/b'], depth: 2, mayReach: [['b', 'c/*']], presenter: { client: 'b' }, budgets: { tokens: [100, 40] }, deadline: null })
  t.strictSame(decide({ config: { ...REQUEST.config, mayReach: ['c'] } }).next?.mayReach, [['b', 'c/*'], ['c']])
  t.equal(decide({ config: { ...REQUEST.config, as: null } }).next, null)
  t.equal(decide({ gateway: null, chain: null, isAgent: false }).next, null)
  t.equal(decide({ config: { ...REQUEST.config, initiator: 'ignore' } }).authorize, undefined)
  t.equal(decide({ agent: 'd' }).problem, 'target')
  t.equal(decide({ agent: 'd', gateway: 'c' }).problem, null, 'a gateway with all its agents')
  t.equal(decide({ chain: { ...CHAIN, hops: ['east/b'] } }).problem, 'loop')
  t.equal(decide({ chain: { ...CHAIN, hops: ['west/b'] } }).problem, null, 'an agent of another gateway')
  t.equal(decide({ chain: { ...CHAIN, initiator: null } }).problem, 'initiator')
  t.equal(decide({ chain: { ...CHAIN, initiator: null }, anonymous: true }).problem, null)
  t.end()
})

t.test('observe rejects nothing, and makes no chain of what cannot be trusted', t => {
  for (const problem of ['malformed', 'signature', 'unknown_key', 'expired', 'unavailable'] as const) {
    t.match(decide({ mode: 'observe', chain: { problem } }), { problem, rejection: null, violations: [{ mode: 'observe', rule: 'delegation' }], next: null }, problem)
  }
  t.equal(decide({ mode: 'observe', chain: null }).next, null, 'missing')
  t.match(decide({ mode: 'observe', caller: principal('x') }), { problem: 'presenter', rejection: null, next: null }, 'the chain of another agent')
  t.match(decide({ mode: 'observe', config: { ...REQUEST.config, maxDepth: 0 } }), { problem: 'depth', rejection: null, next: { depth: 2 } }, 'a real chain goes on')
  t.end()
})

t.test('budgets and time', t => {
  t.match(decide({ chain: null, isAgent: false }), { id: 'c2', budgets: {}, deadline: null, next: { id: 'c2' } })
  t.strictSame(decide({ asked: new Map([['tokens', 60], ['cost', 2]]) }).budgets, { tokens: [100, 40], cost: [2, 2] }, 'never more than the caller had')
  t.strictSame(decide({ asked: new Map([['tokens', 10]]) }).next?.budgets, { tokens: [100, 10] })
  const timed = (deadline: number | null, maxTime: number | null, time?: number): number | null =>
    decide({ chain: { ...CHAIN, deadline }, config: { ...REQUEST.config, maxTime }, asked: new Map(time === undefined ? [] : [['time', time]]) }).deadline
  const left = [timed(null, null), timed(5_000, null), timed(null, 500), timed(5_000, 500, 0.2), timed(1_100, 500, 2)]
  t.strictSame(left, [null, 5_000, 1_500, 1_200, 1_100])
  t.match(decide({ chain: { ...CHAIN, deadline: 1_000 } }), { problem: 'time', rejection: { reason: 'DELEGATION_NOT_ALLOWED' } })
  t.strictSame([...readBudgets('tokens=5000, cost=0.25,time=3') ?? []], [['tokens', 5_000], ['cost', 0.25], ['time', 3]])
  t.equal(readBudgets(undefined)?.size, 0)
  for (const text of ['', 'tokens', 'tokens=-1', 'tokens=1e3', 'tokens=1, tokens=2', 'T=1', 'tokens=1;a', 'a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1', 'a=1,']) t.equal(readBudgets(text), null, text)
  t.equal(writeBudgets({ tokens: [10, 0.1 + 0.2] }, 3_500, 1_000), 'tokens=0.3, time=2.5')
  t.equal(writeBudgets({}, null, 0), undefined)
  t.end()
})
