import fc from 'fast-check'
import { equal } from 'node:assert'
import { BlockList, isIP } from 'node:net'
import t from 'tap'
import { TrustedProxies, forwardedHeaders } from '#wire/forwarded.js'
import type { Hop } from '#wire/forwarded.js'
import { parseAddress, parseNetwork } from '#wire/ip.js'
import { check } from '../helpers/seed.js'

function trusts (cidr: string, address: string | undefined): boolean {
  return new TrustedProxies([cidr]).trusts(address)
}

t.test('addresses and networks, in both families', async (t) => {
  const rows: [string, string, boolean][] = [
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['10.1.2.3/32', '10.1.2.3', true],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['0.0.0.0/0', '::1', false],
    ['128.0.0.0/1', '255.255.255.255', true],
    ['128.0.0.0/1', '127.0.0.1', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['10.0.0.0/8', '::ffff:0a00:1', true],
    ['10.0.0.0/8', '::FFFF:10.0.0.1', true],
    ['10.0.0.0/8', '::ffff:11.0.0.1', false],
    ['10.0.0.0/8', '::10.0.0.1', false],
    ['10.0.0.0/8', '0:0:0:0:0:ffff:a00:1', true],
    ['::1', '::1', true],
    ['fd00::/8', 'fdff::1', true],
    ['fd00::/8', 'fe80::1', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '10.0.0.1', false],
    ['::/0', '::ffff:10.0.0.1', false]
  ]
  for (const [cidr, address, expected] of rows) t.equal(trusts(cidr, address), expected, `${cidr} ${address}`)
  t.notOk(trusts('0.0.0.0/0', undefined))
  t.notOk(trusts('0.0.0.0/0', 'unix'))
  t.notOk(new TrustedProxies([]).trusts('127.0.0.1'))
  t.ok(new TrustedProxies(['10.0.0.0/8', '::1']).trusts('::1'))
})

t.test('CVE-2026-92395: an IPv4-mapped CIDR trusts its own network only', async (t) => {
  t.ok(trusts('::ffff:10.0.0.0/104', '10.9.9.9'))
  t.ok(trusts('::ffff:10.0.0.0/104', '::ffff:10.9.9.9'))
  t.notOk(trusts('::ffff:10.0.0.0/104', '11.0.0.1'))
  t.notOk(trusts('::ffff:10.0.0.0/104', '2001:db8::1'))
  t.ok(trusts('::ffff:10.0.0.1', '10.0.0.1'))
  for (const cidr of ['::ffff:10.0.0.0/8', '::ffff:10.0.0.0/95', '::ffff:0:0/0']) {
    t.throws(() => new TrustedProxies([cidr]), RangeError, cidr)
  }
})

t.test('a value that is not an address or CIDR is rejected by name', async (t) => {
  for (const cidr of [
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0',
    '010.0.0.1',
    '256.0.0.1',
    '10.0.0.0.0',
    '::/129',
    ':::',
    'fe80::1%eth0',
    'localhost',
    '10.0.0.0/1e1',
    ' 10.0.0.1'
  ]) {
    t.throws(() => new TrustedProxies(['127.0.0.1', cidr]), {
      message: `"${cidr}" is not an IP address or CIDR (an IPv4 network is written a.b.c.d/n)`
    })
  }
})

t.test('addresses are read like in node:net', async t => {
  const mangled = fc
    .tuple(
      fc.oneof(fc.ipV4(), fc.ipV6()),
      fc.nat(40),
      fc.nat(2),
      fc.constantFrom('', ':', '::', '.', '0', '1', 'f', 'g', '256', '::ffff:', ' ', '/')
    )
    .map(([text, at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut))
  t.ok(check('wire/forwarded/addresses', fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), mangled), (text) => {
    equal(parseAddress(text) !== null, isIP(text) !== 0, text)
  }), { numRuns: 5000 }) > 0, 'inputs')
})

t.test('networks contain the same addresses as in node:net, within one family', async t => {
  for (const [ip, family, bits] of [[fc.ipV4(), 'ipv4', 32], [fc.ipV6(), 'ipv6', 128]] as const) {
    t.ok(check('wire/forwarded/networks', fc.property(ip, ip, fc.nat(bits), fc.boolean(), (base, other, prefix, same) => {
      const address = same ? base : other
      if (family === 'ipv6' && (parseAddress(base)?.[5] === 0xffff || parseAddress(address)?.[5] === 0xffff)) return
      const list = new BlockList()
      list.addSubnet(base, prefix, family)
      equal(parseNetwork(`${base}/${prefix}`) !== null, true)
      equal(trusts(`${base}/${prefix}`, address), list.check(address, family), `${base}/${prefix} ${address}`)
    }), { numRuns: 1000 }) > 0, 'inputs')
  }
})

const SPOOF = [
  'X-Forwarded-For',
  '1.1.1.1',
  'X-Forwarded-Proto',
  'https',
  'X-Forwarded-Host',
  'bank.example',
  'Forwarded',
  'for=1.1.1.1',
  'X-Real-IP',
  '1.1.1.1',
  'X-Forwarded-Port',
  '443',
  'Accept',
  '*/*'
]
const HOP: Hop = { peer: '::ffff:10.0.0.7', trusted: false, scheme: 'http', host: 'agents.example.com' }

function sent (raw: string[], hop: Hop): string[] {
  const out: string[] = []
  forwardedHeaders(raw, hop, out)
  return out
}

t.test('CVE-2026-3635: an untrusted peer cannot set its address', async (t) => {
  const own = ['x-forwarded-for', '10.0.0.7', 'x-forwarded-proto', 'http', 'x-forwarded-host', 'agents.example.com']
  t.same(sent(SPOOF, HOP), own)
  t.same(sent([], HOP), own)
  t.same(sent(SPOOF, { peer: undefined, trusted: false, scheme: 'https', host: undefined }), ['x-forwarded-proto', 'https'])
  t.same(sent([], { ...HOP, peer: 'fe80::1%eth0' }).slice(0, 2), ['x-forwarded-for', 'fe80::1'])
})

t.test('a trusted peer is accepted and added to the chain', async (t) => {
  const trusted = { ...HOP, trusted: true }
  t.same(sent(SPOOF, trusted), [
    'x-forwarded-proto',
    'https',
    'x-forwarded-host',
    'bank.example',
    'forwarded',
    'for=1.1.1.1',
    'x-real-ip',
    '1.1.1.1',
    'x-forwarded-port',
    '443',
    'x-forwarded-for',
    '1.1.1.1, 10.0.0.7'
  ])
  t.same(sent(['x-forwarded-for', '1.1.1.1, 2.2.2.2', 'X-Forwarded-For', '3.3.3.3'], trusted),
    ['x-forwarded-for', '1.1.1.1, 2.2.2.2, 3.3.3.3, 10.0.0.7', 'x-forwarded-proto', 'http', 'x-forwarded-host', 'agents.example.com'])
  t.same(sent([], trusted), sent([], HOP))
})
