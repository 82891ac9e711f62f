/** No page tells a reader to run a package or an image by a name that the project does not own. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../helpers/paths.js'

const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.md'))
  .map(name => `docs/${name}`)]
/** Names that a maintainer publishes in a release, and uses only then; and the names of other gateways, whose projects own them. */
const OTHER_NAMES = ['docs/contributing/releasing.md', 'docs/explain/compared.md']

/** Commands that may fetch something by name, and the name. */
const FETCHES = [
  /\bnpx (?:-y |--yes )?(?!--no )(?:--package )?([\w@./-]+)/g,
  /\bnpm (?:install|i|add)(?: -{1,2}[\w-]+)* ([\w@./-]+)/g,
  /\b(?:docker|podman) pull ([\w./:-]+)/g,
  /\b(oci:\/\/[\w./-]+|ghcr\.io\/[\w./-]+)/g
]

t.test('commands of the pages fetch no name from a registry', async t => {
  const found: string[] = []
  for (const page of pages.filter(page => !OTHER_NAMES.includes(page))) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    const blocks = [...text.matchAll(/```\w*\n([^]*?)```/g)].map(([, block = '']) => block)
    for (const block of blocks) {
      for (const pattern of FETCHES) for (const [command, name = ''] of block.matchAll(pattern)) if (!name.startsWith('./')) found.push(`${page}: ${command}`)
    }
  }
  t.same(found, [])
  t.match('npx a2a-gateway serve', FETCHES[0])
  t.notMatch('npx --no a2a-gateway serve', FETCHES[0])
})
