import t from 'tap'
import { parseAddress } from '#wire/ip.js'
import { isLocalName, isReservedAddress } from '#wire/reserved-address.js'

const reserved = (text: string): boolean => {
  const address = parseAddress(text)
  if (address === null) throw new Error(`${text} is no address`)
  return isReservedAddress(address)
}

t.test('the first and the last address of each range are reserved, and their neighbours are not', async t => {
  const ranges: readonly (readonly [string, string, string, string])[] = [
    // before, first, last, after
    ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
    ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
    ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
    ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
    ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
    ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
    ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
    ['223.255.255.255', '224.0.0.0', '239.255.255.255', '1.1.1.1'],
    ['8.8.8.8', '240.0.0.0', '255.255.255.255', '1.0.0.1'],
    ['1.0.0.0', '0.0.0.0', '0.255.255.255', '1.0.0.0'],
    ['fbff::1', 'fc00::', 'fdff:ffff::1', 'fe00::'],
    ['fe7f::1', 'fe80::', 'febf::1', '2a00::1'],
    ['2000::1', '2001::', '2001:1ff::1', '2001:200::1'],
    ['2001:db7::1', '2001:db8::', '2001:db8:ffff::1', '2001:db9::1'],
    ['2003::1', '2002::', '2002:7f00:1::', '2003::1'],
    ['64:ff9a::1', '64:ff9b::7f00:1', '64:ff9b::ffff:ffff', '64:ff9c::1'],
    ['2606:4700::1', '::', '::7f00:1', '2606:4700::1']
  ]
  for (const [before, first, last, after] of ranges) {
    t.same([before, first, last, after].map(reserved), [false, true, true, false], `${first} to ${last}`)
  }
})

t.test('an IPv4 address mapped into IPv6 is judged as the IPv4 address', async t => {
  t.ok(reserved('::ffff:127.0.0.1'))
  t.ok(reserved('::ffff:7f00:1'))
  t.notOk(reserved('::ffff:8.8.8.8'))
})

t.test('names of local networks', async t => {
  for (const name of ['localhost', 'printer', 'a.localhost', 'x.local', 'metadata.google.internal', 'a.b.home.arpa', 'nas.lan']) {
    t.ok(isLocalName(name), name)
  }
  for (const name of ['example.com', 'localhost.example.com', 'internal.example', 'mylocal.test', 'notinternal.com', 'a.xlocal']) {
    t.notOk(isLocalName(name), name)
  }
})
