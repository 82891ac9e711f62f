/** Copies the pages of the repository for VitePress. Links to files that are no pages lead to the repository on GitHub. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { HERE, ROOT } from './paths.mjs'

const CATALOGUE = 'docs/extensions/README.md'

/** Pages outside of docs/, with their place on the site. */
const OTHERS = { 'README.md': 'index.md', 'CHANGELOG.md': 'changelog.md', 'CONTRIBUTING.md': 'contributing.md', 'SECURITY.md': 'security-policy.md' }

const read = file => readFileSync(join(ROOT, file), 'utf8')

/** @returns a map from each page of the repository to its place on the site */
function placesOf () {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true }).map(String).filter(file => file.endsWith('.md'))
  return new Map([
    ...Object.entries(OTHERS),
    ...pages.sort().map(file => [posix.join('docs', file.split('\\').join('/')), file.split('\\').join('/').replace(/README\.md$/, 'index.md')])
  ])
}

/** @returns the URL of the repository on GitHub */
function addressOf () {
  return JSON.parse(read('package.json')).repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
}

/** Writes the pages, and `site.json` with what the configuration of VitePress needs. */
export function writeSource (folder) {
  const pages = placesOf()
  const address = addressOf()
  rmSync(folder, { recursive: true, force: true })
  for (const [page, place] of pages) {
    const file = join(folder, place)
    mkdirSync(dirname(file), { recursive: true })
    const text = withLinks(read(page), link => linkFrom(page, link, pages, address))
    // VitePress draws no diagrams, and the package that does is as large as all others together.
    writeFileSync(file, text.replace(/^```mermaid\n[^]*?^```$/gm, `[Diagram](${address}/blob/main/${page}), drawn by GitHub`))
  }
  // Pages become modules, which import packages of VitePress.
  symlinkSync(join(HERE, 'node_modules'), join(folder, 'node_modules'), 'junction')
  cpSync(join(ROOT, 'docs/images'), join(folder, 'images'), { recursive: true })
  writeFileSync(join(folder, 'site.json'), JSON.stringify({ address, sidebar: sidebarOf(pages) }, null, 2))
  return { pages }
}

/** Replaces the targets of links outside of code. */
function withLinks (text, replace) {
  return text
    .split(/(^(?<fence>`{3,})[^]*?^\k<fence>`*$|`[^`\n]*`)/m)
    .filter(part => part !== undefined && !/^`{3,}$/.test(part))
    .map(part => part.startsWith('`') ? part : part.replace(/(?<=\]\()[^)\s]+(?=\))|(?<=^\[[^\]]+\]: )\S+/gm, replace))
    .join('')
}

function linkFrom (page, link, pages, address) {
  if (/^[a-z][a-z+.-]*:/i.test(link) || link.startsWith('#')) return link
  const [path, anchor] = link.split('#')
  const target = posix.join(posix.dirname(page), decodeURIComponent(path))
  const hash = anchor === undefined ? '' : `#${anchor}`
  const here = posix.dirname(pages.get(page))
  const to = place => {
    const relative = posix.relative(here, place)
    return `${relative.startsWith('.') ? '' : './'}${relative}${hash}`
  }
  if (pages.has(target)) return to(pages.get(target))
  if (target.startsWith('docs/images/')) return to(target.slice('docs/'.length))
  const kind = statSync(join(ROOT, target)).isDirectory() ? 'tree' : 'blob'
  return `${address}/${kind}/main/${target.replace(/\/$/, '')}${hash}`
}

/** The groups are the rows of the table in README.md, so that a page in the table is in the sidebar. */
function sidebarOf (pages) {
  const linkOf = page => `/${pages.get(page).replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`
  const groups = [...read('README.md').matchAll(/^\| \*\*(.+?)\*\* \| (.+) \|$/gm)].map(([, text, links]) => ({
    text,
    items: [...links.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)]
      .filter(([, , page]) => pages.has(page))
      .map(([, text, page]) => ({ text, link: linkOf(page) }))
  }))
  const extensions = [...pages.keys()]
    .filter(page => page.startsWith('docs/extensions/') && page !== CATALOGUE)
    .map(page => ({ text: titleOf(page), link: linkOf(page) }))
  return [...groups, { text: 'Extensions', collapsed: true, items: extensions }]
}

function titleOf (page) {
  return /^# (.+)$/m.exec(read(page))?.[1].replaceAll('`', '') ?? page
}
