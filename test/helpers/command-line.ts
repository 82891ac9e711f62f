/**
 * The built command line within the process of the test. The start of a process takes much longer than most commands, so that only a few
 * tests start one: those of `serve`, of signals, pipes and terminals, and one for each other command (`test/cli/command-line.test.ts`).
 */
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { MAIN } from './paths.js'

export interface Ran {
  readonly code: number | undefined
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  /** Default: the directory of the test's process. */
  readonly cwd?: string
  /** The whole environment. Default: empty. */
  readonly env?: NodeJS.ProcessEnv
  /** What the command reads on stdin. */
  readonly input?: string
}

let before: Promise<unknown> = Promise.resolve()
let number = 0

/** Runs a command line. Several run one after another, because they share the arguments, environment and directory of the process. */
export function commandLine (args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const ran = before.then(() => run(args, options))
  before = ran.catch(() => {})
  return ran
}

async function run (args: readonly string[], { cwd = process.cwd(), env = {}, input = '' }: RunOptions): Promise<Ran> {
  const texts = { out: '', err: '' }
  const sink = (name: keyof typeof texts): Writable => new Writable({
    write (chunk: Buffer, _encoding, done) {
      texts[name] += chunk.toString()
      done()
    }
  })
  const directory = process.cwd()
  const restore = replace({
    argv: [process.execPath, MAIN, ...args],
    env: { ...env },
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout: sink('out'),
    stderr: sink('err')
  })
  process.chdir(cwd)
  try {
    // The query makes the module new, so that it runs again.
    await import(`${pathToFileURL(MAIN).href}?run=${++number}`)
    return { code: process.exitCode as number | undefined, ...texts }
  } finally {
    process.exitCode = undefined
    process.chdir(directory)
    restore()
  }
}

/** Replaces properties of `process`. @returns a function that restores them */
function replace (values: Readonly<Record<string, unknown>>): () => void {
  const originals = Object.keys(values).map(name => [name, Object.getOwnPropertyDescriptor(process, name)] as const)
  for (const [name, value] of Object.entries(values)) Object.defineProperty(process, name, { configurable: true, writable: true, value })
  return () => { for (const [name, descriptor] of originals) Object.defineProperty(process, name, descriptor as PropertyDescriptor) }
}
