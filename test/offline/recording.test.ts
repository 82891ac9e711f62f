import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { Recordings } from '../../src/offline/recording/recording.js'
import { loadRecording, pickRequest, readRecording, RecordingError } from '../../src/offline/recording/recording.js'
import { check } from '../helpers/seed.js'

// A recording gives what was on the wire: the request line, the headers in order, the body's bytes.

const nothing = (): Buffer => { throw Object.assign(new Error(), { code: 'ENOENT' }) }

function read (text: string | Buffer, file = 'r.http', files: Record<string, string> = {}): Recordings {
  return readRecording(Buffer.from(text), file, path => Object.hasOwn(files, path) ? Buffer.from(files[path] ?? '') : nothing())
}

function problem (text: string | Buffer, file = 'r.http', files: Record<string, string> = {}): string {
  try {
    read(text, file, files)
  } catch (error) {
    if (!(error instanceof RecordingError)) throw error
    return error.message
  }
  return 'no problem'
}

t.test('.http: request line, headers, body', t => {
  const { requests, warnings } = read(`# a comment
// another
### Say hello
# @name hello
POST https://gw.example:8443/agents/a/rpc?x=1 HTTP/1.1
Content-Type: application/json
# not a header
A2A-Extensions:  https://a.example , https://b.example
A2A-Extensions: https://c.example

{
  "a":  1
}

### second
https://gw.example
### Only a title, no request
###

GET /path HTTP/1.1
Host: other.example
`)
  t.same(warnings, [])
  t.same(requests.map(one => ({ ...one, body: one.body.toString() })), [
    {
      name: 'hello',
      line: 5,
      method: 'POST',
      target: '/agents/a/rpc?x=1',
      headers: ['Host', 'gw.example:8443', 'Content-Type', 'application/json', 'A2A-Extensions', 'https://a.example , https://b.example', 'A2A-Extensions', 'https://c.example'],
      body: '{\n  "a":  1\n}',
      response: null
    },
    { name: 'second', line: 16, method: 'GET', target: '/', headers: ['Host', 'gw.example'], body: '', response: null },
    { name: null, line: 20, method: 'GET', target: '/path', headers: ['Host', 'other.example'], body: '', response: null }
  ])
  t.end()
})

t.test('.http: the editors\' further habits', t => {
  t.equal(read('GET http://h/list\n  ?a=1\n  &b=2\nAccept: x').requests[0]?.target, '/list?a=1&b=2', 'query lines')
  t.equal(read('GET http://h\n  /api\n  /get').requests[0]?.target, '/api/get', 'path lines, indented')
  t.same(read('post h.example:80/x').requests[0]?.headers, ['Host', 'h.example:80'], 'without a scheme')
  t.equal(read('post h.example/x').requests[0]?.method, 'POST')
  t.equal(read('GET http://h/p#fragment').requests[0]?.target, '/p')
  t.equal(read('GET http://h?x=1').requests[0]?.target, '/?x=1')
  t.equal(read('GET http://h/a/../b').requests[0]?.target, '/a/../b', 'nothing is normalised')
  t.equal(read('POST /x\r\nA: b\r\n\r\n{\r\n "é": 1}\r\n\r\n###\r\n').requests[0]?.body.toString(), '{\r\n "é": 1}', 'line ends stay')
  t.equal(read('POST /x\n\n\n{}').requests[0]?.body.toString(), '\n{}', 'one blank line ends the headers')
  t.equal(read('POST /x\n\n{"a":\n// why\n# and how\n1}\n').requests[0]?.body.toString(), '{"a":\n1}', 'comments in a body are not sent')
  t.equal(read('POST /x\n\n{"a": "#b"}').requests[0]?.body.toString(), '{"a": "#b"}')
  t.equal(read('POST /x\n\n  \n# only a comment\n###').requests[0]?.body.length, 0)
  t.equal(read('POST /x\n\nnot json').requests[0]?.body.toString(), 'not json')
  t.equal(read('\ufeffPOST /x\n\n{}').requests[0]?.body.toString(), '{}', 'a byte order mark is the file\'s')
  t.equal(read('# @name = jetbrains\nGET /').requests[0]?.name, 'jetbrains')
  t.end()
})

