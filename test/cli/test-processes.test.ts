/** The runner of the test suites: it counts assertions, names failures, and ends processes that hang or leave others behind. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { ROOT } from '../helpers/paths.js'

interface Result {
  readonly name: string
  readonly ok: boolean
  readonly counts: Readonly<Record<'total' | 'pass' | 'fail' | 'skip', number>>
  readonly output: string
  readonly seconds: number
  readonly cpu: number
}

interface Runner {
  readonly runAll: (
    files: ReadonlyArray<readonly [name: string, file: string]>,
    options: { readonly jobs: number, readonly timeout: number, readonly bail: boolean, readonly stderr: 'ignore' },
    onEnd: (result: Result) => void
  ) => Promise<readonly Result[]>
  readonly failuresOf: (result: Result) => string
  readonly skippedOf: (result: Result) => readonly string[]
}

const { runAll, failuresOf, skippedOf } = await import(pathToFileURL(join(ROOT, 'scripts/test-processes.mjs')).href) as Runner

/** Warnings and signals of these processes are the subject of the test, and not for the output of the suite. */
const FILES: Readonly<Record<string, string>> = {
  passes: `import t from 'tap'
    t.test('outer', async t => {
      t.ok(true)
      await t.test('inner', async t => { t.ok(true); t.ok(true) })
      await t.test('buffered', { buffered: true }, async t => { t.ok(true) })
      await t.test('later', { skip: 'needs the moon' }, async () => {})
    })
    t.ok(true)`,
  fails: "import t from 'tap'\nt.test('outer', async t => { t.ok(true); t.equal(1, 2, 'one is two') })",
  crashes: "import t from 'tap'\nt.ok(true)\nthrow new Error('in the middle')",
  rejects: "import t from 'tap'\nt.ok(true)\nPromise.reject(new Error('nobody handles this'))\nsetTimeout(() => {}, 1_000)",
  empty: '',
  asserts: "import t from 'tap'\nt.test('outer', async t => { t.test('inner', async t => { t.comment('nothing') }); t.ok(true) })",
  warns: "import t from 'tap'\nimport { EventEmitter } from 'node:events'\nconst one = new EventEmitter()\nfor (let i = 0; i < 11; i++) one.on('x', () => {})\nt.ok(true)\nawait new Promise(resolve => setTimeout(resolve, 20))",
  hangs: "import t from 'tap'\nt.test('waits', () => new Promise(() => { setInterval(() => {}, 1_000) }))",
  spins: "import t from 'tap'\nt.setTimeout(100)\nt.test('spins', async () => { for (;;); })",
  leaves: "import t from 'tap'\nimport { spawn } from 'node:child_process'\nspawn('sleep', ['600'], { stdio: 'inherit' }).unref()\nt.ok(true)"
}

t.test('results of processes', { timeout: 120_000 }, async t => {
  const directory = t.testdir(Object.fromEntries(Object.entries(FILES).map(([name, text]) => [`${name}.mjs`, text])))
  const ended: string[] = []
  const results = await runAll(
    Object.keys(FILES).map(name => [name, join(directory, `${name}.mjs`)]),
    { jobs: 4, timeout: 10, bail: false, stderr: 'ignore' },
    ({ name }) => { ended.push(name) }
  )
  t.same(ended.toSorted(), Object.keys(FILES).toSorted())
  const of = (name: string): Result => results.find(result => result.name === name) as Result
  t.match(of('passes'), { ok: true, counts: { total: 6, pass: 5, fail: 0, skip: 1 } })
  t.ok(of('passes').cpu > 0)
  t.match(skippedOf(of('passes')), [/later # SKIP needs the moon/])
  t.match(of('fails'), { ok: false, counts: { total: 2, pass: 1, fail: 1 } })
  t.match(failuresOf(of('fails')), /^ {4}not ok 2 - one is two\n {6}---\n[^]*\+\+\+ actual/)
  for (const name of ['crashes', 'rejects', 'empty', 'hangs', 'spins']) t.match(of(name), { ok: false, counts: { fail: 1 } }, name)
  t.match(failuresOf(of('hangs')), /timeout!/)
  t.match(failuresOf(of('empty')), /exit code 0; the end of the output/)
  t.match(of('asserts'), { ok: false, counts: { fail: 1 } })
  t.match(failuresOf(of('asserts')), /^no assertion: inner/)
  t.match(of('warns'), { ok: false, counts: { fail: 1 } })
  t.match(failuresOf(of('warns')), /^process warning: MaxListenersExceededWarning: .*11 x listeners/)
  t.match(of('leaves'), { ok: true, counts: { total: 1 } })
})

t.test('the first failure ends a run with bail', async t => {
  const directory = t.testdir({ 'fails.mjs': FILES.fails ?? '', 'passes.mjs': FILES.passes ?? '' })
  const files = ['fails', 'passes'].map(name => [name, join(directory, `${name}.mjs`)] as const)
  const results = await runAll(files, { jobs: 1, timeout: 60, bail: true, stderr: 'ignore' }, () => {})
  t.match(results, [{ name: 'fails', ok: false }])
  t.equal(results.length, 1)
})
