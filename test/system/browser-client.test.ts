/** The official JavaScript SDK in a page of another origin, in a real Chromium. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { ROOT } from '../helpers/paths.js'
import { browse } from './console-browser.js'

quietSdk()

const SLOW = { timeout: 180_000 }
const REQUIRED = 'https://example.com/ext/required/v1'

/** In the page: a call with the SDK. Returns the text of the result, or of the error. */
const PAGE = `
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory, ServiceParameters, withA2AExtensions } from '@a2a-js/sdk/client'
window.send = async (url, binding, extensions) => {
  try {
    const factory = new ClientFactory({
      transports: [binding === 'JSONRPC' ? new JsonRpcTransportFactory() : new RestTransportFactory()],
      cardResolver: new DefaultAgentCardResolver()
    })
    const client = await factory.createFromUrl(url, '')
    const message = { messageId: crypto.randomUUID(), contextId: '', taskId: '', role: 1, parts: [{ content: { $case: 'text', value: 'hello' }, mediaType: '', filename: '' }], extensions: [], referenceTaskIds: [] }
    const options = { serviceParameters: ServiceParameters.createFrom(undefined, withA2AExtensions(...extensions)) }
    return JSON.stringify(await client.sendMessage({ tenant: '', message, configuration: { acceptedOutputModes: [] } }, options))
  } catch (error) {
    return 'error: ' + error.message
  }
}
window.ready = true
`

async function page (t: Test): Promise<string> {
  const { outputFiles: [script] } = await build({
    stdin: { contents: PAGE, resolveDir: ROOT },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser'
  })
  const server = createServer((request, response) => {
    if (request.url === '/app.js') response.setHeader('content-type', 'text/javascript').end(script?.text)
    else response.setHeader('content-type', 'text/html').end('<!doctype html><link rel="icon" href="data:,"><script type="module" src="/app.js"></script>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a page calls an agent, and reads results and rejections alike', SLOW, async t => {
  const origin = await page(t)
  let allowed = origin
  const agent = await startAgent({
    kind: 'v1',
    card: { extensions: [{ uri: REQUIRED, required: true }] },
    tamper: response => {
      if (response.req.headers.origin !== allowed) return
      response.setHeader('access-control-allow-origin', allowed)
      response.setHeader('access-control-allow-headers', '*')
    }
  })
  t.teardown(() => agent.close())
  const relaying = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const own = await gatewayFor(t, { yaml: oneAgent(agent.url, [`cors: {origins: ["${origin}"]}`]) })
  const { page: tab } = await browse(t, origin, 'wide')
  await tab.waitForFunction('window.ready === true')
  const card = (url: string): string => `${url}/.well-known/agent-card.json`
  const send = (url: string, binding: string, extensions: readonly string[]): Promise<string> =>
    tab.evaluate(`send(${JSON.stringify(card(url))}, ${JSON.stringify(binding)}, ${JSON.stringify(extensions)})`)
  for (const [name, url] of [['the policy of the agent', relaying.url], ['cors.origins', own.url]] as const) {
    for (const binding of ['JSONRPC', 'HTTP+JSON']) {
      t.match(await send(url, binding, [REQUIRED]), /^\{/, `${name}, ${binding}: a result`)
      t.match(await send(url, binding, []), /^error: .*requires an extension/, `${name}, ${binding}: the page reads why the gateway rejects the call`)
    }
  }
  allowed = 'https://elsewhere.example'
  const strict = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  t.match(await send(strict.url, 'JSONRPC', []), /^error: .*fetch/i, 'a page that the agent does not allow reads nothing')
})
