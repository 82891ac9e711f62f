/** The call of a decision, built again for *Try it* and as a command: with the corrections, and without data that the gateway has not. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { correctionOf } from '#console/correction.js'
import type { DecisionEntry } from '#console/entry.js'
import { decisionEntryOf } from '#console/entry.js'
import { packageRoot } from '#config/paths.js'
import { ended } from './decisions-kit.js'

interface Call {
  readonly binding: string
  readonly operation: string
  readonly method: string | null
  readonly extensions: readonly string[]
  readonly body: { readonly params: { readonly message: { readonly parts: readonly unknown[] } } }
}

const page = (name: string): string => pathToFileURL(join(packageRoot(), 'src/console/page', name)).href
const { callOf } = await import(page('replay.js')) as { callOf: (entry: DecisionEntry, form: object) => Call }
const { curlOf } = await import(page('copy.js')) as { curlOf: (request: object) => string }

const FORM = {
  interfaces: [{ binding: 'JSONRPC', version: '1.0', path: '/rpc', tenant: null }, { binding: 'JSONRPC', version: '0.3', path: '/rpc', tenant: null }],
  methods: [{ name: 'notes/list' }],
  routes: [{ id: 'GET /agents/a/notes/{id}', verb: 'GET', path: '/agents/a/notes/{id}' }]
}

function rejected (paths: readonly (readonly [path: string, message: string])[], metadata: Record<string, string> = {}): DecisionEntry {
  const entry = decisionEntryOf('1', ended({ outcome: 'rejected', extensions: ['urn:sent'] }))
  const violations = paths.map(([path, message]) =>
    ({ phase: 'request', mode: 'enforce', extension: 'x', rule: 'r', reason: 'EXTENSION_DATA_INVALID', path, message }) as const
  )
  const rejection = { reason: 'EXTENSION_DATA_INVALID', message: 'm', rule: 'x/r', metadata } as const
  return { ...entry, violations, correction: correctionOf(rejection, violations, '1.0') }
}

t.test('a rejected call has the extensions and the places of its rejection', t => {
  const entry = rejected([
    ['header A2A-Extensions', 'must name urn:missing'],
    ['params.message.parts[0].data.b', 'must be a string'],
    ['params.message.parts[0].data.c', 'is not a property'],
    ['params.message.parts[4000000000].data', 'is required'],
    ['params.message.metadata["__proto__"]', 'is required']
  ], { missingExtensions: 'urn:missing' })
  const call = callOf(entry, FORM)
  t.same(call.extensions, ['urn:sent', 'urn:missing'])
  t.match(call, { binding: 'JSONRPC', operation: 'send', method: null })
  const { message } = (JSON.parse(JSON.stringify(call.body)) as Call['body']).params
  t.same(message.parts, [{ data: { b: '<must be a string>' } }], 'no list is longer than the page can draw')
  t.match(JSON.stringify(message), '"metadata":{"__proto__":"<is required>"}')
  t.end()
})

t.test('methods, routes, tasks, and calls that the page cannot send', t => {
  const of = (extra: object): Call => callOf({ ...decisionEntryOf('1', ended({ taskId: 't-1' })), ...extra }, FORM)
  t.match(of({ operation: 'notes/list' }), { operation: 'send', method: 'notes/list', body: { method: 'notes/list' } })
  t.match(of({ operation: 'GET /notes/{id}', binding: 'HTTP+JSON' }), { operation: 'route', route: { verb: 'GET' } })
  t.match(of({ operation: 'GetTask' }), { body: { method: 'GetTask', params: { id: 't-1' } } })
  t.match(of({ operation: 'GetTask', version: '0.3' }), { body: { method: 'tasks/get' } })
  t.match(of({ operation: 'SendMessage' }).body.params.message.parts, [{ text: '<text>' }])
  t.throws(() => of({ binding: 'GRPC' }), /gRPC/)
  t.throws(() => of({ operation: 'ListTasks' }), /cannot send ListTasks/)
  t.throws(() => of({ binding: 'HTTP+JSON' }), /no longer has the interface/)
  t.end()
})

t.test('a shell reads the command as it was meant', t => {
  const url = 'http://127.0.0.1:8080/rpc?x=$(id)&y=`id`'
  const body = '{"it\'s": "a \\"test\\" of $HOME\n!"}'
  const command = curlOf({ method: 'POST', url, headers: [['X-Note', "it's"]], body, stream: true })
  const given = execFileSync('sh', ['-c', `curl () { for one in "$@"; do printf '%s\\0' "$one"; done; }\n${command}`], { encoding: 'utf8' })
  t.same(given.split('\0').slice(0, -1), ['-sS', '-i', '-N', url, '-H', "X-Note: it's", '--data-raw', body])
  t.match(curlOf({ method: 'GET', url: 'http://x/', headers: [], body: '', stream: false }), /^curl -sS -i 'http:\/\/x\/'$/)
  t.match(curlOf({ method: 'DELETE', url: 'http://x/', headers: [], body: '', stream: false }), / -X DELETE /)
  t.end()
})