t.test('.http: variables of the file', t => {
  const { requests } = read('@host = h.example\n@base = http://{{host}}/a b\n@q = x y\n\nPOST http://{{ host }}/p?q={{%q}}\nX-{{host}}: {{base}}\n\n{"h": "{{host}}", "n": {"m": {}}}\n\n###\n@host = other\n\nPOST http://{{host}}/')
  t.equal(requests[0]?.target, '/p?q=x%20y')
  t.same(requests[0]?.headers, ['Host', 'h.example', 'X-h.example', 'http://h.example/a b'])
  t.equal(requests[0]?.body.toString(), '{"h": "h.example", "n": {"m": {}}}')
  t.same(requests[1]?.headers, ['Host', 'other'], 'the last definition above')
  t.equal(read('GET /{{later}}\n###\n@later = x\nGET /').requests[0]?.target, '/x', 'else the first below')
  t.equal(problem('GET /\n\n{\n"a": "{{who}}"}'), 'r.http:4: the variable {{who}} is not defined in this file (define it above: @name = value)')
  t.equal(problem('GET /\nA: {{secret words}}'), 'r.http:2: the variable between {{ and }} is not defined in this file (define it above: @name = value)')
  t.equal(problem('GET /{{$guid}}'), 'r.http:1: {{$guid}} is made up by the editor when it sends (write the value that was sent)')
  t.equal(problem('GET /{{login.response.body.token}}'), 'r.http:1: {{login.response.body.token}} is taken from another answer when the editor sends (write the value that was sent)')
  t.equal(problem('@a = {{b}}\n@b = {{a}}\nGET /{{a}}'), 'r.http:1: the variable {{a}} is defined by itself (give it a value)')
  t.match(problem(`${Array.from({ length: 40 }, (_, i) => `@v${i} = {{v${i + 1}}}`).join('\n')}\n@v40 = x\nGET /{{v0}}`), /more than 32 variables are defined by each other/)
  t.match(problem(`@v0 = ${'x'.repeat(100)}\n${Array.from({ length: 20 }, (_, i) => `@v${i + 1} = ${`{{v${i}}}`.repeat(10)}`).join('\n')}\nGET /{{v20}}`), /longer than 1 MiB/)
  t.end()
})

t.test('.http: what is not part of the request', t => {
  const { requests, warnings } = read('< {%\n  request.variables.set("a", "b")\n### not a separator\n%}\nPOST /x\n\n{}\n\n> {%\n client.test("x")\n%}\n> ./after.js\n>> out.json\n<> 2026-01-01.200.json\n###\nGET /y\n\n> {% one() %}')
  t.same(requests.map(one => [one.target, one.body.toString()]), [['/x', '{}'], ['/y', '']])
  t.same(warnings, [
    'r.http:1: a script is not run, and what it would change is not seen',
    'r.http:9: a script is not run, and what it would change is not seen',
    'r.http:12: left out: it concerns the answer, not the request',
    'r.http:13: left out: it concerns the answer, not the request',
    'r.http:18: a script is not run, and what it would change is not seen',
    'r.http:14: the answer is left out: its file cannot be read'
  ])
  t.equal(problem('GET /\n\n> {%\nfor ever'), 'r.http:3: a script has no end (end it with %})')
  t.end()
})

