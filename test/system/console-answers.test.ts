/** The console in a real browser: the answers of policy servers about a call, and a card that waits for an agreement, line by line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cardDigest } from '#a2a/card/digest.js'
import { lockText } from '#agents/lock/lock-file.js'
import { pointLine, policyServer } from '../external/kit.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { MESSAGE, rpc } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { axeViolations, browse } from './console-browser.js'

t.test('questions, answers and a card that waits', { timeout: 120_000 }, async t => {
  let description = 'agreed'
  const agent = await fakeAgent(t, { card: url => plainCard(url, { description }) })
  const server = await policyServer(t, () => ({ decision: false, context: { reason_admin: 'policy 7', decision_id: 'd-1' } }))
  const directory = t.testdir({})
  const agreed = plainCard(agent.url, { description })
  writeFileSync(join(directory, 'agents.lock'), lockText({
    agent: { url: agent.url, digest: cardDigest(agreed), requires: [], pinnedAt: '2026-11-28T12:00:00Z', pinnedBy: 'ada', card: agreed }
  }))
  const yaml = oneAgent(agent.url, ['card: {changes: hold, refresh: 50ms}', 'external: [{id: dlp, use: corp, send: message}]'], [pointLine(server.url, 'timeout: 10s')])
  const gateway = await gatewayFor(t, { yaml, baseDir: directory })
  await rpc(`${gateway.url}/rpc`, 'SendMessage', { message: { ...MESSAGE, parts: [{ text: 'SECRET' }] } })

  const { page, complaints } = await browse(t, `${gateway.adminUrl}/console/#/decisions`, 'wide')
  const entry = page.locator('li[data-outcome=rejected]').first()
  await entry.locator('summary').first().click()
  const answers = entry.locator('.answers')
  await answers.waitFor()
  t.match(await answers.innerText(), /denied[^]*dlp asked corp[^]*policy 7[^]*d-1/)
  await answers.locator('summary').click()
  const question = await answers.locator('pre').innerText()
  t.match(question, /"name": "SendMessage"[^]*"request": "…"/)
  t.notMatch(await page.content(), /SECRET/)
  t.same(await axeViolations(page), [])

  description = 'changed'
  await page.evaluate("location.hash = '#/agents/agent/health'")
  await page.locator('#held').waitFor()
  await page.locator('text=The difference, line by line').click()
  await page.locator('#waits').waitFor()
  t.match(await page.locator('section[aria-labelledby=waits] .line[data-mark=changed]').allInnerTexts(), [/"description": "changed",? was "agreed"/])
  t.same(await axeViolations(page), [])
  t.same(complaints, [])
})
