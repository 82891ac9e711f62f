/** The parts of an authentication: carriers, what is removed for the agent, the brake, and keys of `a2a-gateway key`. */
import t from 'tap'
import { runKey } from '#cli/key.js'
import { readKeyFile, timeOf } from '#config/key-file.js'
import { FailureLog } from '#agents/identity/failure-log.js'
import type { Carrier } from '#identity/authentication.js'
import { ApiKeys, keyDigest } from '#identity/api-keys.js'
import { FailureThrottle } from '#state/limits/failure-throttle.js'
import { queryWithoutCredentials, withoutCredentials } from '#identity/credentials.js'
import { clientIp, TrustedProxies } from '#wire/forwarded.js'
import { until } from '../helpers/http.js'

const header = (name: string): Carrier => ({ in: 'header', name, scheme: null })
const BASIC: Carrier = { in: 'header', name: 'authorization', scheme: 'basic' }
const COOKIE: Carrier = { in: 'cookie', name: 'k', scheme: null }
const QUERY: Carrier = { in: 'query', name: 'k', scheme: null }

t.test('headers for the agent', async t => {
  const rows: readonly [readonly string[], readonly Carrier[], readonly string[]][] = [
    [['a', '1', 'x-api-key', 's', 'x_api_key', 's', 'x-api_key', 's', 'b', '2'], [header('x-api-key')], ['a', '1', 'b', '2']],
    [['x-api-key', 's', 'x_api_key', 's', 'x.api.key', 's', 'x-api_key', 's', 'xapikey', '1'], [header('x_api_key')], ['xapikey', '1']],
    [['x-api-key', 's', 'x.api.key', 's'], [header('x.api.key')], []],
    [['authorization', 'Basic s'], [BASIC], []],
    [['authorization', 'bAsic  s'], [BASIC], []],
    [['authorization', 'Bearer for-the-agent'], [BASIC], ['authorization', 'Bearer for-the-agent']],
    [['cookie', 'a=1; k=s;b=2'], [COOKIE], ['cookie', 'a=1; b=2']],
    [['cookie', 'k=s'], [COOKIE], []],
    [['cookie', 'K=1; kk=2'], [COOKIE], ['cookie', 'K=1; kk=2']],
    [['cookie', 'k=s', 'x-api-key', 's'], [COOKIE, header('x-api-key')], []]
  ]
  for (const [headers, carriers, expected] of rows) t.same(withoutCredentials([...headers], carriers), expected)
})

t.test('the query for the agent', async t => {
  for (const [query, expected] of [
    ['', ''],
    ['?k=s', ''],
    ['?a=1&k=s&b=%2B+', '?a=1&b=%2B+'],
    ['?%6b=s&K=1', '?K=1'],
    ['?k', ''],
    ['?a=k', '?a=k'],
    ['?%zz=1&k=s', '?%zz=1']
  ] as const) t.equal(queryWithoutCredentials(query, [QUERY]), expected, query)
  t.equal(queryWithoutCredentials('?k=s', [header('k')]), '?k=s')
})

t.test('a key expires at its time', async t => {
  const [entry] = [{ id: 'a', sha256: keyDigest('k'), client: null, expires: 1_000, groups: [], scopes: [], tenant: null }]
  const keys = new ApiKeys('s', header('x'), [entry as NonNullable<typeof entry>])
  t.match(keys.verify('k', { now: 999 }), { principal: { subject: 'a', client: 'a' } })
  t.same(keys.verify('k', { now: 1_000 }), { problem: 'expired', foreign: false })
  t.equal(timeOf('2027-01-01'), Date.UTC(2027, 0, 1))
  t.equal(timeOf('2027-01-01T10:00:00+02:00'), Date.UTC(2027, 0, 1, 8))
  for (const wrong of ['', '2027', '2027-13-01', '2027-02-31', '01.01.2027', 2027, null]) t.equal(timeOf(wrong), null)
})

