/** The cache of tokens, with a clock of its own. */
import t from 'tap'
import type { TokenResponse } from '#agents/credentials/token-endpoint.js'
import type { Obtained } from '#agents/credentials/token-source.js'
import { TokenSource } from '#agents/credentials/token-source.js'

class Bench {
  now = 1_000_000
  fetches = 0
  next: TokenResponse | null = null
  lifetime = 300_000
  readonly source = new TokenSource(() => this.now)

  get (key = 'k', end = Infinity): Obtained | Promise<Obtained> {
    return this.source.get({
      key,
      end,
      load: async () => {
        this.fetches++
        return this.next ?? { kind: 'token', token: `t${this.fetches}`, lifetime: this.lifetime, status: 200 }
      }
    })
  }

  async token (key?: string, end?: number): Promise<string> {
    const found = await this.get(key, end)
    return found.kind === 'token' ? found.held.token : found.kind
  }
}

const FAILED: TokenResponse = { kind: 'failed', problem: 'x', status: 400, down: false }
const DOWN: TokenResponse = { kind: 'failed', problem: 'x', status: null, down: true }
const REJECTED: TokenResponse = { kind: 'rejected', status: 400 }

t.test('life of a token', async t => {
  const one = new Bench()
  t.equal(await one.token(), 't1')
  const hit = one.get()
  t.match(hit, { kind: 'token', cached: true, held: { token: 't1' } }, 'a hit is synchronous')
  one.now += 269_999
  t.equal(await one.token(), 't1')
  one.now += 1
  t.equal(await one.token(), 't2', '30 s before its end')
  t.equal(await one.token('other', one.now + 5_000), 't3')
  one.now += 4_999
  t.equal(await one.token('other', one.now + 1), 't3')
  one.now += 1
  t.equal(await one.token('other', one.now + 9), 't4', 'never longer than the token of the caller')
  one.lifetime = 30_000
  t.same([await one.token('short'), await one.token('short')], ['t5', 't6'], 'too short to keep')
})

t.test('one fetch for each key', async t => {
  const one = new Bench()
  const found = await Promise.all(Array.from({ length: 200 }, (_none, i) => one.token(`k${i % 2}`)))
  t.equal(one.fetches, 2)
  t.same(new Set(found), new Set(['t1', 't2']))
  t.equal(new Set(found.filter((_token, i) => i % 2 === 0)).size, 1, 'no key gets the token of another')
})

t.test('failures are no cache, and back off', async t => {
  const one = new Bench()
  one.next = FAILED
  t.same(await Promise.all([one.token(), one.token()]), ['unavailable', 'unavailable'])
  t.equal(one.fetches, 1, 'those who wait get the failure')
  const steps = [[999, 1], [1, 2], [1_999, 2], [1, 3], [4_000, 4], [8_000, 5], [16_000, 6], [30_000, 7], [29_999, 7], [1, 8]] as const
  for (const [wait, fetches] of steps) {
    one.now += wait
    await one.token()
    t.equal(one.fetches, fetches, `after ${wait} more`)
  }
  t.equal(await one.token('other'), 'unavailable')
  t.equal(one.fetches, 9, 'another key is not affected')
  one.now += 30_000
  one.next = null
  t.equal(await one.token(), 't10')
  one.next = REJECTED
  t.equal(await one.token('caller'), 'rejected')
  t.equal(await one.token('caller'), 'rejected')
  t.equal(one.fetches, 11)
})

t.test('an endpoint that is down', async t => {
  const one = new Bench()
  one.next = DOWN
  t.same(await Promise.all(['a', 'e', 'f', 'g'].map(async key => {
    const found = one.token(key)
    one.now++
    return await found
  })), ['unavailable', 'unavailable', 'unavailable', 'unavailable'])
  t.equal(await one.token('b'), 'unavailable')
  t.equal(one.fetches, 5, 'fetches that fail together count once, and concern their callers only')
  t.equal(await one.token('c'), 'unavailable')
  t.equal(one.fetches, 5, 'then nobody waits for it')
  one.now += 1_000
  one.next = null
  t.equal(await one.token('c'), 't6')
  t.equal(await one.token('d'), 't7', 'at once after a success')
})

t.test('tokens that the agent does not accept', async t => {
  const one = new Bench()
  const held = async (): Promise<Parameters<TokenSource['settled']>[0]> => {
    const found = await one.get()
    if (found.kind !== 'token') throw new Error(found.kind)
    return found.held
  }
  const first = await held()
  t.equal(one.source.settled(first, 200), false)
  t.equal(one.source.settled(first, 403), false)
  t.equal(one.source.settled(first, 401), true)
  t.equal(one.source.settled(first, 401), false, 'dropped once')
  const second = await held()
  t.equal(second.token, 't2')
  t.equal(one.source.settled(first, 401), false, 'a late response to a call with the token before')
  t.equal(one.source.settled(second, 401), false, 'a new token did not help')
  t.equal((await held()).token, 't2')
  one.now += 1_000
  t.equal(one.source.settled(second, 401), true)
  const third = await held()
  one.now += 1_999
  t.equal(one.source.settled(third, 401), false, 'twice the time')
  t.equal(one.source.settled(third, 200), false)
  t.equal(one.source.settled(third, 401), true, 'an accepted token ends the wait')
})

t.test('bounds and inheritance', async t => {
  const one = new Bench()
  for (let i = 0; i < 10_050; i++) await one.token(`k${i}`)
  t.equal(one.source.size, 10_000)
  const { fetches } = one
  await one.token('k10049')
  t.equal(one.fetches, fetches)
  await one.token('k0')
  t.equal(one.fetches, fetches + 1, 'the first is forgotten first')

  const crowd = new Bench()
  const waiting = Array.from({ length: 1_010 }, (_none, i) => crowd.get(`k${i}`))
  t.equal(crowd.fetches, 1_000)
  t.match(waiting.at(-1), { kind: 'unavailable' })
  await Promise.all(waiting)

  const next = new TokenSource(() => one.now)
  next.inherit(one.source)
  t.equal(next.size, 10_000)
})
