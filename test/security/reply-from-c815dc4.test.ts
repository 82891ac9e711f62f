/** reply-from up to 12.6.1: a client's Connection header removed headers that the proxy had added. */
import t from 'tap'
import { send } from './kit.js'
import { bodyOf, FORMS, messageOf, nameOf, sending, target, textPart } from './kit.js'

t.test('a Connection header removes the client\'s own headers, and none of the gateway or the protocol', async (t) => {
  const one = await target(t, { agent: ['passthrough: [/files]'] })
  const named =
    'authorization, x-forwarded-for, x-forwarded-proto, x-forwarded-host, a2a-extensions, x-a2a-extensions, a2a-version, content-type, content-length, host, traceparent, cookie, x-mine'
  const headers = [
    ['Connection', named],
    ['Authorization', 'Bearer x'],
    ['Cookie', 'c=1'],
    ['X-Mine', '1'],
    ['X-Other', '2'],
    ['A2A-Extensions', 'https://example.com/e']
  ] as const
  const check = (name: string) => {
    const sent = one.agent.received[0]?.headers ?? {}
    t.same(
      [sent.authorization, sent.cookie, sent['x-forwarded-for'], sent['x-forwarded-proto'], sent['x-other']],
      ['Bearer x', 'c=1', '127.0.0.1', 'http', '2'],
      name
    )
    t.match(String(sent['a2a-extensions'] ?? sent['x-a2a-extensions']), 'https://example.com/e', name)
    t.equal(sent['x-mine'], undefined, `${name}: what it named of its own is gone`)
    t.equal(sent.host, new URL(one.agent.url).host)
    one.agent.received.length = 0
  }
  for (const form of FORMS) {
    const body = bodyOf(form, messageOf(form, [textPart(form)]))
    await one.send(sending(form, body, { headers }))
    t.equal(one.agent.received[0]?.body.toString(), body)
    check(nameOf(form))
  }
  await send(one.gateway.url, { method: 'GET', path: '/files/x', headers })
  check('passthrough')
})
