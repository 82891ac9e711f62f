import fc from 'fast-check'
import { equal, ok } from 'node:assert'
import t from 'tap'
import { checkTarget, joinPath, splitTarget } from '#wire/target.js'
import { check } from '../helpers/seed.js'

t.test('ordinary targets pass', async (t) => {
  for (const target of [
    '/', '/?', '/?a=b', '/agents/eightball', '/agents/eightball/', '/.well-known/agent-card.json', '/v1/message:send', '/v1/message%3Asend',
    '/v1/tasks/a%20b:cancel',
    '/tasks/0b8e0d4e-7a55-4d1c-9d7c-4a6b6f1f0a11', '/a/..b', '/a/b..', '/a/...', '/a;v=1/b', '/%C3%A9', '/%e2%82%ac', '/100%25',
    '/100%25/a', '/100%25z0', '/a?b=//c&d=../e&f=%2f%00%&g=\\\xe9',
    '/tasks?pageToken=abc%3D%3D&x=a;b', '/a@b', '/a%3Fb', '/a%3B'
  ]) t.equal(checkTarget(target), null, target)
})

const HOSTILE: [string, string, RegExp][] = [
  ['absolute-form', 'http://evil/abs', /begin with "\/"/],
  ['asterisk-form', '*', /begin with "\/"/],
  ['authority-form', 'evil:443', /begin with "\/"/],
  ['empty', '', /begin with "\/"/],
  ['too long', `/${'a'.repeat(8192)}`, /longer than 8192/],
  ['B.5 scheme-relative', '//evil.com/x', /empty segment/],
  ['B.5 double slash', '/a//b', /empty segment/],
  ['B.5 double slash at the end', '/a//', /empty segment/],
  ['B.5 encoded scheme-relative', '/%2f%2fevil', /encoded slash/],
  ['B.5 encoded slash', '/a%2Fb', /encoded slash/],
  ['B.5 NUL', '/a%00', /control character/],
  ['B.5 encoded CRLF', '/a%0d%0ahost:x', /control character/],
  ['B.5 fragment', '/a#b', /fragment/],
  ['B.5 fragment in the query', '/a?b#c', /fragment/],
  ['B.5 raw control', '/a\x01', /control character/],
  ['B.5 raw control in the query', '/a?\x7f', /control character/],
  ['B.5 tab', '/a\tb', /control character/],
  ['B.5 not ASCII', '/\xe9', /non-ASCII/],
  ['B.5 double-encoded dots', '/a/%252e%252e/b', /twice/],
  ['B.5 double-encoded slash', '/a%252fb', /twice/],
  ['B.5 double-encoded backslash', '/a%255Cb', /twice/],
  ['B.5 double-encoded NUL', '/a%2500', /twice/],
  ['triple-encoded dots', '/%25252e%25252e/', /twice/],
  ['double encoding in pieces', '/a/%25%32%65%25%32%65/b', /letter, digit/],
  ['double encoding in pieces', '/a/%252%65/b', /letter, digit/],
  ['escape cut short', '/a%', /two hexadecimal/],
  ['escape cut short', '/a%2', /two hexadecimal/],
  ['escape cut short by the query', '/a%2?f', /two hexadecimal/],
  ['not hexadecimal', '/a%u002e', /two hexadecimal/],
  ['overlong UTF-8 dots', '/a/%c0%ae%c0%ae/b', /not UTF-8/],
  ['lone byte', '/a%ff', /not UTF-8/],
  ['dot segments', '/a/../b', /dot segment/],
  ['dot segments', '/..', /dot segment/],
  ['dot segments', '/a/.?x', /dot segment/],
  ['dot segments', '/./a', /dot segment/],
  ['CVE-2026-120213', '/agents/a%2Fadmin%3F/x', /encoded slash/],
  ['CVE-2026-127060', '/a/..;/b', /dot segment/],
  ['CVE-2026-127060', '/a/..;x', /dot segment/],
  ['CVE-2026-127060', '/a/..;x=y/b', /dot segment/],
  ['CVE-2026-127060', '/a/.;/b', /dot segment/],
  ['CVE-2026-127060', '/a/..%3bx/b', /dot segment/],
  ['CVE-2026-127060', '/a/..%3Bx/b', /dot segment/],
  ['CVE-2026-127060', '/a/;/b', /empty segment/],
  ['CVE-2026-127060', '/%3bx/b', /empty segment/],
  ['CVE-2026-85124', '/a/\\..\\b', /backslash/],
  ['CVE-2026-85124', '/a/..%5cb', /encoded slash or backslash/],
  ['CVE-2026-85124', '/a/..%5Cb', /encoded slash or backslash/],
  ['CVE-2026-85124', '/\\evil.com/', /backslash/],
  ['CVE-2026-16117', '/%61gents/eightball', /letter, digit/],
  ['CVE-2026-15631', '/ws/../admin', /dot segment/],
  ['GHSA-2q7r-29rg-6m5h', '/a/%2E%2E/b', /letter, digit/],
  ['GHSA-2q7r-29rg-6m5h', '/a/%2e./b', /letter, digit/],
  ['GHSA-2q7r-29rg-6m5h', '/a/.%2e', /letter, digit/]
]

t.test('hostile targets are rejected', async (t) => {
  for (const [id, target, reason] of HOSTILE) {
    t.match(checkTarget(target) ?? 'passes', reason, `${id}: ${JSON.stringify(target.slice(0, 40))}`)
  }
})

t.test('an accepted target has one reading, however often it is decoded, cut at ";" or normalised', async t => {
  const piece = fc.constantFrom(
    '/',
    '.',
    '..',
    ';',
    '%',
    '%2',
    '2',
    'e',
    '2e',
    '5c',
    '%2e',
    '%2F',
    '%5c',
    '%25',
    '%3b',
    '%3B',
    '%00',
    '%c0',
    '%ae',
    '\\',
    'a',
    'b=c',
    '?',
    '#',
    ' ',
    ':',
    '@',
    '%C3%A9',
    '%3f'
  )
  let passed = 0
  t.ok(check('wire/target/one-reading', fc.property(fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`), (target) => {
    if (checkTarget(target) !== null) return
    passed++
    const { path, query } = splitTarget(target)
    equal(path + query, target)
    const url = new URL(target, 'http://host')
    equal(url.host, 'host')
    equal(url.pathname, path, 'the URL parser finds nothing to normalise')
    const segments = path.split('/').length
    for (let rounds = 0, text = path; rounds < 4; rounds++) {
      const parts = text.split(/[/\\]/)
      equal(parts.length, segments)
      for (let i = 1; i < parts.length; i++) {
        const cut = (parts[i] ?? '').replace(/;.*/s, '')
        ok(cut !== '.' && cut !== '..', text)
        ok(cut !== '' || (i === segments - 1 && parts[i] === ''), text)
      }
      text = text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    }
  }), { numRuns: 10_000 }) > 0, 'inputs')
  ok(passed > 500, `only ${passed} passed`)
})

t.test('targets are split and paths joined', async (t) => {
  t.same(splitTarget('/a?b=c?d'), { path: '/a', query: '?b=c?d' })
  t.same(splitTarget('/a'), { path: '/a', query: '' })
  t.same(splitTarget('/?'), { path: '/', query: '?' })
  t.equal(joinPath('', ''), '/')
  t.equal(joinPath('', '/a'), '/a')
  t.equal(joinPath('/base', ''), '/base')
  t.equal(joinPath('/base', '/a/'), '/base/a/')
})
