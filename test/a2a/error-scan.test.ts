import t from 'tap'
import type { AgentError } from '#a2a/message/error-scan.js'
import { ErrorScan } from '#a2a/message/error-scan.js'
import type { Binding } from '#a2a/versions.js'

function scan (binding: Binding, chunks: readonly Buffer[]): AgentError | null {
  const scan = new ErrorScan(binding)
  let found: AgentError | null = null
  for (const chunk of chunks) {
    const now = scan.chunk(chunk)
    if (now !== null && found !== null) throw new Error('an error is found once')
    found ??= now
  }
  return found ?? scan.end()
}

/** The whole text, byte by byte, and in two chunks cut at every place: the result must not depend on the network. */
function everyWay (binding: Binding, text: string): (AgentError | null)[] {
  const bytes = Buffer.from(text)
  const ways: Buffer[][] = [[bytes], [...bytes].map((_, i) => bytes.subarray(i, i + 1))]
  for (let cut = 1; cut < bytes.length; cut++) ways.push([bytes.subarray(0, cut), bytes.subarray(cut)])
  const results = ways.map(chunks => scan(binding, chunks))
  return results.filter((one, i) => JSON.stringify(one) !== JSON.stringify(results[0]) || i === 0)
}

const ERROR = '"error":{"code":-32001,"message":"Task not found"}'

t.test('JSON-RPC: a body is an error when it has an error object in place of a result', async t => {
  const rows: [string, AgentError | null][] = [
    [`{"jsonrpc":"2.0","id":1,${ERROR}}`, { code: -32001 }],
    [`{${ERROR},"id":"a","jsonrpc":"2.0"}`, { code: -32001 }],
    [`{"id":null,"jsonrpc":"2.0",${ERROR}}`, { code: -32001 }],
    [`{"jsonrpc":"2.0","id":1,"result":null,${ERROR}}`, { code: -32001 }],
    ['\ufeff \n{\n  "jsonrpc" : "2.0",\n  "id" : "a\\"b\\\\",\n  "error" : {\n "code" : -32603 }\n}', { code: -32603 }],
    ['{"jsonrpc":"2.0","id":1,"error":{"message":"a \\"code\\":5 {","code":-32602}}', { code: -32602 }],
    ['{"jsonrpc":"2.0","id":1,"error":{"data":[],"code":1}}', { code: null }],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":12345678901234567890}}', { code: null }],
    ['{"jsonrpc":"2.0","id":1.5e3,"error":{}}', { code: null }],
    ['{"jsonrpc":"2.0","id":1,"error":null,"result":{}}', null],
    ['{"jsonrpc":"2.0","id":1,"result":{"error":{"code":1}}}', null],
    ['{"jsonrpc":"2.0","id":"\\"error\\":{","result":{}}', null],
    ['{"jsonrpc":"2.0","id":1,"result":"\\"error\\":{\\"code\\":1}"}', null],
    ['{"jsonrpc":"2.0","id":1,"result":null}', null],
    ['[{"error":{"code":1}}]', null],
    ['', null],
    ['  ', null],
    ['not JSON "error":{', null]
  ]
  for (const [text, expected] of rows) t.same(everyWay('JSONRPC', text), [expected], text)
})

t.test('streams: any event may be an error, in JSON-RPC and HTTP+JSON', async t => {
  const fine = 'data: {"jsonrpc":"2.0","id":1,"result":{"task":{"error":{"code":1}}}}\n\n'
  const rows: [Binding, string, boolean][] = [
    ['JSONRPC', `data: {"jsonrpc":"2.0","id":1,${ERROR}}\n\n`, true],
    ['JSONRPC', `:hi\r\n\r\n${fine.replaceAll('\n', '\r\n')}id: 7\r\ndata:{"jsonrpc":"2.0","id":1,${ERROR}}\r\n\r\n`, true],
    ['JSONRPC', `${fine}${fine}event: error\ndata: {"jsonrpc":"2.0","id":1,${ERROR}}\n\n`, true],
    ['JSONRPC', fine + fine, false],
    ['JSONRPC', `: data: {${ERROR}}\n\n`, false],
    ['HTTP+JSON', 'event: error\ndata: {"error":{"code":404,"status":"NOT_FOUND","message":"no"}}\n\n', true],
    ['HTTP+JSON', 'data: {"error":{"code":404,"status":"NOT_FOUND","message":"no"}}\n\n', true],
    ['HTTP+JSON', 'event: error\ndata: {"code":-32001,"message":"no"}\n\n', true],
    ['HTTP+JSON', 'event: errors\ndata: {"statusUpdate":{"metadata":{"error":{}}}}\n\n', false],
    ['HTTP+JSON', '{"error":{"code":404}}', false]
  ]
  for (const [binding, text, expected] of rows) {
    const results = everyWay(binding, text)
    t.same(results.map(one => one !== null), results.map(() => expected), text)
  }
})

t.test('only the start of a large body is read, and long lines are not kept', async t => {
  const late = Buffer.from(`{"jsonrpc":"2.0","id":"${'x'.repeat(5_000)}",${ERROR}}`)
  t.equal(scan('JSONRPC', [late]), null)
  const body = new ErrorScan('JSONRPC')
  for (let i = 0; i < 1_000; i++) body.chunk(Buffer.alloc(1_000, 0x7b))
  t.equal((body as unknown as { head: Buffer[] }).head.length, 0)
  const stream = new ErrorScan('JSONRPC')
  stream.chunk(Buffer.from('data: '))
  for (let i = 0; i < 1_000; i++) stream.chunk(Buffer.alloc(1_000, 0x78))
  t.ok((stream as unknown as { line: string }).line.length <= 4_096)
  t.same(stream.chunk(Buffer.from(`\n\ndata: {${ERROR}}\n\n`)), { code: -32001 })
})

t.test('a hostile agent gains nothing: the patterns take linear time', async t => {
  const before = performance.now()
  const member = '"id":"\\\\",'
  scan('JSONRPC', [Buffer.from(`{${member.repeat(400)}"error"`)])
  scan('JSONRPC', [Buffer.from(`data: {${member.repeat(50_000)}"error"`)])
  scan('JSONRPC', [Buffer.from(`data: ${' '.repeat(300_000)}"error"`)])
  scan('JSONRPC', [Buffer.from('data: {"id":"'.repeat(20_000) + '"error"')])
  t.ok(performance.now() - before < 2_000)
})
