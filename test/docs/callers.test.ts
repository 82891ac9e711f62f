/**
 * The section about callers in policies of docs/how-to/use-the-caller.md: its files are valid, and its commands print what the page
 * shows.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import { blocksOf, runPage, sectionOf } from './page-commands.js'

const SECTION = 'An example'
const read = (page: string): string => readFileSync(join(packageRoot(), 'docs', page), 'utf8')

/** The page uses the card and the call of the first policy. */
const FILES = blocksOf(read('start/first-policy.md'), 'sh').join('\n').match(/^cat > (?:card\.json|incomplete\.json|request\.http) <<'END'\n[^]*?^END$/gm) ?? []

t.test('the commands of the section', { timeout: 120_000 }, async t => {
  t.equal(FILES.length, 3)
  const [policy = '', keys = '', ...more] = blocksOf(sectionOf(read('how-to/use-the-caller.md'), SECTION), 'yaml')
  t.same(more, [])
  const before = [
    ...FILES,
    `cat > callers.yaml <<'END'\n${policy}END`,
    `cat > keys.yaml <<'END'\n${keys}END`,
    '[ "$(a2a-gateway check callers.yaml 2> notes)" = "callers.yaml: ok: 1 agent, 1 policy" ] || exit 1'
  ].join('\n')
  await runPage(t, { page: 'how-to/use-the-caller.md', section: SECTION, atLeast: [1, 1], before })
})
