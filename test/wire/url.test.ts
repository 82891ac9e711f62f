/** URLs are read alike with every version of Node, and by a process that has run for long. */
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import { readPushUrl } from '#policy/push/url.js'
import { compileUrlPattern } from '#wire/url-pattern.js'
import { parseUrl } from '#wire/url.js'

/** Text that V8 keeps as Latin-1. The URL parser must not read its bytes as UTF-8. */
const LATIN_1 = ['https://b\u00fccher.example/', 'https://h\u00c3.example/', 'https://h.example/\u00e9', 'https://..h\u00c3.example/']
/** `\u00e3\u0080\u0082` has the bytes of an ideographic full stop, and `\u00c2\u00ad` those of a soft hyphen. */
const NO_URL = ['https://h\u00e3\u0080\u0082example/', 'https://h\u0085.example/', 'https://\u0080/']

const cardOf = (url: string): readonly string[] => {
  const card = readCard({ name: 'a', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] })
  return card.ok ? card.card.interfaces.map(one => one.url.href) : []
}

t.test('a text is a URL, or is none, however often URLs were read before', async t => {
  const read = (): unknown => [...LATIN_1, ...NO_URL].map(text => [parseUrl(text)?.href, 'problem' in readPushUrl(text) ? readPushUrl(text) : null, cardOf(text)])
  const before = read()
  // V8 optimizes the caller of a fast API function after some thousand calls.
  for (let i = 0; i < 20_000; i++) for (const text of LATIN_1) { readPushUrl(`https://h${i}.example/`); cardOf(text) }
  t.same(read(), before)
  for (const text of LATIN_1) t.not(parseUrl(text), null, text)
  for (const text of NO_URL) t.equal(parseUrl(text), null, JSON.stringify(text))
})

t.test('a caret in a path is percent-encoded, elsewhere it stays', async t => {
  t.equal(parseUrl('http://h/a^b?c^d#e^f')?.href, 'http://h/a%5Eb?c^d#e^f')
  t.equal(parseUrl('http://h^/'), null)
  t.same(cardOf('http://h/a^b'), ['http://h/a%5Eb'])
  t.match(readPushUrl('https://h/a^b'), { problem: /percent-encode special characters/ })
  t.match(readPushUrl('https://h/a%5Eb'), { url: { pathname: '/a%5Eb' } })
})

t.test('a host that is no valid Punycode is compared as text, whether the engine accepts it or not', async t => {
  const read = readPushUrl('https://xn--a.example/hook')
  const pattern = compileUrlPattern('https://*.example')
  t.equal('url' in read && pattern?.matches(read.url), 'url' in read)
  t.equal('url' in read && compileUrlPattern('https://hooks.example')?.matches(read.url), false)
})
