/** The gateway as a process of its own, from the built command line and a file. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { until } from './http.js'
import { MAIN } from './paths.js'
import { sampleIn } from './samples.js'

export interface Line {
  readonly level: string
  readonly msg: string
  readonly url?: string
  readonly admin?: string
  readonly reason?: string
  readonly pid?: number
  readonly of?: number
  readonly worker?: number
  readonly request_id?: string
}

/** The settings and limits of the process. */
export interface Confines {
  /** `server.publicUrl`. */
  readonly publicUrl?: string
  /** Maximum number of file descriptors. */
  readonly descriptors?: number
  /** Flags of Node itself. */
  readonly flags?: readonly string[]
  readonly drainTimeout?: string
  /** The settings of `server.console`, in one line. */
  readonly console?: string
  /** The settings of `server.adminAccess`, in one line. */
  readonly adminAccess?: string
  /** `server.metrics`: HOST:PORT. */
  readonly metrics?: string
  /** The settings of `server.tls`, in one line. */
  readonly tls?: string
  /** Further files beside the configuration file, by name. */
  readonly files?: Readonly<Record<string, string>>
  /** Further settings of `server`, each `key: value`. */
  readonly server?: readonly string[]
}

export interface ServedGateway {
  readonly url: string
  readonly adminUrl: string
  readonly pid: number
  /** Directory of the configuration file. */
  readonly directory: string
  /** The log lines so far that match, for a condition that is awaited: a line arrives later than the response of its request. */
  said (text: RegExp): Line[]
  /** Waits for exactly so many log lines that match. Rejects if fewer arrive in a minute, or more until a round trip is over. */
  heard (text: RegExp, count: number): Promise<Line[]>
  /** The whole output so far. */
  output (): string
  /**
   * Replaces the configuration file in one step, so that a reload never reads half of a file.
   * @param access the settings of `server.adminAccess`; default: those of the start
   */
  rewrite (yaml: string, access?: string): void
  kill (signal: NodeJS.Signals): void
  readonly exited: Promise<number | null>
  /** {@link sampleIn} of `/metrics`. */
  metric (selector: string): Promise<number>
}

/** @param yaml text below the root keys `version` and `server` */
export async function serve (
  t: Test,
  yaml: string,
  env: NodeJS.ProcessEnv = {},
  { descriptors, flags = [], drainTimeout = '200ms', console = '{}', adminAccess = 'null', metrics, tls = '{}', publicUrl, server = [], files = {} }: Confines = {}
): Promise<ServedGateway> {
  if (!existsSync(MAIN)) throw new Error('dist/ is not built: run "npm run build"')
  const directory = mkdtempSync(join(tmpdir(), 'served-'))
  const file = join(directory, 'gateway.yaml')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  const rewrite = (text: string, access = adminAccess): void => {
    writeFileSync(
      `${file}.new`,
      `version: 1\nserver: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: ${drainTimeout}, console: ${console}, adminAccess: ${access}, tls: ${tls}${metrics === undefined ? '' : `, metrics: "${metrics}"`}${publicUrl === undefined ? '' : `, publicUrl: "${publicUrl}"`}${server.map(one => `, ${one}`).join('')}}\n${text}`
    )
    renameSync(`${file}.new`, file)
  }
  rewrite(yaml)
  const command = [process.execPath, ...flags, MAIN, 'serve', '--config', file]
  // `exec`, so that signals reach the gateway.
  const [program = '', ...given] =
    descriptors === undefined ? command : ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...command]
  const child = spawn(program, given, { env: { PATH: process.env.PATH, ...env }, cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'close').then(([code]) => code as number | null)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(directory, { recursive: true })
    // The runner fails a process that warns: see scripts/test-setup.mjs.
    for (const [warning] of errors.matchAll(/^\(node:\d+\) (?!Experimental|Deprecation)\w*Warning: .*$/gm)) process.emitWarning(warning)
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const said = (text: RegExp): Line[] =>
    output
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line) as Line)
      .filter(line => text.test(line.msg))
  const heard = async (text: RegExp, count: number): Promise<Line[]> => {
    await until(() => said(text).length >= count || child.stdout.closed, `${count} log lines like ${String(text)}`, 60_000)
    if (child.exitCode === null) {
      await (await fetch(`${admin}/livez`)).text()
      await sleep(50)
    }
    const lines = said(text)
    if (lines.length === count) return lines
    throw new Error(`${lines.length} log lines like ${String(text)} instead of ${count}:\n${lines.map(line => JSON.stringify(line)).join('\n')}`)
  }
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`the gateway has stopped: ${output}${errors}`)
      return said(/^listening$/).length > 0
    },
    'the gateway to listen',
    60_000
  )
  const [{ url, admin }] = said(/^listening$/) as [Required<Line>]
  await until(async () => (await fetch(`${admin}/readyz`)).ok, 'the gateway to be ready', 60_000)
  return {
    url,
    adminUrl: admin,
    directory,
    pid: child.pid ?? 0,
    said,
    heard,
    output: () => output + errors,
    rewrite,
    kill: signal => {
      child.kill(signal)
    },
    exited,
    metric: async selector => {
      const response = await fetch(`${admin}/metrics`)
      const text = await response.text()
      if (response.status !== 200 || text === '') throw new Error(`${admin}/metrics: ${response.status} ${JSON.stringify(text)}`)
      return sampleIn(text, selector)
    }
  }
}
