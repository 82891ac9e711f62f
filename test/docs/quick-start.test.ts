/**
 * Runs every command of docs/quick-start.md in one shell, in order, and compares the output with the page. The test replaces only the parts
 * that it cannot run: `npm ci` and `npm link` (the network, and this machine), and the ports, which may be in use.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startEightball } from '../../examples/eightball.js'
import { packageRoot } from '../../src/config/paths.js'
import { freePorts } from '../helpers/http.js'

const PAGE = readFileSync(join(packageRoot(), 'docs', 'quick-start.md'), 'utf8')
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

t.test('the commands of the page', { timeout: 240_000 }, async t => {
  const agent = await startEightball({ port: 0 })
  t.teardown(() => agent.close())
  const [port = 0, admin = 0] = await freePorts(2)
  const directory = t.testdir({})
  for (const name of ['dist', 'package.json', 'node_modules']) symlinkSync(join(packageRoot(), name), join(directory, name))
  mkdirSync(join(directory, 'bin'))
  writeFileSync(
    join(directory, 'bin', 'a2a-gateway'),
    `#!/bin/sh\nexec "${process.execPath}" "${join(packageRoot(), 'dist/src/main.js')}" "$@"\n`,
    { mode: 0o755 }
  )

  const ported = (text: string): string =>
    text
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replaceAll('127.0.0.1:9901', `127.0.0.1:${admin}`)
      .replaceAll('http://127.0.0.1:9999', agent.url)
  const all = steps()
  t.ok(all.length >= 10)
  t.ok(all.filter(({ shown }) => shown !== null).length >= 9)
  const script = all.map(({ commands }) => `${ported(commands).replaceAll(/^npm (?:ci|link)$/gm, ':')}\necho; echo '${MARK}'`).join('\n')
  const env = {
    ...process.env,
    PATH: `${join(directory, 'bin')}:${process.env.PATH ?? ''}`,
    DEMO_PORT: String(port),
    DEMO_ADMIN_PORT: String(admin),
    A2A_GATEWAY_LISTEN: `127.0.0.1:${port}`,
    A2A_GATEWAY_ADMIN: `127.0.0.1:${admin}`
  }
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
  const printed = output.split(`${MARK}\n`).map(text => text.trim())
  t.equal(printed.length, all.length + 1)
  all.forEach(({ commands, shown }, index) => {
    const got = printed[index] ?? ''
    if (shown !== null) t.match(got, matcher(ported(shown)), `${commands.trim().split('\n')[0] ?? ''}: ${got}`)
  })
})
