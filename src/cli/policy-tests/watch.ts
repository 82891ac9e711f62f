/** `test --watch`: runs the tests again when a file changes. */
import { readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Output } from '../output.js'
import { testFiles } from './files.js'

/** Time between two looks at the files, ms. Polling also works on shared folders, which send no events. */
const INTERVAL = 300
const READ_BY_TESTS = /\.(?:ya?ml|json|http|rest|har|txt|sse)$/

export interface Watch {
  /** Arguments of the command: files, directories and patterns. */
  readonly names: readonly string[]
  readonly config: string | null
  /** Runs the tests. @returns the exit code */
  readonly run: () => number
  /** Called before each run but the first. */
  readonly again: () => void
  /** Called after each run. */
  readonly waiting: () => void
  /** Ends the watch. */
  readonly signal: AbortSignal
}

const CLEAR = '\x1b[2J\x1b[3J\x1b[H'

/**
 * Watches until Ctrl-C, or until the reader of the output goes away.
 * @returns the exit code of the last run
 */
export async function watchUntilInterrupted (watch: Pick<Watch, 'names' | 'config' | 'run'>, io: Pick<Output, 'err'>): Promise<number> {
  const { stdout } = process
  const ended = new AbortController()
  const end = (): void => { ended.abort() }
  process.once('SIGINT', end).once('SIGTERM', end)
  stdout.once('error', end)
  return await watchTests({
    ...watch,
    again: () => { if (stdout.isTTY) stdout.write(CLEAR) },
    waiting: () => { io.err('waiting for changes; Ctrl-C ends') },
    signal: ended.signal
  })
}

/**
 * Runs the tests until the signal. Test files, the configuration, and cards and recordings beside them count; new test files too.
 * @returns the exit code of the last run
 */
export async function watchTests ({ names, config, run, again, waiting, signal }: Watch): Promise<number> {
  // The files are looked at before the run, so that a change during the run is not lost.
  let state = stateOf(names, config)
  let code = run()
  waiting()
  while (!signal.aborted) {
    await pause(signal)
    const now = stateOf(names, config)
    if (now === state || signal.aborted) continue
    state = now
    again()
    code = run()
    waiting()
  }
  return code
}

/** Names, times and sizes of all files that the tests may read. */
function stateOf (names: readonly string[], config: string | null): string {
  const testPaths = testFiles(names)
  const files = [...('files' in testPaths ? testPaths.files : []), ...(config === null ? [] : [config])]
  const directories = new Set(files.map(file => dirname(resolve(file))))
  return [...directories].flatMap(directory => filesIn(directory).map(stampOf)).join('\n')
}

function filesIn (directory: string): string[] {
  try {
    return readdirSync(directory).filter(name => READ_BY_TESTS.test(name)).sort().map(name => join(directory, name))
  } catch {
    return []
  }
}

function stampOf (file: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(file)
    return `${file} ${mtimeMs} ${size} ${ino}`
  } catch {
    return file
  }
}

function pause (signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, INTERVAL)
    signal.addEventListener('abort', end)
  })
}
