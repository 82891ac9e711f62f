/** `--help` lists everything that the command line accepts, and nothing else. So does the page about `explain`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '#cli/commands.js'
import { usage } from '#cli/usage.js'
import { ROOT } from '../helpers/paths.js'

t.test('all commands: one line each', async t => {
  t.same(usage(null).match(/(?<=^ {2}a2a-gateway )\w+/gm), Object.keys(COMMANDS))
})

for (const [command, { flags }] of Object.entries(COMMANDS)) {
  t.test(`of ${command}: its flags, in the first line and explained`, async t => {
    const [first = '', ...lines] = usage(command).split('\n')
    const named = Object.keys(flags).map(name => `--${name}`).sort()
    t.match(first, new RegExp(`^a2a-gateway ${command}\\b`))
    t.same((first.match(/--[a-z]+/g) ?? []).sort(), named)
    t.same(lines.flatMap(line => /^ {2}(--[a-z]+)/.exec(line)?.[1] ?? []).sort(), named)
  })
}

t.test('the page about explain has every flag, and its synopsis', async t => {
  const page = readFileSync(join(ROOT, 'docs/how-to/explain-a-call.md'), 'utf8')
  t.same([...page.matchAll(/^\| `--(\w+)` \|/gm)].map(([, flag]) => flag), Object.keys(COMMANDS['explain']?.flags ?? {}))
  t.ok(page.includes(`\n${usage('explain').split('\n')[0] ?? '?'}\n`), 'the synopsis')
})
