/** The example that docs/testing.md shows is a run of tests that pass, and that fail when the policy is broken. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runTest } from '../../src/cli/test.js'
import { packageRoot } from '../../src/config/paths.js'

function run (directory: string): { code: number, text: string } {
  let text = ''
  const io = { out: (more: string) => { text += more }, err: (more: string) => { text += more } }
  const code = runTest({ files: [join(directory, 'orders.test.yaml')], config: join(directory, 'gateway.yaml'), only: null, format: 'pretty', terminal: false, env: {} }, io)
  return { code, text }
}

const EXAMPLE = join(packageRoot(), 'examples', 'policy-tests')

t.test('the example passes', async t => {
  const { code, text } = run(EXAMPLE)
  t.equal(code, 0, text)
  t.match(text, /\n9 passed\n$/)
})

t.test('a policy that lost its lower bound fails the test that promises it', async t => {
  const directory = t.testdir()
  cpSync(EXAMPLE, directory, { recursive: true })
  const config = join(directory, 'gateway.yaml')
  writeFileSync(config, readFileSync(config, 'utf8').replace('minimum: 1, ', ''))
  const { code, text } = run(directory)
  t.equal(code, 1)
  t.match(text, /FAIL {2}an order of nothing is refused \(1\.0 JSONRPC\)\n.*orders\.test\.yaml:17:5\n +decision\n +expected {2}"reject"\n +got {7}"forward"/)
  t.match(text, /6 passed, 3 failed\n$/)
})
