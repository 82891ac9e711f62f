/**
 * The load generator against servers with known delays. The lower bounds are generous, and there are no upper bounds: the machine may be
 * slow, but a timer never fires early.
 */
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { openLoop } from '../../bench/load/open.js'

const BODY = Buffer.from('{}')

async function serverWith (t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc`
}

t.test('every call is sent, counted, and as slow as the server', async t => {
  const bodies: string[] = []
  const url = await serverWith(t, (request, response) => {
    request.on('data', chunk => { bodies.push(String(chunk)) })
    setTimeout(() => { response.write('first'); setTimeout(() => response.end('last'), 100) }, 50)
  })
  const { calls, bad, first, whole, late } = await openLoop({
    url,
    headers: { 'content-type': 'application/json' },
    body: BODY,
    rate: 100,
    seconds: 0.5,
    expected: 9
  })
  t.equal(calls, 50)
  t.equal(bad, 0)
  t.same(bodies, Array.from({ length: 50 }, () => '{}'))
  t.equal(first.count, 50)
  t.equal(whole.count, 50)
  t.equal(late.count, 50)
  t.ok(first.min >= 48_000, `the first piece took ${first.min} µs`)
  t.ok(whole.min >= 147_000, `the whole took ${whole.min} µs`)
  t.ok(whole.percentile(50) >= first.percentile(50) + 90_000, 'the two are told apart')
})

t.test('calls that were due while the server was blocked count from their due time', async t => {
  // It answers nobody for 400 ms after the first call: with a closed loop one call would have been slow.
  let free = 0
  const url = await serverWith(t, (request, response) => {
    request.resume()
    if (free === 0) free = Date.now() + 400
    setTimeout(() => response.end('ok'), Math.max(0, free - Date.now()))
  })
  const { calls, bad, whole } = await openLoop({ url, headers: {}, body: BODY, rate: 200, seconds: 0.4, expected: 2 })
  t.equal(calls, 80)
  t.equal(bad, 0)
  t.ok(whole.percentile(50) >= 150_000, `half of them waited ${whole.percentile(50)} µs or more`)
  t.ok(whole.max >= 395_000, `the first waited ${whole.max} µs`)
})

t.test('wrong responses are counted', async t => {
  let calls = 0
  const url = await serverWith(t, (request, response) => {
    request.resume()
    const which = calls++ % 4
    if (which === 0) response.end('ok')
    else if (which === 1) response.writeHead(500).end('ok')
    else if (which === 2) response.end('short of it')
    else response.destroy()
  })
  const result = await openLoop({ url, headers: {}, body: BODY, rate: 100, seconds: 0.4, expected: 2 })
  t.equal(result.calls, 40)
  t.equal(result.bad, 30)
})
