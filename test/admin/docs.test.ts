/** `/docs` of the admin listener, with the pages that the build packed, and the access rules of the listener. */
import t from 'tap'
import { REASONS } from '#a2a/errors.js'
import { TOPICS } from '#a2a/reason-help.js'
import { readManual } from '#server/admin/manual.js'
import { packageVersion } from '#config/paths.js'
import { call } from '../helpers/http.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { startAgent } from '../helpers/agents.js'

t.test('the pages of this version, each link inside of them, and the entry of each reason', async t => {
  const agent = await startAgent({ kind: 'v1' })
  t.teardown(() => agent.close())
  const { adminUrl } = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const get = async (path: string): Promise<{ status: number, text: string, location: string | null, headers: Headers }> => {
    const response = await fetch(new URL(path, adminUrl), { redirect: 'manual' })
    return { status: response.status, text: await response.text(), location: response.headers.get('location'), headers: response.headers }
  }
  t.match(await get('/docs'), { status: 308, location: '/docs/' })
  const index = await get('/docs/')
  t.match(index, { status: 200, text: new RegExp(`a2a-gateway ${packageVersion().replaceAll('.', '\\.')}`) })
  t.match(index.headers.get('content-security-policy'), /^default-src 'none'; style-src 'self'/)
  t.equal(index.headers.get('cache-control'), 'no-store')
  t.match((await get('/docs/style.css')).headers.get('content-type'), /^text\/css/)
  t.equal((await get('/docs/no-such-page')).status, 404)
  t.equal((await get('/docs/../../package.json')).status, 404)
  t.equal((await get('/docs/__proto__')).status, 404)
  t.equal((await get('/docs/extensions')).location, '/docs/extensions/')

  const texts = new Map<string, string>()
  for (const place of Object.keys(readManual().pages)) {
    const page = await get(`/docs/${place}`)
    t.equal(page.status, 200, place)
    t.notOk(/<script|<img|style=/.test(page.text), place)
    texts.set(`/docs/${place}`, page.text)
  }
  const dead: string[] = []
  let followed = 0
  for (const [path, text] of texts) {
    for (const [, href = ''] of text.matchAll(/<a href="([^"]+)"/g)) {
      if (/^[a-z]+:/.test(href) || href === '/console/') continue
      const target = new URL(href.replaceAll('&amp;', '&'), new URL(path, adminUrl))
      const page = texts.get(target.pathname)
      followed++
      if (page === undefined || (target.hash !== '' && !page.includes(`id="${decodeURIComponent(target.hash.slice(1))}"`))) dead.push(`${path}: ${href}`)
    }
  }
  t.same(dead, [])
  t.ok(followed > 300, `${followed} links`)

  for (const reason of Object.keys(REASONS)) {
    const { status, location } = await get(`/docs/reasons/${reason}`)
    t.equal(status, 302, reason)
    const [path = '', anchor = ''] = (location ?? '').split('#')
    t.ok(texts.get(path)?.includes(`<h3 id="${anchor}">${reason}</h3>`), `${reason}: ${location ?? ''}`)
  }
  t.match((await get('/docs/reasons/ORDER_TOO_LARGE')).location, /^\/docs\/[a-z/-]+$/, 'a reason of a policy leads to the page of all reasons')
  t.same(Object.keys(readManual().topics), Object.keys(TOPICS))
})

t.test('the rules for /agents hold for the documentation', async t => {
  const agent = await startAgent({ kind: 'v1' })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  for (const path of ['/docs/', '/docs/style.css', '/agents']) {
    const rebound = await call(`${gateway.adminUrl}${path}`, { headers: ['host', 'evil.example'] })
    t.equal(rebound.status, (await call(`${gateway.adminUrl}/agents`, { headers: ['host', 'evil.example'] })).status, path)
    t.not(rebound.status, 200, path)
  }
})
