/** The console in a real browser, on a real gateway, while official clients send calls. */
import t from 'tap'
import type { Test } from 'tap'
import type { Locator, Page } from 'playwright-core'
import { FORTUNE_CONSENT, startEightball } from '../../examples/eightball.js'
import { COMPARISON, startFight } from '../../examples/fight.js'
import { until } from '../helpers/http.js'
import { connect } from '../helpers/sdk-clients.js'
import type { AgentClient } from '../helpers/sdk-clients.js'
import { random } from '../helpers/seed.js'
import type { ServedGateway } from '../helpers/serve.js'
import { serve } from '../helpers/serve.js'
import { axeViolations, browse, go, hurdles, overhang, picture } from './console-browser.js'

const SLOW = { timeout: 120_000 }

interface Stage {
  readonly gateway: ServedGateway
  readonly consenting: AgentClient
  readonly refused: AgentClient
  readonly fighter: AgentClient
}

/** The agents of the demo, with the gateway as a process of its own. */
async function stage (t: Test): Promise<Stage> {
  const eightball = await startEightball({ port: 0 })
  const fight = await startFight({ port: 0 })
  t.teardown(async () => { await Promise.all([eightball.close(), fight.close()]) })
  const gateway = await serve(t, [
    'agents:',
    `  - {name: eightball, path: /agents/eightball, upstream: {url: "${eightball.url}"}}`,
    '  - name: fight',
    '    path: /agents/fight',
    `    upstream: {url: "${fight.url}"}`,
    '    extensions: [object-schemas, {x402: {mode: enforce}}]',
    `  - {name: fight-held, path: /agents/fight-held, upstream: {url: "${fight.url}"}, responses: enforce}`
  ].join('\n'), {}, { console: '{tryIt: true}' })
  const client = (agent: string, extensions: readonly string[] = []): Promise<AgentClient> =>
    connect({ client: 'v1', cardUrl: `${gateway.url}/agents/${agent}/.well-known/agent-card.json`, transport: 'JSONRPC', extensions })
  return {
    gateway,
    consenting: await client('eightball', [FORTUNE_CONSENT]),
    refused: await client('eightball'),
    fighter: await client('fight')
  }
}

async function calls ({ consenting, refused, fighter }: Stage, rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    await consenting.send(`Will it rain on day ${i}?`)
    if (i % 3 === 0) await refused.send('And without consent?').catch(() => {})
    if (i % 2 === 0) await fighter.send('', { data: { a: 'Lion', b: 'Tiger' }, mediaType: COMPARISON })
    if (i % 4 === 0) await fighter.send('', { data: { a: 'Lion', b: 7 }, mediaType: COMPARISON }).catch(() => {})
  }
}

/** Cells of one agent's row, by their labels. */
async function row (page: Page, agent: string): Promise<Record<string, string>> {
  return (await page.evaluate(
    `Object.fromEntries([...document.querySelectorAll('tr[data-agent="${agent}"] td')].map(one => [one.dataset.label, one.textContent.replaceAll(',', '')]))`
  )) as Record<string, string>
}

/** The newest refusal of an agent's calls, which stays the same one while others come. */
async function newest (page: Page, agent: string): Promise<Locator> {
  const id = await page.locator(`li[data-outcome=rejected][data-agent=${agent}]`).first().getAttribute('data-id')
  return page.locator(`li[data-id="${id ?? ''}"]`)
}

