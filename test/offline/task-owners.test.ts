/** Policy tests say to whom the tasks of a request belong. */
import t from 'tap'
import { plainCard } from '../helpers/raw.js'
import { explaining, http, rpc } from './explain-kit.js'
import { runFiles } from './kit.js'

const GATEWAY = `version: 1
agents:
  - {name: billing, upstream: {url: "http://127.0.0.1:1"}, access: {tasks: {}}}
identity: {sources: {s: {apiKey: {header: x-api-key, keys: {file: keys.yaml}}}}}
state: {store: "redis://127.0.0.1:6379"}
`
const KEYS = `- {id: a, sha256: ${'a'.repeat(64)}}\n`
const REJECTED = '{decision: reject, rule: gateway/task-owner, reason: TASK_NOT_FOUND, message: Task not found}'

t.test('memory: owner', async t => {
  const ask = '{message: {taskId: t, parts: [{text: hi}]}}'
  const rows: [string, string, string, string][] = [
    ['by default', ask, '', '{decision: forward}'],
    ['caller', ask, '{owner: caller}', '{decision: forward}'],
    ['other', ask, '{owner: other}', REJECTED],
    ['unknown', ask, '{owner: unknown, state: working}', REJECTED],
    ['another operation', '{operation: GetTask, params: {id: t}}', '{owner: other}', REJECTED],
    ['a new task', '{message: {parts: [{text: hi}]}}', '', '{decision: forward}']
  ]
  const tests = rows.map(([name, request, memory, expect]) =>
    `  - name: ${name}\n    versions: ['1.0']\n    bindings: [JSONRPC]\n${memory === '' ? '' : `    memory: ${memory}\n`}    request: ${request}\n    expect: ${expect}\n`)
  const { code, out, err } = runFiles(t, {
    'gateway.yaml': GATEWAY,
    'keys.yaml': KEYS,
    'owners.test.yaml': `card: {capabilities: {}}\nagent: billing\ntests:\n${tests.join('')}`
  })
  t.equal(code, 0, out + err)
  const empty = runFiles(t, { 'empty.test.yaml': `card: {capabilities: {}}\ntests:\n  - {name: a, memory: {}, request: ${ask}, expect: {decision: forward}}\n` })
  t.match(empty.out + empty.err, 'memory must have at least 1 key')
})

t.test('explain takes the tasks for those of the caller, and says so', async t => {
  const baseDir = t.testdir({ 'keys.yaml': KEYS, 'card.json': JSON.stringify(plainCard('http://127.0.0.1:1')) })
  const explain = explaining({ yaml: GATEWAY.replace('version: 1\n', '').replace('access:', 'card: {file: card.json}, access:'), baseDir })
  const headers = ['Content-Type: application/json', 'A2A-Version: 1.0']
  const ask = async (method: string, params: object) => await explain(http('it', 'POST /rpc', headers, rpc(method, params)))
  t.match(await ask('GetTask', { id: 't' }), { decision: 'forward', notes: [/there is no caller/, /taken for those of the caller \(access.tasks\)/] })
  t.match((await ask('ListTasks', {})).notes, [/there is no caller/], 'no task is named')
})
