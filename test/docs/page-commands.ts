/**
 * Runs every command of a page of docs/ in one shell, in order, and compares the output with the page. The test replaces only the parts
 * that it cannot run: `npm ci` and `npm link` (the network, and this machine), and the ports, which may be in use.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/config/paths.js'
import { MAIN } from '../helpers/paths.js'

const MARK = '@@@ done'

interface Step { readonly commands: string, readonly shown: string | null }

export interface PageCommands {
  /** Name below docs/. */
  readonly page: string
  /** Number of blocks of commands, and of those with output, that the page has at least. */
  readonly atLeast: readonly [commands: number, outputs: number]
  /** Replaces ports, in commands and in output. */
  readonly ported: (text: string) => string
  /** Completes the commands of a block, after the ports. Default: unchanged. */
  readonly around?: (commands: string) => string
  /** Commands before those of the page. Default: none. */
  readonly before?: string
  readonly env?: Readonly<Record<string, string>>
}

export async function runPage (t: Test, { page, atLeast: [blocks, outputs], ported, around = same, before = ':', env = {} }: PageCommands): Promise<void> {
  const all = stepsOf(readFileSync(join(packageRoot(), 'docs', page), 'utf8'))
  t.ok(all.length >= blocks)
  t.ok(all.filter(({ shown }) => shown !== null).length >= outputs)
  const directory = t.testdir({})
  for (const name of ['dist', 'package.json', 'node_modules']) symlinkSync(join(packageRoot(), name), join(directory, name))
  mkdirSync(join(directory, 'bin'))
  writeFileSync(join(directory, 'bin', 'a2a-gateway'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, { mode: 0o755 })

  const script = [
    ported(before),
    ...all.map(({ commands }) => `${around(ported(commands)).replaceAll(/^npm (?:ci|link)$/gm, ':')}\necho; echo '${MARK}'`)
  ].join('\n')
  // A group of its own, so that nothing it has started outlives a failure.
  const shell = spawn('bash', ['-c', script], {
    cwd: directory,
    env: { ...process.env, PATH: `${join(directory, 'bin')}:${process.env.PATH ?? ''}`, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe']
  })
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
}

const same = (text: string): string => text

/** Blocks of commands, each with the block of output that follows it before the next. */
function stepsOf (page: string): Step[] {
  const blocks = [...page.matchAll(/^```(sh|text)\n(.*?)^```$/gms)].map(([, kind, text = '']) => ({ kind, text }))
  return blocks.flatMap(({ kind, text }, index) => {
    const next = blocks[index + 1]
    return kind === 'sh' ? [{ commands: text, shown: next?.kind === 'text' ? next.text.trim() : null }] : []
  })
}

/** `…` stands for any text. */
function matcher (shown: string): RegExp {
  return new RegExp(`^${shown.split('…').map(piece => piece.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('[^]*?')}$`)
}
