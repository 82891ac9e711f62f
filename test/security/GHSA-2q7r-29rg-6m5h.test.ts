/** reply-from up to 12.4 forwarded `%2E%2E`. Here the target guard rejects it on both route targets, before any routing. */
import t from 'tap'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { fakeAgent, rawExchange } from '../helpers/raw.js'

t.test('such targets are rejected on both listeners', async (t) => {
  const agent = await fakeAgent(t)
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url, ['passthrough: [/files]']) })
  for (const path of [
    '/files/%2E%2E/rpc',
    '/files/%2e%2e/rpc',
    '/files/.%2e/rpc',
    '/files/%2e./rpc',
    '/files/%2e/x',
    '/files/x/%2E%2E%2Frpc',
    '/files/%252e%252e/rpc',
    '/files/%252E%252E/rpc',
    '/files/../rpc',
    '/files/./x',
    '/files/..',
    '/files/x/..'
  ]) {
    for (const under of ['', '?a=b']) {
      for (const method of ['GET', 'POST']) {
        const text = await rawExchange(
          gateway.url,
          `${method} ${path}${under} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${method === 'POST' ? 'Content-Length: 0\r\n' : ''}\r\n`
        )
        t.match(text, /^HTTP\/1\.1 400 /, `${method} ${path}`)
        if (text.includes('gateway-decision')) t.match(text, /percent-encoded|dot segment/)
        t.equal(agent.received.length, 0, 'nothing arrived')
      }
    }
  }
  await rawExchange(gateway.url, 'GET /files/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.equal(agent.received[0]?.url, '/files/x', 'a plain one is passed through')
})
