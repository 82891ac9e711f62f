/** `/docs` of the admin listener: the documentation of the gateway's own version. */
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { packageVersion } from '#config/paths.js'
import type { ManualPage } from './manual.js'
import { readManual } from './manual.js'

interface DocsRejection {
  readonly status: number
  readonly error: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface DocsOptions {
  /** Adds a route for GET and HEAD. */
  readonly get: (url: string, handler: RouteHandlerMethod) => void
  /** Prefix of the admin routes. */
  readonly prefix: string
  /** The rejection of a request for `/agents` and the console; null to go on. */
  readonly guard: (request: FastifyRequest) => Promise<DocsRejection | null>
  /** True if the listener has the console, to which each page links. */
  readonly console: boolean
}

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY'
}

const NOT_FOUND: ManualPage = { title: 'Not found', text: '', html: '<h1>Not found</h1><p>The documentation has no such page.</p>' }
const STYLE = 'style.css'
const REASONS = 'reasons/'

/** Adds the routes: `/docs/` with the index, `/docs/PAGE`, and `/docs/reasons/REASON`, which leads to the entry of a rejection. */
export function docsRoutes ({ get, prefix, guard, console }: DocsOptions): void {
  get('/docs', async (_request, reply) => reply.redirect(`${prefix}/docs/`, 308))
  get('/docs/*', async (request, reply) => {
    const rejected = await guard(request)
    if (rejected !== null) return reply.code(rejected.status).headers(rejected.headers ?? {}).send({ error: rejected.error })
    reply.headers(HEADERS)
    return serve((request.params as { '*': string })['*'], reply, `${prefix}/docs/`, console)
  })
}

function serve (place: string, reply: FastifyReply, base: string, console: boolean): FastifyReply {
  if (place === STYLE) return reply.type('text/css; charset=utf-8').send(CSS)
  const { pages, reasons } = readManual()
  const reason = place.startsWith(REASONS) ? place.slice(REASONS.length) : null
  if (reason !== null) {
    // A policy may name its own reasons; the index of all reasons is then the next best page.
    const entry = Object.hasOwn(reasons, reason) ? reasons[reason] : reasons.INTERNAL_ERROR?.replace(/#.*/, '')
    return reply.redirect(`${base}${entry ?? ''}`, 302)
  }
  const page = Object.hasOwn(pages, place) ? pages[place] : undefined
  if (page === undefined) {
    if (Object.hasOwn(pages, `${place}/`)) return reply.redirect(`${base}${place}/`, 308)
    return reply.code(404).type('text/html; charset=utf-8').send(html(NOT_FOUND, base, console))
  }
  return reply.type('text/html; charset=utf-8').send(html(page, base, console))
}

function html ({ title, html: body }: ManualPage, base: string, console: boolean): string {
  const safe = title.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${safe} - a2a-gateway ${packageVersion()}</title>
<link rel="stylesheet" href="${base}${STYLE}">
</head>
<body>
<header><a href="${base}">Documentation of a2a-gateway ${packageVersion()}</a>${console ? `<a href="${base.replace(/docs\/$/, 'console/')}">Console</a>` : ''}</header>
<main>
${body}
</main>
</body>
</html>
`
}

const CSS = `:root { color-scheme: light dark; --line: #d0d7de; --dim: #57606a; --code: #f3f4f6; --link: #0550ae }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --dim: #9198a1; --code: #1f242b; --link: #79b8ff } }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif }
header { display: flex; flex-wrap: wrap; gap: 0 1.5rem; padding: .6rem 1rem; border-bottom: 1px solid var(--line) }
main { max-width: 52rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere }
a { color: var(--link) }
h1 { line-height: 1.2 }
h2, h3 { margin-top: 2rem; line-height: 1.25; scroll-margin-top: 1rem }
:target { background: color-mix(in srgb, var(--link) 15%, transparent) }
code { font: .875em/1.5 ui-monospace, monospace; background: var(--code); padding: .1em .25em; border-radius: 4px }
pre { background: var(--code); padding: .75rem; border-radius: 6px; overflow-x: auto }
pre code { padding: 0; background: none; overflow-wrap: normal }
.table { overflow-x: auto; overflow-wrap: normal }
table { border-collapse: collapse }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; min-width: 5rem }
blockquote { margin: 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--dim) }
`
