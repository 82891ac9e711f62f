/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
import t from 'tap'
import { packageVersion } from '#config/paths.js'
import { AGENT, lines, ROWS } from './rows.js'

for (const [group, rows] of Object.entries(ROWS)) {
  t.test(group, t => {
    for (const [name, text, ...expected] of rows) {
      if (expected[0]?.startsWith('^')) t.match(lines(text), [new RegExp(expected[0])], name)
      else t.same(lines(text), expected, name)
    }
    t.end()
  })
}

t.test('a hundred problems are listed, the rest counted', t => {
  const keys = Array.from({ length: 150 }, (_, index) => `k${index}: 1\n`).join('')
  const printed = lines(AGENT + keys)
  t.equal(printed.length, 101)
  t.equal(printed[0]?.startsWith('g.yaml:5:1: unknown key "k0"'), true)
  t.equal(printed[100], 'g.yaml: 50 more problems not shown')
  t.end()
})

t.test('all problems come at once, in the order of the file', t => {
  t.same(lines('version: 2\nserver: {lisen: 1}\nagents:\n  - upstream: {url: "${NOPE}", timeouts: {connect: 3}}\n'), [
    `g.yaml:1:10: version must be 1, not 2 (a2a-gateway ${packageVersion()} reads version 1; a file of another version needs the release that it was written for)`,
    'g.yaml:2:10: unknown key "lisen" in server (did you mean "listen"?)',
    'g.yaml:4:5: agents[0].name is required (such as "name: eightball")',
    'g.yaml:4:21: environment variable NOPE is not set (set it, or write ${NOPE:-default})',
    'g.yaml:4:52: agents[0].upstream.timeouts.connect must be a duration, not the number 3 (add a unit, such as "3s")'
  ])
  t.end()
})
