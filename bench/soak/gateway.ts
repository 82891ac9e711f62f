/** The gateway under soak: a process of the built command line, observed from outside. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '#config/paths.js'

const MAIN = join(packageRoot(), 'dist/src/main.js')
/** Collects garbage on SIGWINCH, so that a sample shows only memory that is in use. Nothing else uses this signal here. */
const COLLECT = 'data:text/javascript,process.on("SIGWINCH",()=>{globalThis.gc();globalThis.gc()})'

export interface Sample {
  /** Seconds since the start. */
  readonly at: number
  /** Bytes, after a forced collection. */
  readonly heap: number
  readonly rss: number
  /** Open file descriptors. */
  readonly descriptors: number
}

export interface SoakedGateway {
  readonly url: string
  rewrite (yaml: string): void
  sample (at: number): Promise<Sample>
  /** The text of `/metrics`. */
  metrics (): Promise<string>
  /** Lines of the log above `info`, and all other output. */
  complaints (): string[]
  running (): boolean
  /** @returns the exit code after SIGTERM */
  stop (): Promise<number | null>
}

export async function startGateway (yaml: string): Promise<SoakedGateway> {
  const directory = mkdtempSync(join(tmpdir(), 'soak-'))
  const file = join(directory, 'gateway.yaml')
  const rewrite = (text: string): void => {
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  rewrite(yaml)
  const child = spawn(process.execPath, ['--expose-gc', '--import', COLLECT, MAIN, 'serve', '--config', file], {
    env: { PATH: process.env.PATH },
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const exited = once(child, 'close').then(([code]) => code as number | null)
  process.once('exit', () => { child.kill('SIGKILL') })
  let rest = ''
  const found: { url: string, admin: string }[] = []
  const complaints: string[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const { level, msg, url, admin } = JSON.parse(line) as { level: string, msg: string, url: string, admin: string }
      if (msg === 'listening') found.push({ url, admin })
      if (level === 'error' || level === 'fatal') complaints.push(line)
    }
  })
  // Warnings about the file are not complaints: with `responses: off`, no rule for responses is in effect.
  child.stderr.on('data', (chunk: Buffer) => { if (!chunk.toString().startsWith('warning: ')) complaints.push(chunk.toString()) })
  for (const end = Date.now() + 120_000; found.length === 0; await sleep(20)) {
    if (Date.now() > end || child.exitCode !== null) throw new Error(`the gateway does not start: ${complaints.join('')}`)
  }
  const [{ url, admin }] = found as [{ url: string, admin: string }]
  for (const end = Date.now() + 120_000; !(await fetch(`${admin}/readyz`)).ok; await sleep(20)) {
    if (Date.now() > end) throw new Error('the gateway does not become ready')
  }
  const metrics = async (): Promise<string> => await (await fetch(`${admin}/metrics`)).text()
  return {
    url,
    rewrite,
    metrics,
    sample: async at => {
      child.kill('SIGWINCH')
      await sleep(300)
      const text = await metrics()
      const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
      const rss = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid as number}/status`, 'utf8'))?.[1]) * 1_024
      return { at, heap: value('nodejs_heap_size_used_bytes'), rss, descriptors: readdirSync(`/proc/${child.pid as number}/fd`).length }
    },
    complaints: () => complaints,
    running: () => child.exitCode === null && child.signalCode === null,
    stop: async () => {
      child.kill('SIGTERM')
      const code = await exited
      rmSync(directory, { recursive: true })
      return code
    }
  }
}
