/** The directory of agents in a real browser. */
import t from 'tap'
import { startFight } from '../../examples/fight.js'
import { gatewayFor } from '../helpers/gateway.js'
import { axeViolations, browse, overhang } from './console-browser.js'

t.test('without a script, at both widths, by keyboard, in both themes', { timeout: 120_000 }, async t => {
  const fight = await startFight({ port: 0 })
  t.teardown(() => fight.close())
  const gateway = await gatewayFor(t, {
    yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", console: {public: /catalogue}}\nagents: [{name: a, path: /fight, upstream: {url: "${fight.url}"}}]`
  })
  const { page, complaints, hosts } = await browse(t, `${gateway.url}/catalogue`, 'narrow', 'dark')
  t.equal(await page.locator('h2').first().innerText(), 'Fight comparison 0.1.0')
  t.equal(await overhang(page), 0)
  t.match(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(15, 18, 24)', 'the style of the page applies')
  t.same(await axeViolations(page), [], 'axe-core, dark and narrow')
  await page.emulateMedia({ colorScheme: 'light' })
  t.match(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(246, 247, 249)')
  const schema = page.locator('details').first()
  await schema.locator('summary').focus()
  await page.keyboard.press('Enter')
  t.match(await schema.locator('pre').innerText(), '"properties"')
  t.equal(await overhang(page), 0)
  await page.setViewportSize({ width: 1280, height: 800 })
  t.equal(await overhang(page), 0)
  t.same(await axeViolations(page), [], 'axe-core, light and wide')
  t.match(await page.innerText('body'), 'Fight comparison')
  t.same(complaints, [])
  t.same([...hosts], [new URL(gateway.url).host])
})
