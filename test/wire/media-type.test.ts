import fc from 'fast-check'
import { deepStrictEqual as same } from 'node:assert'
import t from 'tap'
import { compileMediaTypePattern, isJsonContentType, looseMediaType, mediaTypeText, parseMediaType } from '#wire/media-type.js'
import { anyText } from '../helpers/any-text.js'
import { check } from '../helpers/seed.js'

function read (text: string): [string, Record<string, string>] | null {
  const type = parseMediaType(text)
  return type && [type.essence, Object.fromEntries(type.parameters)]
}

t.test('types and parameters follow RFC 9110', async (t) => {
  const rows: [string, string, Record<string, string>][] = [
    ['application/json', 'application/json', {}],
    ['Application/JSON', 'application/json', {}],
    ['application/json;schema=Order', 'application/json', { schema: 'Order' }],
    ['application/json;Schema=Order', 'application/json', { schema: 'Order' }],
    ['application/json \t; \tschema=order', 'application/json', { schema: 'order' }],
    ['application/json;schema="or;der, \\"x\\" \\\\"', 'application/json', { schema: 'or;der, "x" \\' }],
    ['application/json;schema=""', 'application/json', { schema: '' }],
    ['application/json;schema="ä\t€"', 'application/json', { schema: 'ä\t€' }],
    ['application/json;', 'application/json', {}],
    ['application/json; ;;a=b; ', 'application/json', { a: 'b' }],
    ['application/json+a2ui;a=1;b=2', 'application/json+a2ui', { a: '1', b: '2' }],
    ['a/b;__proto__=x;constructor=y', 'a/b', Object.fromEntries([['__proto__', 'x'], ['constructor', 'y']])]
  ]
  for (const [text, essence, parameters] of rows) t.same(read(text), [essence, parameters], text)
})

t.test('anything else is rejected', async (t) => {
  for (const text of [
    '', '/', 'json', 'application/', '/json', 'application//json', 'application/json/x', ' application/json', '\tapplication/json',
    'application/json ', 'application/json\t',
    'application/json garbage', 'application/json, text/html', 'application/json;a', 'application/json;a=', 'application/json;=b',
    'application/json;a =b', 'application/json;a= b',
    'application/json;a=b c', 'application/json;a=b,c', 'application/json;a="b', 'application/json;a="b"c', 'application/json;a="b\\"',
    'application/json;a="\u0000"', 'application/json;a="\\\u0001"',
    'application/json;schema=a;schema=b', 'application/json;schema=a;SCHEMA=a', 'application/json;a=ä', 'applicätion/json',
    'application /json', 'application/json\u0000', 'application/json\u00a0'
  ]) t.equal(read(text), null, JSON.stringify(text))
})

t.test('every type of the grammar is read back', async t => {
  const token = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/)
  const blanks = fc.stringMatching(/^[ \t]{0,2}$/)
  const value = anyText().map((text) => [...text].filter((c) => c === '\t' || (c >= ' ' && c !== '\x7f')).join(''))
  const parameter = fc.tuple(
    blanks,
    blanks,
    token,
    fc.oneof(
      token.map((v): [string, string] => [v, v]),
      value.map((v): [string, string] => [v, `"${v.replace(/["\\]/g, '\\$&')}"`])
    )
  )
  t.ok(check(
    'wire/media-type/read-back',
    fc.property(token, token, fc.uniqueArray(parameter, { selector: p => p[2].toLowerCase() }), (type, subtype, list) => {
      const text = `${type}/${subtype}${list.map(([before, after, name, spelled]) => `${before};${after}${name}=${spelled[1]}`).join('')}`
      const parsed = parseMediaType(text)
      same(parsed?.essence, `${type}/${subtype}`.toLowerCase())
      same(
        [...parsed.parameters],
        list.map(([, , name, spelled]) => [name.toLowerCase(), spelled[0]])
      )
    })
  ) > 0, 'inputs')
})

