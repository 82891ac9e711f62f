/**
 * Starts test files as plain processes of Node, several at once, and reads the TAP that they print. The runner of tap would load a module
 * loader and the source maps of all modules into every process. Only the positions in failures need the maps.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { ROOT } from './build-tests.mjs'

const SETUP = new URL('test-setup.mjs', import.meta.url).href

/** Groups of processes that run. */
const running = new Set()
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const group of running) end(group)
    process.exit(1)
  })
}

/**
 * Runs all files.
 * @param files name of each process, and the absolute path of its file
 * @param options `jobs`: processes at once; `timeout`: seconds for each, unless the test sets another; `bail`: stops at the first failure;
 *   `stderr`: where the processes write their errors, as for `spawn`
 * @param onEnd called with each result
 */
export async function runAll (files, { jobs, timeout, bail, stderr = 'inherit' }, onEnd) {
  const waiting = [...files]
  const results = []
  const work = async () => {
    while (waiting.length > 0) {
      const [name, file] = waiting.shift()
      const result = await run(name, file, { timeout, bail, stderr })
      results.push(result)
      onEnd(result)
      if (bail && !result.ok) waiting.length = 0
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return results
}

/** The shell prints the processor time of the process and of the processes that it has started and awaited. */
const TIMED = '"$@"; code=$?; echo; times; exit $code'
const TIMES = /\n(?:\d+m[\d.]+s ?){2}\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s\n$/

async function run (name, file, { timeout, bail, stderr }) {
  const begin = performance.now()
  // The names and the messages of the channel are those of tap, see @tapjs/core/dist/esm/tap.js.
  const identity = { key: randomUUID(), child: '1' }
  const child = spawn('sh', ['-c', TIMED, 'sh', process.execPath, '--import', SETUP, file], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', stderr, 'ipc'],
    env: {
      ...process.env,
      TAP: '1',
      TAP_BAIL: bail ? '1' : '0',
      TAP_TIMEOUT: String(timeout),
      TAP_CHILD_KEY: identity.key,
      TAP_CHILD_ID: identity.child
    }
  })
  running.add(child.pid)
  const chunks = []
  child.stdout.on('data', chunk => chunks.push(chunk))
  let timer
  const limit = milliseconds => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      // The test reports what it waits for, if its event loop is free.
      child.send({ tapAbort: 'timeout', ...identity }, () => {})
      timer = setTimeout(() => { end(child.pid) }, 5_000)
    }, milliseconds)
  }
  limit(timeout * 1_000)
  child.on('message', message => { if (message?.key === identity.key && message.setTimeout > 0) limit(message.setTimeout) })
  // Processes that the test has left behind keep its output open.
  child.on('exit', () => { end(child.pid) })
  const code = await new Promise(resolve => {
    child.on('close', (code, signal) => { resolve(code ?? signal) })
    child.on('error', resolve)
  })
  clearTimeout(timer)
  running.delete(child.pid)
  const output = Buffer.concat(chunks).toString()
  const [, minutes = 0, seconds = 0, systemMinutes = 0, systemSeconds = 0] = TIMES.exec(output) ?? []
  const counts = countsOf(output)
  const faults = [...emptyTestsOf(output), ...warningsOf(output)]
  const ok = code === 0 && counts.fail === 0 && counts.total > 0 && faults.length === 0
  if (!ok && counts.fail === 0) counts.fail = 1
  return {
    name,
    ok,
    code,
    output: output.replace(TIMES, ''),
    faults,
    counts,
    seconds: (performance.now() - begin) / 1_000,
    cpu: (Number(minutes) + Number(systemMinutes)) * 60 + Number(seconds) + Number(systemSeconds)
  }
}

function end (group) {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // The group has no process left.
  }
}

const POINT = /^( *)(not )?ok \d+(?: - (.*))?$/

/** Counts assertions: test points other than those that end a subtest. */
function countsOf (output) {
  const counts = { total: 0, pass: 0, fail: 0, skip: 0 }
  /** Indentations of subtests that have begun. */
  const open = []
  for (const line of output.split('\n')) {
    const begun = /^( *)# Subtest/.exec(line)
    if (begun !== null) {
      open.push(begun[1].length)
      continue
    }
    const point = POINT.exec(line)
    if (point === null) continue
    const [, { length: indentation }, not, text = ''] = point
    if (open.at(-1) === indentation) {
      open.pop()
      continue
    }
    if (text.endsWith('{')) continue
    counts.total++
    counts[/ # skip/i.test(text) ? 'skip' : not === undefined || / # todo/i.test(text) ? 'pass' : 'fail']++
  }
  return counts
}

/** Subtests that end without an assertion, so they pass whatever the code does. */
function emptyTestsOf (output) {
  const names = output.matchAll(/^( *)# Subtest: (.*)\n(?:\1 {4}#.*\n)*\1 {4}1\.\.0$/gm)
  return [...names].map(([, , name]) => `no assertion: ${name}`)
}

/** Warnings of Node that test-setup.mjs has found: a leak of listeners, for example. */
function warningsOf (output) {
  return [...output.matchAll(/^# (process warning: .*)$/gm)].map(([, text]) => text)
}

/** The failed test points with their diagnostics; without any, the end of the output. Positions are those of the sources. */
export function failuresOf ({ output, code, faults }) {
  const lines = output.split('\n')
  const found = [...faults]
  for (let i = 0; i < lines.length; i++) {
    const indentation = /^( *)not ok /.exec(lines[i])?.[1]
    if (indentation === undefined) continue
    found.push(lines[i])
    if (lines[i + 1] !== `${indentation}  ---`) continue
    while (++i < lines.length && lines[i] !== `${indentation}  ...`) found.push(lines[i])
  }
  if (found.length === 0) found.push(`exit code ${code}; the end of the output:`, ...lines.slice(-60))
  return found.map(line => line.replace(BUILT, sourceOf)).join('\n')
}

export const skippedOf = ({ output }) => output.split('\n').filter(line => POINT.test(line) && / # skip/i.test(line)).map(line => line.trim())

const BUILT = /(dist\/[\w./-]+\.js):(\d+)(?::(\d+))?/g
const maps = new Map()

function sourceOf (position, file, line, column = '1') {
  const path = join(ROOT, `${file}.map`)
  if (!maps.has(path)) maps.set(path, existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : null)
  const entry = maps.get(path)?.findEntry(Number(line) - 1, Number(column) - 1)
  if (entry?.originalSource === undefined) return position
  return `${relative(ROOT, resolve(dirname(path), entry.originalSource))}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
}
