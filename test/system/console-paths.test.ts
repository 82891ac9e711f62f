/** The main paths of the console in a real browser: find a call, follow its rule, send it again; and a gateway that stops responding. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import type { Test } from 'tap'
import type { Page } from 'playwright-core'
import { JSON_TYPE, call, MESSAGE, rpc, until, V1 } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { ServedGateway } from '../helpers/serve.js'
import { serve } from '../helpers/serve.js'
import { axeViolations, browse, go, overhang } from './console-browser.js'

const SLOW = { timeout: 120_000 }
const REQUIRED = 'https://example.com/ext/required/v1'
const NOTES = 'https://example.com/ext/notes/v1'
const TASK = 'task-4711'

async function stage (t: Test): Promise<ServedGateway> {
  const extensions = [{ uri: REQUIRED, required: true }, { uri: NOTES }]
  const agent = await fakeAgent(t, { card: url => plainCard(url, { capabilities: { streaming: true, extensions } }) })
  const gateway = await serve(t, `agents:
  - {name: strict, path: /strict, upstream: {url: "${agent.url}"}, extensions: [notes]}
  - {name: lenient, path: /lenient, mode: observe, upstream: {url: "${agent.url}"}, extensions: [notes]}
  - {name: gone, path: /gone, card: {onUnavailable: forward}, upstream: {url: "http://127.0.0.1:1"}}
extensions:
  notes:
    uri: ${NOTES}
    methods:
      notes/list: {params: {type: object, properties: {limit: {type: integer}}}}
    routes:
      - {verb: GET, path: "/notes/{id}", need: none}
    request:
      - id: has-note
        select: {metadata: {key: "${NOTES}/note"}}
        required: true
telemetry: {traces: {enabled: true}}
`, { OTEL_TRACES_EXPORTER: 'console' }, { console: '{tryIt: true, traceUrl: "https://traces.example.com/trace/{traceId}"}' })
  const message = { message: { ...MESSAGE, taskId: TASK } }
  await rpc(`${gateway.url}/strict/rpc`)
  await rpc(`${gateway.url}/lenient/rpc`, 'SendMessage', message, ['a2a-extensions', `${REQUIRED}, ${NOTES}`])
  await call(`${gateway.url}/strict/rpc`, { headers: [...JSON_TYPE, ...V1], body: '{"broken' })
  return gateway
}

/** Number of decisions on the page, once the search is over. */
const found = async (page: Page, count: number, why: string): Promise<void> =>
  await until(async () => await page.locator('.tail > li').count() === count, why, 60_000)

