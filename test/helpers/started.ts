/** A gateway as a process of its own, whatever program it is: a script of Node.js, a package, an executable. It ends with the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { until } from './http.js'

export interface Started {
  /** Standard output so far. */
  readonly output: () => string
  /** Standard error so far. */
  readonly errors: () => string
  /** Exit code and signal. */
  readonly exited: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>
  readonly kill: (signal: NodeJS.Signals) => void
  /** The line of the log that names the addresses. Rejects with the output when the process ends before. */
  listening (): Promise<{ readonly url: string, readonly admin: string }>
}

export interface StartOptions {
  readonly env: NodeJS.ProcessEnv
  readonly cwd?: string
}

export function start (t: Test, program: string, args: readonly string[], options: StartOptions): Started {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => { child.kill('SIGKILL') })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString() })
  child.stderr.on('data', (chunk: Buffer) => { errors += chunk.toString() })
  const line = (): string | undefined => output.split('\n').slice(0, -1).find(one => one.includes('"msg":"listening"'))
  return {
    output: () => output,
    errors: () => errors,
    exited: once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
    kill: signal => { child.kill(signal) },
    listening: async () => {
      await until(() => {
        if (child.exitCode !== null) throw new Error(`the gateway has stopped: ${output}${errors}`)
        return line() !== undefined
      }, 'the gateway to listen', 60_000)
      return JSON.parse(line() ?? '') as { url: string, admin: string }
    }
  }
}
