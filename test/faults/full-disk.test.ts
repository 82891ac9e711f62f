/** stdout on a full disk: calls go on, SIGTERM ends the gateway, and lines continue when the disk has room again. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { freePorts, until } from '../helpers/http.js'
import { MAIN } from '../helpers/paths.js'
import { WHOLE } from '../helpers/seed.js'

interface Full {
  /** File of stdout. */
  readonly stdout: string
  /** KiB that a file of the gateway may have; null for no limit. */
  readonly fileSize: number | null
  /** Makes room; null where there is never room. */
  readonly free: (() => void) | null
  /** Text of stderr. */
  readonly problem: RegExp
}

/** Size of the small disks, KiB. */
const SIZE = 64

function tooLargeFile (t: Test): Full {
  const directory = mkdtempSync(join(tmpdir(), 'full-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const stdout = join(directory, 'lines')
  return { stdout, fileSize: SIZE, free: () => { truncateSync(stdout) }, problem: /stdout cannot be written \(EFBIG/ }
}

const mount = (directory: string): boolean => spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}k`, 'none', directory]).status === 0

function mayMount (): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'disk-'))
  const mounted = mount(directory)
  if (mounted) spawnSync('umount', [directory])
  rmSync(directory, { recursive: true })
  return mounted
}

function smallDisk (t: Test): Full {
  const directory = mkdtempSync(join(tmpdir(), 'disk-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  if (!mount(directory)) throw new Error('a small disk could be mounted a moment ago')
  t.teardown(() => { spawnSync('umount', ['-l', directory]) })
  const stdout = join(directory, 'lines')
  return { stdout, fileSize: null, free: () => { truncateSync(stdout) }, problem: /stdout cannot be written \(ENOSPC/ }
}

const KINDS: Readonly<Record<string, (t: Test) => Full>> = {
  'a device that is always full': () => ({ stdout: '/dev/full', fileSize: null, free: null, problem: /stdout cannot be written \(ENOSPC/ }),
  'a file of the largest size that the process may write': tooLargeFile,
  'a full disk': smallDisk
}

// Each takes 5 s of processor time.
for (const workers of WHOLE ? [1, 2] : [1]) {
  for (const [name, full] of Object.entries(KINDS)) {
    const skip = name === 'a full disk' && !mayMount() ? 'this process may not mount a small disk' : false
    t.test(`${name}, workers: ${workers}`, { skip }, async t => {
      const { stdout, fileSize, free, problem } = full(t)
      const [port = 0, admin = 0] = await freePorts(2)
      const directory = mkdtempSync(join(tmpdir(), 'served-'))
      t.teardown(() => { rmSync(directory, { recursive: true }) })
      const file = join(directory, 'gateway.yaml')
      writeFileSync(file, `version: 1
server: {listen: "127.0.0.1:${port}", admin: "127.0.0.1:${admin}", workers: ${workers}, drainTimeout: 200ms}
telemetry: {logs: {level: info}}
agents:
  - {name: a, path: /a, upstream: {url: "http://127.0.0.1:9"}, card: {onUnavailable: forward}}
`)
      const command = [process.execPath, MAIN, 'serve', '--config', file]
      const [program = '', ...args] = fileSize === null ? command : ['bash', '-c', `ulimit -f ${fileSize}; exec "$@"`, 'bash', ...command]
      const to = openSync(stdout, 'a')
      const child = spawn(program, args, { env: { PATH: process.env.PATH }, stdio: ['ignore', to, 'pipe'] })
      closeSync(to)
      const exited = once(child, 'close')
      t.teardown(async () => {
        child.kill('SIGKILL')
        await exited
      })
      let errors = ''
      child.stderr?.on('data', (chunk: Buffer) => { errors += chunk.toString() })
      const base = `http://127.0.0.1:${port}`
      const isUp = async (): Promise<boolean> => (await fetch(`${base}/nothing/`).catch(() => null))?.status === 404
      await until(isUp, `the gateway to serve: ${errors}`, 30_000)

      const path = `${base}/nothing/${'x'.repeat(1_500)}`
      const call = async (): Promise<number> => (await fetch(path)).status
      const lost = async (): Promise<number> => {
        const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
        return Number(/^a2a_gateway_log_lines_lost_total (\d+)$/m.exec(text)?.[1])
      }
      t.equal(await lost(), 0, 'nothing is lost at first')
      const calls = async (count: number): Promise<readonly number[]> => {
        const statuses: number[] = []
        for (let i = 0; i < count; i += 20) statuses.push(...await Promise.all(Array.from({ length: 20 }, call)))
        return statuses.filter(status => status !== 404)
      }
      t.same(await calls(400), [], 'calls go on')
      await until(() => problem.test(errors), `stderr to say that stdout cannot be written: ${errors}`)
      if (free !== null) {
        const size = statSync(stdout).size
        t.ok(size <= SIZE * 1_024, `the disk is full: ${size} B`)
        free()
        await until(() => /stdout can be written again/.test(errors), `stderr to say that lines continue: ${errors}`)
        t.match(readFileSync(stdout, 'utf8'), /"msg":"request"/, 'lines that waited are written')
      } else {
        let failed: readonly number[] = []
        for (let i = 0; i < 20 && await lost() === 0; i++) failed = [...failed, ...await calls(1_000)]
        t.same(failed, [])
        t.ok(await lost() > 0, 'lines beyond those that may wait are counted')
      }
      t.equal(child.exitCode, null, 'the process lives')
      const before = child.exitCode
      child.kill('SIGTERM')
      await until(() => child.exitCode !== before, 'SIGTERM to end the process', 10_000)
      t.equal(child.exitCode, 0, errors)
    })
  }
}
