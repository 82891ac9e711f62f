/** Pages at old places of the site that lead to the new places. */
import { existsSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { MOVED } from './moved.mjs'

/** Writes a page for each old place. Throws where a page is at the old place still, or none at the new one. */
export function writeRedirects (folder) {
  for (const [old, now] of Object.entries(MOVED)) {
    if (existsSync(join(folder, `${old}.html`))) throw new Error(`${old} is a page and has moved`)
    if (!existsSync(join(folder, `${now}.html`))) throw new Error(`${old} has moved to ${now}, which is no page`)
    const to = `${posix.relative(posix.dirname(old), now)}.html`
    // The script keeps the anchor of the old link.
    writeFileSync(join(folder, `${old}.html`), `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="${to}"><meta http-equiv="refresh" content="1; url=${to}">
<script>location.replace(${JSON.stringify(to)} + location.hash)</script>
<p>This page has moved: <a href="${to}">${now}</a>.</p></html>
`)
  }
}
