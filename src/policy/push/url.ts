/**
 * The one reading of a URL for push notifications.
 *
 * The agent calls the URL, perhaps with another parser and a later DNS lookup. The gateway therefore accepts only URLs that every parser
 * reads alike (WHATWG URL: the serialization equals the text), and only an allow-list limits the hosts for certain.
 */
import { isLocalName, isReservedAddress } from '#wire/reserved-address.js'
import { addressOf, DEFAULT_PORTS, withoutFinalDot } from '#wire/url-pattern.js'
import { parseUrl } from '#wire/url.js'

const WRITTEN = /^(https?):\/\/([^/?#]*)([^#]*)(#.*)?$/is

/** Longest URL, in UTF-16 code units. Longer ones do not fit common limits of request lines. */
const LENGTH = 4_096

export type ReadUrl = { readonly url: URL } | { readonly problem: string }

/** @returns the problem as a predicate of the URL's path, without any of the client's data */
export function readPushUrl (text: string): ReadUrl {
  const parts = WRITTEN.exec(text)
  const url = parts === null || text.length > LENGTH ? null : parseUrl(text)
  if (parts === null || url === null) {
    return { problem: `must be an absolute http or https URL of at most ${LENGTH} characters` }
  }
  const [, scheme = '', authority = '', rest = '', fragment] = parts
  if (
    url.username !== '' ||
    url.password !== '' ||
    authority.includes('@')
  ) return { problem: 'must not contain a user name or a password' }
  if (fragment !== undefined) return { problem: 'must not contain a fragment' }
  const port = `:${DEFAULT_PORTS[scheme.toLowerCase()] ?? ''}`
  const host = authority.toLowerCase()
  const written = `${scheme.toLowerCase()}://${host.endsWith(port) ? host.slice(0, -port.length) : host}${rest.startsWith('/') ? '' : '/'}${rest}`
  if (written !== url.href) {
    return {
      problem:
        'can be read in more than one way; write the host in ASCII and addresses in their usual form, and percent-encode special ' +
          'characters of the path'
    }
  }
  return { url }
}

/** True when the host is an address or a name that only a private network has. Names are not resolved. */
export function isInternal ({ hostname }: URL): boolean {
  const address = addressOf(hostname)
  return address === null ? isLocalName(withoutFinalDot(hostname)) : isReservedAddress(address)
}