t.test('patterns match on essence and the parameters they name', async (t) => {
  const match = (pattern: string, text: string) => {
    const type = parseMediaType(text)
    if (type === null) throw new Error(text)
    const captured = compileMediaTypePattern(pattern).match(type)
    return captured && Object.fromEntries(captured)
  }
  t.same(match('application/json;schema=*', 'application/json;schema=order'), { schema: 'order' })
  t.same(match('application/json; Schema=*', 'APPLICATION/JSON; v=2; schema="a b"'), { schema: 'a b' })
  t.same(match('application/json;schema=*;v=1', 'application/json;v=1;schema=x'), { schema: 'x' })
  t.same(match('application/json', 'application/json;schema=order'), {})
  t.equal(match('application/json;schema=*', 'application/json'), null)
  t.equal(match('application/json;schema=*', 'application/jsonx;schema=order'), null)
  t.equal(match('application/json;schema=order', 'application/json;schema=Order'), null, 'values are compared as given')
  t.equal(match('application/json;schema=*;v=1', 'application/json;schema=x;v=2'), null)
  for (const bad of ['', 'json', 'application/*', '*/*', 'application/json;schema', 'application/json;a=*;a=*']) {
    t.throws(() => compileMediaTypePattern(bad), SyntaxError, bad)
  }
})

t.test('Content-Type: every spelling gets one verdict (CVE-2025-32442, CVE-2026-25223, CVE-2026-33806, CVE-2026-3419)', async (t) => {
  const json = [
    'application/json',
    'Application/Json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json ; charset="utf-8"',
    'application/json\t;charset=utf-8',
    'application/json;\tCHARSET=Utf-8',
    'application/json;',
    'application/json; schema=order'
  ]
  for (const value of json) {
    t.ok(isJsonContentType(value, false), JSON.stringify(value))
    t.ok(isJsonContentType(value, true), JSON.stringify(value))
    const a2a = value.replace(/json/i, 'a2a+json')
    t.ok(isJsonContentType(a2a, true), JSON.stringify(a2a))
    t.notOk(isJsonContentType(a2a, false), JSON.stringify(a2a))
  }
  for (const value of [
    undefined,
    '',
    ' application/json',
    '\tapplication/json',
    'application/json\ta',
    'application/json a',
    'application/json garbage',
    'application/json\u00a0; charset=utf-8',
    'application/json, application/json',
    'application/json\t, text/plain',
    'text/plain; application/json',
    'text/json',
    'application/jsonp',
    'application/vnd.api+json',
    'application/json/',
    'application/json;charset=utf-16',
    'application/json;charset=latin1',
    'application/json;charset=utf8',
    'application/json;charset="utf-8',
    'application/json;charset=utf-8;charset=utf-16',
    'multipart/form-data; boundary="application/json"'
  ]) {
    t.notOk(isJsonContentType(value, true), JSON.stringify(value))
  }
})

t.test('a media type without the quotes that it needs', async t => {
  const loose = (text: string): object | null => {
    const type = looseMediaType(text)
    return type && { [type.essence]: Object.fromEntries(type.parameters) }
  }
  t.same(loose('application/json;schema=order:v1'), { 'application/json': { schema: 'order:v1' } })
  t.same(loose('Application/JSON ; charset=utf-8; Schema=two words '), { 'application/json': { charset: 'utf-8', schema: 'two words' } })
  t.same(loose('a/b;c=d"e\\f'), { 'a/b': { c: 'd"e\\f' } })
  t.same(loose('a/b;c="d e";f=g@h'), { 'a/b': { c: 'd e', f: 'g@h' } })
  for (const no of ['a/b', 'a/b;', 'a/b;c', 'a/b;c=', 'a/b;c= d', 'a/b;c =d', 'a/b;c="d', 'a/b;c=d:e;c=f', 'a b;c=d:e', ' a/b;c=d:e', 'a/b;c=\u0000', 'a/b;c=d:e;']) {
    t.equal(loose(no), null, JSON.stringify(no))
  }
  check('wire/media-type/written', fc.property(fc.string({ minLength: 1 }), value => {
    const text = mediaTypeText({ essence: 'a/b', parameters: new Map([['c', value]]) })
    // A quoted string holds no control characters but the tab.
    same(read(text), /[^\P{Cc}\t\u0080-\u009f]/u.test(value) ? null : ['a/b', { c: value }])
  }))
})