t.test('.http: a body from a file', t => {
  const files = { './b.json': '{"v": "{{v}}"}\n', './bad': '\xff' }
  t.equal(read('@v = 1\n@n = b\nPOST /\n\n< ./{{n}}.json\n', 'r.http', files).requests[0]?.body.toString(), '{"v": "{{v}}"}\n', 'as it stands')
  t.equal(read('@v = 1\nPOST /\n\n<@ ./b.json\n', 'r.http', files).requests[0]?.body.toString(), '{"v": "1"}\n', 'with variables')
  t.equal(problem('POST /\n\n< ./none.json'), 'r.http:3: the file of the body does not exist (its path is relative to the recording)')
  t.equal(problem('POST /\n\n{}\n< ./b.json', 'r.http', files), 'r.http:4: a body is text or a file, not both (put all of it into the file)')
  t.equal(problem('POST /\n\n<@latin1 ./b.json', 'r.http', files), 'r.http:3: a body with variables is read as UTF-8 only (write <@ and save the file in UTF-8)')
  const directory = t.testdir({ 'deep.http': 'POST /\n\n< ./b/body.json', b: { 'body.json': '{"deep": true}' } })
  t.equal(loadRecording(join(directory, 'deep.http')).requests[0]?.body.toString(), '{"deep": true}', 'relative to the recording')
  t.throws(() => loadRecording(join(directory, 'none.http')), { name: 'RecordingError', message: /none\.http: there is no such file/ })
  t.throws(() => loadRecording(directory), { name: 'RecordingError', message: /this is a directory/ })
  t.end()
})

t.test('.http: problems name the line and how to mend it', t => {
  t.equal(problem(''), 'r.http: there is no request in it (write one as in "POST http://host/path")')
  t.equal(problem('POST /\nno header\n\n{}'), 'r.http:2: this line is not a header (write Name: value; a blank line comes between headers and body)')
  t.equal(problem('POST http://h/a b'), 'r.http:1: the URL holds a blank or a character beyond ASCII (percent-encode it)')
  t.equal(problem('POST ftp://h/'), 'r.http:1: the URL is not one of HTTP (begin it with http:// or https://)')
  t.equal(problem('POST http://me:secret@h/'), 'r.http:1: the URL holds a user name (send it as the header Authorization)')
  t.equal(problem('POST http:///x'), 'r.http:1: the URL names no host (write http://host/path, or /path with a header Host)')
  t.equal(problem('GET /\nA B: c'), 'r.http:1: a header has a name that HTTP does not allow (names are letters, digits and hyphens)')
  t.equal(problem('GET /\nA: €'), 'r.http:1: the header A holds a character that cannot be sent (line breaks, control characters and what is beyond Latin-1 cannot)')
  t.equal(problem(Buffer.from('GET /\nA: \xff', 'latin1')), 'r.http: the file is not UTF-8 text (save it in UTF-8; bytes that are none go into "bodyBase64" of a captured JSON)')
  t.end()
})

