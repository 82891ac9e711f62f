/** The composed request of a test equals the request that the official clients send for the same call. */
import { createServer } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import { mapInterfaces } from '#a2a/card/map.js'
import { PathScope } from '#a2a/card/path-scope.js'
import type { MappedInterface } from '#a2a/card/map.js'
import { headOf } from '#pipeline/request-head.js'
import { compose } from '#offline/recording/compose.js'
import type { Variant } from '#a2a/message/wire-spec.js'
import type { RequestSpec } from '#offline/policy-test/test-model.js'
import { connect } from '../helpers/sdk-clients.js'
import type { ClientKind } from '../helpers/sdk-clients.js'
import { CALLS, URIS, withoutPartMetadata } from './sdk-calls.js'
import type { PlainRequest } from '#pipeline/dry-run-operation.js'

interface Captured { method: string, path: string, headers: IncomingHttpHeaders, body: string }

const captured: Captured[] = []
const server = createServer((request, response) => {
  if (request.url?.includes('.well-known') === true) {
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify(cardAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)))
  }
  let body = ''
  request.on('data', chunk => { body += String(chunk) })
  request.on('end', () => {
    captured.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
    response.writeHead(500).end('{}')
  })
})

function cardAt (origin: string): object {
  const both = (protocolVersion: string): object[] => [
    { url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion },
    { url: `${origin}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion }
  ]
  return {
    name: 'a',
    description: 'a',
    version: '1',
    protocolVersion: '0.3.0',
    url: `${origin}/rpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url: `${origin}/rest`, transport: 'HTTP+JSON' }],
    supportedInterfaces: [...both('1.0'), ...both('0.3')],
    capabilities: { streaming: true, pushNotifications: true },
    skills: [],
    defaultInputModes: [],
    defaultOutputModes: []
  }
}

/** Without what clients make up: ids, configuration. */
function essence (body: string, variant: Variant): unknown {
  if (body === '') return null
  const { id, ...value } = JSON.parse(body) as Record<string, unknown>
  const request = (variant.binding === 'JSONRPC' ? value.params : value) as Record<string, unknown>
  delete request.configuration
  if (typeof request.message === 'object' && request.message !== null) delete (request.message as Record<string, unknown>).messageId
  if (variant.version === '0.3' && variant.binding === 'HTTP+JSON' && 'message' in request) withoutPartMetadata(request)
  return variant.binding === 'JSONRPC' ? value : { ...(id === undefined ? {} : { id }), ...value }
}

function composed (spec: RequestSpec, variant: Variant, interfaces: readonly MappedInterface[]): PlainRequest {
  const request = compose(spec, variant, interfaces)
  if (typeof request === 'string') throw new Error(request)
  return request
}

t.before(() => new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) }))
t.teardown(() => { server.close() })

for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
  for (const [version, client] of [['1.0', 'v1'], ['0.3', 'v03']] as readonly [Variant['version'], ClientKind][]) {
    t.test(`${version} over ${binding}`, async t => {
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const read = readCard(cardAt(origin))
      if (!read.ok) throw new Error(read.problem)
      const { mapped } = mapInterfaces(read.card.interfaces, new PathScope({ upstreamUrl: new URL(origin) }))
      const sdk = await connect({ client, cardUrl: `${origin}/.well-known/agent-card.json`, transport: binding, extensions: URIS })
      const variant = { version, binding }
      for (const { name, call, spec, only } of CALLS) {
        if (only !== undefined && only !== version) continue
        captured.length = 0
        await call(sdk).catch(() => {})
        const [theirs] = captured
        if (theirs === undefined) throw new Error(`the client sent nothing for ${name}`)
        const ours = composed(spec(version), variant, mapped)
        t.same(essence(String(ours.body ?? ''), variant), essence(theirs.body, variant), `${name}: body`)
        t.equal(`${ours.method} ${ours.path}${ours.query}`, `${theirs.method} ${theirs.path}`, `${name}: address`)
        const { headers } = headOf(ours.method, ours.rawHeaders)
        for (const header of ['a2a-version', 'a2a-extensions', 'x-a2a-extensions']) {
          t.equal(headers[header], theirs.headers[header], `${name}: ${header}`)
        }
        if (theirs.body !== '') t.equal(headers['content-type'], theirs.headers['content-type'], `${name}: content type`)
        if (theirs.headers.accept?.includes('event-stream') === true) t.equal(headers.accept, 'text/event-stream', `${name}: accept`)
      }
    })
  }
}

t.test('a file part has the form of each version', async t => {
  const interfaces = (['0.3', '1.0'] as const).flatMap(version =>
    (['JSONRPC', 'HTTP+JSON'] as const).map(binding => ({
      binding,
      version,
      tenant: null,
      upstreamPath: '/',
      dialPath: '/',
      publicPath: '',
      url: 'http://a.test'
    }))
  )
  const spec: RequestSpec = {
    message: { role: 'user', parts: [{ url: 'https://f.test/a.pdf', mediaType: 'application/pdf', filename: 'a.pdf' }, { raw: 'aGk=' }] }
  }
  const parts = (variant: Variant): unknown => {
    const value = JSON.parse(String(composed(spec, variant, interfaces).body)) as { params?: object }
    const { message } = (value.params ?? value) as { message: { parts?: unknown, content?: unknown } }
    return message.parts ?? message.content
  }
  t.same(parts({ version: '1.0', binding: 'HTTP+JSON' }), spec.message?.parts)
  t.same(parts({ version: '0.3', binding: 'JSONRPC' }), [
    { kind: 'file', file: { name: 'a.pdf', mimeType: 'application/pdf', uri: 'https://f.test/a.pdf' } },
    { kind: 'file', file: { bytes: 'aGk=' } }
  ])
  t.same(parts({ version: '0.3', binding: 'HTTP+JSON' }), [
    { file: { fileWithUri: 'https://f.test/a.pdf', mimeType: 'application/pdf', name: 'a.pdf' } },
    { file: { fileWithBytes: 'aGk=' } }
  ])
})

t.test('given headers replace those that would be sent, and null removes them', async t => {
  const interfaces = [
    { binding: 'JSONRPC', version: '1.0', tenant: null, upstreamPath: '/', dialPath: '/', publicPath: '', url: 'http://a.test' }
  ] as const
  const request = composed(
    {
      message: { role: 'user', parts: [] },
      extensions: URIS,
      headers: { 'a2a-version': null, 'content-type': 'application/a2a+json', 'X-A2A-Extensions': 'u' }
    },
    { version: '1.0', binding: 'JSONRPC' },
    interfaces
  )
  t.same(headOf('POST', request.rawHeaders).headers, {
    host: 'agent.test',
    accept: 'application/json',
    'a2a-extensions': URIS.join(','),
    'content-type': 'application/a2a+json',
    'x-a2a-extensions': 'u'
  })
})