for (const [size, scheme] of [['wide', 'light'], ['narrow', 'dark']] as const) {
  t.test(`search, rule, replay: ${size}, ${scheme}`, SLOW, async t => {
    const gateway = await stage(t)
    const { page, complaints } = await browse(t, `${gateway.adminUrl}/console/#/decisions`, size, scheme)
    const look = async (name: string): Promise<void> => {
      t.equal(await overhang(page), 0, `${name}: as wide as the window`)
      t.same(await axeViolations(page), [], `${name}: axe-core`)
    }
    await found(page, 3, 'all decisions')
    await page.getByLabel('Search').fill(TASK)
    await found(page, 1, 'the call of the task')
    t.match(page.url(), new RegExp(`#/decisions\\?q=${TASK}$`), 'the filter is in the address')
    await page.reload()
    await found(page, 1, 'the same after a reload')
    t.equal(await page.getByLabel('Search').inputValue(), TASK)
    await page.getByLabel('Search').fill('no such text')
    await page.getByText('No decision matches').waitFor()
    await look('an empty search')
    await page.getByRole('button', { name: 'Show all decisions' }).click()
    await found(page, 3, 'all again')
    await page.getByLabel('Outcome').selectOption('would-reject')
    await found(page, 1, 'what enforce would reject')
    await page.getByRole('link', { name: 'Decisions' }).click()
    await found(page, 3, 'the link of the page has no filter')
    t.match(page.url(), /#\/decisions$/)

    await t.test('from what enforce would reject to the line of the policy', async t => {
      await go(page, '#/rules', '.hits')
      t.match(await page.locator('main .notice').innerText(), /would have rejected [12] more violations? since the start/)
      await look('rules')
      await page.getByLabel('Show').selectOption('would-reject')
      t.match(page.url(), /\?show=would-reject$/)
      const row = page.locator('tr[data-agent=lenient][data-rule="notes/has-note"]')
      t.match(await row.innerText(), /gateway\.yaml:\d+[^]*needs mode: enforce/)
      await row.getByRole('link', { name: 'notes/has-note' }).first().focus()
      await page.keyboard.press('Enter')
      await page.waitForSelector('.pointed')
      t.equal(await page.locator('.pointed').getAttribute('data-key'), 'request.has-note')
      t.equal(await page.evaluate('document.activeElement.dataset.key'), 'request.has-note', 'the keyboard is there too')
      await look('policy')
    })

    await t.test('a rejected call: as a command, and again in Try it, by keyboard', async t => {
      await go(page, '#/decisions?agent=strict&q=required', '.tail summary')
      await found(page, 1, 'the rejected call')
      await page.locator('.tail summary').focus()
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Copy as curl' }).click()
      const command = await page.getByLabel('The copied text').inputValue()
      const response = (await promisify(execFile)('sh', ['-c', command])).stdout
      t.match(response, /^HTTP\/1\.1 200/, 'the command is accepted')
      t.notMatch(response, /gateway-decision/)
      const trace = await page.locator('.tail .facts a[href^="https://traces"]').getAttribute('href')
      t.match(trace, /^https:\/\/traces\.example\.com\/trace\/[0-9a-f]{32}$/)
      await look('decision')
      await page.getByRole('button', { name: 'Replay in Try it' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('The call of the decision, with its corrections.').waitFor()
      t.ok(await page.getByLabel(REQUIRED).isChecked(), 'the missing extension is chosen')
      await look('try it')
      await page.getByRole('button', { name: 'Send through the gateway' }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('region', { name: 'Decision' }).getByText(/^(forwarded|observed)$/).first().waitFor()
      await look('result')
    })

    await t.test('methods, routes and metadata of extensions', async t => {
      await go(page, '#/agents/strict/try', '#operation')
      const button = page.getByRole('button', { name: 'Send through the gateway' })
      const decision = page.getByRole('region', { name: 'Decision' })
      await page.getByLabel('Operation').selectOption({ label: 'notes/list (method of notes)' })
      t.ok(await page.getByLabel(NOTES).isChecked(), 'the extension of the method')
      await page.getByLabel('limit optional').fill('many')
      await button.click()
      await decision.getByText('notes/method-params').first().waitFor()
      await page.getByLabel('Operation').selectOption({ label: 'GET /strict/notes/{id} (route of notes)' })
      await button.click()
      await page.getByText('The path needs id.').waitFor()
      await page.getByLabel('id required').fill('7')
      await button.click()
      await page.getByText('GET /strict/notes/7').waitFor()
      await page.getByLabel('Operation').selectOption('send')
      await page.getByText('Metadata', { exact: true }).click()
      await page.getByLabel('Metadata of the message, as JSON').fill(`{"${NOTES}/note": "x"}`)
      await look('metadata')
      await button.click()
      t.match(await page.getByLabel('Body of the request').innerText(), /"metadata": \{\s*"https:\/\/example.com\/ext\/notes\/v1\/note": "x"/)
    })
    t.same(complaints, [])
  })
}

t.test('a gateway that does not respond', SLOW, async t => {
  const gateway = await stage(t)
  const { page } = await browse(t, `${gateway.adminUrl}/console/#/`, 'wide')
  await page.waitForSelector('tr[data-agent=strict]')
  await page.evaluate("location.hash = '#/agents/strict'")
  await page.waitForSelector('.facts')
  t.ok(await page.locator('#stale').isHidden())
  gateway.kill('SIGSTOP')
  await page.locator('#stale').waitFor({ timeout: 60_000 })
  t.match(await page.locator('#stale').innerText(), /The gateway has not responded since \d\d:\d\d:\d\d\. Showing the last data received/)
  t.equal(await page.locator('.facts').count(), 1, 'the data stays')
  t.match(await page.locator('#ready-text').innerText(), /no response/)
  t.same(await axeViolations(page), [])
  gateway.kill('SIGCONT')
  await page.locator('#stale').waitFor({ state: 'hidden', timeout: 60_000 })
  gateway.kill('SIGKILL')
  await page.locator('#stale').waitFor({ timeout: 60_000 })
})
