/** Copies the pages of the repository for VitePress. Links to files that are no pages lead to the repository on GitHub. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { drawn } from './diagram.mjs'
import { HERE, ROOT } from './paths.mjs'

const CATALOGUE = 'docs/extensions/README.md'
const INDEX = 'docs/README.md'
/** The heading of the index whose pages are for contributors. */
const CONTRIBUTING = 'Contributing'

/** Pages outside of docs/, with their place on the site. */
const OTHERS = {
  'README.md': 'index.md',
  [INDEX]: 'all-pages.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contribute.md',
  'SECURITY.md': 'security-policy.md'
}

const read = file => readFileSync(join(ROOT, file), 'utf8')

/** @returns a map from each page of the repository to its place on the site */
function placesOf () {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true }).map(String).filter(file => file.endsWith('.md'))
  return new Map([
    ...pages.sort().map(file => [posix.join('docs', file.split('\\').join('/')), file.split('\\').join('/').replace(/README\.md$/, 'index.md')]),
    ...Object.entries(OTHERS)
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
    writeFileSync(file, text.replace(/^```mermaid\n([^]*?)^```$/gm, (_, source) => drawn(source)))
  }
  // Pages become modules, which import packages of VitePress.
  symlinkSync(join(HERE, 'node_modules'), join(folder, 'node_modules'), 'junction')
  cpSync(join(ROOT, 'docs/images'), join(folder, 'images'), { recursive: true })
  writeFileSync(join(folder, 'site.json'), JSON.stringify({ address, sidebar: sidebarsOf(pages), doors: doorsOf(pages) }, null, 2))
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
  const [, policy] = /^config\/extensions\/([\w-]+)\.yaml$/.exec(target) ?? []
  if (policy !== undefined && page === CATALOGUE) return to(pages.get(`docs/extensions/${policy}.md`))
  if (target.startsWith('docs/images/')) return to(target.slice('docs/'.length))
  const kind = statSync(join(ROOT, target)).isDirectory() ? 'tree' : 'blob'
  return `${address}/${kind}/main/${target.replace(/\/$/, '')}${hash}`
}

/**
 * The sidebars, read from docs/README.md: a group for each heading, an item for each line of a list. Pages below "Contributing" have their
 * own sidebar, so that operators do not meet them.
 * @returns the sidebars by the path of the pages that show them
 */
function sidebarsOf (pages) {
  const linkOf = page => `/${pages.get(page).replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`
  const itemsOf = text => [...text.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm)]
    .map(([, text, link]) => ({ text, page: posix.join('docs', link) }))
    .filter(({ page }) => pages.has(page))
    .map(({ text, page }) => ({ text, link: linkOf(page) }))
  const groupOf = (section, level, collapsed) => {
    const [head, ...parts] = section.split(new RegExp(`^#{${level + 1}} `, 'm'))
    const items = [...itemsOf(head), ...parts.map(part => groupOf(part, level + 1, true))]
    return { text: head.split('\n', 1)[0], items, ...(collapsed === undefined ? {} : { collapsed }) }
  }
  const groups = read(INDEX).split(/^## /m).slice(1).map(section => groupOf(section, 2))
  const extensions = [...pages.keys()]
    .filter(page => page.startsWith('docs/extensions/') && page !== CATALOGUE)
    .map(page => ({ text: titleOf(page), link: linkOf(page) }))
  const all = { text: 'All pages', link: linkOf(INDEX) }
  const ours = groups.find(({ text }) => text === CONTRIBUTING)
  const contributing = [all, ours]
  return {
    ...Object.fromEntries(ours.items.map(({ link }) => [link, contributing])),
    '/': [all, ...groups.filter(group => group !== ours), { text: 'Extensions', collapsed: true, items: extensions }]
  }
}

/** The headings of the index, as links that every page of the site shows. */
function doorsOf (pages) {
  const place = pages.get(INDEX).replace(/\.md$/, '')
  return [...read(INDEX).matchAll(/^## (.+)$/gm)].map(([, text]) => ({ text, link: `/${place}#${text.toLowerCase().replaceAll(' ', '-')}` }))
}

function titleOf (page) {
  return /^# (.+)$/m.exec(read(page))?.[1].replaceAll('`', '') ?? page
}
