/** `explain` with curl commands: as the shell passes them, on stdin, and compared with what curl itself sends. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { readCurlCommand } from '#offline/recording/recording.js'
import { commandLine } from '../helpers/command-line.js'
import type { Ran } from '../helpers/command-line.js'
import { ROOT } from '../helpers/paths.js'

const ENVELOPE = '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"it is"}]}}}'

interface Received { readonly method: string, readonly target: string, readonly headers: readonly string[], readonly body: string }

const explain = (args: readonly string[], input = ''): Promise<Ran> =>
  commandLine(['explain', ...args], { cwd: join(ROOT, 'examples', 'explain'), input })

t.test('a curl command: in words, in one text, on stdin', async t => {
  const words = ['curl', '-s', 'http://localhost:8080/agents/shop/rpc', '-H', 'A2A-Version: 1.0', '--json', ENVELOPE]
  const text = `curl -s http://localhost:8080/agents/shop/rpc \\\n  -H 'A2A-Version: 1.0' --json '${ENVELOPE}'\n`
  const rejected = /request {4}POST \/agents\/shop\/rpc\n[^]*decision {3}reject, by the rule object-schemas\/required/
  t.match(await explain(['--card', 'card.json', '--config', 'gateway.yaml', ...words]), { code: 1, out: rejected, err: '' })
  t.match(await explain(['--card', 'card.json', '--config', 'gateway.yaml', text]), { code: 1, out: rejected, err: '' })
  t.match(await explain(['--card', 'card.json', '--config', 'gateway.yaml', '-'], text), { code: 1, out: rejected, err: '' })
  t.match(await explain(['--json', '--config', 'gateway.yaml', '--card', 'card.json', ...words]), { code: 1, out: /^\{\n/ })
  t.match(await explain(['--config', 'curl', 'x.http']), { code: 2, err: /curl: |x\.http: / }, 'the value of a flag is no command')
  t.match(await explain(['a.http', ...words]), { code: 2, err: /give one recording/ })
})

t.test('text that is no request is an error', async t => {
  const texts = [
    ['hello there\n', /stdin:1: this is not a request/], ['{"a": 1}', /stdin: this is JSON, but not a request/], ['', /no request/]
  ] as const
  for (const [text, message] of texts) {
    t.match(await explain(['--config', 'gateway.yaml', '--card', 'card.json', '-'], text), { code: 2, out: '', err: message }, text)
  }
})

t.test('the request is the one that curl sends', async t => {
  let received: Received | null = null
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => { chunks.push(chunk) })
    request.on('end', () => {
      const { method = '' } = request
      received = { method, target: request.url ?? '', headers: request.rawHeaders, body: `${Buffer.concat(chunks)}` }
      response.end()
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.close() })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const directory = t.testdir({ 'body.json': '{\n  "a": 1\r\n}\n' })
  const file = join(directory, 'body.json')
  // Set by curl itself, and of no meaning to a decision.
  const own = ['user-agent', 'content-length', 'accept-encoding', 'connection']
  const sorted = (headers: readonly string[]): string[] =>
    headers.flatMap((name, i) => i % 2 === 0 && !own.includes(name.toLowerCase()) ? [`${name.toLowerCase()}: ${headers[i + 1] ?? ''}`] : []).sort()
  for (const args of [
    [`${url}/x?y=1`], ['-I', url], ['-X', 'PUT', url], ['-d', 'a', '-d', 'b', `${url}/p`], ['--json', '{"a":', '--json', '1}', url],
    ['--data', `@${file}`, url], ['--data-binary', `@${file}`, url], ['--data-raw', `@${file}`, url], ['--json', `@${file}`, url],
    ['-G', '-d', 'a=1', '-d', 'b=2', `${url}/s?c=3`], ['-sXDELETE', url], ['-d', '', url], ['-Hx: 1', '-H', 'X: 2', '-H', 'Y;', '-H', 'Accept:', url],
    ['-H', 'Content-Type: application/json', '-d', '{}', url], ['-u', 'me:pw', '-b', 'a=b', '-e', 'http://r/', url], ['--oauth2-bearer', 'abc', url]
  ]) {
    received = null
    await promisify(execFile)('curl', ['-sS', '-o', '/dev/null', ...args], { env: { PATH: process.env.PATH } })
    const [read] = readCurlCommand(['curl', '-sS', '-o', '/dev/null', ...args]).requests
    t.same(
      { method: read?.method, target: read?.target, headers: sorted(read?.headers ?? []), body: read?.body.toString() },
      received === null ? null : { ...received as object, headers: sorted((received as { headers: string[] }).headers) },
      args.join(' ')
    )
  }
})
