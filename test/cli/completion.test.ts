/** Completion scripts, and the colours of the output. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '#cli/commands.js'
import { shortHelp } from '#cli/usage.js'
import { CHECK_FORMATS } from '#cli/check.js'
import { hasColours } from '#wire/terminal.js'
import { commandLine } from '../helpers/command-line.js'
import type { Ran } from '../helpers/command-line.js'
import { MAIN } from '../helpers/paths.js'
import { one } from '../offline/kit.js'

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = '.'): Promise<Ran> => commandLine(args, { cwd, env })

t.test('bash completes commands, flags, values and files', async t => {
  const directory = t.testdir({ 'gateway.yaml': '', 'my file.yaml': '', 'old.yml': '', 'calls.har': '' })
  const bin = join(directory, 'bin')
  mkdirSync(bin)
  writeFileSync(join(directory, 'bin', 'a2a-gateway'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, { mode: 0o755 })
  const rows: ReadonlyArray<readonly [words: readonly string[], completions: readonly string[]]> = [
    [['ch'], ['check']],
    [[''], [...Object.keys(COMMANDS), '--help', '--version'].sort()],
    [['serve', '--l'], ['--listen']],
    [['check', '--format', ''], [...CHECK_FORMATS].sort()],
    [['test', '--format', 'p'], ['pretty']],
    [['help', 'ex'], ['explain', 'external']],
    [['serve', 'gate'], ['gateway.yaml']],
    [['serve', ''], ['bin', 'gateway.yaml', 'my file.yaml', 'old.yml']],
    [['check', '--config', 'm'], ['my file.yaml']],
    [['explain', '--config', 'ca'], []],
    [['explain', 'ca'], ['calls.har']],
    [['init', '--card', 'ca'], ['calls.har']]
  ]
  const script = rows.map(([words]) => `
    COMP_WORDS=(a2a-gateway ${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
    _a2a_gateway; for one in "\${COMPREPLY[@]}"; do echo "$one"; done; echo END`)
  const printed = execFileSync('bash', ['-c', `source <(a2a-gateway completion bash)${script.join('')}`], {
    cwd: directory, encoding: 'utf8', env: { PATH: `${bin}:${process.env.PATH ?? ''}` }
  })
  const found = printed.split('END\n').map(text => text.split('\n').filter(line => line !== '').sort())
  t.strictSame(rows.map(([words], i) => [words, found[i]]), rows)
})

t.test('the scripts name every command and flag', async t => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out, err } = await run(['completion', shell])
    t.same([code, err], [0, ''])
    for (const [name, { flags }] of Object.entries(COMMANDS)) {
      t.match(out, new RegExp(`\\b${name}\\b`))
      for (const flag of Object.keys(flags)) t.ok(shortHelp(name).flags[flag], `${name} --${flag} is described`)
      for (const flag of Object.keys(flags)) t.match(out, shell === 'fish' ? ` -l ${flag}` : `--${flag}`)
    }
  }
  t.match(await run(['completion']), { code: 2, err: 'a2a-gateway completion: name a shell: bash, zsh, fish [A2AGW_ERR_USAGE]\n' })
  t.match(await run(['completion', 'csh']), { code: 2, err: /no script for "csh"/ })
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
    const plain = await run(args, {}, directory)
    const coloured = await run(args, colour, directory)
    t.equal(coloured.code, plain.code)
    t.match(coloured.out + coloured.err, '\x1b[', args.join(' '))
    t.equal((coloured.out + coloured.err).replaceAll(/\x1b\[\d+m/g, ''), plain.out + plain.err, 'the same text') // eslint-disable-line no-control-regex
  }
  t.notMatch((await run(['check'], { ...colour, NO_COLOR: '1' }, directory)).out, '\x1b[')
  for (const args of [['check', '--json'], ['test', 'a.test.yaml', '--format', 'junit'], ['test', 'a.test.yaml', '--format=tap'], ['schema']]) {
    t.notMatch((await run(args, colour, directory)).out, '\x1b[', args.join(' '))
  }
})
