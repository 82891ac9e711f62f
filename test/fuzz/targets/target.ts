/**
 * Request targets. An accepted target has the same segments for WHATWG URL, node:path and readers that decode again, and stays below the
 * path that it is appended to.
 */
import { equal, ok } from 'node:assert'
import { posix } from 'node:path'
import { canonicalPath, checkCardPath, checkTarget, joinPath, loosePath, splitTarget } from '#wire/target.js'
import { outcomeOf } from '../../runtimes/exact.js'
import type { Reader, Target } from '../engine/target.js'

const BASE = '/base/of/it'

export const target: Target & Reader = {
  name: 'target',
  maxBytes: 512,
  seeds: [
    '/',
    '/agents/a/v1/message:send?x=1',
    '/a/%2e%2e/b',
    '/a/..;x/b',
    '/a//b',
    '/a%2fb',
    '/100%25',
    '/a%252f',
    '/%c3%a9',
    '/a;v=1/b',
    '/a\\b',
    'http://evil/a',
    '//evil/a',
    '/a?b=../c#d',
    '/.well-known/agent-card.json',
    '/a/..%3b/b',
    '/%C3',
    '/...',
    '/a/.'
  ],
  dictionary: [
    '/',
    '//',
    '.',
    '..',
    '/./',
    '/../',
    '%2e',
    '%2E',
    '%2f',
    '%5c',
    '\\',
    '%25',
    '%252e',
    '%25%32',
    ';',
    '%3b',
    '..;',
    '?',
    '#',
    '%00',
    '%0a',
    '%7f',
    '%c3%a9',
    '%ff',
    '%',
    ':',
    '@',
    ' ',
    '\t',
    '%3f',
    '%23',
    'é',
    'http://',
    '%u002e',
    '%c0%ae'
  ],
  read: bytes => [bytes.toString('latin1'), bytes.toString()].map(text => {
    const { path, query } = splitTarget(text)
    return {
      fault: checkTarget(text),
      card: checkCardPath(text),
      parts: [path, query, loosePath(path), joinPath(BASE, text)],
      canonical: outcomeOf(() => canonicalPath(path))
    }
  }),
  check (bytes) {
    const text = bytes.toString('latin1')
    const reason = checkTarget(text)
    if (reason !== null) {
      ok(/^the (?:path|query|request target) [ -~]+$/.test(reason))
      ok(!/^(?:\/[A-Za-z0-9_-]+)+\/?(?:\?[A-Za-z0-9=&._-]*)?$/.test(text) || text.length > 8192, 'refuses what is plain')
      return
    }
    const { path, query } = splitTarget(text)
    equal(path + query, text)
    const url = new URL(text, 'http://h.test')
    equal(url.host, 'h.test')
    equal(url.hash, '')
    equal(once(url.pathname), once(path), 'the path that WHATWG URL sees')
    equal(url.search === '' ? '' : once(url.search), query === '?' ? '' : once(new URL(`http://h/${query}`).search))
    for (let decoded = path, times = 0; times < 4; times++, decoded = once(decoded)) segments(decoded, path)
    equal(new URL(joinPath(BASE, text), 'http://h.test').pathname.startsWith(`${BASE}/`), true, 'stays below its prefix')
    ok(posix.resolve(`${BASE}${path}`).startsWith(BASE))
  }
}

/** Decodes valid escapes, with bytes as latin1. */
function once (text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
}

function segments (path: string, written: string): void {
  ok(!path.includes('\\'))
  ok(![...path].some(char => char < ' ' || char === '\x7f'))
  equal(path.split('/').length, written.split('/').length, 'as many segments, however often it is decoded')
  const cut = path.split('/').slice(1).map(segment => segment.split(';', 1)[0])
  ok(
    cut.every((segment, i) => segment !== '.' && segment !== '..' && (segment !== '' || (i === cut.length - 1 && !path.endsWith(';')))),
    'neither dot segments nor empty ones'
  )
}
