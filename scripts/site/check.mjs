/**
 * Checks the built site: each page is there and shows the groups of pages, each link leads to a page and a heading, and the search finds
 * each name.
 */
import { createRequire } from 'node:module'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HERE, OUTPUT } from './paths.mjs'
import { SEARCH } from './search.mjs'

/** Pages whose rows people look up, with the fewest rows that they may have. */
const REFERENCES = {
  'reference/configuration.html': 20,
  'reference/configuration-server.html': 60,
  'reference/configuration-agents.html': 80,
  'reference/configuration-callers.html': 60,
  'reference/errors.html': 30,
  'reference/metrics.html': 40,
  'reference/logs.html': 50,
  'reference/traces.html': 30,
  'reference/policy.html': 100
}
/** Plain words, such as `agent`, are on every page: only names with another character than these are searched for. */
const PLAIN = /^[a-z]+$/
/** A name counts as found when a page with a row of this name is among so many first results. */
const FIRST = 3

const base = process.env.SITE_BASE ?? '/'
const file = place => place.replace(/\.md$/, '.html')
const read = page => readFileSync(join(OUTPUT, page), 'utf8')

/**
 * @param pages map from each page of the repository to its place on the site
 * @returns descriptions of problems
 */
export async function check (pages) {
  const problems = [...pages].filter(([, place]) => !existsSync(join(OUTPUT, file(place)))).map(([page]) => `${page} is not on the site`)
  if (problems.length > 0) return problems
  const built = new Map([...pages.values()].map(place => [file(place), contentOf(read(file(place)))]))
  return [...withoutDoors([...built.keys()]), ...deadLinks(built), ...await notFound(built)]
}

/** Without the frame of the page, which has the same links everywhere. */
function contentOf (html) {
  const main = /<main[^>]*>([^]*)<\/main>/.exec(html)?.[1]
  if (main === undefined) throw new Error('a page has no <main>')
  return main
}

/** Every page shows the five groups of pages, so that each is one click away on a narrow screen, too. */
function withoutDoors (pages) {
  const doors = page => [.../<nav class="doors"[^]*?<\/nav>/.exec(read(page))?.[0].matchAll(/ href="[^"]*all-pages[^"]*#/g) ?? []].length
  return pages.filter(page => doors(page) !== 5).map(page => `${page} has ${doors(page)} of the 5 links to all pages`)
}

function deadLinks (built) {
  const ids = new Map([...built].map(([page, html]) => [page, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]))
  const dead = []
  for (const [page, html] of built) {
    for (const [, href] of html.matchAll(/<a [^>]*href="([^"]+)"/g)) {
      if (/^[a-z][a-z+.-]*:/i.test(href)) continue
      const [path, anchor = ''] = href.replaceAll('&amp;', '&').split('#')
      const target = path === '' ? page : pageAt(path.startsWith(base) ? path.slice(base.length) : posix.join(posix.dirname(page), path))
      const found = ids.get(target)
      if (found === undefined) {
        if (!existsSync(join(OUTPUT, target))) dead.push(`${page}: ${href}: there is no such page`)
      } else if (anchor !== '' && !found.has(decodeURIComponent(anchor))) dead.push(`${page}: ${href}: there is no such heading`)
    }
  }
  return dead
}

const pageAt = path => path === '' || path.endsWith('/') ? `${path}index.html` : path

/** Searches for each name as the page does. */
async function notFound (built) {
  const MiniSearch = createRequire(join(HERE, 'package.json'))('minisearch')
  const chunks = join(OUTPUT, 'assets/chunks')
  const chunk = readdirSync(chunks).find(name => name.startsWith('@localSearchIndexroot'))
  if (chunk === undefined) return ['the site has no index for the search']
  const { default: text } = await import(pathToFileURL(join(chunks, chunk)).href)
  const index = MiniSearch.loadJSON(text, { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'], searchOptions: SEARCH.searchOptions, ...SEARCH.options })
  // A reason of a rejection is a heading of its page; all other names are rows of tables.
  const rowsOf = page => [...(built.get(page) ?? '').matchAll(/<tr id="([^"]+)" data-name="([^"]+)"|<h3 id="([^"]+)"[^>]*>([A-Z][A-Z_]+) </g)]
    .map(([all, row, name, heading, reason]) => [all, row ?? heading, name ?? reason])
  const pagesOf = new Map()
  for (const page of built.keys()) for (const [, , name] of rowsOf(page)) pagesOf.set(name, [...pagesOf.get(name) ?? [], page])
  const problems = []
  for (const [page, fewest] of Object.entries(REFERENCES)) {
    const rows = rowsOf(page)
    if (rows.length < fewest) problems.push(`${page}: ${rows.length} rows with names, expected ${fewest}`)
    for (const [, id, name] of rows) {
      if (PLAIN.test(name)) continue
      const results = index.search(name).slice(0, FIRST).map(one => one.id.slice(base.length))
      if (!results.some(one => pagesOf.get(name).includes(one.split('#')[0]))) problems.push(`${page}#${id}: a search for ${name} finds ${results.join(', ') || 'nothing'}`)
    }
  }
  return problems
}
