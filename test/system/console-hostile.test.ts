/** Cards and callers with text that tries to act as markup or code, in a real browser. */
import t from 'tap'
import { hostileCard, MARKUP } from '../console/kit.js'
import { rpc, untilSame } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'
import { browse, go, overhang } from './console-browser.js'

t.test('a hostile card or call is shown only as text', { timeout: 120_000 }, async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url, hostileCard()) })
  const gateway = await serve(
    t,
    `agents:\n  - {name: agent, upstream: {url: "${agent.url}"}, enforceOn: all}`,
    {},
    { console: '{tryIt: true}' }
  )
  await rpc(`${gateway.url}/rpc`)
  const media = `application/json;schema="${MARKUP}"`
  await rpc(`${gateway.url}/rpc`, 'SendMessage', {
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: { [MARKUP]: 1, self: { '\u202Etxet': 1 } }, mediaType: media }] }
  })
  const { page, complaints, hosts } = await browse(t, `${gateway.adminUrl}/console/`, 'narrow')
  const look = async (name: string): Promise<void> => {
    t.equal(await overhang(page), 0, `${name}: no wider than the window`)
    t.equal(
      await page.evaluate("document.querySelectorAll('main img, main script, main iframe, main object, main style, [onerror]').length"),
      0,
      `${name}: no element of theirs`
    )
    t.same(
      await page.evaluate("[...document.querySelectorAll('a')].map(one => one.getAttribute('href')).filter(one => !one.startsWith('#') && !/^\\.\\.\\/docs\\/reasons\\/[A-Z_]+$/.test(one))"),
      [],
      `${name}: no link of theirs`
    )
    t.notMatch(
      await page.evaluate('document.body.innerText'),
      /[\u202a-\u202e\u2066-\u2069\u200b]/,
      `${name}: nothing that turns text around`
    )
  }
  await page.waitForSelector('tr[data-agent=agent]')
  t.match(await page.locator('tr[data-agent=agent]').innerText(), /<img src=x onerror=alert\(1\)>.*⟨U\+202E⟩/)
  await look('overview')
  await go(page, '#/decisions', '.tail summary')
  for (const summary of await page.locator('.tail summary').all()) await summary.click()
  await page.waitForSelector('.violations')
  await look('decisions')
  await go(page, '#/extensions', 'tr[data-agent=agent]')
  t.equal(await page.locator('tr[data-agent=agent]').count(), 64)
  await look('extensions')
  for (const [tab, there] of [['health', '.facts'], ['card', '.diff'], ['policy', '.lines'], ['try', 'form.try']] as const) {
    await go(page, `#/agents/agent/${tab}`, there)
    await look(tab)
  }
  t.match(await page.locator('.fields').first().innerText(), /<img src=x/, 'the form is made of the schema')
  await page.getByRole('button', { name: 'Send through the gateway' }).click()
  await page.getByRole('region', { name: 'Decision' }).getByText('rejected', { exact: true }).waitFor()
  await look('tried')
  t.same(complaints, [], 'no dialog, no error, nothing that the policy of the page had to stop')
  t.same([...hosts], [new URL(gateway.adminUrl).host])
})

t.test('a gateway that stops is reported, and the page continues when it is back', { timeout: 120_000 }, async t => {
  const agent = await fakeAgent(t, { card: url => plainCard(url) })
  const gateway = await serve(t, `agents:\n  - {name: agent, upstream: {url: "${agent.url}"}}`)
  const { page } = await browse(t, `${gateway.adminUrl}/console/#/agents/agent/try`, 'wide')
  await page.getByText('tryIt: true').waitFor()
  t.match(await page.getByRole('tabpanel').innerText(), /The console is read-only/)
  gateway.kill('SIGTERM')
  await gateway.exited
  await untilSame(t, () => page.locator('#ready-text').innerText(), 'no response', 'it stops though a page is open, and the page notices', 60_000)
})