t.test('the numbers match /metrics during calls, and a rejection is shown with its fix', SLOW, async t => {
  const all = await stage(t)
  const { gateway } = all
  const { page, complaints, hosts } = await browse(t, `${gateway.adminUrl}/`, 'wide')
  await page.waitForSelector('.tile')
  t.equal(page.url(), `${gateway.adminUrl}/console/`)
  await page.evaluate("location.hash = '#/decisions'")
  await page.waitForSelector('.pill[data-state=good] >> text=live')
  await calls(all, 8)
  await all.fighter.send('commentary: Lion vs Tiger')
  const refusal = await newest(page, 'eightball')
  await refusal.locator('summary').click()
  const correction = refusal.locator('.correction')
  await correction.waitFor()
  t.match(await correction.innerText(), new RegExp(`\\+\\s*A2A-Extensions: ${FORTUNE_CONSENT}`))
  t.match(await refusal.innerText(), /EXTENSION_SUPPORT_REQUIRED[^]*header A2A-Extensions/)
  const data = await newest(page, 'fight')
  await data.locator('summary').click()
  await data.locator('.correction').waitFor()
  t.match(await data.locator('.correction').innerText(), /"b": … ← must be a string/)
  await refusal.locator('summary').click()
  await page.waitForTimeout(1_000)
  await page.evaluate('scrollTo(0, 0)')
  await picture(page, 'decisions')

  await t.test('filters and pause', async t => {
    const shown = page.locator('.tail > li')
    const selected = async (selector: string): Promise<void> => {
      await until(async () => {
        const count = await shown.count()
        return count > 0 && count === await page.locator(`.tail > li${selector}`).count()
      }, `decisions of ${selector} only`, 60_000)
    }
    const total = await shown.count()
    await page.getByLabel('Outcome').selectOption('rejected')
    await selected('[data-outcome=rejected]')
    await page.getByLabel('Outcome').selectOption('')
    await page.getByLabel('Agent').selectOption('fight')
    await selected('[data-agent=fight]')
    await page.getByLabel('Agent').selectOption('')
    await until(async () => await shown.count() === total, 'all decisions again', 60_000)
    await page.getByRole('button', { name: 'Pause' }).click()
    const before = await page.locator('.tail > li').count()
    await all.consenting.send('While it pauses?')
    await page.getByRole('button', { name: /Resume \(1 new\)/ }).waitFor()
    t.equal(await page.locator('.tail > li').count(), before)
    await page.getByRole('button', { name: /Resume/ }).click()
    t.equal(await page.locator('.tail > li').count(), before + 1)
  })

  const counted = (agent: string, outcome: string): Promise<number> =>
    gateway.metric(`a2a_gateway_requests_total{agent="${agent}",outcome="${outcome}"}`)
  await go(page, '#/', 'tr[data-agent=eightball]')
  for (const agent of ['eightball', 'fight', 'fight-held']) {
    const wanted = { Forwarded: await counted(agent, 'forwarded'), Rejected: await counted(agent, 'rejected') }
    await until(async () => {
      const { Forwarded, Rejected } = await row(page, agent)
      return Forwarded === String(wanted.Forwarded) && Rejected === String(wanted.Rejected)
    }, `the numbers of ${agent}: ${JSON.stringify(wanted)}`, 60_000)
  }
  t.equal(await counted('eightball', 'rejected'), 3)
  const total = await gateway.metric('a2a_gateway_requests_total')
  await until(
    async () => (await page.locator('[data-tile=calls] b').innerText()).replaceAll(',', '') === String(total),
    `the tile to say ${total}`,
    60_000
  )
  await calls(all, 1)
  const later = await gateway.metric('a2a_gateway_requests_total')
  t.ok(later > total)
  await until(
    async () => (await page.locator('[data-tile=calls] b').innerText()).replaceAll(',', '') === String(later),
    'the page to follow',
    60_000
  )
  await page.waitForSelector('.chart path.line[d*="L"]')
  t.match(
    await page.locator('.chart').first().getAttribute('aria-label'),
    /^Calls per second, the last (?:minute|\d+ minutes)\. all: now .*at most [\d.]+/
  )
  if (process.env.CONSOLE_SCREENSHOTS === '1') {
    const chance = random('system/console')
    for (const end = Date.now() + 60_000; Date.now() < end;) await calls(all, 1 + chance.below(12))
    await page.waitForTimeout(3_500)
  }
  await picture(page, 'overview')

  await go(page, '#/extensions', `tr[data-agent=eightball][data-uri="${FORTUNE_CONSENT}"]`)
  const confirmed = await gateway.metric('a2a_gateway_activations_total{agent="eightball",source="client",echo="confirmed"}')
  t.equal(
    (await page.locator(`tr[data-uri="${FORTUNE_CONSENT}"] [data-seen=confirmed]`).innerText()).replaceAll(',', ''),
    String(confirmed)
  )
  await picture(page, 'extensions')
  t.same(complaints, [], 'nothing in the browser\'s console')
  t.same([...hosts], [new URL(gateway.adminUrl).host], 'nothing is asked of anybody else')
})

