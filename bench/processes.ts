/** Child processes on cores of their own, and their figures from the kernel. */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '#config/paths.js'

/** Core lists in the format of taskset; `null`: no process is pinned. */
export interface Cores { readonly proxy: string, readonly load: string }

/**
 * Splits the cores that this process may use: the last core is for the proxy alone, the others are for load and agent. `null` without
 * taskset or a second core.
 */
export function splitCores (): Cores | null {
  const allowed = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
  const cores = allowed.split(',').flatMap(range => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_none, i) => from + i)
  })
  if (cores.length < 2 || which('taskset') === null) return null
  return { proxy: String(cores.at(-1)), load: cores.slice(0, -1).join(',') }
}

export function pinSelf (cores: string): void {
  execFileSync('taskset', ['-a', '-cp', cores, String(process.pid)], { stdio: 'ignore' })
}

/** @returns the path of the program, or null; the search includes system directories that PATH does not name */
export function which (program: string): string | null {
  for (const directory of [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin']) {
    if (directory !== '' && existsSync(join(directory, program))) return join(directory, program)
  }
  return null
}

/** The path of a compiled file of this project. Workers of tests and of runs both start the files of `dist/`. */
export function built (path: string): string {
  const file = join(packageRoot(), 'dist', path)
  if (!existsSync(file)) throw new Error('dist/ is not built: run "npm run build"')
  return file
}

/** The running children, which end together with this process in all cases. */
const running = new Set<ChildProcess>()
process.on('exit', () => { for (const child of running) child.kill('SIGKILL') })

/** For commands: an interrupt of the command ends its children too. */
export function endWithSignals (): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => { process.exit(1) })
}

export interface SpawnOptions { readonly cores?: string | undefined, readonly env?: NodeJS.ProcessEnv, readonly ipc?: boolean }

/** Starts a program. The caller reads its standard output line by line. Its standard error goes to the standard error of this process. */
export function start (program: string, args: readonly string[], { cores, env, ipc = false }: SpawnOptions = {}): ChildProcess {
  const stdio: StdioOptions = ipc ? ['ignore', 'pipe', 'inherit', 'ipc'] : ['ignore', 'pipe', 'inherit']
  const [command, ...rest] = cores === undefined ? [program, ...args] : ['taskset', '-c', cores, program, ...args]
  const child = spawn(command as string, rest, { stdio, env: { ...process.env, ...env } })
  child.on('error', () => {})
  running.add(child)
  child.once('exit', () => { running.delete(child) })
  return child
}

export interface Listening { readonly url: string, readonly admin?: string }

/** Waits for the JSON line in which the project's programs, and the gateway, report their address. */
export async function listening (child: ChildProcess, what: string): Promise<Listening> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(() => { reject(new Error(`${what} does not listen after 60 s`)) }, 60_000)
    child.once('exit', code => {
      clearTimeout(timer)
      reject(new Error(`${what} stopped with exit code ${code ?? 'none'} before it listened`))
    })
    lines.on('line', line => {
      if (!line.includes('"listening"')) return
      clearTimeout(timer)
      resolve(JSON.parse(line) as Listening)
    })
  })
}

/** Reports to the parent process the port on which this program listens. */
export function announce (port: number): void {
  console.log(JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${port}` }))
}

export async function stop (child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => { child.kill('SIGKILL') }, 2_000)
  await exited
  clearTimeout(timer)
}

/** Waits until the check returns true. */
export async function until (check: () => boolean | Promise<boolean>, what: string, milliseconds = 60_000): Promise<void> {
  for (const end = Date.now() + milliseconds; !await check();) {
    if (Date.now() > end) throw new Error(`${what}: not after ${milliseconds / 1_000} s`)
    await sleep(10)
  }
}

/** The process and its descendants: a master and its workers. */
export function family (pid: number): number[] {
  const parents = new Map<number, number>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const stat = readProc(`/proc/${entry}/stat`)
    if (stat !== null) parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
  }
  const members = [pid]
  for (const member of members) for (const [child, parent] of parents) if (parent === member) members.push(child)
  return members
}

/**
 * CPU seconds that the processes have used so far, over all living threads. The value has nanoseconds where the kernel keeps them,
 * otherwise hundredths of a second.
 */
export function cpuSeconds (pids: readonly number[]): number {
  let seconds = 0
  for (const pid of pids) {
    const threads = readdirSync(`/proc/${pid}/task`).map(thread => readProc(`/proc/${pid}/task/${thread}/schedstat`))
    if (threads[0] !== null && threads[0] !== undefined) {
      for (const line of threads) seconds += Number(line?.split(' ')[0] ?? 0) / 1e9
    } else {
      const stat = readProc(`/proc/${pid}/stat`) ?? ''
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      seconds += (Number(fields[11]) + Number(fields[12])) / 100
    }
  }
  return seconds
}

/** CPU seconds since the start of the processes, with threads and children that have ended, in steps of 10 ms. */
export function lifetimeCpuSeconds (pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const stat = readProc(`/proc/${pid}/stat`) ?? ''
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(11, 15)
    return sum + ticks.reduce((all, one) => all + Number(one), 0) / 100
  }, 0)
}

/** @returns resident bytes of all processes together */
export function residentBytes (pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + Number(/^VmRSS:\s+(\d+) kB$/m.exec(readProc(`/proc/${pid}/status`) ?? '')?.[1] ?? 0) * 1024, 0)
}

/** Returns a file of `/proc`; null when the process or thread has ended. */
export function readProc (file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
