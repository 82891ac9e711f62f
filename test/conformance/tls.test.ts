/** Versions of TLS towards an agent. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerOptions } from 'node:https'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import { rpc } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { plainCard } from '../helpers/raw.js'

const FIXTURES = inTests('fixtures/tls')

/** The status of one call through a gateway to an agent with these limits of TLS. */
async function statusWith (t: Test, limits: ServerOptions): Promise<number> {
  const files = { key: readFileSync(join(FIXTURES, 'right.key.pem')), cert: readFileSync(join(FIXTURES, 'right.pem')) }
  const server = createServer({ ...files, ...limits }, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = join(t.testdir({ 'card.json': JSON.stringify(plainCard(url)) }), 'card.json')
  const gateway = await gatewayFor(t, {
    yaml: `agents: [{name: agent, upstream: {url: "${url}", tls: {ca: "${join(FIXTURES, 'ca.pem')}"}}, card: {file: "${card}"}}]`
  })
  return (await rpc(`${gateway.url}/rpc`)).status
}

t.test('an agent that speaks TLS 1.1 at most is not called, and one with TLS 1.2 is', async t => {
  // OpenSSL 3 allows TLS 1.1 only at security level 0.
  t.equal(await statusWith(t, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }), 502)
  t.equal(await statusWith(t, { maxVersion: 'TLSv1.2' }), 200)
})
