/** A real browser on the console: Debian's chromium, driven by playwright-core. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import axe from 'axe-core'
import type { Test } from 'tap'
import { ROOT } from '../helpers/paths.js'

const PROGRAM = '/usr/bin/chromium'
/** The browser is slow on a small machine that others use as well, ms. */
const PATIENCE = 60_000

export const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const

export interface Browser {
  readonly page: Page
  /** What the page's console said, refusals of its security policy included, and scripts that failed. */
  readonly complaints: string[]
  /** Hosts that anything was asked of. */
  readonly hosts: ReadonlySet<string>
}

export async function browse (t: Test, url: string, size: keyof typeof SIZES, colorScheme: 'light' | 'dark' = 'light'): Promise<Browser> {
  if (!existsSync(PROGRAM)) throw new Error(`there is no ${PROGRAM}: apt-get install chromium`)
  const profile = mkdtempSync(join(tmpdir(), 'console-browser-'))
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: PROGRAM,
    headless: true,
    viewport: SIZES[size],
    colorScheme,
    timeout: PATIENCE,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync'
    ]
  })
  context.setDefaultTimeout(PATIENCE)
  t.teardown(async () => {
    await context.close()
    rmSync(profile, { recursive: true, force: true })
  })
  const page = context.pages()[0] ?? await context.newPage()
  const complaints: string[] = []
  const hosts = new Set<string>()
  page.on('console', message => { if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text()) })
  page.on('pageerror', error => { complaints.push(String(error)) })
  page.on('dialog', dialog => { complaints.push(`a dialog: ${dialog.message()}`); dialog.dismiss().catch(() => {}) })
  page.on('request', request => { hosts.add(new URL(request.url()).host) })
  await page.goto(url)
  return { page, complaints, hosts }
}

/** Goes to one of the console's pages. */
export async function go (page: Page, hash: string, selector: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await page.waitForSelector(selector)
}

/** Width of what could be scrolled to beyond the window, px. */
export async function overhang (page: Page): Promise<number> {
  return await page.evaluate('document.documentElement.scrollWidth - window.innerWidth') as number
}

/** With CONSOLE_SCREENSHOTS=1 the pictures of docs/how-to/console.md are made anew. */
export async function picture (page: Page, name: string): Promise<void> {
  if (process.env.CONSOLE_SCREENSHOTS !== '1') return
  const directory = join(ROOT, 'docs/images')
  mkdirSync(directory, { recursive: true })
  await page.mouse.move(0, 0)
  // The file of the test's own gateway stands where no reader has one.
  await page.evaluate(
    "for (const one of document.querySelectorAll('small.mono')) one.textContent = one.textContent.replace(/^.*\\/(?=gateway\\.yaml)/, '')"
  )
  await page.screenshot({ path: join(directory, `console-${name}.png`) })
}

/**
 * What is wrong for people who do not see the page well, or at all: controls without names, images without words, texts of too little
 * contrast (WCAG 2.2, 1.4.3: 4.5 to 1, of large text 3 to 1), ids that are there twice.
 */
export async function hurdles (page: Page): Promise<string[]> {
  return await page.evaluate(HURDLES) as string[]
}

/** Violations of the rules of axe-core: WCAG 2.2 A and AA, and its best practices. One line for each element. */
export async function axeViolations (page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return await page.evaluate(`axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations.flatMap(
    ({id, help, nodes}) => nodes.map(one => id + ': ' + help + ': ' + one.html.slice(0, 200))))`) as string[]
}

/** As text: it runs in the browser. */
const HURDLES = `(() => {
  const found = []
  const label = element => element.getAttribute('aria-label') ?? (element.getAttribute('aria-labelledby') ?? '').split(' ').map(id => document.getElementById(id)?.textContent ?? '').join(' ').trim()
  const shown = element => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0
  for (const element of document.querySelectorAll('a, button, input, select, textarea, summary, [role=tab], [tabindex="0"]')) {
    if (!shown(element)) continue
    const name = label(element) || [...element.labels ?? []].map(one => one.textContent).join(' ').trim() || (/^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName) ? '' : element.textContent.trim())
    if (name === '') found.push('no name: ' + element.outerHTML.slice(0, 120))
  }
  for (const image of document.querySelectorAll('img:not([alt]), svg[role=img]:not([aria-label])')) found.push('no words: ' + image.outerHTML.slice(0, 120))
  const ids = new Map()
  for (const { id } of document.querySelectorAll('[id]')) ids.set(id, (ids.get(id) ?? 0) + 1)
  for (const [id, count] of ids) if (count > 1) found.push('an id twice: ' + id)
  for (const one of document.querySelectorAll('[aria-controls], [aria-labelledby], [aria-describedby]')) {
    for (const name of ['aria-controls', 'aria-labelledby', 'aria-describedby']) for (const id of (one.getAttribute(name) ?? '').split(' ').filter(Boolean)) if (!ids.has(id)) found.push(name + ' leads nowhere: ' + id)
  }
  if (document.querySelectorAll('h1').length !== 1) found.push('not one h1')
  if (document.documentElement.lang === '') found.push('no language')
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a } }
  const ground = element => {
    for (let one = element; one !== null; one = one.parentElement) {
      const colour = parse(getComputedStyle(one).backgroundColor)
      if (colour.a > 0.99) return colour
    }
    return { r: 255, g: 255, b: 255, a: 1 }
  }
  const light = ({ r, g, b }) => [r, g, b].map(one => one / 255).map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4).reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0)
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const seen = new Set()
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement
    if (walker.currentNode.textContent.trim() === '' || !shown(element) || element.closest('.hidden, noscript, option, :disabled') !== null || element.closest('svg') !== null) continue
    const style = getComputedStyle(element)
    const [a, b] = [light(parse(style.color)), light(ground(element))].sort((x, y) => y - x)
    const ratio = (a + 0.05) / (b + 0.05)
    const size = parseFloat(style.fontSize)
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5
    const key = style.color + ground(element).r + needed
    if (ratio < needed && !seen.has(key)) {
      seen.add(key)
      found.push('contrast ' + ratio.toFixed(2) + ': ' + element.textContent.trim().slice(0, 60))
    }
  }
  return found
})()`
