/** curl commands as recordings. What curl itself sends is compared in test/cli/explain-curl.test.ts. */
import t from 'tap'
import type { RecordedRequest } from '#offline/recording/recording.js'
import { readCurlCommand, readRecording, RecordingError } from '#offline/recording/recording.js'

const FILES: Readonly<Record<string, string>> = { 'body.json': '{\n"a": 1\r\n}\n' }
const nothing = (): Buffer => { throw Object.assign(new Error(), { code: 'ENOENT' }) }
const read = (text: string): ReturnType<typeof readRecording> =>
  readRecording(Buffer.from(text), 'stdin', path => Object.hasOwn(FILES, path) ? Buffer.from(FILES[path] ?? '') : nothing())

function one (text: string): Omit<RecordedRequest, 'body'> & { readonly body: string } {
  const { requests, warnings } = read(text)
  t.equal(requests.length, 1, text)
  t.same(warnings, [], text)
  const request = requests[0] as RecordedRequest
  return { ...request, body: request.body.toString() }
}

function problem (text: string): string {
  try {
    read(text)
  } catch (error) {
    if (error instanceof RecordingError) return error.message
    throw error
  }
  return 'no problem'
}

t.test('a command as people write it', async t => {
  t.same(
    one(`$ curl -sS -X POST "http://localhost:8080/agents/a/rpc?x=1" \\
  -H 'Content-Type: application/json' -H "A2A-Version: 1.0" \\
  -H 'A2A-Extensions: https://a.example' -H 'A2A-Extensions: https://b.example' \\
  -d '{"jsonrpc": "2.0",
 "id": 1}'
`),
    {
      name: null,
      line: 1,
      method: 'POST',
      target: '/agents/a/rpc?x=1',
      headers: [
        'Host', 'localhost:8080', 'Content-Type', 'application/json', 'A2A-Version', '1.0', 'A2A-Extensions', 'https://a.example',
        'A2A-Extensions', 'https://b.example', 'Accept', '*/*'
      ],
      body: '{"jsonrpc": "2.0",\n "id": 1}',
      response: null
    }
  )
})

t.test('quotes, escapes and comments of the shell', async t => {
  t.equal(one('curl http://h/ -d "a\\"b\\$c\\d"').body, 'a"b$c\\d')
  t.equal(one("curl http://h/ -d 'it'\\''s'").body, "it's")
  t.equal(one("curl http://h/ -d $'a\\n\\u00e9\\x41\\'\\U0001F600\\041'").body, "a\né\x41'😀!")
  t.equal(one("curl http://h/ -d ''").body, '')
  t.equal(one('curl http://h/ -d "5 $"').body, '5 $')
  t.equal(one('# a comment\ncurl http://h/ -d x # another').body, 'x')
  t.equal(one('curl http://h/a\\\nb').target, '/ab', 'a line that goes on')
  t.equal(one('curl http://h/ -o /dev/null > out.txt 2>&1').target, '/')
  t.equal(one('curl http://h/ -d @- <<EOF\n{"a": 1}\nEOF\n').body, '{"a": 1}')
  t.equal(one("curl http://h/ --data-binary @- <<-'X'\n\t$a\n\tb\n\tX\n").body, '$a\nb\n')
  t.same(read('curl http://h/1\ncurl http://h/2; curl http://h/3').requests.map(({ target, line }) => [target, line]), [['/1', 1], ['/2', 2], ['/3', 2]])
  t.same(read('curl http://h/1 | jq .').warnings, ['stdin:1: skipped: it is not a curl command'])
})