t.test('a call is tried: rejected, fixed, forwarded', SLOW, async t => {
  const { gateway } = await stage(t)
  const { page, complaints } = await browse(t, `${gateway.adminUrl}/console/#/agents/eightball/try`, 'wide')
  const required = page.getByLabel(FORTUNE_CONSENT)
  await required.waitFor()
  t.ok(await required.isChecked(), 'what is required is chosen')
  await required.uncheck()
  await page.getByRole('button', { name: 'Send through the gateway' }).click()
  const decision = page.getByRole('region', { name: 'Decision' })
  await decision.getByText('rejected', { exact: true }).waitFor()
  t.match(await decision.innerText(), new RegExp(`\\+\\s*A2A-Extensions:\\s+${FORTUNE_CONSENT}`))
  t.match(await page.getByRole('region', { name: 'Response' }).innerText(), /gateway-decision[^]*reject[^]*-32008/)
  await required.check()
  await page.getByRole('button', { name: 'Send through the gateway' }).click()
  await decision.getByText('forwarded', { exact: true }).waitFor()
  t.match(await page.getByRole('region', { name: 'Request' }).innerText(), new RegExp(`A2A-Extensions: ${FORTUNE_CONSENT}`))
  t.match(await page.getByRole('region', { name: 'Response' }).innerText(), /ROLE_AGENT/)

  await t.test('a form from the agent\'s schema builds the data part, for each binding and version', async t => {
    await go(page, '#/agents/fight/try', '#schema')
    await page.getByLabel('a required').fill('Lion')
    await page.getByRole('button', { name: 'Send through the gateway' }).click()
    await decision.getByText('rejected', { exact: true }).waitFor()
    t.match(await decision.innerText(), /params\.message\.parts\[0\]\.data\.b is required/)
    for (const [option, words] of [
      ['JSON-RPC, A2A 1.0', /"mediaType": "application\/json;schema=fightComparison"/],
      ['HTTP+JSON, A2A 1.0', /"mediaType"/],
      ['JSON-RPC, A2A 0.3', /"method": "message\/send"[^]*"mimeType": "application\/json;schema=fightComparison"/]
    ] as const) {
      await page.getByLabel('b required').fill('Tiger')
      await page.getByLabel('Interface').selectOption({ label: option })
      await page.getByRole('button', { name: 'Send through the gateway' }).click()
      await decision.getByText(/^(forwarded|observed)$/).waitFor()
      t.match(await page.getByLabel('Body of the request').innerText(), words, option)
      t.match(await page.getByLabel('Body of the response').innerText(), /"winner": "(Lion|Tiger)"/, option)
    }
    await page.getByLabel('Operation').selectOption('stream')
    await page.getByRole('button', { name: 'Send through the gateway' }).click()
    await page.getByText('text/event-stream').first().waitFor()
    await page.getByText('The body, as JSON').click()
    await page.getByLabel('Body to send').fill('{"broken')
    await page.getByRole('button', { name: 'Send through the gateway' }).click()
    await decision.getByText('PARSE_ERROR').first().waitFor()
    await page.getByRole('button', { name: 'Back to the form' }).click()
    t.match(await page.getByLabel('Body to send').inputValue(), /"Tiger"/)
  })
  if (process.env.CONSOLE_SCREENSHOTS === '1') {
    await go(page, '#/', '.tile')
    await go(page, '#/agents/fight/try', '#schema')
    await page.getByLabel('a required').fill('Lion')
    await page.getByText('The body, as JSON').click()
    await page
      .getByLabel('Body to send')
      .fill((await page.getByLabel('Body to send').inputValue()).replace('"a": "Lion"', '"a": "Lion",\n "b": 7'))
    await page.getByText('The body, as JSON').click()
    await page.getByRole('button', { name: 'Send through the gateway' }).click()
    await decision.getByText('rejected', { exact: true }).waitFor()
    await page.setViewportSize({ width: 1280, height: 1060 })
    await page.evaluate('scrollTo(0, 0)')
    await picture(page, 'try')
  }
  t.same(complaints, [])
})

