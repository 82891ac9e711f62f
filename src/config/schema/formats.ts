import { isIP, isIPv6 } from 'node:net'
import { compileMediaTypePattern } from '#wire/media-type.js'
import { compileUrlPattern } from '#wire/url-pattern.js'
import { grpcAddressFault, grpcServiceFault, grpcUpstreamFault } from '../listeners/grpc-formats.js'
import { isHost, parseHostPort } from '../listeners/host-port.js'
import { readRate } from '../model/rates-model.js'
import { parseUrl } from '#wire/url.js'
import type { Fault } from '../listeners/grpc-formats.js'

/** Checks named by the schema's `x-format`. Each check returns null for a valid string. */
export const FORMATS = {
  'host-port': (text: string) =>
    parseHostPort(text) === null
      ? {
          message: 'must be host:port',
          hint: /^\d+$/.test(text) ? `write ":${text}" for every interface` : 'such as "0.0.0.0:8080", ":8080" or "[::1]:8080"'
        }
      : null,
  'grpc-address': grpcAddressFault,
  'grpc-upstream': grpcUpstreamFault,
  'grpc-service': grpcServiceFault,
  'base-url': (text: string) => urlFault(text, true),
  url: (text: string) => urlFault(text, false),
  issuer: (text: string) =>
    urlFault(text, true) ??
    (isSafeUrl(text)
      ? null
      : { message: 'must be an https URL', hint: 'http is for issuers on this machine only: a changed response could make tokens valid' }),
  endpoint: (text: string) =>
    urlFault(text, false) ??
    (isSafeUrl(text) ? null : { message: 'must be an https URL', hint: 'http is for this machine only: the request contains secrets' }),
  'trace-url': (text: string) =>
    urlFault(text.replaceAll('{traceId}', '0').replace(/#.*$/, ''), false) ??
    (text.includes('{traceId}')
      ? null
      : { message: 'must contain "{traceId}"', hint: 'such as "https://jaeger.example.com/trace/{traceId}"' }),
  discover: (text: string) => (text === 'discover' ? null : { message: 'must be "discover", or a mapping with url or file' }),
  require: (text: string) =>
    text === 'card'
      ? null
      : { message: 'must be "card", or a list of alternatives', hint: 'such as "[[corp, mesh], [partners]]": each a list of sources' },
  path: pathFault,
  'path-prefix': (text: string) => (text === '/' ? { message: 'must not be "/"', hint: 'name the prefixes to forward' } : pathFault(text)),
  'directory-path': (text: string) =>
    text.startsWith('/.well-known')
      ? { message: 'must not begin with "/.well-known"', hint: 'the gateway serves cards and keys there' }
      : pathFault(text),
  name: (text: string) => (/^[a-z0-9-]{1,63}$/.test(text) ? null : { message: 'must be 1 to 63 of a-z, 0-9 and "-"' }),
  host: (text: string) =>
    isHost(text) || (text.startsWith('[') && text.endsWith(']') && isIPv6(text.slice(1, -1)))
      ? null
      : {
          message: 'must be a host name or IP address',
          hint: text.includes(':') ? 'without scheme or port; IPv6 in brackets' : 'such as "agents.example.com"'
        },
  'catalog-place': (text: string) =>
    /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
      ? urlFault(text, false)
      : text === '' || text.includes('\0') ? { message: 'must be a URL or the name of a file' } : null,
  domain: (text: string) =>
    /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/.test(text)
      ? null
      : { message: 'must be a domain name in lower case', hint: 'such as "agents.example.com", without scheme, port and final dot' },
  origin: (text: string) =>
    text === '*' || (/^https?:\/\/[^/?#]+$/i.test(text) && parseUrl(text)?.origin === text.toLowerCase())
      ? null
      : { message: 'must be an origin or "*"', hint: 'such as "https://app.example.com", without a path and without the default port' },
  proxy: proxyFault,
  'trust-domain': (text: string) =>
    /^[a-z0-9._-]{1,255}$/.test(text)
      ? null
      : {
          message: 'must be a SPIFFE trust domain', hint: 'such as "prod.example.com": lower case, without "spiffe://" and without a path'
        },
  'url-pattern': (text: string) =>
    compileUrlPattern(text) === null
      ? {
          message: 'must be a pattern of URLs',
          hint: 'such as "https://*.hooks.example.com/a2a/*": scheme, host, and optionally port and path'
        }
      : null,
  'extension-uri': (text: string) =>
    /^[\x21-\x2b\x2d-\x7e]+$/.test(text)
      ? null
      : {
          message: 'must be an extension URI',
          hint: 'ASCII, without commas, spaces and control characters: clients send it in a comma-separated header'
        },
  'uri-pattern': (text: string) =>
    /^[\x21-\x2b\x2d-\x7e]{1,512}$/.test(text)
      ? null
      : { message: 'must be a pattern of extension URIs', hint: '"*" matches any characters; no commas and spaces' },
  'json-pointer': (text: string) =>
    /^(\/([^~]|~[01])*)$/.test(text)
      ? null
      : { message: 'must be a JSON Pointer into the card', hint: 'it starts with "/"; "~" is written "~0"' },
  pointer: (text: string) =>
    /^(\/([^~]|~[01])*)$/.test(text) ? null : { message: 'must be a JSON Pointer', hint: 'it starts with "/"; "~" is written "~0"' },
  'caller-value': (text: string) =>
    /^(?:source|subject|client|tenant|(?:\/(?:[^~/]|~[01])*)+)$/.test(text)
      ? null
      : { message: 'must be source, subject, client, tenant, or a JSON Pointer into the claims', hint: 'such as "subject" or "/email"' },
  'result-pointer': (text: string) =>
    /^(?:\/([^~]|~[01])*)?$/.test(text)
      ? null
      : { message: 'must be a JSON Pointer', hint: 'it starts with "/"; "" is the result itself' },
  'name-pattern': (text: string) => (namePatternFault(text) ?? (/^\$(?!uri(?:\/|$))/.test(text) ? NO_SUCH_NAME : null)),
  'data-key': (text: string) =>
    namePatternFault(text) ??
    (/^\$uri(?:\/|$)/.test(text)
      ? {
          message: 'must be the name of a member of the data; "$uri" is not replaced here', hint: 'select metadata, or write the name itself'
        }
      : null),
  redaction: (text: string) =>
    /^[^#/][^#]{0,511}(#(\/([^~]|~[01])*)+)?$/s.test(text)
      ? (/^\$(?!uri(?:[/#]|$))/.test(text) ? NO_SUCH_NAME : null)
      : { message: 'must be a metadata key, or one with "#" and a JSON Pointer', hint: 'such as "$uri" or "$uri#/tokens/*/secret"' },
  variable: (text: string) =>
    /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? null : { message: 'must be the name of an environment variable', hint: 'without "$"' },
  'method-name': (text: string) => (/^[\x21-\x7e]{1,200}$/.test(text) ? null : { message: 'must be the name of a JSON-RPC method' }),
  'route-path': routePathFault,
  route: routeFault,
  'header-name': (text: string) => (/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(text) ? null : { message: 'must be the name of a header' }),
  'media-type': mediaTypeFault,
  'schema-name': (text: string) =>
    /^[^\p{Cc}]{1,100}$/u.test(text) ? null : { message: 'must have from 1 to 100 characters, none of them a control character' },
  uri: (text: string) =>
    /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]+$/.test(text)
      ? null
      : { message: 'must be an absolute URI', hint: 'such as "https://example.com/schemas/order.json"' },
  'schema-base': (text: string) =>
    /^[A-Za-z][A-Za-z0-9+.-]*:[\x21\x22\x24-\x7e]+\/$/.test(text) && parseUrl(text) !== null
      ? null
      : { message: 'must be an absolute URI that ends with "/"', hint: 'file names are appended to it' },
  substate: (text: string) => (text !== '' && text.length <= 128 ? null : { message: 'must have from 1 to 128 characters' }),
  'substate-or-none': (text: string) => (text.length <= 128 ? null : { message: 'must have at most 128 characters' }),
  'metric-name': (text: string) =>
    /^[a-z][a-z0-9_]{0,62}$/.test(text) ? null : { message: 'must be 1 to 63 of a-z, 0-9 and "_", and begin with a letter' },
  'metric-path': (text: string) =>
    /^[a-z0-9-]{1,63}\/[a-z][a-z0-9_]{0,62}$/.test(text)
      ? null
      : { message: 'must be the names of a policy and of one of its metrics', hint: 'such as "usage/tokens"' },
  rate: rateFault,
  failures: (text: string) =>
    text === 'failures'
      ? null
      : { message: 'must be a list of operations, or "failures"', hint: `such as "[${text === '' ? 'messages' : text}]"` },
  'attribute-name': attributeFault,
  workers: (text: string) =>
    text === 'auto'
      ? null
      : { message: 'must be a whole number or "auto"', hint: /^\d+$/.test(text) ? 'without quotes' : '"auto" is one per processor' },
  store: storeFault,
  'store-prefix': (text: string) =>
    /^[\x21-\x7e]{0,100}$/.test(text) ? null : { message: 'must have at most 100 characters, all of them printable ASCII without spaces' },
  reason: (text: string) =>
    /^[A-Z][A-Z0-9_]{0,62}$/.test(text) ? null : { message: 'must be 1 to 63 of A-Z, 0-9 and "_"', hint: 'such as "PAYMENT_REQUIRED"' },
  /** A file that the gateway reads with the configuration, and again when the file changes. */
  file: (text: string) => (isFilePath(text) ? null : { message: 'must be the path of a file' }),
  /** A file or directory that the gateway reads when it needs it. */
  'file-or-directory': (text: string) => (isFilePath(text) ? null : { message: 'must be the path of a file' })
} satisfies Record<string, (text: string) => Fault | null>

export type Format = keyof typeof FORMATS

const isFilePath = (text: string): boolean => text !== '' && !text.includes('\0')

function rateFault (text: string): Fault | null {
  const rate = readRate(text)
  return 'hint' in rate ? { message: 'must be a rate', hint: rate.hint } : null
}

/** The vocabulary has one variable. Any other name with `$` is a misspelling, which would select nothing. */
const NO_SUCH_NAME: Fault = {
  message: 'must be "$uri", "$uri/" and a suffix, or a name without "$"', hint: '"$uri" is the extension\'s URI'
}

function namePatternFault (text: string): Fault | null {
  return text === '' || text.length > 512 ? { message: 'must have from 1 to 512 characters' } : null
}

/** True when an entry of trustedProxies trusts every address. */
export function trustsEveryone (entry: string): boolean {
  return /\/0+$/.test(entry)
}

function urlFault (text: string, base: boolean): Fault | null {
  const what = { message: 'must be an absolute http or https URL', hint: 'such as "http://127.0.0.1:9999"' }
  const url = parseUrl(text)
  if (!/^https?:\/\/[^/]/i.test(text) || hasBlankOrControl(text) || text.includes('\\') || url === null) {
    return /^[\w.-]+(:\d+)?(\/|$)/.test(text) ? { ...what, hint: `did you mean "http://${text}"?` } : what
  }
  if (url.username !== '' || url.password !== '' || authority(text).includes('@')) {
    return { message: 'must not carry credentials', hint: 'they would appear in logs' }
  }
  if (text.includes('#')) return { message: 'must not have a fragment', hint: 'remove "#" and the text after it' }
  if (base && text.includes('?')) return { message: 'must not have a query', hint: 'remove "?" and the text after it' }
  return null
}

function authority (text: string): string {
  return text.split(/[/?#]/, 3)[2] ?? ''
}

function pathFault (text: string): Fault | null {
  if (!text.startsWith('/')) return { message: 'must start with "/"', hint: `write "/${text}"` }
  if (text === '/') return null
  if (text.length > 1024) return { message: 'must have at most 1024 characters' }
  if (/^\/+$/.test(text)) return { message: 'must not have empty segments', hint: 'write "/"' }
  if (text.endsWith('/')) return { message: 'must not end with "/"', hint: `write "${text.replace(/\/+$/, '')}"` }
  const segments = text.slice(1).split('/')
  if (segments.includes('')) return { message: 'must not have empty segments', hint: 'a single "/" between segments' }
  if (segments.includes('.') || segments.includes('..')) {
    return { message: 'must not have "." or ".." segments', hint: 'write the resolved path' }
  }
  if (!/^[A-Za-z0-9._~/-]+$/.test(text)) {
    return { message: 'has a character that is not allowed in this path', hint: 'A-Z a-z 0-9 - . _ ~ and "/"' }
  }
  return null
}

const ROUTE_SEGMENT = /^(?:[A-Za-z0-9._~!$&'()*+,=:@-]+|\{[A-Za-z][A-Za-z0-9_-]*\})$/

/** Literal segments must not be percent-encoded, so that each path has exactly one spelling. */
function routePathFault (text: string): Fault | null {
  if (text === '/') return { message: 'must not be "/"', hint: 'name at least one segment' }
  const fault = pathFault(text.replace(/\{[^{}/]*\}/g, 'x').replace(/[!$&'()*+,=:@]/g, 'x'))
  if (fault !== null) {
    return fault.message.startsWith('has a character')
      ? { message: fault.message, hint: 'a segment is a plain word, or "{name}" for any one segment' }
      : fault
  }
  if (/^\/\.well-known(?:\/|$)/i.test(text)) return { message: 'must not be below /.well-known', hint: 'no extension owns these paths' }
  return text.slice(1).split('/').every((segment) => ROUTE_SEGMENT.test(segment))
    ? null
    : { message: 'has a segment that is neither a plain word nor "{name}"', hint: 'such as "/commands/{command}"' }
}

function routeFault (text: string): Fault | null {
  const path = /^(?:GET|POST|PUT|PATCH|DELETE) (\/.*)$/.exec(text)?.[1]
  return path === undefined
    ? { message: 'must be an HTTP method and a path', hint: 'such as "POST /commands/{command}"' }
    : routePathFault(path)
}

function mediaTypeFault (text: string): Fault | null {
  try {
    compileMediaTypePattern(text)
    return null
  } catch {
    return {
      message: 'must be a media type',
      hint: 'such as "application/json" or "application/json;schema=*"; only a parameter may be "*"'
    }
  }
}

function proxyFault (text: string): Fault | null {
  const match = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text)
  const address = match?.[1] ?? ''
  const version = isIP(address)
  if (version === 0 || Number(match?.[2] ?? 0) > (version === 4 ? 32 : 128)) {
    return { message: 'must be an IP address or CIDR', hint: 'such as "10.0.0.0/8" or "fd00::/8"' }
  }
  if (version === 6 && isIPv4Mapped(address)) {
    return {
      message: 'must not be an IPv4-mapped IPv6 address',
      hint: 'write the IPv4 address or CIDR; mapped ones match too much (CVE-2026-92395)'
    }
  }
  return null
}

/** Accepts any spelling: the URL parser writes every IPv6 address in its canonical form. */
function isIPv4Mapped (address: string): boolean {
  return /^\[::ffff:[0-9a-f]+:[0-9a-f]+\]$/.test(new URL(`http://[${address}]`).hostname)
}

function hasBlankOrControl (text: string): boolean {
  return /[\s\p{Cc}]/u.test(text)
}

/** Attribute names of the gateway's own SERVER spans, docs/reference/traces.md. */
const OWN_ATTRIBUTES = /^(?:a2a|a2a_gateway|enduser|error|http|jsonrpc|rpc|server|url)\./

/** True for https, and for http on this machine. */
function isSafeUrl (text: string): boolean {
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

function attributeFault (text: string): Fault | null {
  if (!/^[a-z][a-z0-9_.-]{0,99}$/.test(text)) return { message: 'must be 1 to 100 of a-z, 0-9, "_", "." and "-", and begin with a letter' }
  return OWN_ATTRIBUTES.test(text)
    ? { message: "is reserved for the gateway's own attributes", hint: 'begin it with a name of your own, such as "acme."' }
    : null
}

const DATABASE = /^\/(?:\d{1,5})?$/

function storeFault (text: string): Fault | null {
  if (text === 'memory') return null
  const hint = 'such as "redis://redis.internal:6379", or rediss:// for TLS'
  const url = parseUrl(text)
  if (!/^rediss?:\/\//.test(text) || url === null) return { message: 'must be "memory", or a redis:// or rediss:// URL', hint }
  if (url.hostname === '' || url.search !== '' || url.hash !== '' || !DATABASE.test(url.pathname === '' ? '/' : url.pathname)) {
    return { message: 'must be a URL of host, port and database', hint }
  }
  return null
}
