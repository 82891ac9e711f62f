/** docs/policy-guide.md works as written: the test writes its files, runs its commands, and compares their output. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/config/paths.js'
import { freePorts, until } from '../helpers/http.js'
import { MAIN } from '../helpers/paths.js'

const PAGE = readFileSync(join(packageRoot(), 'docs/policy-guide.md'), 'utf8')
/** Ports that the page names: gateway, admin, agent. Each stands for a free one. */
const PORTS = ['8080', '9901', '9999']

interface Step { readonly kind: 'file' | 'command', readonly text: string, readonly name: string }

/** Blocks with a file's name are files; those of `console` are commands, each after `$ `, and what it prints. */
function steps (page: string): Step[] {
  return [...page.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms)].flatMap(([, language, name, content = '']): Step[] => {
    if (name !== undefined) return [{ kind: 'file', name, text: content }]
    if (language !== 'console') return []
    return content.split(/^\$ /m).slice(1).map(one => {
      const end = one.indexOf('\n')
      return { kind: 'command', name: one.slice(0, end), text: one.slice(end + 1) }
    })
  })
}

/** `...` stands for anything, on a line of its own or at the end of one. */
function expected (text: string): RegExp {
  return new RegExp(`^${text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('\\.\\.\\.', '[^]*?')}$`)
}

/** What the page needs of curl, for machines that have none. */
const CURL = `
const args = process.argv.slice(2)
const headers = {}
let url, body
for (let i = 0; i < args.length; i++) {
  if (args[i] === '-s') continue
  if (args[i] === '-H') {
    const at = args[++i].indexOf(':'); headers[args[i].slice(0, at)] = args[i].slice(at + 1).trim()
  }
  else if (args[i] === '-d') body = (await import('node:fs')).readFileSync(args[++i].slice(1))
  else url = args[i]
}
process.stdout.write(await (await fetch(url, { method: body === undefined ? 'GET' : 'POST', headers, body })).text())
`

t.test('the guide', { timeout: 300_000 }, async t => {
  const directory = t.testdir()
  const bin = join(directory, 'bin')
  mkdirSync(bin)
  const tool = (name: string, script: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`)
    chmodSync(join(bin, name), 0o755)
  }
  writeFileSync(join(bin, 'curl.mjs'), CURL)
  tool('a2a-gateway', MAIN)
  tool('curl', join(bin, 'curl.mjs'))
  const env: NodeJS.ProcessEnv = { PATH: `${bin}${delimiter}${process.env.PATH}` }

  const free = await freePorts(PORTS.length)
  const ports = new Map(PORTS.map((port, i) => [port, String(free[i])]))
  const local = (text: string): string => text.replace(/(?<=127\.0\.0\.1:|listen\()\d+/g, port => ports.get(port) ?? port)
  const admin = `http://127.0.0.1:${ports.get('9901')}`

  const running: ChildProcess[] = []
  t.teardown(async () => {
    for (const child of running) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const gone = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGKILL')
      await gone
    }
  })
  const inBackground = (command: string): void => {
    running.push(spawn('sh', ['-c', `exec ${command}`], { cwd: directory, env, stdio: 'ignore' }))
  }
  const run = (command: string): Promise<string> => new Promise(resolve => {
    const child = spawn('sh', ['-c', `{ ${command}\n} 2>&1`], { cwd: directory, env })
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => { text += chunk.toString() })
    child.once('close', () => { resolve(text.endsWith('\n') || text === '' ? text : `${text}\n`) })
  })
  const reloads = async (): Promise<string | undefined> =>
    /config_reloads_total\{outcome="ok"\} (\d+)/.exec(await (await fetch(`${admin}/metrics`)).text())?.[1]
  const answers = async (url: string): Promise<boolean> => await fetch(url).then(response => response.ok, () => false)

  let commands = 0
  for (const { kind, name, text } of steps(PAGE)) {
    if (kind === 'file') {
      writeFileSync(join(directory, name), local(text))
      continue
    }
    commands++
    if (name.endsWith('&')) {
      inBackground(local(name.slice(0, -1)))
      await until(
        () => answers(name.includes('serve') ? `${admin}/readyz` : `http://127.0.0.1:${ports.get('9999')}/.well-known/agent-card.json`),
        name,
        60_000
      )
      continue
    }
    const before = running.length === 2 && name.endsWith(' gateway.yaml') ? await reloads() : null
    t.match(await run(local(name)), expected(local(text)), name)
    if (before !== null) await until(async () => await reloads() !== before, 'the change to be noticed', 60_000)
  }
  t.ok(commands > 10)
})