t.test('the brake', async t => {
  const brake = new FailureThrottle()
  const failed = (address: string | undefined, now: number): number => brake.failed({ address, agent: 'a' }, now)?.wait ?? 0
  const burst = (address: string | undefined, now: number): number => {
    let n = 0
    while (failed(address, now) === 0) n++
    return n
  }
  t.equal(brake.isThrottled({ address: '192.0.2.1', agent: 'a' }, 0), false)
  t.equal(burst('192.0.2.1', 0), 50)
  t.equal(brake.isThrottled({ address: '192.0.2.1', agent: 'a' }, 0), true)
  t.equal(brake.isThrottled({ address: '192.0.2.2', agent: 'a' }, 0), false)
  t.equal(failed('192.0.2.1', 0), 500, 'the milliseconds to wait')
  t.equal(failed('192.0.2.1', 499), 1)
  t.equal(burst('192.0.2.1', 10_000), 20)
  t.equal(failed('::ffff:192.0.2.1', 10_000), 500, 'the same address as a dual-stack listener writes it')
  t.equal(burst('192.0.2.2', 10_000), 50)
  t.equal(burst('2001:db8::1', 0), 50)
  t.equal(failed('2001:db8::ffff:1', 0), 500, 'one /64')
  t.equal(burst('2001:db8:0:1::1', 0), 50)
  t.equal(burst(undefined, 0), 50)
  t.equal(failed('192.0.2.1', 5_000) > 0, true, 'a clock that steps back')
  for (let i = 0; i < 10_001; i++) failed(`10.0.${i >> 8}.${i & 255}`, 20_000)
  t.equal(burst('2001:db8:0:1::1', 0), 50, 'the stalest address is forgotten')
})

t.test('the brake of the configuration', async t => {
  const rate = { by: ['address'], on: 'failures', agents: null, extension: null, headers: 'none', scope: 'process', onStoreDown: 'local', replicas: 1 } as const
  const brake = new FailureThrottle([
    { ...rate, id: 'slow', rate: { count: 1, period: 60_000 }, burst: 2 },
    { ...rate, id: 'apart', by: ['address', 'agent'], rate: { count: 1, period: 1_000 }, burst: 1 }
  ])
  t.equal(brake.failed({ address: '192.0.2.1', agent: 'a' }, 0), null)
  t.same(brake.failed({ address: '192.0.2.1', agent: 'a' }, 0), { limit: 'apart', wait: 1_000 })
  t.equal(brake.failed({ address: '192.0.2.1', agent: 'b' }, 0), null)
  t.same(brake.failed({ address: '192.0.2.1', agent: 'c' }, 0), { limit: 'slow', wait: 60_000 })
  brake.use([])
  t.equal(brake.failed({ address: '192.0.2.1', agent: 'c' }, 0), null)
})

t.test('the address of a client', async t => {
  const trusted = new TrustedProxies(['127.0.0.1', '10.0.0.0/8'])
  const rows: readonly [string, string | undefined, string][] = [
    ['127.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['127.0.0.1', '203.0.113.1, 192.0.2.1, 10.1.1.1', '192.0.2.1'],
    ['127.0.0.1', '10.0.0.1', '127.0.0.1'],
    ['127.0.0.1', 'unknown', '127.0.0.1'],
    ['127.0.0.1', undefined, '127.0.0.1'],
    ['192.0.2.9', '192.0.2.1', '192.0.2.9']
  ]
  for (const [peer, chain, expected] of rows) t.equal(clientIp({ 'x-forwarded-for': chain }, peer, trusted), expected)
})

t.test('lines of failures are bounded', async t => {
  const log = new FailureLog()
  const found: number[] = []
  for (let i = 0; i < 25; i++) log.record('a', omitted => { found.push(omitted) })
  log.record('b', omitted => { found.push(omitted) })
  t.same(found, Array(11).fill(0))
  await until(() => found.length === 12, 'the count of what was omitted')
  t.equal(found.at(-1), 14, 'ten lines, this one, and those that it counts')
})

t.test('a2a-gateway key', async t => {
  const out: string[] = []
  const io = { out: (text: string) => { out.push(text) }, err: (text: string) => { out.push(text) } }
  t.equal(runKey({ id: 'acme "1"'.replaceAll(' ', '_'), client: 'acme', expires: '2027-01-01' }, io), 0)
  const [key = '', entry = ''] = out
  t.match(key, /^a2agw_[\w-]{43}$/)
  const file = t.testdir({ 'keys.yaml': `${entry}\n` })
  t.match(readKeyFile(`${file}/keys.yaml`), { entries: [{ id: 'acme_"1"', client: 'acme', sha256: keyDigest(key), expires: Date.UTC(2027, 0, 1) }] })
  t.notOk(entry.includes(key))
  t.equal(runKey({ id: 'a', client: undefined, expires: undefined }, io), 0)
  t.not(out[2], key, 'no two keys are alike')
  for (const [args, text] of [
    [{ id: undefined, client: undefined, expires: undefined }, /--id is required/],
    [{ id: 'a b', client: undefined, expires: undefined }, /--id must have/],
    [{ id: 'a', client: '', expires: undefined }, /--client must have/],
    [{ id: 'a', client: undefined, expires: 'soon' }, /--expires must be/]
  ] as const) {
    t.equal(runKey(args, io), 2)
    t.match(out.at(-1), text)
  }
})