t.test('flags', async t => {
  t.equal(one('curl h.example/x').method, 'GET')
  t.equal(one('curl -I h.example/x').method, 'HEAD')
  t.equal(one('curl -XDELETE h.example/x').method, 'DELETE')
  t.match(one('curl --json \'{"a":\' --json 1} http://h/'), { method: 'POST', body: '{"a":1}', headers: ['Host', 'h', 'Content-Type', 'application/json', 'Accept', 'application/json'] })
  t.match(one('curl -d a=1 -d b=2 http://h/'), { body: 'a=1&b=2', headers: ['Host', 'h', 'Content-Type', 'application/x-www-form-urlencoded', 'Accept', '*/*'] })
  t.equal(one('curl -d @body.json http://h/').body, '{"a": 1}', 'curl drops line ends')
  t.equal(one('curl --data-binary @body.json http://h/').body, FILES['body.json'])
  t.equal(one('curl --data-raw @body.json http://h/').body, '@body.json')
  t.match(one('curl -G -d a=1 -d b=2 "http://h/x?y=0"'), { method: 'GET', target: '/x?y=0&a=1&b=2', body: '', headers: ['Host', 'h', 'Accept', '*/*'] })
  t.match(one('curl -u me:pw -A agent -e http://r -b a=b --compressed --url http://h/').headers, [
    'Host', 'h', 'Authorization', 'Basic bWU6cHc=', 'User-Agent', 'agent', 'Referer', 'http://r', 'Cookie', 'a=b', 'Accept-Encoding', 'deflate, gzip',
    'Accept', '*/*'
  ])
  t.same(one('curl --oauth2-bearer abc -H "Accept:" -H "X-Empty;" http://h/').headers, ['Host', 'h', 'Authorization', 'Bearer abc', 'X-Empty', ''])
  t.equal(one('curl -sSfLk -m 5 -o out -w "%{http_code}" --retry 3 --max-time 5 --http1.1 --no-buffer -N http://h/x').target, '/x')
})

t.test('problems name the fix, and quote no data', async t => {
  t.equal(problem('curl -H "Authorization: Bearer $TOKEN" http://h/'), 'stdin:1: $TOKEN is replaced by the shell (write the value that was sent)')
  t.match(problem('curl http://h/ -d "`date`"'), /is replaced by the shell/)
  t.match(problem('curl http://h/ -d "$(cat x)"'), /is replaced by the shell/)
  t.match(problem('curl http://h/ -d @- <<EOF\n{"a": "$X"}\nEOF'), /^stdin:2: \$X is replaced by the shell/)
  t.equal(problem("curl http://h/ \\\n -d '{"), 'stdin:2: a quote has no end (paste the whole command)')
  t.match(problem('curl http://h/ -d @- <<EOF\nx'), /the here-document has no end/)
  t.match(problem('curl http://h/ -d @- < x.json'), /the input is a file/)
  t.match(problem('curl http://h/ -d @-'), /the body is the standard input of curl/)
  t.match(problem('curl http://h/ -d @none.json'), /the file of the body, none\.json, does not exist/)
  t.equal(problem('curl -s -H "A: b"'), 'stdin:1: the curl command names no URL (paste the whole command)')
  t.match(problem('curl http://h/ http://i/'), /names several URLs/)
  t.match(problem('curl http://h/ -F a=b'), /-F sends a form/)
  t.match(problem('curl http://h/ --data-urlencode a=b'), /--data-urlencode sends a form/)
  t.equal(problem('curl http://h/ --dance'), "stdin:1: curl's flag --dance is not supported (remove it if the request stays the same without it)")
  t.match(problem('curl http://h/ -d'), /curl's flag -d has no value/)
  t.match(problem('curl http://h/ -H nothing'), /is not a header/)
  t.match(problem('curl http://h/ -b jar.txt'), /the cookies are in a file/)
})

t.test('a command of the command line, in words or in one text', async t => {
  for (const command of ['curl -d x http://h/y', ['curl', '-d', 'x', 'http://h/y']]) {
    t.match(readCurlCommand(command).requests, [{ method: 'POST', target: '/y' }])
  }
  t.throws(() => readCurlCommand(['curl']), { message: 'curl command: the curl command names no URL (paste the whole command)' })
})
