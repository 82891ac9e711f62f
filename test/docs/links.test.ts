/**
 * Links of the documentation lead to existing files and to headings that are on the page. Every page has a link that leads to it. No page
 * has a paragraph twice.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'

const root = packageRoot()
const NOT_OURS = ['node_modules', 'dist']

/** Paths of all pages, from the root. */
function pages (folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return entry.name.startsWith('.') || NOT_OURS.includes(entry.name) ? [] : pages(path)
    return entry.name.endsWith('.md') ? [path] : []
  })
}

/** Without code, in which nothing is a link or a heading. */
function prose (text: string): string {
  return text.replace(/^(`{3,})[^]*?^\1`*$/gm, '')
}

/** As GitHub makes them: letters, digits, `_` and `-`; a repeated one is numbered. */
function anchorsOf (text: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of prose(text).matchAll(/^#{1,6} +(.*?) *#*$/gm)) {
    const slug = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')
    let name = slug
    for (let number = 1; anchors.has(name); number++) name = `${slug}-${number}`
    anchors.add(name)
  }
  return anchors
}

/** What a page links to within the repository: path from the root, and anchor. */
function linksOf (page: string, text: string): { readonly link: string, readonly path: string, readonly anchor: string }[] {
  const found = [...prose(text).replace(/`[^`\n]*`/g, '').matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)|^\[[^\]]+\]: (\S+)/gm)]
  return found.map(([, inline, reference]) => inline ?? reference ?? '').filter(link => !/^[a-z][a-z+.-]*:/i.test(link)).map(link => {
    const [path = '', anchor = ''] = link.split('#')
    return { link, path: path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path))), anchor }
  })
}

const texts = new Map(pages().map(page => [page, readFileSync(join(root, page), 'utf8')]))

t.test('links and anchors that this test finds', t => {
  t.same(
    linksOf('docs/a.md', '[x](b.md#c) `[n](n.md)` [y](../z/) [w](https://h/p.md) [m](mailto:a@b)\n```\n[n](n.md)\n```\n[z](#here "title")'),
    [
      { link: 'b.md#c', path: 'docs/b.md', anchor: 'c' },
      { link: '../z/', path: 'z/', anchor: '' },
      { link: '#here', path: 'docs/a.md', anchor: 'here' }
    ]
  )
  t.same(
    [...anchorsOf('# A `b.c`: d-e_f\n## Two [of](x.md) it\n```sh\n# no\n```\n## Two of it')],
    ['a-bc-d-e_f', 'two-of-it', 'two-of-it-1']
  )
  t.end()
})

t.test('every link leads to an existing file, and every anchor to a heading', t => {
  const dead: string[] = []
  let checked = 0
  for (const [page, text] of texts) {
    for (const { link, path, anchor } of linksOf(page, text)) {
      checked++
      if (path.startsWith('..') || !existsSync(join(root, path))) dead.push(`${page}: ${link}: there is no such file`)
      else if (anchor !== '' && !anchorsOf(texts.get(path) ?? '').has(anchor)) dead.push(`${page}: ${link}: there is no such heading`)
    }
  }
  t.same(dead, [])
  t.ok(checked > 100, 'links were found')
  t.end()
})

t.test('the index links to every page of docs/, the catalogue to each of its policies', t => {
  const linked = (page: string): string[] => linksOf(page, texts.get(page) ?? '').map(({ path }) => path)
  const inDocs = [...texts.keys()].filter(page => page.startsWith('docs/') && page !== 'docs/README.md' && dirname(page) !== 'docs/extensions')
  t.same(inDocs.filter(page => !linked('docs/README.md').includes(page)), [], 'list it in docs/README.md')
  t.ok(linked('docs/README.md').includes('docs/extensions/README.md'))
  const policies = readdirSync(join(root, 'config/extensions')).filter(name => /^[\w-]+\.yaml$/.test(name)).map(name => `config/extensions/${name}`)
  t.ok(policies.length > 70)
  t.same(policies.filter(policy => !linked('docs/extensions/README.md').includes(policy)), [])
  t.end()
})

t.test('the architecture page names every folder of src/', t => {
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => `src/${name}/`)
  const page = texts.get(join('docs', 'contributing/architecture.md')) ?? ''
  t.same(folders.filter(folder => !page.includes(folder)), [])
  t.same(
    [...page.matchAll(/^(src\/[\w/]+\/)/gm)].map(([, name = '']) => name).filter(name => !existsSync(join(root, name))),
    [],
    'and no other'
  )
  t.end()
})

t.test('no page has a line of prose twice: a merge of two versions of a paragraph can keep both', async t => {
  for (const page of pages()) {
    const text = readFileSync(join(root, page), 'utf8')
    // Generated pages repeat the sentences of their templates.
    if (/^<!-- (?:Made|Generated) by/.test(text)) continue
    const lines = prose(text).split('\n').filter(line => line.length > 60 && !/^\||^\*\*/.test(line))
    t.same(lines.filter((line, i) => lines.indexOf(line) < i), [], page)
  }
})
