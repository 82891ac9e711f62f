/** Every advisory in the table of the reference (node-stack §B.7) has a test here, or a reason why it needs none. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { inTests } from '../helpers/paths.js'

const FOLDER = inTests('security')

/** id to the file that tests it, or to a sentence that says why nothing needs testing. */
const COVERAGE: Readonly<Record<string, string>> = {
  // @fastify/reply-from, @fastify/http-proxy: the passthrough surface, and the same attacks on the A2A surface
  'CVE-2026-107318': 'CVE-2026-107318.test.ts',
  'CVE-2026-120213': 'CVE-2026-120213.test.ts',
  'CVE-2026-127060': 'CVE-2026-127060.test.ts',
  'CVE-2026-130647': 'CVE-2026-130647.test.ts',
  'CVE-2026-129500': 'CVE-2026-130647.test.ts',
  'CVE-2026-129502': 'CVE-2026-130647.test.ts',
  'CVE-2026-15631': 'CVE-2026-130647.test.ts',
  'CVE-2026-133111': 'CVE-2026-133111.test.ts',
  'CVE-2026-85124': 'CVE-2026-85124.test.ts',
  'CVE-2026-16117': 'CVE-2026-16117.test.ts',
  'CVE-2026-16158': 'CVE-2026-16158.test.ts',
  'GHSA-v574-6498-x57v': 'CVE-2026-16158.test.ts',
  'reply-from c815dc4': 'reply-from-c815dc4.test.ts',
  'GHSA-2q7r-29rg-6m5h': 'GHSA-2q7r-29rg-6m5h.test.ts',
  'CVE-2023-51701': 'CVE-2023-51701.test.ts',
  'GHSA-v2v2-hph8-q5xp': 'CVE-2023-51701.test.ts',
  // fastify and its parts
  'CVE-2026-3419': 'CVE-2026-3419.test.ts',
  'CVE-2026-25223': 'CVE-2026-25223.test.ts',
  'CVE-2026-33806': 'CVE-2026-25223.test.ts',
  'CVE-2025-32442': 'CVE-2026-25223.test.ts',
  'CVE-2026-25224': 'CVE-2026-25224.test.ts',
  'CVE-2026-3635': 'CVE-2026-3635.test.ts',
  'CVE-2026-92395': 'CVE-2026-92395.test.ts',
  'CVE-2026-107832': 'CVE-2026-107832.test.ts',
  'GHSA-w2qp-rph6-63g4': 'GHSA-w2qp-rph6-63g4.test.ts',
  'GHSA-4mh8-r7rc-xpvc': 'version-floors.test.ts',
  'GHSA-9q9j-q6p8-xq58': 'version-floors.test.ts',
  'GHSA-hwr6-493r-vm6h': 'version-floors.test.ts',
  'GHSA-p68q-wchp-6fh7': 'version-floors.test.ts',
  'GHSA-667r-xxjv-c9mm': 'version-floors.test.ts',
  'CVE-2026-47219': 'version-floors.test.ts',
  // undici
  'CVE-2026-6733': 'CVE-2026-6733.test.ts',
  'CVE-2026-1525': 'CVE-2026-1525.test.ts',
  'CVE-2026-1527': 'CVE-2026-1525.test.ts',
  'CVE-2026-18540': 'CVE-2026-18540.test.ts',
  'CVE-2026-18149': 'CVE-2026-18540.test.ts',
  'CVE-2026-22036': 'CVE-2026-22036.test.ts',
  'CVE-2026-109924': 'CVE-2026-109924.test.ts',
  'CVE-2026-109932': 'CVE-2026-109924.test.ts',
  'CVE-2026-12151': 'version-floors.test.ts',
  'CVE-2026-9697': 'version-floors.test.ts',
  'CVE-2026-6734': 'version-floors.test.ts',
  'CVE-2026-9678': 'version-floors.test.ts',
  'CVE-2026-9679': 'version-floors.test.ts',
  'CVE-2026-11525': 'version-floors.test.ts',
  'GHSA-4cwx-7wf7-3272': 'GHSA-4cwx-7wf7-3272.test.ts',
  'CVE-2026-84961': 'version-floors.test.ts',
  'CVE-2026-85014': 'version-floors.test.ts',
  'CVE-2026-84933': 'version-floors.test.ts',
  'CVE-2026-19534': 'version-floors.test.ts',
  'CVE-2025-47279': 'CVE-2025-47279.test.ts',
  // Node, and libraries of the configuration and the schemas
  'CVE-2026-48931': 'CVE-2026-48931.test.ts',
  'CVE-2026-105481': 'CVE-2026-48931.test.ts',
  'CVE-2026-6321': 'CVE-2026-6321.test.ts',
  'CVE-2026-6322': 'CVE-2026-6321.test.ts',
  'CVE-2026-16221': 'CVE-2026-6321.test.ts',
  'CVE-2026-75931': 'CVE-2026-6321.test.ts',
  'CVE-2026-84394': 'CVE-2026-6321.test.ts',
  'CVE-2026-86472': 'CVE-2026-6321.test.ts',
  'CVE-2026-110180': 'CVE-2026-6321.test.ts',
  'CVE-2025-69873': 'CVE-2025-69873.test.ts',
  'CVE-2026-33532': 'CVE-2026-33532.test.ts',
  'CVE-2026-48779': 'CVE-2026-48779.test.ts',
  // other proxies, same mistake possible here
  'CVE-2026-71849': 'CVE-2026-71849.test.ts',
  'CVE-2026-71324': 'CVE-2026-71324.test.ts',
  'CVE-2026-73548': 'CVE-2026-71324.test.ts',
  'CVE-2026-56866': 'CVE-2026-71324.test.ts',
  'Envoy early parse': 'envoy-early-parse.test.ts',
  'CVE-2024-45614': 'bypass-extension-headers.test.ts'
}

t.test('every listed file exists', async (t) => {
  for (const [id, cover] of Object.entries(COVERAGE)) {
    if (cover.endsWith('.test.ts')) t.ok(existsSync(join(FOLDER, cover)), `${id}: ${cover}`)
    else t.ok(cover.length > 20, `${id}: ${cover}`)
  }
})

t.test('every file with the name of an advisory is listed, under that id', async (t) => {
  const files = readdirSync(FOLDER).filter((file) => /^(?:CVE|GHSA)-.*\.test\.ts$/.test(file))
  for (const file of files) t.equal(COVERAGE[file.replace('.test.ts', '')], file)
})

t.test('a file names every id that it covers', async (t) => {
  for (const [id, cover] of Object.entries(COVERAGE)) {
    if (!cover.endsWith('.test.ts') || cover.startsWith(id)) continue
    const text = readFileSync(join(FOLDER, cover), 'utf8')
    // A list may shorten its ids: "CVE-2026-1, -2".
    const short = id.replace(/^CVE-\d+|^GHSA/, '')
    t.ok(text.includes(id) || text.includes(short) || /^(?:Envoy|reply-from)/.test(id), `${cover} names ${id}`)
  }
})