t.test('keyboard alone, wide', SLOW, async t => {
  const all = await stage(t)
  await calls(all, 1)
  const { page, complaints } = await browse(t, `${all.gateway.adminUrl}/console/`, 'wide')
  await page.waitForSelector('tr[data-agent=eightball]')
  const focused = (): Promise<string> =>
    page.evaluate(
      "document.activeElement?.textContent?.trim() || document.activeElement?.getAttribute('aria-label') || document.activeElement?.id || ''"
    )
  const tabTo = async (wanted: string): Promise<void> => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab')
      if (await focused() === wanted) return
    }
    throw new Error(`Tab never comes to ${wanted}`)
  }
  await page.keyboard.press('Tab')
  t.equal(await focused(), 'Skip to the content')
  t.ok(await page.evaluate('document.activeElement.getBoundingClientRect().top >= 0'), 'it is seen while it has the focus')
  await page.keyboard.press('Enter')
  t.equal(await page.evaluate('document.activeElement.id'), 'main')
  await tabTo('eightball')
  t.not(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none', 'the focus is seen')
  await page.keyboard.press('Enter')
  await page.waitForSelector('[role=tab]')
  await tabTo('Health')
  await page.keyboard.press('ArrowRight')
  t.equal(await focused(), 'Card')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.diff')
  t.equal(await focused(), 'Card', 'the focus stays')
  await page.keyboard.press('End')
  t.equal(await focused(), 'Try it')
  await page.keyboard.press('ArrowRight')
  t.equal(await focused(), 'Health', 'round')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Enter')
  await page.waitForSelector('form.try')
  await tabTo('Send through the gateway')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Decision' }).getByText('forwarded', { exact: true }).waitFor()
  await page.evaluate("location.hash = '#/decisions'")
  await page.waitForSelector('.tail summary')
  await page.locator('.filters button').last().focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.tail details[open] .facts')
  t.same(complaints, [])
})

for (const [size, scheme] of [['wide', 'light'], ['wide', 'dark'], ['narrow', 'light'], ['narrow', 'dark']] as const) {
  t.test(`every page, ${size} and ${scheme}: no overflow, controls have names, texts have contrast`, SLOW, async t => {
    const all = await stage(t)
    await calls(all, 2)
    const { page, complaints } = await browse(t, `${all.gateway.adminUrl}/console/`, size, scheme)
    const look = async (name: string): Promise<void> => {
      t.equal(await overhang(page), 0, `${name}: as wide as the window`)
      t.same(await hurdles(page), [], name)
      t.same(await axeViolations(page), [], `${name}: axe-core`)
    }
    await page.waitForSelector('.chart')
    t.equal(await page.evaluate('getComputedStyle(document.documentElement).colorScheme'), scheme)
    await look('overview')
    if (size === 'narrow' && scheme === 'dark') await picture(page, 'narrow-dark')
    await go(page, '#/decisions', '.tail summary')
    await (await newest(page, 'fight')).locator('summary').click()
    await page.waitForSelector('.correction')
    await look('decisions')
    if (size === 'narrow' && scheme === 'light') await picture(page, 'narrow')
    await go(page, '#/rules', '.hits')
    await look('rules')
    if (size === 'wide' && scheme === 'light') await picture(page, 'rules')
    await go(page, '#/extensions', '.matrix')
    await look('extensions')
    for (const [tab, there] of [['health', '.facts'], ['card', '.diff'], ['policy', '.lines'], ['try', 'form.try']] as const) {
      await go(page, `#/agents/fight/${tab}`, there)
      await look(tab)
      if (size === 'wide' && scheme === 'light' && (tab === 'card' || tab === 'policy')) {
        await page.evaluate("document.getElementById('policy-x402')?.scrollIntoView()")
        await picture(page, tab)
      }
    }
    await page.getByLabel('Colours').selectOption(scheme === 'light' ? 'dark' : 'light')
    t.equal(
      await page.evaluate('getComputedStyle(document.documentElement).colorScheme'),
      scheme === 'light' ? 'dark' : 'light',
      'the switch wins over the system'
    )
    await page.reload()
    await page.waitForSelector('form.try')
    t.equal(
      await page.evaluate('getComputedStyle(document.documentElement).colorScheme'),
      scheme === 'light' ? 'dark' : 'light',
      'and is remembered'
    )
    t.same(complaints, [])
  })
}
