/** Checks that several advisories share. Each advisory's test gives the spellings. */
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'
import { BAD, bodyOf, dataPart, FORMS, GOOD, messageOf, nameOf, refusalIn, sending, target } from './kit.js'

/**
 * Sends valid and invalid data under each Content-Type. Every spelling gets the decision of the plain spelling, or a rejection, and invalid
 * data never reaches the agent.
 */
export async function oneReadingOfContentTypes (t: Test, types: readonly string[]): Promise<void> {
  const one = await target(t)
  for (const form of FORMS) {
    for (const type of types) {
      const name = `${nameOf(form)}, ${JSON.stringify(type)}`
      const reasonFor = async (data: string): Promise<string> =>
        refusalIn(
          await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, data)])), { headers: [['Content-Type', type]] }))
        ).reason
      const bad = await reasonFor(BAD)
      t.equal(one.agent.received.length, 0, `${name}: nothing arrived`)
      t.ok(bad === 'EXTENSION_DATA_INVALID' || bad === 'CONTENT_TYPE_NOT_SUPPORTED', `${name}: ${bad}`)
      const good = bad === 'EXTENSION_DATA_INVALID' ? 'undefined' : 'CONTENT_TYPE_NOT_SUPPORTED'
      t.equal(await reasonFor(GOOD), good, `${name}: one reading`)
      one.agent.received.length = 0
    }
  }
}

/**
 * Sends each target to an agent and to its passthrough prefix. The guard rejects it before any routing.
 * @param reason pattern of the rejection's message, where the gateway and not Node rejects
 */
export async function rejectedTargets (t: Test, paths: readonly string[], reason: RegExp): Promise<void> {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/files]']) })
  for (const path of paths) {
    for (const query of ['', '?a=b']) {
      for (const method of ['GET', 'POST']) {
        const text = await rawExchange(
          gateway.url,
          `${method} ${path}${query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${method === 'POST' ? 'Content-Length: 0\r\n' : ''}\r\n`
        )
        t.match(text, /^HTTP\/1\.1 400 /, `${method} ${path}`)
        if (text.includes('gateway-decision')) t.match(text, reason)
        t.equal(agent.received.length, 0, 'nothing arrived')
      }
    }
  }
  await rawExchange(gateway.url, 'GET /files/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.equal(agent.received[0]?.url, '/files/x', 'a plain one is passed through')
}
