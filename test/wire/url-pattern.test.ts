import t from 'tap'
import { compileUrlPattern } from '#wire/url-pattern.js'

t.test('scheme, host, port and path of a pattern must match; the query is free', async t => {
  const rows: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    [
      'https://hooks.example.com',
      ['https://hooks.example.com/', 'https://hooks.example.com/a/b?c=d', 'https://hooks.example.com:443/', 'https://hooks.example.com./'],
      [
        'http://hooks.example.com/', 'https://example.com/', 'https://hooks.example.com.evil.test/', 'https://xhooks.example.com/',
        'https://hooks.example.com:8443/', 'https://a.hooks.example.com/'
      ]
    ],
    [
      'https://*.hooks.example.com/a2a/*',
      ['https://a.hooks.example.com/a2a/', 'https://a.b.hooks.example.com/a2a/x/y?z'],
      [
        'https://hooks.example.com/a2a/x', 'https://a.hooks.example.com/a2a', 'https://a.hooks.example.com/b', 'https://evilhooks.example.com/a2a/x',
        'https://a.hooks.example.com/a2a/..%2fadmin', 'https://a.hooks.example.com/a2a/..%5Cadmin', 'https://.hooks.example.com/a2a/x'
      ]
    ],
    ['http://10.0.0.5:8080/x', ['http://10.0.0.5:8080/x'], ['http://10.0.0.5/x', 'http://10.0.0.6:8080/x', 'http://10.0.0.5:8080/x/y']],
    ['http://[fd00::1]:*', ['http://[fd00::1]/', 'http://[fd00::1]:9/'], ['http://[fd00::2]/']],
    ['https://*', ['https://a.test/', 'https://[2606:4700::1]/'], ['https://a.test:444/', 'http://a.test/']],
    ['HTTPS://Hooks.Example.COM:443/*', ['https://hooks.example.com/any%2fthing'], []]
  ]
  for (const [text, good, bad] of rows) {
    const pattern = compileUrlPattern(text)
    for (const url of good) t.equal(pattern?.matches(new URL(url)), true, `${text} allows ${url}`)
    for (const url of bad) t.equal(URL.canParse(url) && pattern?.matches(new URL(url)), false, `${text} excludes ${url}`)
  }
  t.equal(compileUrlPattern('https://*')?.namesHost, false)
  t.equal(compileUrlPattern('https://*.example.com')?.namesHost, true)
})

t.test('text that is no pattern', async t => {
  for (const text of [
    '', '*', 'hooks.example.com', 'ftp://a.test', 'https://', 'https://a.test?x', 'https://a.test/#x', 'https://u@a.test', 'https://a.*.test',
    'https://a*.test', 'https://*.1.2.3.4', 'https://127.1', 'https://0x7f.1', 'https://a.test:0', 'https://a.test:70000', 'https://a.test:x',
    'https://a.test/ b', 'https://a.test\\x', 'https://[::1', 'https://[0:0::1]', 'https://b\u00fccher.test', 'https://a..test'
  ]) t.equal(compileUrlPattern(text), null, text)
})
