/** The example of docs/how-to/test-policies.md passes, and fails when the policy is broken, both with the output on the page. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runTest } from '#cli/test.js'
import { packageRoot } from '#config/paths.js'

const EXAMPLE = join(packageRoot(), 'examples', 'policy-tests')
const PAGE = readFileSync(join(packageRoot(), 'docs', 'how-to/test-policies.md'), 'utf8')

function run (directory: string): { code: number, text: string } {
  let text = ''
  const io = { out: (more: string) => { text += more }, err: (more: string) => { text += more } }
  const code = runTest(
    {
      files: [join(directory, 'orders.test.yaml')],
      config: join(directory, 'gateway.yaml'),
      only: null,
      format: 'pretty',
      terminal: false,
      env: {}
    },
    io
  )
  return { code, text: text.replaceAll(`${directory}/`, '') }
}

t.test('the page shows the files of the example', async t => {
  for (const name of ['gateway.yaml', 'orders.test.yaml']) {
    t.ok(PAGE.includes(`\n\`\`\`yaml\n${readFileSync(join(EXAMPLE, name), 'utf8')}\`\`\`\n`), name)
  }
})

t.test('the example passes, as printed', async t => {
  const { code, text } = run(EXAMPLE)
  t.equal(code, 0, text)
  t.match(text, /\n12 passed\n$/)
  t.ok(PAGE.includes(`orders.test.yaml\n${text}\`\`\`\n`), text)
})

t.test('a policy that lost its lower bound fails the tests that promise it, as printed', async t => {
  const directory = t.testdir()
  cpSync(EXAMPLE, directory, { recursive: true })
  const config = join(directory, 'gateway.yaml')
  writeFileSync(config, readFileSync(config, 'utf8').replace('minimum: 1, ', ''))
  const { code, text } = run(directory)
  t.equal(code, 1)
  t.match(text, /\n9 passed, 3 failed\n$/)
  t.ok(PAGE.includes(`\n\`\`\`\n${text}\`\`\`\n`), text)
})
