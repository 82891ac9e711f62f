import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readPolicy } from '../../src/config/catalogue.js'

t.test('a bad policy of the catalogue is an error with every problem', t => {
  const directory = mkdtempSync(join(tmpdir(), 'catalogue-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const read = (text: string) => {
    const file = join(directory, 'p.yaml')
    writeFileSync(file, text)
    try {
      return readPolicy(file)
    } catch (error) {
      return error instanceof Error ? error.message.replaceAll(`${directory}/`, '').split('\n') : error
    }
  }
  t.match(read('uri: urn:x\n'), { uri: 'urn:x' })
  t.match(read('uri: ""\nnothing: {}\nrequest: [{id: r, select: {part: {}}}]\n'), [
    'p.yaml:1:6: uri must be an extension URI (ASCII, without commas, blanks and control characters: it travels in a comma-separated header)',
    /^p\.yaml:2:1: unknown key "nothing" \(known keys: uri, .*\brequest\b.*\)$/,
    'p.yaml:3:11: request[0] needs count or schema (a rule without them checks nothing)'
  ])
  t.same(read('['), ['p.yaml:1:2: Flow sequence must end with a ]'])
  t.same(read(''), ['p.yaml:1:1: the policy must be a mapping, not null'])
  t.end()
})