t.test('captured JSON', t => {
  const one = (value: unknown): unknown => {
    const [request] = read(JSON.stringify(value), 'c.json').requests
    return { ...request, body: request?.body.toString() }
  }
  const expected = { name: null, line: 0, method: 'POST', target: '/rpc', headers: ['Host', 'h', 'A', 'b'], body: '{"x":1}', response: null }
  t.same(one({ method: 'post', url: 'http://h/rpc', headers: { A: 'b' }, body: { x: 1 } }), expected)
  t.same(one({ url: 'http://h/rpc', headers: [{ name: 'A', value: 'b' }], body: '{"x":1}' }), expected)
  t.same(one({ url: 'http://h/rpc', headers: [['A', 'b']], bodyBase64: Buffer.from('{"x":1}').toString('base64') }), expected)
  t.same(one({ path: '/rpc', headers: { ':authority': 'h', ':path': '/rpc', A: ['b', 'c'] }, body: 'text, as it is ' }), { ...expected, headers: ['Host', 'h', 'A', 'b', 'A', 'c'], body: 'text, as it is ' })
  t.same(one({ path: '/card' }), { ...expected, method: 'GET', target: '/card', headers: [], body: '' })
  t.same(read(JSON.stringify([{ path: '/a' }, { path: '/b', name: 'second' }]), 'c.json').requests.map(each => [each.target, each.name]), [['/a', null], ['/b', 'second']])
  t.same(readRecording(Buffer.from(JSON.stringify({ path: '/', bodyBase64: '/4A=' })), 'c.json', nothing).requests[0]?.body, Buffer.from([0xff, 0x80]), 'bytes that are no text')
  t.equal(problem('{"path": "/", "headers": 3}', 'c.json'), 'c.json: the headers are neither an object nor a list (write {"name": "value"})')
  t.equal(problem('{"path": "/", "headers": [3]}', 'c.json'), 'c.json: a header is not a name and a text (write {"name": "value"}, {"name": ["value", "value"]} or a list of {"name": ..., "value": ...})')
  t.equal(problem('{"path": 3}', 'c.json'), 'c.json: "path" is not a text (write it in quotes)')
  t.equal(problem('{"path": "/", "body": 1, "bodyBase64": ""}', 'c.json'), 'c.json: there is a body and a bodyBase64 (give one of them)')
  t.equal(problem('{"path": "/", "bodyBase64": "?"}', 'c.json'), 'c.json: bodyBase64: this is not base64 (give the body as "body" if it is text)')
  t.equal(problem('{"method": "POST", "headers": {}}', 'c.json'), 'c.json: the captured request names no address (give it "url" or "path")')
  t.equal(problem('{"path": "/",\n "body" 1}', 'c.json'), 'c.json:2: the JSON is not valid: expected a colon (mend it; a body that is no JSON goes as a string into "body")')
  t.match(problem(`{"path": "/", "body": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'c.json'), /^c\.json: the body is nested too deeply to be written out/)
  t.end()
})

t.test('HAR, as browsers save it', t => {
  const entry = (request: unknown): unknown => ({ startedDateTime: 'x', request, response: {} })
  const har = {
    log: {
      version: '1.2',
      entries: [
        entry({ method: 'POST', url: 'https://h/rpc#top', httpVersion: 'h2', headers: [{ name: ':authority', value: 'h' }, { name: 'content-type', value: 'application/json' }], postData: { mimeType: 'application/json', text: '{"a": 1.0}' } }),
        entry({ method: 'GET', url: 'https://h/tasks/1', headers: [] }),
        entry({ method: 'POST', url: 'https://h/x', headers: [], postData: { text: 'e30=', encoding: 'base64' } })
      ]
    }
  }
  t.same(read(JSON.stringify(har), 'x.har').requests.map(one => [one.method, one.target, one.headers, one.body.toString()]), [
    ['POST', '/rpc', ['Host', 'h', 'content-type', 'application/json'], '{"a": 1.0}'],
    ['GET', '/tasks/1', ['Host', 'h'], ''],
    ['POST', '/x', ['Host', 'h'], '{}']
  ])
  t.equal(problem('{"log": {"entries": [3]}}', 'x.har'), 'x.har: log.entries[0]: there is no request (save the HAR file anew)')
  t.equal(problem('{"log": {"entries": []}}', 'x.har'), 'x.har: there is no request in it (write one as in "POST http://host/path")')
  t.equal(problem(JSON.stringify({ log: { entries: [entry({ url: 'http://h/', postData: { params: [{ name: 'a' }] } })] } }), 'x.har'), 'x.har: log.entries[0]: the body is kept as form fields, not as text (A2A has no forms; capture the request itself)')
  t.end()
})

t.test('a bare JSON-RPC envelope is sent as it stands', t => {
  const text = '{"jsonrpc": "2.0",  "id": 1.0, "method": "SendMessage", "method": "again"}\n'
  for (const file of ['stdin', 'e.json']) {
    const [request] = read(text, file).requests
    t.same({ ...request, body: request?.body.toString() }, { name: null, line: 1, method: 'POST', target: null, headers: [], body: text, response: null })
  }
  t.equal(read('[{"jsonrpc": "2.0"}]', 'stdin').requests[0]?.body.toString(), '[{"jsonrpc": "2.0"}]', 'a batch too, for the gateway to refuse')
  t.equal(read('{"method": "x"}', 'stdin').requests[0]?.body.toString(), '{"method": "x"}', 'a broken one too')
  t.equal(problem('{"name": "courier", "capabilities": {}}', 'card.json'), 'card.json: this is JSON, but no request (a captured request has "url" or "path", a JSON-RPC request "jsonrpc" and "method")')
  t.end()
})

t.test('without an ending the content tells the kind', t => {
  t.equal(read('  {"path": "/json"}', 'stdin').requests[0]?.target, '/json')
  t.equal(read('@h = x\nGET /http', 'stdin').requests[0]?.target, '/http')
  t.equal(read('{{base}}/x\n###\n@base = http://h\nGET /', 'stdin').requests[0]?.target, '/x', 'a variable is no JSON')
  t.end()
})

t.test('one of several', t => {
  const { requests } = read('### a\nGET /1\n### b\nGET /2\n### b\nGET /3\n### 1\nGET /4')
  t.equal(pickRequest(requests, 'a', 'r.http').target, '/1')
  t.equal(pickRequest(requests, '2', 'r.http').target, '/2')
  t.equal(pickRequest(requests, '1', 'r.http').target, '/4', 'a name goes before a number')
  t.throws(() => pickRequest(requests, 'b', 'r.http'), { message: 'r.http:6: two requests have this name (choose by number)' })
  t.throws(() => pickRequest(requests, '5', 'r.http'), { message: 'r.http: it holds no request "5" (there are a, b, b, 1)' })
  t.throws(() => pickRequest(read('GET /').requests, 'x', 'r.http'), { message: 'r.http: it holds no request "x" (they are numbered 1 to 1)' })
  t.end()
})

t.test('whatever the bytes, nothing but a RecordingError is thrown', t => {
  const pieces = ['###', ' name', '\n', '\r\n', '\r', '# @name x', '@a = ', '@b={{a}}', '{{a}}', '{{%b}}', '{{', '}}', 'POST ', 'GET http://h/', '/p', ' HTTP/1.1', 'A: b', ':', '?q', '  &r', '< ./f', '<@ ./f', '> {%', '%}', '<> r', '{', '}', '"', '[', ']', ',', '"path":', '"/x"', '"headers":', '"body":', '"bodyBase64":', '"log":{"entries":[', '"request":', '"url":', '__proto__', '1e999', 'null', '€', '\0', '\ud800']
  const text = fc.oneof(fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: 'binary', maxLength: 4 })), { maxLength: 40 }).map(list => list.join('')), fc.json())
  const bytes = fc.oneof(text.map(one => Buffer.from(one)), fc.uint8Array({ maxLength: 64 }).map(one => Buffer.from(one)))
  let kept = 0
  check('offline/recording/any-bytes', fc.property(bytes, fc.constantFrom('x.http', 'x.json', 'stdin'), (one, file) => {
    try {
      for (const request of readRecording(one, file, () => Buffer.from('{{a}}')).requests) {
        kept++
        if (request.target !== null && !request.target.startsWith('/')) return false
        if (request.headers.length % 2 !== 0) return false
      }
      return true
    } catch (error) {
      return error instanceof RecordingError
    }
  }), { numRuns: 8_000 })
  t.ok(kept > 1_000, `${kept} requests were read`)
  t.end()
})

t.test('any JSON body comes through an .http file as it was written', t => {
  check('offline/recording/any-json', fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), fc.constantFrom('\n', '\r\n'), (value, indent, end) => {
    const body = JSON.stringify(value, null, indent).replaceAll('{{', '{ {').replaceAll('\n', end)
    fc.pre(!body.includes('{{'))
    const text = ['### one', 'POST http://h/rpc', 'Content-Type: application/json', '', body, '', '### two', 'GET /', ''].join(end)
    return read(text).requests[0]?.body.toString() === body
  }), { numRuns: 2_000 })
  t.end()
})
