/**
 * Packs the pages of docs/ into one file: their text for `a2a-gateway help TOPIC`, and their HTML for `/docs` of the admin listener. Image,
 * executable and package then have the documentation of their own version.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, sep } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Marked } from 'marked'
import { REASONS } from '#a2a/errors.js'
import { TOPICS } from '#a2a/reason-help.js'
import { MANUAL_FILE } from '#server/admin/manual.js'
import type { Manual, ManualPage } from '#server/admin/manual.js'
import { packageRoot } from '#config/paths.js'

const DOCS = 'docs'
/** A target of a link with a scheme. */
const ABSOLUTE = /^[a-z][a-z+.-]*:/i

/** @returns paths of the pages below docs/, with `/` */
function pagesOfDocs (): string[] {
  return readdirSync(join(packageRoot(), DOCS), { encoding: 'utf8', recursive: true })
    .map(path => path.replaceAll(sep, '/'))
    .filter(path => path.endsWith('.md'))
    .sort()
}

/**
 * Finds the page of a topic.
 * @param pages paths below docs/
 * @returns path below docs/
 * @throws Error if no page has one of the topic's names
 */
export function pageOfTopic (topic: string, pages: readonly string[] = pagesOfDocs()): string {
  const names = TOPICS[topic] ?? []
  const found = names.flatMap(name => pages.find(page => page === `${name}.md` || page.endsWith(`/${name}.md`)) ?? [])[0]
  if (found === undefined) throw new Error(`no page of docs/ is named ${names.join('.md or ')}.md, for the topic "${topic}"`)
  return found
}

/** Anchor of a heading, as GitHub makes it. */
export function slugOf (heading: string): string {
  return heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')
}

/** URL of a page below `/docs/`: without `.md`; a README is the index of its folder. */
function placeOf (page: string): string {
  return page.replace(/(^|\/)README\.md$/, '$1').replace(/\.md$/, '')
}

/** @param others texts of pages that are not on disk, by their path below docs/ */
export function manualOf (others: ReadonlyMap<string, string> = new Map()): Manual {
  const texts = new Map(pagesOfDocs().map(page => [page, readFileSync(join(packageRoot(), DOCS, page), 'utf8')]))
  for (const [page, text] of others) if (!texts.has(page)) texts.set(page, text)
  const names = [...texts.keys()]
  const pages: Record<string, ManualPage> = {}
  for (const [page, text] of texts) pages[placeOf(page)] = rendered(page, text, names)
  if (pages[''] === undefined) {
    const list = Object.entries(pages).map(([place, { title }]) => `- [${title}](${place})`).join('\n')
    pages[''] = rendered('README.md', `# Documentation\n\n${list}\n`, names)
  }
  const topics = Object.fromEntries(Object.keys(TOPICS).map(topic => [topic, placeOf(pageOfTopic(topic, names))]))
  return { topics, reasons: Object.fromEntries(Object.keys(REASONS).map(reason => [reason, `${topics.errors ?? ''}#${slugOf(reason)}`])), pages }
}

function rendered (page: string, text: string, pages: readonly string[]): ManualPage {
  const body = text.replace(/^<!--.*?-->\n*/s, '')
  const seen = new Map<string, number>()
  const marked = new Marked({
    renderer: {
      heading ({ tokens, depth, text: heading }) {
        const slug = slugOf(heading)
        const count = seen.get(slug) ?? 0
        seen.set(slug, count + 1)
        return `<h${depth} id="${count === 0 ? slug : `${slug}-${count}`}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link ({ href, tokens }) {
        const label = this.parser.parseInline(tokens)
        const target = targetOf(page, href, pages)
        return target === null ? label : `<a href="${escaped(target)}">${label}</a>`
      },
      // The package has no pictures.
      image: ({ text: label }) => `<em>${escaped(label)}</em>`,
      // Wide tables scroll on their own, also on a phone.
      table (token) {
        const row = (cells: typeof token.header, tag: string): string =>
          `<tr>${cells.map(cell => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${token.rows.map(cells => row(cells, 'td')).join('')}</tbody></table></div>\n`
      },
      code: ({ text: code }) => `<pre tabindex="0"><code>${escaped(code)}</code></pre>\n`
    }
  })
  return { title: /^# (.+)$/m.exec(body)?.[1]?.replaceAll('`', '') ?? page, text: body, html: marked.parse(body, { async: false }) }
}

/** @returns null for files of the repository that are no pages: the package does not have them */
function targetOf (page: string, href: string, pages: readonly string[]): string | null {
  if (ABSOLUTE.test(href) || href.startsWith('#')) return href
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(page), decodeURIComponent(path))
  const known = pages.includes(target) ? placeOf(target) : pages.includes(`${target}.md`) ? target : target === '../README.md' ? '' : null
  if (known === null) return null
  const relative = posix.relative(posix.dirname(page), known || '.')
  const up = relative === '' ? './' : relative
  return `${known.endsWith('/') && !up.endsWith('/') ? `${up}/` : up}${anchor === undefined ? '' : `#${anchor}`}`
}

function escaped (text: string): string {
  return text.replace(/[&<>"]/g, one => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[one] ?? one)
}

/** Writes the file below dist/src, where the compiled program reads it. */
export function writeManual (others?: ReadonlyMap<string, string>): void {
  const file = join(packageRoot(), 'dist/src/server/admin', MANUAL_FILE)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, gzipSync(JSON.stringify(manualOf(others)), { level: 9 }))
}
