/** Requests that the gateway keeps for the playground: bounded, and without credentials. */
import t from 'tap'
import type { KeptRequest } from '#console/playground/request-log.js'
import { receivedRequest, RequestLog } from '#console/playground/request-log.js'

function kept (id: number, agent = 'a', bytes = 1): KeptRequest {
  return {
    id: String(id),
    at: id,
    agent,
    operation: 'SendMessage',
    binding: 'JSONRPC',
    version: '1.0',
    outcome: 'forwarded',
    rule: null,
    caller: null,
    received: { method: 'POST', target: '/', headers: [], body: new Uint8Array(bytes) }
  }
}

t.test('the last requests of each agent', t => {
  const log = new RequestLog(2)
  for (let i = 0; i < 5; i++) log.add(kept(i))
  log.add(kept(5, 'b'))
  t.same(log.all().map(({ id }) => id), ['3', '4', '5'])
  t.end()
})

t.test('at most 8 MiB, and no agent loses requests to another', t => {
  const log = new RequestLog(1000)
  log.add(kept(0, 'quiet'))
  for (let i = 1; i <= 500; i++) log.add(kept(i, 'loud', 64 * 1024))
  const all = log.all()
  const bytes = all.reduce((sum, { received }) => sum + (received.body?.length ?? 0), 0)
  t.ok(bytes > 7 * 2 ** 20 && bytes <= 8 * 2 ** 20, String(bytes))
  t.equal(all[0]?.agent, 'quiet')
  t.equal(all.at(-1)?.id, '500')
  log.add(kept(501, 'late', 2 ** 20))
  t.equal(log.all().at(-1)?.id, '500', 'there is no room')
  t.end()
})

t.test('credentials, pseudo-headers and the memory of the body stay behind', t => {
  const body = Buffer.from('body')
  const request = receivedRequest({
    method: 'POST',
    target: '/a?key=t0p&access%5Ftoken=t0p&x=1',
    headers: [':path', '/a', 'Authorization', 'Bearer t0p', 'x-own-key', 't0p', 'X_Own_Key', 't0p', 'cookie', 't0p', 'a2a-version', '1.0'],
    body,
    secret: new Set(['key', 'x-own-key'])
  })
  body.fill(0)
  t.equal(Buffer.from(request.body ?? []).toString(), 'body')
  t.match(request, {
    method: 'POST',
    target: '/a?key=%5Bredacted%5D&access%5Ftoken=%5Bredacted%5D&x=1',
    headers: ['Authorization', '[redacted]', 'x-own-key', '[redacted]', 'X_Own_Key', '[redacted]', 'cookie', '[redacted]', 'a2a-version', '1.0']
  })
  t.equal(receivedRequest({ method: 'POST', target: '/%zz?%zz=1', headers: [], body: null, secret: new Set() }).target, '/%zz?%zz=1')
  t.end()
})
