import t from 'tap'
import { readVersion, requestedVersion } from '#a2a/versions.js'

t.test('readVersion: spaces and patch numbers do not count, empty is 0.3, all else is not supported', async t => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['1.0', '1.0'],
    ['1.0.0', '1.0'],
    ['1.0.1', '1.0'],
    [' 1.0 ', '1.0'],
    ['\t1.0', '1.0'],
    ['1.0.1-rc.1', '1.0'],
    ['0.3', '0.3'],
    ['0.3.0', '0.3'],
    ['', '0.3'],
    ['  ', '0.3'],
    ['0.2', '0.3'],
    ['0.2.6', '0.3'],
    ['99.0', null],
    ['1.1', '1.0'],
    ['1.27.3-beta.1', '1.0'],
    ['1.0-rc', '1.0'],
    ['1.0-rc.2', '1.0'],
    ['1.0rc1', '1.0'],
    ['0.3-rc', '0.3'],
    ['1.0rc', null],
    ['1.0-', null],
    ['10.0', null],
    ['2.0', null],
    ['0.1.0', null],
    ['0.4', null],
    ['1', null],
    ['v1.0', null],
    ['1.0, 0.3', null],
    ['1.0, 1.0', null],
    ['1.0.', null],
    ['.1.0', null],
    ['1.0.x', null],
    ['1,0', null],
    ['"1.0"', null],
    ['1.0;q=1', null],
    ['١.٠', null],
    ['1.0\u0000', null],
    ['1e0.0', null],
    ['-1.0', null],
    [`1.${'0'.repeat(99)}`, null]
  ]
  for (const [text, version] of rows) t.equal(readVersion(text), version, JSON.stringify(text))
})

t.test('requestedVersion: header, else query parameter, else 0.3; different values are a conflict', async t => {
  const stated = (version: string): object => ({ version, stated: true })
  const absent = { version: '0.3', stated: false }
  const conflict = { problem: 'conflict' }
  const unknown = { problem: 'unknown' }
  const rows: readonly (readonly [string | undefined, string, object])[] = [
    [undefined, '', absent],
    ['', '', absent],
    ['  ', '?a=b', absent],
    ['1.0', '', stated('1.0')],
    ['0.3', '', stated('0.3')],
    ['1.0.1', '?x=1', stated('1.0')],
    ['99.0', '', unknown],
    ['1.0, 0.3', '', unknown],
    [undefined, '?A2A-Version=1.0', stated('1.0')],
    [undefined, '?x=1&a2a-version=0.3', stated('0.3')],
    [undefined, '?A2A-Version=', absent],
    [undefined, '?A2A-Version', absent],
    [undefined, '?A2A-Version=7', unknown],
    ['', '?A2A-Version=1.0', stated('1.0')],
    ['1.0', '?A2A-Version=1.0', stated('1.0')],
    ['1.0', '?A2A-Version=1.0.1', stated('1.0')],
    ['1.0', '?A2A-Version=0.3', conflict],
    ['1.0', '?A2A-Version=99', conflict],
    ['1.0', '?A2A-Version=', conflict],
    ['99.0', '?A2A-Version=1.0', unknown],
    ['1.1', '', { version: '1.0', stated: true, minor: '1.1' }],
    [undefined, '?A2A-Version=1.12.3', { version: '1.0', stated: true, minor: '1.12' }],
    ['1.1', '?A2A-Version=1.1.4', { version: '1.0', stated: true, minor: '1.1' }],
    ['1.1', '?A2A-Version=1.0', conflict],
    ['1.0', '?A2A-Version=1.1', conflict],
    // Agents compare parameter names decoded.
    [undefined, '?A2A%2DVersion=1.0', stated('1.0')],
    [undefined, '?%41%32%61-version=1.0', stated('1.0')],
    ['0.3', '?a2a%2dversion=1.0', conflict],
    [undefined, '?A2A-Version=1%2E0', stated('1.0')],
    // Agents differ on which of several counts.
    [undefined, '?A2A-Version=1.0&A2A-Version=1.0', stated('1.0')],
    [undefined, '?A2A-Version=1.0&A2A-Version=0.3', conflict],
    [undefined, '?A2A-Version=1.0&a2a-version=', conflict],
    ['1.0', '?A2A-Version=1.0&A2A%2DVersion=0.3', conflict],
    [undefined, '?q=A2A-Version=1.0', absent],
    [undefined, '?q=100%', absent]
  ]
  for (const [header, query, expected] of rows) t.same(requestedVersion(header, query), expected, `${JSON.stringify(header)} ${query}`)
})
