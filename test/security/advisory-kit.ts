/** Checks that several advisories share. Each advisory's test gives the spellings. */
import type { Test } from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'
import { BAD, bodyOf, dataPart, FORMS, GOOD, messageOf, nameOf, refusalIn, sending, target } from './kit.js'

/**
 * Sends valid and invalid data under each Content-Type. Every spelling gets the decision of the plain spelling, or a rejection, and invalid
 * data never reaches the agent.
 * @param types spellings; true for those of JSON
 */
export async function oneReadingOfContentTypes (t: Test, types: Readonly<Record<string, boolean>>): Promise<void> {
  const one = await target(t)
  for (const form of FORMS) {
    for (const [type, isJson] of Object.entries(types)) {
      const name = `${nameOf(form)}, ${JSON.stringify(type)}`
      const reasonFor = async (data: string): Promise<string> =>
        refusalIn(
          await one.send(sending(form, bodyOf(form, messageOf(form, [dataPart(form, data)])), { headers: [['Content-Type', type]] }))
        ).reason
      const bad = await reasonFor(BAD)
      t.equal(one.agent.received.length, 0, `${name}: nothing arrived`)
      t.equal(bad, isJson ? 'EXTENSION_DATA_INVALID' : 'CONTENT_TYPE_NOT_SUPPORTED', name)
      t.equal(await reasonFor(GOOD), isJson ? 'undefined' : 'CONTENT_TYPE_NOT_SUPPORTED', `${name}: one reading`)
      t.equal(one.agent.received.length, isJson ? 1 : 0, `${name}: good data arrives`)
      one.agent.received.length = 0
    }
  }
}

/**
 * Sends each target to an agent and to its passthrough prefix. The guard rejects it before any routing.
 * @param reason pattern of the rejection's message
 * @param byNode paths that Node's parser rejects before the gateway sees them
 */
export async function rejectedTargets (t: Test, paths: readonly string[], reason: RegExp, byNode: readonly string[] = []): Promise<void> {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/files]']) })
  let checked = 0
  for (const path of [...paths, ...byNode]) {
    for (const query of ['', '?a=b']) {
      for (const method of ['GET', 'POST']) {
        const text = await rawExchange(
          gateway.url,
          `${method} ${path}${query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${method === 'POST' ? 'Content-Length: 0\r\n' : ''}\r\n`
        )
        t.match(text, /^HTTP\/1\.1 400 /, `${method} ${path}`)
        if (byNode.includes(path)) t.notMatch(text, 'gateway-decision', `${method} ${path}: Node rejects it`)
        else t.match(text, reason, `${method} ${path}`)
        checked++
        t.equal(agent.received.length, 0, 'nothing arrived')
      }
    }
  }
  t.equal(checked, 4 * (paths.length + byNode.length))
  await rawExchange(gateway.url, 'GET /files/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.equal(agent.received[0]?.url, '/files/x', 'a plain one is passed through')
}
