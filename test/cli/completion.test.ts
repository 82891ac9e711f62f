/** Completion scripts, and the colours of the output. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '../../src/cli/commands.js'
import { CHECK_FORMATS } from '../../src/cli/reports/check-report.js'
import { hasColours } from '../../src/wire/terminal.js'
import { MAIN } from '../helpers/paths.js'
import { one } from '../offline/kit.js'

t.setTimeout(120_000)

interface Ran { readonly status: number | null, readonly stdout: string, readonly stderr: string }

function run (args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = '.'): Ran {
  return spawnSync(process.execPath, [MAIN, ...args], { cwd, encoding: 'utf8', env })
}

t.test('bash completes commands, flags, values and files', async t => {
  const directory = t.testdir({ 'gateway.yaml': '', 'my file.yaml': '' })
  const bin = join(directory, 'bin')
  mkdirSync(bin)
  writeFileSync(join(directory, 'bin', 'a2a-gateway'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, { mode: 0o755 })
  const complete = (...words: string[]): string[] => {
    const script = `source <(a2a-gateway completion bash)
      COMP_WORDS=(a2a-gateway ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
      _a2a_gateway; for one in "\${COMPREPLY[@]}"; do echo "$one"; done`
    return execFileSync('bash', ['-c', script], { cwd: directory, encoding: 'utf8', env: { PATH: `${bin}:${process.env.PATH ?? ''}` } })
      .split('\n').filter(line => line !== '').sort()
  }
  t.same(complete('ch'), ['check'])
  t.same(complete(''), [...Object.keys(COMMANDS), '--help', '--version'].sort())
  t.same(complete('serve', '--l'), ['--listen'])
  t.same(complete('check', '--format', ''), [...CHECK_FORMATS].sort())
  t.same(complete('test', '--format', 'p'), ['pretty'])
  t.same(complete('help', 'ex'), ['explain'])
  t.same(complete('serve', 'gate'), ['gateway.yaml'])
  t.same(complete('check', '--config', 'm'), ['my file.yaml'])
})

t.test('the scripts name every command and flag', async t => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, stdout, stderr } = run(['completion', shell])
    t.same([status, stderr], [0, ''])
    for (const [name, { flags = [], lists = [], switches = [] }] of Object.entries(COMMANDS)) {
      t.match(stdout, new RegExp(`\\b${name}\\b`))
      for (const flag of [...flags, ...lists, ...switches]) t.match(stdout, shell === 'fish' ? ` -l ${flag}` : `--${flag}`)
    }
  }
  t.match(run(['completion']), { status: 2, stderr: 'a2a-gateway completion: name a shell: bash, zsh, fish\n' })
  t.match(run(['completion', 'csh']), { status: 2, stderr: /no script for "csh"/ })
})

t.test('colours: on a terminal, NO_COLOR, FORCE_COLOR', async t => {
  t.ok(hasColours({ isTTY: true }, {}))
  t.notOk(hasColours({}, {}))
  t.notOk(hasColours({ isTTY: true }, { NO_COLOR: '1' }))
  t.ok(hasColours({ isTTY: true }, { NO_COLOR: '' }))
  t.notOk(hasColours({ isTTY: true }, { TERM: 'dumb' }))
  t.ok(hasColours({}, { FORCE_COLOR: '1' }))
  t.notOk(hasColours({ isTTY: true }, { FORCE_COLOR: '0' }))

  const test = one('{message: {parts: [{text: hi}]}}', '{decision: reject}')
  const directory = t.testdir({
    'gateway.yaml': 'version: 1\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}}]\n',
    'bad.yaml': 'version: 1\n',
    'a.test.yaml': test
  })
  const colour = { FORCE_COLOR: '1' }
  for (const args of [['check'], ['check', 'bad.yaml'], ['test', '--format', 'pretty', 'a.test.yaml'], ['help', 'serve'], ['chekc'], ['serve', '--help']]) {
    const plain = run(args, {}, directory)
    const coloured = run(args, colour, directory)
    t.equal(coloured.status, plain.status)
    t.match(coloured.stdout + coloured.stderr, '\x1b[', args.join(' '))
    t.equal((coloured.stdout + coloured.stderr).replaceAll(/\x1b\[\d+m/g, ''), plain.stdout + plain.stderr, 'the same text') // eslint-disable-line no-control-regex
  }
  t.notMatch(run(['check'], { ...colour, NO_COLOR: '1' }, directory).stdout, '\x1b[')
  for (const args of [['check', '--json'], ['test', 'a.test.yaml', '--format', 'junit'], ['test', 'a.test.yaml', '--format=tap'], ['schema']]) {
    t.notMatch(run(args, colour, directory).stdout, '\x1b[', args.join(' '))
  }
})
