/** A token endpoint over TLS: its certificate is verified, and the gateway presents the client certificate of the agent's connection. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { rpc } from '../helpers/http.js'
import { inTests } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'
import { sendJson } from '../identity/token-endpoint.js'

const file = (name: string): string => join(inTests('fixtures/tls'), name)

t.test('TLS', async t => {
  const agent = await fakeAgent(t)
  const subjects: unknown[] = []
  const [cert, key, ca] = ['right.pem', 'right.key.pem', 'ca.pem'].map(name => readFileSync(file(name)))
  const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, (request, response) => {
    subjects.push((request.socket as TLSSocket).getPeerX509Certificate()?.fingerprint256)
    sendJson(response, { access_token: 'over-tls', token_type: 'bearer' })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const entry = `{clientCredentials: {endpoint: "https://127.0.0.1:${port}/token", client: {id: gw, secret: {env: CLIENT}}}}`
  const tls = `tls: {cert: "${file('right.pem')}", key: "${file('right.key.pem')}"}`
  const yaml = `agents: [{name: agent, upstream: {url: "${agent.url}", ${tls}, credentials: {send: [${entry}]}}}]`
  const stranger = await serve(t, yaml, { CLIENT: 'secret' })
  t.equal((await rpc(`${stranger.url}/rpc`)).status, 502, 'an authority that the system does not trust')
  t.match(await stranger.heard(/^cannot get an access token for the agent$/, 1), [{ problem: /cannot be reached: .*(?:SELF_SIGNED|UNABLE_TO)/ }])
  const gateway = await serve(t, yaml, { CLIENT: 'secret', NODE_EXTRA_CA_CERTS: file('ca.pem') })
  t.equal((await rpc(`${gateway.url}/rpc`)).status, 200)
  t.equal(agent.received.at(-1)?.headers.authorization, 'Bearer over-tls')
  t.equal(subjects.length, 1)
  t.type(subjects[0], 'string')
})
