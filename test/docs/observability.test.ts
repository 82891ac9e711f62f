/** docs/observability.md names what there is: every metric with its labels, every member of an audit line, every attribute of a span; and no other. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { packageRoot } from '../../src/config/paths.js'
import type { AuditEntry } from '../../src/telemetry/audit.js'
import { createAudit } from '../../src/telemetry/audit.js'
import { Metrics } from '../../src/telemetry/metrics.js'

const PAGE = readFileSync(join(packageRoot(), 'docs', 'observability.md'), 'utf8')

/** Cells of the rows of the table under a heading, the heads of its columns left out. */
function table (heading: string): string[][] {
  const section = PAGE.split(/^## /m).find(one => one.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split('|').map(cell => cell.trim())).slice(1)
}

const named = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)

t.test('metrics', async t => {
  const metrics = new Metrics({ process: false })
  const [m, a] = [metrics, 'agent']
  m.request(a, 'o', 'b', 'v', 'forwarded', 1)
  m.decision(a, 1)
  m.upstream(a, 'o', 1)
  m.violation(a, 'e', 'r', 'request', 'observe')
  m.activation(a, 'e', 'client', 'absent')
  m.streamOpened(a)
  m.refusal(a, 'gateway/x')
  m.clientError('other')
  m.requestsActive(new Map([[a, () => 1]]))
  m.streamEvents(a, 1)
  m.cardAge(a, () => 1)
  m.cardRefresh(a, 'changed')
  m.configInfo('x')
  m.upstreamError(a, 'dns')
  m.taskLookup(a, 'known')
  m.taskWrite(a, 'kept')
  m.tasksRemembered(() => 1)
  m.observed(a, 'e', 'm', 'counter', '', 1)
  m.observed(a, 'e', 'm', 'gauge', '', 1)
  m.answerUnread(a, 'encoding')
  m.workers(() => 1, () => 0)
  m.vitals.agents(new Map([[a, { limits: { requests: 1, streams: 1 }, maxStale: 1, hasCard: () => true }]]))
  const text = await metrics.text()
  metrics.close()
  const there = [...text.matchAll(/^# TYPE a2a_gateway_(\S+) (\S+)$/gm)].map(([, name = '', type = '']) => {
    const [, labels = ''] = new RegExp(`^a2a_gateway_${name}(?:_bucket)?(?:\\{(.*?)\\})? `, 'm').exec(text) ?? []
    return `${name} ${type} ${[...labels.matchAll(/([a-z_]+)="/g)].map(([, label]) => label).filter(label => label !== 'le').join(' ')}`.trim()
  })
  const shown = table('Metrics').map(([name, type = '', labels]) => `${named(name).join()} ${type} ${named(labels).join(' ')}`.trim())
  t.same(shown.toSorted(), there.toSorted())
  t.ok(there.length > 15)
})

t.test('members of an audit line', async t => {
  const stream = new PassThrough()
  const violation = { reason: 'R', extension: 'e', rule: 'r', path: 'p', message: 'm' }
  const entry: AuditEntry = {
    phase: 'response',
    agent: 'a',
    operation: 'o',
    binding: 'b',
    version: 'v',
    decision: 'edited',
    reason: 'R',
    extension: 'e',
    rule: 'r',
    edited: ['e/r'],
    violations: Array.from({ length: 21 }, () => violation),
    lines_omitted: 1,
    trace_id: 't',
    client: 'c',
    request_id: 'i'
  }
  createAudit({ enabled: true, stream }).record(entry)
  const line = JSON.parse(String(stream.read())) as { violations: object[] }
  const shown = table('Audit').flatMap(([name]) => named(name))
  t.same(shown.filter(name => name !== 'dropped').toSorted(), Object.keys(line).toSorted())
  t.same(named(table('Audit').find(([name]) => name === '`violations`')?.[1]), ['path', 'message'])
  t.same(Object.keys(line.violations[0] ?? {}), ['reason', 'extension', 'rule', 'path', 'message'])
  const example = JSON.parse(/^\{"audit".*\}$/m.exec(PAGE)?.[0] ?? '{}') as object
  t.same(Object.keys(example), Object.keys(line).filter(name => !/edited|omitted/.test(name)))
})

t.test('attributes of spans', async t => {
  const source = ['gateway', 'telemetry'].flatMap(folder => readdirSync(join(packageRoot(), 'src', folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts')).map(name => readFileSync(join(packageRoot(), 'src', folder, name), 'utf8'))).join('\n')
  const set = [...source.matchAll(/(?:span\.set|setAttribute)\(['`]([a-z0-9_.]+)(\$\{kind\})?['`]|'((?:http|server|url)\.[a-z_.]+)':/g)]
    .flatMap(([, name, kind, other]) => kind === undefined ? [name ?? other ?? ''] : ['confirmed', 'absent', 'unexpected'].map(one => `${name as string}${one}`))
  const shown = table('Traces').flatMap(([name]) => named(name))
  t.same(shown.toSorted(), [...new Set(set)].toSorted())
})
