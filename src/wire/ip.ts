/**
 * IP addresses as eight 16-bit groups. An IPv4 address is `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2): a dual-stack listener reports its IPv4
 * peers in this form. The code does not use node:net's BlockList: a check costs 3 µs, `::/0` matches IPv4 peers, and `::ffff:10.0.0.0/8`
 * matches every address (the mistake of CVE-2026-92395). Nor ipaddr.js: it reads `::10.0.0.1` as 10.0.0.1, and octal and hexadecimal digits
 * after `::ffff:`.
 */
export type Address = readonly number[]

export interface Network {
  readonly address: Address
  /** Number of leading bits to compare, 0 to 128; 96 is added to IPv4 prefixes. */
  readonly prefix: number
}

/** Prefix with which Node writes an IPv4 peer on a dual-stack listener. */
const MAPPED = '::ffff:'

/** @returns null when the text is not an IP address; an IPv6 zone (`%eth0`) is ignored */
export function parseAddress (text: string): Address | null {
  if (text.startsWith(MAPPED) || !text.includes(':')) {
    const low = parseV4(text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text)
    if (low !== -1) return [0, 0, 0, 0, 0, 0xffff, Math.floor(low / 65536), low % 65536]
    if (!text.includes(':')) return null
  }
  const zone = text.indexOf('%')
  const bare = zone === -1 ? text : text.slice(0, zone)
  if (bare.length > 45 || zone === text.length - 1) return null
  const gap = bare.indexOf('::')
  if (gap === -1) {
    const groups = parseGroups(bare, true)
    return groups?.length === 8 ? groups : null
  }
  const head = gap === 0 ? [] : parseGroups(bare.slice(0, gap), false)
  const tail = gap + 2 === bare.length ? [] : parseGroups(bare.slice(gap + 2), true)
  if (head === null || tail === null || head.length + tail.length > 7) return null
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

/**
 * Reads an address or a CIDR.
 * @returns null when the text is neither, or a mapped IPv4 network whose prefix reaches into the mapping. Such a network would match every
 *   IPv4 address; `0.0.0.0/0` states that openly.
 */
export function parseNetwork (text: string): Network | null {
  const slash = text.indexOf('/')
  const base = slash === -1 ? text : text.slice(0, slash)
  const address = base.includes('%') ? null : parseAddress(base)
  if (address === null) return null
  if (slash === -1) return { address, prefix: 128 }
  const digits = text.slice(slash + 1)
  if (!/^(?:0|[1-9]\d{0,2})$/.test(digits)) return null
  const prefix = Number(digits) + (base.includes(':') ? 0 : 96)
  return prefix > 128 || (isV4(address) && prefix < 96) ? null : { address, prefix }
}

/**
 * Names the network of one customer: an IPv4 address, or a /64 of IPv6, in which a customer may use any address (RFC 6177).
 * @returns '' for a text that is no address
 */
export function networkOf (address: string | undefined): string {
  const groups = address === undefined ? null : parseAddress(address)
  return groups === null ? '' : (isV4(groups) ? groups : groups.slice(0, 4)).join(':')
}

/** True when the address lies in the network. An IPv6 network contains no IPv4 address, however short its prefix. */
export function contains (network: Network, address: Address): boolean {
  if (isV4(network.address) !== isV4(address)) return false
  let bits = network.prefix
  for (let i = 0; i < 8 && bits > 0; i++, bits -= 16) {
    const shift = bits >= 16 ? 0 : 16 - bits
    if (((network.address[i] ?? 0) >> shift) !== ((address[i] ?? 0) >> shift)) return false
  }
  return true
}

/** Returns the address in the form that other software expects: IPv4 without its mapping, no zone. */
export function plainAddress (text: string): string {
  if (!text.includes(':')) return text
  if (text.startsWith(MAPPED) && text.includes('.')) return text.slice(MAPPED.length)
  const zone = text.indexOf('%')
  return zone === -1 ? text : text.slice(0, zone)
}

function isV4 (address: Address): boolean {
  return address[5] === 0xffff && address[0] === 0 && address[1] === 0 && address[2] === 0 && address[3] === 0 && address[4] === 0
}

/**
 * Reads dotted decimal. Leading zeros are not allowed, because some readers take them for octal.
 * @returns the address as one number, or -1
 */
function parseV4 (text: string): number {
  let address = 0
  let dots = 0
  let part = -1
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x2e) {
      if (part === -1 || ++dots > 3) return -1
      address = address * 256 + part
      part = -1
    } else {
      if (code < 0x30 || code > 0x39 || part === 0) return -1
      part = (part === -1 ? 0 : part * 10) + code - 0x30
      if (part > 255) return -1
    }
  }
  return dots === 3 && part !== -1 ? address * 256 + part : -1
}

/** Reads the groups between colons. With `last`, the last group may be dotted decimal. */
function parseGroups (text: string, last: boolean): number[] | null {
  const groups: number[] = []
  const parts = text.split(':')
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] ?? ''
    if (/^[0-9A-Fa-f]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16))
    } else {
      const low = last && i === parts.length - 1 ? parseV4(part) : -1
      if (low === -1) return null
      groups.push(Math.floor(low / 65536), low % 65536)
    }
  }
  return groups
}
