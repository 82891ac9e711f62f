/**
 * Coverage guides the engine to inputs that chance does not find: a crash behind four letters, each in a branch of its own. The test uses a
 * process of its own, because V8 counts from the start of the process.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { inTests } from '../helpers/paths.js'

/** Files without types: the engine, and a toy target with a secret. */
function workshop (): string {
  const directory = mkdtempSync(join(tmpdir(), 'fuzz-'))
  for (const name of ['coverage', 'fuzz', 'minimise', 'mutate', 'random', 'target']) {
    const source = readFileSync(inTests('fuzz', `engine/${name}.ts`), 'utf8')
    writeFileSync(
      join(directory, `${name}.js`),
      ts.transpileModule(source, {
        compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true }
      }).outputText
    )
  }
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  writeFileSync(join(directory, 'toy.js'), `
export function open (bytes) {
  if (bytes[0] !== 97) return 1
  if (bytes[1] !== 98) return 2
  if (bytes[2] !== 99) return 3
  if (bytes[3] !== 33) return 4
  throw new Error('the hidden crash')
}
`)
  writeFileSync(
    join(directory, 'main.js'),
    `
import { Coverage } from './coverage.js'
import { fuzz } from './fuzz.js'
const coverage = process.argv[2] === 'guided' ? new Coverage(url => url.endsWith('/toy.js')) : null
const { open } = await import('./toy.js')
const target = { name: 'toy', maxBytes: 16, seeds: ['hello'], dictionary: [], check: open }
const { found, executions } = fuzz(target, { seed: 1, corpus: [], coverage, done: now => now.findings > 0 || now.executions >= Number(process.argv[3]) })
console.log(JSON.stringify({ found: found.map(one => Buffer.from(one.bytes).toString()), executions }))
`
  )
  return directory
}

t.test('abc! is found', async t => {
  const directory = workshop()
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const run = (how: string, executions: number): { found: string[], executions: number } => {
    const { stdout, stderr } = spawnSync(process.execPath, ['main.js', how, String(executions)], { cwd: directory, encoding: 'utf8' })
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout) as { found: string[], executions: number }
  }
  const guided = run('guided', 600_000)
  t.same(guided.found, ['abc!'], `after ${guided.executions} executions`)
  t.same(run('blind', 200_000).found, [], 'and not by chance')
})
