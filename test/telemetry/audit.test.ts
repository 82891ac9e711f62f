import t from 'tap'
import { spawn } from 'node:child_process'
import { Writable } from 'node:stream'
import { createAudit, TaskStates } from '#telemetry/audit.js'
import { linesOf } from '#telemetry/standard-output.js'
import { until } from '../helpers/http.js'
import type { AuditEntry } from '#telemetry/audit-fields.js'

const ENTRY: AuditEntry = {
  phase: 'request',
  agent: 'weather',
  operation: 'SendMessage',
  binding: 'JSONRPC',
  version: '1.0',
  decision: 'rejected',
  reason: 'SCHEMA_VIOLATION',
  extension: 'https://a.example/ext',
  rule: 'payload',
  edited: ['ext/inactive'],
  violations: [
    {
      reason: 'SCHEMA_VIOLATION',
      extension: 'https://a.example/ext',
      rule: 'payload',
      path: '/message/parts/0/data/age',
      message: 'must be an integer'
    }
  ],
  task_id: 'task-1',
  context_id: null,
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  client: '192.0.2.7',
  request_id: 'req-1'
}

/** A stream with an adjustable slow reader. */
class Sink extends Writable {
  text = ''
  waiting: Array<() => void> = []
  slow = false

  override _write (chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString()
    if (this.slow) this.waiting.push(done)
    else done()
  }

  lines (): Array<Record<string, unknown>> {
    return this.text.split('\n').filter(Boolean).map(line => JSON.parse(line) as Record<string, unknown>)
  }
}

t.test('one line per entry, with every field', async t => {
  const stream = new Sink()
  createAudit({ enabled: true, lines: linesOf(stream) }).record(ENTRY)
  const [line] = stream.lines()
  t.ok(stream.text.endsWith('}\n'))
  t.match(line?.time, /^\d{4}-.*Z$/)
  t.same(line, { audit: true, time: line?.time, ...ENTRY })
})

t.test('a rule that is observed again and again has a bounded number of lines a second, and the rest is counted', async t => {
  const stream = new Sink()
  const audit = createAudit({ enabled: true, lines: linesOf(stream), observedLines: 3 })
  const observed = { ...ENTRY, decision: 'observed' } as const
  for (let i = 0; i < 10; i++) audit.record({ ...observed, request_id: `a-${i}` })
  for (let i = 0; i < 3; i++) audit.record({ ...observed, rule: 'other' })
  for (let i = 0; i < 2; i++) audit.record({ ...observed, phase: 'response' })
  for (let i = 0; i < 5; i++) audit.record(ENTRY)
  audit.record({ ...observed, lines_omitted: 30 })
  t.equal(stream.lines().length, 3 + 3 + 2 + 5, 'rejections always have their line')
  await until(() => stream.lines().length > 13, 'the second to end')
  t.match(stream.lines().slice(13), [{ decision: 'observed', rule: 'payload', phase: 'request', violations: [], lines_omitted: 37 }])
  t.equal(stream.lines().length, 14)
  for (let i = 0; i < 4; i++) audit.record({ ...observed, request_id: `b-${i}` })
  t.equal(stream.lines().length, 17, 'the next second has lines again')
  audit.close()
  t.match(stream.lines().slice(17), [{ lines_omitted: 1, request_id: 'b-3' }], 'a stop writes what was counted')
  audit.close()
  t.equal(stream.lines().length, 18)
  const silent = createAudit({ enabled: true, lines: linesOf(stream), observedLines: 0 })
  for (let i = 0; i < 4; i++) silent.record(observed)
  silent.close()
  t.match(stream.lines().slice(18), [{ lines_omitted: 4 }])
})

t.test('states of tasks: only changes, of a bounded number of tasks', async t => {
  const states = new TaskStates()
  t.equal(states.change('a', '1', 'submitted'), null)
  t.equal(states.change('a', '1', 'submitted'), undefined)
  t.equal(states.change('a', '1', 'working'), 'submitted')
  t.equal(states.change('b', '1', 'working'), null, 'tasks of other agents are others')
  for (let i = 0; i < 10_000; i++) states.change('c', String(i), 'working')
  t.equal(states.change('a', '1', 'working'), null, 'the least recently changed is forgotten')
})

