/** `--help` lists everything that the command line accepts, and nothing else. */
import t from 'tap'
import { COMMANDS } from '#cli/commands.js'
import { usage } from '#cli/usage.js'

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
