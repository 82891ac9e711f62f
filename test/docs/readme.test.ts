/**
 * Runs the commands of the README's section about policies in one shell, in order, against the agent that they start. The test replaces
 * `npm link` (this machine) and the ports, which may be in use.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatDiagnostic, parseConfig } from '#config/load.js'
import { packageRoot } from '#config/paths.js'
import { CHECKS } from '#offline/configuration.js'
import { freePorts } from '../helpers/http.js'

const README = readFileSync(join(packageRoot(), 'README.md'), 'utf8')
const SECTION = /^## Write your first policy\n(.*?)^## /ms.exec(README)?.[1] ?? ''
const EXAMPLE = join(packageRoot(), 'examples', 'first-policy')
const [POLICY = '', COMMANDS = ''] = ['yaml', 'sh'].map(kind => new RegExp(`^\`\`\`${kind}\n(.*?)^\`\`\`$`, 'ms').exec(SECTION)?.[1] ?? '')

t.test('it is a landing page: at most 120 lines, four rows of links, and one link to all pages', async t => {
  t.ok(README.split('\n').length <= 121, `${README.split('\n').length} lines`)
  const [, table = ''] = README.split('## Documentation\n')
  t.equal([...table.matchAll(/^\| \*\*(.*?)\*\*/gm)].length, 4)
  t.match(table, '](docs/README.md)')
})

t.test('the index docs/README.md lists each page of docs/ once, and no other', async t => {
  const index = readFileSync(join(packageRoot(), 'docs', 'README.md'), 'utf8')
  const doors = [...index.matchAll(/^## (.+)$/gm)].map(([, name]) => name)
  t.same(doors, ['Start', 'How to', 'Reference', 'Explain', 'Contributing'])
  const listed = [...index.matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm)].map(([, page = '']) => page)
  const pages = readdirSync(join(packageRoot(), 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md') && name !== 'README.md' && !/^extensions.(?!README)/.test(name))
  t.same(listed.toSorted(), [...pages, '../CHANGELOG.md', '../CONTRIBUTING.md', '../SECURITY.md'].toSorted())
})

t.test('the policy is the file of the example, and loads without a warning', async t => {
  t.equal(POLICY, readFileSync(join(EXAMPLE, 'gateway.yaml'), 'utf8'))
  const result = parseConfig(POLICY, { file: 'gateway.yaml', baseDir: '/', env: {}, checks: CHECKS })
  t.same((result.ok ? result.warnings : result.problems).map(formatDiagnostic), [])
})

t.test('the commands run as pasted, and the policy records a call without the owner and rejects one without the extension', { timeout: 120_000 }, async t => {
  const [agent = 0, port = 0, admin = 0] = await freePorts(3)
  const directory = t.testdir({ bin: {}, examples: { 'first-policy': {} } })
  for (const name of ['dist', 'package.json', 'node_modules']) symlinkSync(join(packageRoot(), name), join(directory, name))
  const ported = (text: string): string => text.replaceAll('127.0.0.1:9999', `127.0.0.1:${agent}`)
  for (const name of readdirSync(EXAMPLE)) {
    writeFileSync(join(directory, 'examples', 'first-policy', name), ported(readFileSync(join(EXAMPLE, name), 'utf8')))
  }
  mkdirSync(join(directory, 'bin'), { recursive: true })
  writeFileSync(
    join(directory, 'bin', 'a2a-gateway'),
    `#!/bin/sh\nexec "${process.execPath}" "${join(packageRoot(), 'dist/src/main.js')}" "$@"\n`,
    { mode: 0o755 }
  )
  const lines = ported(COMMANDS)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replaceAll(/^npm link.*$/gm, ':')
    .trim()
    .split('\n')
  t.match(lines.at(-1), /^a2a-gateway serve /)
  const script = [
    'set -e',
    ...lines.slice(0, -1),
    `${lines.at(-1) ?? ''} &`,
    `until curl -sf http://127.0.0.1:${admin}/readyz > /dev/null; do sleep 0.2; done`,
    'echo "@@@ call"',
    `sed '1,/^$/d' call.http | curl -sf http://127.0.0.1:${port}/a2a/jsonrpc -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' \\
      -H 'A2A-Extensions: https://example.com/ext/fortune-consent/v1' -d @- | grep -c '"result"'`,
    `sed '1,/^$/d' call.http | curl -sf http://127.0.0.1:${port}/a2a/jsonrpc -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' \\
      -d @- | grep -c '"code":-32008'`,
    `curl -sf http://127.0.0.1:${admin}/metrics | grep '^a2a_gateway_violations_total'`
  ].join('\n')
  const env = {
    ...process.env,
    PATH: `${join(directory, 'bin')}:${process.env.PATH ?? ''}`,
    PORT: String(agent),
    A2A_GATEWAY_LISTEN: `127.0.0.1:${port}`,
    A2A_GATEWAY_ADMIN: `127.0.0.1:${admin}`
  }
  // A group of its own, so that nothing it has started outlives a failure.
  const shell = spawn('bash', ['-c', script], { cwd: directory, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  shell.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  shell.stderr.on('data', (chunk: Buffer) => { output += chunk.toString() })
  const [code] = await once(shell, 'exit')
  const closed = once(shell, 'close')
  try {
    process.kill(-(shell.pid ?? 0), 'SIGKILL')
  } catch {
    // All have ended.
  }
  await closed
  t.equal(code, 0, output)
  t.match(output.slice(output.indexOf('@@@ call')), /violations_total\{[^}]*rule="names-the-owner"[^}]*\} 2\n.*rule="required"[^}]*mode="enforce"\} 1/, output)
})
