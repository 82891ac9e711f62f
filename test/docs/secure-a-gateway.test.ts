/**
 * Runs every command of docs/secure-a-gateway.md in one shell, in order, and compares the output with the page. The test replaces `npm ci`
 * and `npm link` (the network, and this machine) and the ports, which may be in use. Every address is on this machine.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startIdentityProvider } from '../../examples/identity-provider.js'
import { packageRoot } from '../../src/config/paths.js'
import { freePorts } from '../helpers/http.js'
import { MAIN } from '../helpers/paths.js'

const PAGE = readFileSync(join(packageRoot(), 'docs', 'secure-a-gateway.md'), 'utf8')
const MARK = '@@@ done'

interface Step { readonly commands: string, readonly shown: string | null }

/** Blocks of commands, each with the block of output that follows it before the next. */
function steps (): Step[] {
  const blocks = [...PAGE.matchAll(/^```(sh|text)\n(.*?)^```$/gms)].map(([, kind, text = '']) => ({ kind, text }))
  return blocks.flatMap(({ kind, text }, index) => {
    const next = blocks[index + 1]
    return kind === 'sh' ? [{ commands: text, shown: next?.kind === 'text' ? next.text.trim() : null }] : []
  })
}

/** `…` is whatever it is. */
function matcher (shown: string): RegExp {
  return new RegExp(`^${shown.split('…').map(piece => piece.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('[^]*?')}$`)
}

/** Readers take a moment between two blocks. The test waits until the gateway has applied the file that a block has changed. */
const RELOADS = 'reloads() { curl -s http://127.0.0.1:9901/metrics | grep \'config_reloads_total{outcome="ok"}\' || true; }'
const CHANGES = /(?:>> |mv new\.yaml )gateway\.yaml/
function waiting (commands: string): string {
  if (!CHANGES.test(commands) || commands.includes('a2a-gateway serve')) return commands
  return `before=$(reloads)\n${commands}\nfor i in $(seq 300); do [ "$(reloads)" = "$before" ] || break; sleep 0.1; done`
}

t.test('the commands of the page', { timeout: 240_000 }, async t => {
  const free = await freePorts(4)
  const ports = new Map(['8080', '9901', '9999', '4000'].map((port, index) => [port, String(free[index])]))
  const ported = (text: string): string => text.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, port => ports.get(port) ?? port)
    .replace('node dist/examples/agent.js', `PORT=${ports.get('9999')} $&`)
    .replace('node dist/examples/identity-provider.js', `PORT=${ports.get('4000')} $&`)
  const directory = t.testdir({ bin: {} })
  for (const name of ['dist', 'package.json', 'node_modules']) symlinkSync(join(packageRoot(), name), join(directory, name))
  mkdirSync(join(directory, 'bin'), { recursive: true })
  writeFileSync(join(directory, 'bin', 'a2a-gateway'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, { mode: 0o755 })

  const all = steps()
  t.ok(all.length >= 20)
  t.ok(all.filter(({ shown }) => shown !== null).length >= 14)
  const script = [
    ported(RELOADS),
    ...all.map(({ commands }) => `${waiting(ported(commands)).replaceAll(/^npm (?:ci|link)$/gm, ':')}\necho; echo '${MARK}'`)
  ].join('\n')
  const env = { ...process.env, PATH: `${join(directory, 'bin')}:${process.env.PATH ?? ''}` }
  // A group of its own, so that nothing it has started outlives a failure.
  const shell = spawn('bash', ['-c', script], { cwd: directory, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => {
    try {
      process.kill(-(shell.pid ?? 0), 'SIGKILL')
    } catch {
      // All have ended.
    }
  })
  let output = ''
  shell.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  shell.stderr.on('data', (chunk: Buffer) => { output += chunk.toString() })
  const [code] = await once(shell, 'close')
  t.equal(code, 0)
  const printed = output.replaceAll('\r\n', '\n').split(`${MARK}\n`).map(text => text.trim())
  t.equal(printed.length, all.length + 1)
  all.forEach(({ commands, shown }, index) => {
    const got = printed[index] ?? ''
    if (shown !== null) t.match(got, matcher(ported(shown)), `${commands.trim().split('\n')[0] ?? ''}: ${got}`)
  })
})

t.test('a port that is in use', async t => {
  const provider = await startIdentityProvider({ port: 0, audience: 'https://agents.example.com', lifetime: 60 })
  t.teardown(() => provider.close())
  const { port } = new URL(provider.url)
  for (const args of [['agent.js', 'fight'], ['identity-provider.js']] as const) {
    const [file, ...rest] = args
    const script = join(packageRoot(), 'dist/examples', file)
    const { status, stderr } = spawnSync(process.execPath, [script, ...rest], { env: { ...process.env, PORT: port }, encoding: 'utf8' })
    t.equal(status, 1, file)
    t.match(stderr, new RegExp(`^Port ${port} is already in use\\. Choose another one with PORT\\.$`, 'm'), file)
    t.notMatch(stderr, /at .*\.js:\d+/, `${file}: no stack`)
  }
})
