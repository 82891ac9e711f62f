/** Policy tests keep claimed values from one request to the next. */
import t from 'tap'
import { runFiles } from './kit.js'

const HEAD = `card: {capabilities: {extensions: [{uri: 'https://e.test/nonces'}]}}
agent: {extensions: [nonces]}
extensions:
  nonces:
    uri: https://e.test/nonces
    activation: {signals: [always]}
    request:
      - {id: once, select: {part: {data: true, path: /nonce}}, unique: {window: 10m}}
`
const sent = (nonce: string, at = ''): string => `{${at}message: {parts: [{data: {nonce: ${nonce}}}]}}`
const REJECTED = '{decision: reject, rule: nonces/once, path: "params.message.parts[0].data.nonce", message: accepted before}'

t.test('before and request', async t => {
  const rows: [string, string, string, string][] = [
    ['equal', sent('a'), sent('a'), REJECTED],
    ['another value', sent('a'), sent('b'), '{decision: forward}'],
    ['within the window', sent('a', 'at: "2026-01-15T12:00:00Z", '), sent('a', 'at: "2026-01-15T12:09:59Z", '), REJECTED],
    ['after the window', sent('a', 'at: "2026-01-15T12:00:00Z", '), sent('a', 'at: "2026-01-15T12:10:00Z", '), '{decision: forward}']
  ]
  const tests = rows.map(([name, before, request, expect]) =>
    `  - name: ${name}\n    versions: ['1.0']\n    bindings: [JSONRPC]\n    before: [{request: ${before}, answer: {message: {parts: [{text: ok}]}}}]\n    request: ${request}\n    expect: ${expect}\n`)
  const { code, out, err } = runFiles(t, { 'nonces.test.yaml': `${HEAD}tests:\n${tests.join('')}` })
  t.equal(code, 0, out + err)
})
