/** promtool, Prometheus's own tool, reads the rules and runs their tests. Needs the Debian package `prometheus`. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { MISSING } from '../helpers/prometheus.js'

function promtool (cwd: string, ...args: string[]): { status: number | null, output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { cwd, encoding: 'utf8' })
  if (error !== undefined) throw new Error(`promtool ${MISSING}: ${error.message}`)
  return { status, output: stdout + stderr }
}

t.test('promtool accepts the rules, and each fires only when it should', async t => {
  const check = promtool('deploy/prometheus', 'check', 'rules', 'alerts.yaml')
  t.equal(check.status, 0, check.output)
  const test = promtool('deploy/prometheus', 'test', 'rules', 'alerts.test.yaml')
  t.equal(test.status, 0, test.output)
})

t.test('a broken rule fails its test', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'rules-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  cpSync('deploy/prometheus', directory, { recursive: true })
  const file = join(directory, 'alerts.yaml')
  const text = readFileSync(file, 'utf8')
  for (const [from, to] of [
    ['a2a_gateway_card_usable == 0', 'a2a_gateway_card_usable == 1'],
    ['outcome="upstream_error"', 'outcome="upstream-error"']
  ] as const) {
    t.ok(text.includes(from))
    writeFileSync(file, text.replaceAll(from, to))
    t.not(promtool(directory, 'test', 'rules', 'alerts.test.yaml').status, 0, `${to} is noticed`)
  }
})
