/** The completion scripts in fish and zsh. test/cli/completion.test.ts runs the one of bash. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { COMMANDS } from '#cli/commands.js'
import { MAIN } from '../helpers/paths.js'

const missing = (shell: string): string | false => spawnSync(shell, ['--version']).status === 0 ? false : `${shell} is missing: apt-get install ${shell}`

/** A folder with files, and the gateway in the path. */
function workspace (t: Test): { readonly cwd: string, readonly env: NodeJS.ProcessEnv } {
  const cwd = t.testdir({ 'gateway.yaml': '', 'other.yml': '', 'calls.har': '', policies: {}, home: {} })
  const bin = join(cwd, 'home', 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'a2a-gateway'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, { mode: 0o755 })
  return { cwd, env: { PATH: `${bin}:${process.env.PATH ?? ''}`, HOME: join(cwd, 'home') } }
}

/** Words before the cursor, the completions, and the description of one of them. */
const ROWS: ReadonlyArray<readonly [line: string, completions: readonly string[], described?: readonly [word: string, text: string]]> = [
  ['ch', ['check'], ['check', 'reports all problems of a configuration']],
  ['check --fo', ['--format'], ['--format', 'text, json, junit']],
  ['check --format ju', ['junit']],
  ['help expl', ['explain']],
  ['completion ', ['bash', 'fish', 'zsh']],
  ['serve ', ['gateway.yaml', 'home/', 'other.yml', 'policies/']],
  ['explain --config ', ['gateway.yaml', 'home/', 'other.yml', 'policies/']],
  ['explain ca', ['calls.har']],
  ['init --card ca', ['calls.har']]
]

t.test('fish', { skip: missing('fish') }, async t => {
  const { cwd, env } = workspace(t)
  const lines = ROWS.map(([line]) => `complete -C'a2a-gateway ${line}'; echo END`)
  const out = execFileSync('fish', ['-c', `a2a-gateway completion fish | source; ${lines.join('; ')}`], { cwd, env, encoding: 'utf8' })
  const found = out.split('END\n').map(text => text.split('\n').filter(line => line !== ''))
  ROWS.forEach(([line, expected, described], i) => {
    const words = (found[i] ?? []).map(one => one.split('\t'))
    t.strictSame(words.map(([word]) => word).sort(), expected, line)
    if (described !== undefined) t.match(words.find(([word]) => word === described[0])?.[1], described[1], line)
  })
  const help = execFileSync('fish', ['-c', "a2a-gateway completion fish | source; complete -C'a2a-gateway '"], { cwd, env, encoding: 'utf8' })
  t.same(help.split('\n').map(line => line.split('\t')[0]).filter(word => word !== undefined && Object.hasOwn(COMMANDS, word)).length, Object.keys(COMMANDS).length)
})

/** The functions of zsh's completion system print what they get, because they work at a prompt only. */
const ZSH = `
compdef () { true }
compadd () { shift; for one in $@; do [[ $one == $PREFIX* ]] && print -r -- "WORD $one"; done }
_describe () { local name=$@[-1]; for one in \${(P)name}; do [[ $one == $PREFIX* ]] && print -r -- "WORD $one"; done }
_files () { if (( $# )); then print -r -- "FILES $2"; else print -r -- "FILES"; fi }
source <(a2a-gateway completion zsh)
try () { local -a words=(a2a-gateway "$@"); local CURRENT=$#words PREFIX=$words[-1]; _a2a_gateway; print END }
`

t.test('zsh', { skip: missing('zsh') }, async t => {
  const { cwd, env } = workspace(t)
  const calls = ROWS.map(([line]) => `try ${line.split(' ').map(word => `'${word}'`).join(' ')}`)
  const out = execFileSync('zsh', ['-f', '-c', `${ZSH}\n${calls.join('\n')}`], { cwd, env, encoding: 'utf8' })
  const found = out.split('END\n').map(text => text.split('\n').filter(line => line !== ''))
  ROWS.forEach(([line, expected, described], i) => {
    const words = found[i] ?? []
    if (expected.includes('gateway.yaml')) return t.same(words, ['FILES *.(yaml|yml)'], line)
    if (expected.includes('calls.har')) return t.same(words, ['FILES'], line)
    t.strictSame(words.map(word => word.replace(/^WORD /, '').replace(/:.*$/, '')).sort(), expected, line)
    if (described !== undefined) t.match(words[0], `${described[0]}:${described[1]}`, line)
  })
  t.equal(spawnSync('zsh', ['-n', '-c', execFileSync('a2a-gateway', ['completion', 'zsh'], { env, encoding: 'utf8' })]).status, 0)
})
