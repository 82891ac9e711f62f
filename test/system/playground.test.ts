/** The playground in a real browser: a policy is edited by keyboard, evaluated as it is typed, and replayed. */
import t from 'tap'
import type { Page } from 'playwright-core'
import { startFight } from '../../examples/fight.js'
import { call, MESSAGE, rpcBody } from '../helpers/http.js'
import { serve } from '../helpers/serve.js'
import { axeViolations, browse, hurdles, overhang, picture } from './console-browser.js'
import type { SIZES } from './console-browser.js'

const TIMESTAMP = 'https://github.com/a2aproject/a2a-samples/extensions/timestamp/v1'
const KEY = 'github.com/a2aproject/a2a-samples/extensions/timestamp/v1/timestamp'

const VIEWS: readonly (readonly [keyof typeof SIZES, 'light' | 'dark'])[] = [['wide', 'light'], ['narrow', 'dark']]

for (const [size, scheme] of VIEWS) {
  t.test(`${size} and ${scheme}: edit, complete, explain, replay`, { timeout: 120_000 }, async t => {
    const agent = await startFight({ port: 0 })
    t.teardown(() => agent.close())
    const gateway = await serve(t, [
      'agents:',
      `  - {name: fight, upstream: {url: "${agent.url}"}, mode: enforce, extensions: [timestamp], card: {advertise: [{uri: "${TIMESTAMP}"}]}}`
    ].join('\n'), {}, { console: '{playground: true, requests: 50}' })
    for (const timestamp of ['2026-11-14T22:13:20Z', 'yesterday']) {
      await call(`${gateway.url}/a2a/jsonrpc`, {
        method: 'POST',
        headers: ['content-type', 'application/json', 'a2a-version', '1.0'],
        body: rpcBody('SendMessage', { message: { ...MESSAGE, metadata: { [KEY]: timestamp } } })
      })
    }
    const { page, complaints, hosts } = await browse(t, `${gateway.adminUrl}/console/`, size, scheme)
    await page.waitForSelector('.tile')
    t.notOk(await page.evaluate("performance.getEntriesByType('resource').some(({ name }) => name.includes('editor.js'))"), 'the editor is loaded when it is needed')
    await page.getByRole('link', { name: 'Playground' }).click()
    const editor = page.getByRole('textbox', { name: 'Policy, as YAML' })
    const state = page.locator('.play-state')
    const banner = page.locator('.play-banner')
    await state.getByText('The policy can be used').waitFor()
    t.match(await editor.innerText(), /name: fight[^]*extensions:/)
    await banner.getByText('forward', { exact: true }).waitFor()
    await page.getByLabel('Take the request from').selectOption({ label: 'no time at all (rejected in enforce)' })
    await banner.getByText('broken rules are only observed').waitFor()

    await editor.focus()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('extensions:\ntimestamp:\nmo')
    await page.keyboard.press('Control+Space')
    const options = page.locator('.cm-tooltip-autocomplete li')
    await options.getByText('mode').waitFor()
    await accept(page)
    t.match(await editor.innerText(), /timestamp:\n+ {4}mode: $/m, 'the key is completed, in its place')
    await page.keyboard.press('Control+Space')
    await options.getByText('enforce').first().waitFor()
    t.match(await options.allInnerTexts(), ['enforce', 'observe', 'off'])
    await page.keyboard.press('Escape')
    await page.keyboard.type('strict')
    const problem = page.locator('.play-problem')
    await problem.getByText('extensions.timestamp.mode must be one of enforce, observe, off').waitFor()
    t.match(await problem.innerText(), /^\d+:11\s/, 'with line and column')
    t.match(await state.innerText(), /^1 problem/)
    await page.waitForSelector('.cm-lintRange-error')
    await banner.getByText('The policy has problems').waitFor()

    await problem.focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Shift+End')
    await page.keyboard.type('enforce')
    await banner.getByText('timestamp/ts').waitFor()
    t.match(await page.getByLabel('Explanation').innerText(), /reject, by the rule timestamp\/ts/)
    t.equal(await page.locator('.play-problem').count(), 0)

    await page.locator('.cm-line', { hasText: 'mode: enforce' }).last().getByText('mode').hover()
    await page.locator('.cm-tooltip-hover .place', { hasText: 'extensions.timestamp.mode' }).waitFor()
    await page.mouse.move(0, 0)

    await page.getByRole('button', { name: 'Replay the last requests' }).focus()
    await page.keyboard.press('Enter')
    const replay = page.locator('.play-requests > li')
    await replay.first().waitFor()
    t.match(await page.locator('.play-summary').innerText(), /rejects 1 request that the policy in force forwards\. In all, it rejects 1 of 2/)
    t.equal(await replay.count(), 1)
    t.match(await replay.innerText(), /newly rejected[^]*timestamp\/ts/)
    t.equal(await overhang(page), 0, 'as wide as the window')
    t.same(await hurdles(page), [])
    t.same(await axeViolations(page), [], 'axe-core')
    await page.evaluate('scrollTo(0, 0)')
    if (size === 'wide') await page.setViewportSize({ width: 1280, height: 1180 })
    await picture(page, size === 'wide' ? 'playground' : 'playground-narrow')
    await replay.getByRole('button', { name: 'Explain this request' }).click()
    t.match(await page.getByLabel(/^Request: \.http/).inputValue(), /yesterday/)

    await page.evaluate("location.hash = '#/decisions'")
    await page.waitForSelector('.filters')
    await page.evaluate("location.hash = '#/playground'")
    await banner.getByText('timestamp/ts').waitFor()
    t.match(await editor.innerText(), /mode: enforce\n*$/, 'the text is still there')
    await page.getByRole('button', { name: 'Back to the policy in force' }).click()
    await banner.getByText('broken rules are only observed').waitFor()
    t.same(complaints, [], 'nothing in the browser\'s console')
    t.same([...hosts], [new URL(gateway.adminUrl).host])
  })
}

/** Accepts the completion. CodeMirror ignores the key for 75 ms after the list has opened, so that nobody accepts by mistake. */
async function accept (page: Page): Promise<void> {
  await page.waitForTimeout(150)
  await page.keyboard.press('Enter')
}