t.test('disabled writes nothing', async t => {
  const stream = new Sink()
  createAudit({ enabled: false, lines: linesOf(stream) }).record(ENTRY)
  t.equal(stream.text, '')
})

t.test('limited: 20 violations, texts of 512 characters, one line for any content', async t => {
  const stream = new Sink()
  const violation = { reason: 'R', extension: null, rule: null, path: null, message: 'x\n"\u2028'.repeat(400) }
  const many = { ...ENTRY, extension: null, rule: null, violations: new Array(33).fill(violation) }
  createAudit({ enabled: true, lines: linesOf(stream) }).record(many)
  const [line, ...rest] = stream.lines()
  t.same(rest, [])
  t.equal((line?.violations as unknown[]).length, 20)
  t.equal(line?.violations_omitted, 13)
  t.equal((line?.violations as Array<{ message: string }>)[0]?.message.length, 512)
  t.equal(line?.extension, null)
})

t.test('a reader that is too slow loses lines, and gets their number', async t => {
  const stream = new Sink()
  stream.slow = true
  let lost = 0
  const audit = createAudit({ enabled: true, lines: linesOf(stream), onLost: () => { lost++ } })
  const big = { ...ENTRY, violations: new Array(20).fill({ ...ENTRY.violations[0], message: 'x'.repeat(512) }) }
  for (let i = 0; i < 500; i++) audit.record(big)
  t.ok(stream.writableLength < 5 * 1024 * 1024, 'memory is bounded')
  stream.slow = false
  for (const done of stream.waiting) done()
  await new Promise(resolve => setTimeout(resolve, 50))
  audit.record(ENTRY)
  const lines = stream.lines()
  const gap = lines.find(line => 'dropped' in line)
  t.equal(Number(gap?.dropped) + lines.length - 2, 500)
  t.equal(lines.at(-1)?.agent, 'weather')
  t.equal(lost, gap?.dropped)
})

t.test('a broken stream is survived: error event, throwing write, ended', async t => {
  const broken = new Writable({ write (_chunk, _encoding, done) { done(Object.assign(new Error('EPIPE'), { code: 'EPIPE' })) } })
  const audit = createAudit({ enabled: true, lines: linesOf(broken) })
  audit.record(ENTRY)
  await new Promise(resolve => setTimeout(resolve, 10))
  audit.record(ENTRY)
  const throwing = new Sink()
  throwing.write = () => { throw new Error('no') }
  let lost = 0
  createAudit({ enabled: true, lines: linesOf(throwing), onLost: () => { lost++ } }).record(ENTRY)
  const ended = new Sink()
  ended.end()
  createAudit({ enabled: true, lines: linesOf(ended), onLost: () => { lost++ } }).record(ENTRY)
  t.equal(lost, 2, 'and counted')
  await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(ended.text, '')
  createAudit({ enabled: true, lines: linesOf(broken) })
  t.equal(broken.listenerCount('error'), 1, 'listens once per stream')
})

t.test('a process whose reader closes stdout continues', async t => {
  const script = `
    const { createAudit } = await import(process.argv[1])
    const { linesOf } = await import(new URL('standard-output.js', process.argv[1]).href)
    const audit = createAudit({ enabled: true, lines: linesOf(process.stdout) })
    const entry = JSON.parse(process.argv[2])
    let n = 0
    const timer = setInterval(() => { audit.record(entry); if (++n === 50) { clearInterval(timer); process.stderr.write('alive') } }, 5)`
  const file = new URL('../../src/telemetry/audit.js', import.meta.url).href
  const child = spawn(process.execPath, [...process.execArgv, '--input-type=module', '-e', script, file, JSON.stringify(ENTRY)])
  child.stdout.once('data', () => child.stdout.destroy())
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => { stderr += chunk.toString() })
  const code = await new Promise(resolve => child.on('close', resolve))
  t.equal(code, 0)
  t.match(stderr, /alive$/)
})
