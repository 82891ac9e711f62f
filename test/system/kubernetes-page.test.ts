/**
 * docs/start/kubernetes.md: every command, and its output. test/docs/cluster.ts replaces `docker`, `kind` and `kubectl`, because there is
 * no API server here.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import { runPage } from '../docs/page-commands.js'

const CLUSTER = join(packageRoot(), 'dist/test/docs/cluster.js')
const missing = spawnSync('prometheus', ['--version']).error === undefined ? false : 'prometheus is not installed: apt-get install prometheus'

t.test('the commands of the page', { timeout: 300_000, skip: missing }, async t => {
  const state = t.testdir({})
  const tool = (name: string): string => `exec "${process.execPath}" "${CLUSTER}" "${state}" ${name} "$@"`
  await runPage(t, {
    page: 'start/kubernetes.md',
    atLeast: [8, 6],
    tools: { docker: tool('docker'), kind: tool('kind'), kubectl: tool('kubectl') }
  })
})
