/** The console behind `server.adminAccess`, in a real browser: sign in, read, sign out. */
import t from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import { fakeAgent } from '../helpers/raw.js'
import { keyFiles, PEOPLE, USER } from '../identity/kit.js'
import { browse, hurdles, overhang } from './console-browser.js'

for (const [size, scheme] of [['wide', 'light'], ['narrow', 'dark']] as const) {
  t.test(`${size}, ${scheme}`, { timeout: 240_000 }, async t => {
    const agent = await fakeAgent(t)
    const gateway = await gatewayFor(t, {
      baseDir: keyFiles(t),
      yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, adminAccess: {sources: [people]}}
identity: {sources: {${PEOPLE}}}
agents: [{name: agent, upstream: {url: "${agent.url}"}}]`
    })
    const { page, complaints } = await browse(t, `${gateway.adminUrl}/console/`, size, scheme)
    await page.waitForURL(/sign-in\.html$/)
    t.same(await hurdles(page), [])
    t.ok(await overhang(page) <= 0)
    await page.getByLabel('API key or access token').fill('a wrong key')
    await page.getByLabel('User, only for Basic credentials').fill('ada')
    await page.keyboard.press('Enter')
    await page.getByText('Not signed in: the credential is not valid (unknown_key)').waitFor()
    await page.getByLabel('API key or access token').fill(USER)
    await page.keyboard.press('Enter')
    await page.locator('#ready-text', { hasText: 'ready' }).waitFor()
    await page.getByRole('link', { name: 'agent' }).first().waitFor()
    t.same(await hurdles(page), [])
    t.notMatch(await page.evaluate('document.cookie'), /session/, 'scripts cannot read the cookie')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(/sign-in\.html$/)
    await page.goto(`${gateway.adminUrl}/console/`)
    await page.waitForURL(/sign-in\.html$/)
    // The browser itself reports responses with status 401 and aborted requests.
    t.same(complaints.filter(one => !/status of 401|net::ERR/.test(one)), [])
  })
}
