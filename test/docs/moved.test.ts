/** Pages that have moved: each leads to a page that exists, and no page is at an old place. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { ROOT } from '../helpers/paths.js'

const { MOVED } = await import(pathToFileURL(join(ROOT, 'scripts/site/moved.mjs')).href) as { MOVED: Readonly<Record<string, string>> }

t.test('old and new places', async t => {
  const places = Object.entries(MOVED)
  t.ok(places.length > 40)
  t.same(places.filter(([old]) => existsSync(join(ROOT, 'docs', `${old}.md`))).map(([old]) => old), [], 'no page is there')
  const page = (place: string): string => place === 'contribute' ? 'CONTRIBUTING.md' : join('docs', `${place}.md`)
  t.same(places.filter(([, now]) => !existsSync(join(ROOT, page(now)))).map(([, now]) => now), [])
})
