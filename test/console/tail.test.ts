/**
 * The live tail over a real connection shows each rejection with the request to send instead. Slow viewers and too many viewers cost
 * nothing.
 */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { VIEWERS, Viewers } from '#console/viewers.js'
import { call, JSON_TYPE, rpc, rpcBody, until, untilSame, V1 } from '../helpers/http.js'
import { consoleFor, REQUIRED, tail } from './kit.js'

t.test('a rejected call is shown with its reason and fix; a forwarded one while a page is connected', async t => {
  const { gateway } = await consoleFor(t)
  await rpc(`${gateway.url}/rpc`)
  await rpc(`${gateway.url}/rpc`, 'SendMessage', undefined, ['a2a-extensions', REQUIRED])
  const { entries, response, missed } = await tail(t, gateway.adminUrl)
  t.equal(response.headers['content-type'], 'text/event-stream')
  await until(() => entries.length === 1)
  t.match(entries[0], {
    agent: 'agent',
    operation: 'SendMessage',
    binding: 'JSONRPC',
    version: '1.0',
    outcome: 'rejected',
    rule: `${REQUIRED}/required`,
    reason: 'EXTENSION_SUPPORT_REQUIRED',
    violations: [{ phase: 'request', mode: 'enforce', path: 'header A2A-Extensions' }],
    correction: { headers: [{ name: 'A2A-Extensions', value: REQUIRED }] }
  }, 'the call before anybody looked is there, the forwarded one is not')
  const audit = gateway.audits()[0]
  t.equal(entries[0]?.requestId, audit?.request_id, 'the same id as in the audit log')
  await rpc(`${gateway.url}/rpc`, 'SendMessage', undefined, ['a2a-extensions', REQUIRED])
  await call(`${gateway.url}/rpc`, { headers: [...JSON_TYPE, ...V1], body: '{"broken' })
  await until(() => entries.length === 3)
  t.match(entries.slice(1).map(one => one.outcome), ['forwarded', 'rejected'])
  t.equal(missed(), 0)
})

t.test('it contains no data of clients', async t => {
  const { gateway } = await consoleFor(t, '{}', ', extensions: [object-schemas]', {
    capabilities: { extensions: [{ uri: 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1' }] },
    schemas: { s: { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false } }
  })
  const parts = [{ data: { n: 'SECRET-value' }, mediaType: 'application/json;schema=s' }, { text: 'SECRET-text' }]
  await call(`${gateway.url}/rpc`, {
    headers: [...JSON_TYPE, ...V1, 'authorization', 'Bearer SECRET-token', 'x-note', 'SECRET-note'],
    body: rpcBody('SendMessage', { message: { messageId: 'SECRET-id', role: 'ROLE_USER', parts } })
  })
  const { entries, text } = await tail(t, gateway.adminUrl)
  await until(() => entries.length === 1)
  t.match(entries[0]?.violations[0], { path: 'params.message.parts[0].data.n', message: /number/ })
  t.notMatch(text(), /SECRET/)
})

t.test('the number of viewers is limited, and a new one can connect when one has left', async t => {
  const { gateway, api } = await consoleFor(t)
  const all = await Promise.all(Array.from({ length: VIEWERS }, () => tail(t, gateway.adminUrl)))
  const refused = await api('api/decisions')
  t.equal(refused.status, 503)
  t.equal(refused.headers['retry-after'], '5')
  all[0]?.response.destroy()
  let again: Awaited<ReturnType<typeof tail>> | null = null
  await until(async () => {
    again = await tail(t, gateway.adminUrl)
    return again.response.statusCode === 200
  })
})

t.test('a viewer that reads nothing is disconnected, and its memory is limited', async t => {
  let served: ServerResponse | null = null
  const viewers = new Viewers({
    decisions: async cursor => ({
      cursor,
      missed: 1,
      entries: Array.from({ length: 400 }, () => ({ message: 'x'.repeat(2_000) })) as never
    })
  })
  const server = createServer((_request, response) => {
    served = response
    viewers.serve(response, null).catch(() => {})
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close(); viewers.close() })
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
  t.teardown(() => { socket.destroy() })
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  socket.pause()
  await until(() => served !== null, 'the viewer to be served')
  await until(() => viewers.count === 0, 'it to be dropped', 60_000)
  t.ok((served as ServerResponse | null)?.destroyed)
})

t.test('an open page does not prevent the gateway from stopping', async t => {
  const { gateway } = await consoleFor(t)
  const { response } = await tail(t, gateway.adminUrl)
  let ended = false
  response.on('close', () => { ended = true })
  await gateway.close()
  await untilSame(t, () => ended, true, 'the tail has ended')
})
