/** `dryRunRequest` reports for a request what the running gateway does: the same rejection, or the same request to the agent. */
import { request as httpRequest } from 'node:http'
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import { dryRunRequest } from '#pipeline/dry-run.js'
import { rejectionResponse } from '#pipeline/rejection-response.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { splitTarget } from '#wire/target.js'
import { configOf, gatewayFor } from '../helpers/gateway.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import type { PlainRequest } from '#pipeline/dry-run-operation.js'

const URI = 'https://e.test/required'
const card = (url: string): Record<string, unknown> => plainCard(url, { capabilities: { extensions: [{ uri: URI, required: true }] } })

const MESSAGE = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const call = (method: string, params: unknown = { message: MESSAGE }): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 'x-1', method, params })
const JSON_TYPE = ['Content-Type', 'application/json']
const V1 = [...JSON_TYPE, 'A2A-Version', '1.0']
const ASKED = [...V1, 'A2A-Extensions', URI]

/** Name, method, target, headers, body. */
const REQUESTS: readonly (readonly [string, string, string, readonly string[], string | null])[] = [
  [
    'forwarded',
    'POST',
    '/shop/rpc',
    [...ASKED, 'X-Team', 'a', 'X-Team', 'b', 'Connection', 'x-gone', 'X-Gone', '1', 'X-Forwarded-For', '1.2.3.4'],
    call('SendMessage')
  ],
  [
    'forwarded, in 0.3',
    'POST',
    '/shop/rpc',
    [...JSON_TYPE, 'X-A2A-Extensions', `${URI}, urn:unknown`],
    call('message/send', { message: { kind: 'message', messageId: 'm', role: 'user', parts: [] } })
  ],
  [
    'forwarded, in 0.3 that says so',
    'POST',
    '/shop/rpc',
    [...JSON_TYPE, 'A2A-Version', '0.3', 'A2A-Extensions', URI],
    call('message/send', { message: { parts: [] } })
  ],
  ['HTTP+JSON, with a query', 'GET', '/shop/rest/tasks/t%201?historyLength=3', ['A2A-Version', '1.0'], null],
  ['HTTP+JSON without a body', 'POST', '/shop/rest/tasks/t:cancel', ['A2A-Version', '1.0'], null],
  ['a GET that says null', 'GET', '/shop/rest/tasks/t', [...V1, 'Content-Length', '4'], 'null'],
  ['a GET with a body', 'GET', '/shop/rest/tasks/t', [...V1, 'Content-Length', '7'], '{"a":1}'],
  ['a required extension that is missing', 'POST', '/shop/rpc', V1, call('SendMessage')],
  ['the same as a stream', 'POST', '/shop/rpc', [...V1, 'Accept', 'text/event-stream'], call('SendStreamingMessage')],
  [
    'the same over HTTP+JSON',
    'POST',
    '/shop/rest/message:send',
    ['Content-Type', 'application/a2a+json; charset=utf-8', 'A2A-Version', '1.0'],
    JSON.stringify({ message: MESSAGE })
  ],
  ['the same in 0.3 over HTTP+JSON', 'POST', '/shop/rest/v1/message:send', JSON_TYPE, JSON.stringify({ message: { content: [] } })],
  ['a version that nobody speaks', 'POST', '/shop/rpc', [...JSON_TYPE, 'A2A-Version', '7.0'], call('SendMessage')],
  ['two versions', 'POST', '/shop/rpc?A2A-Version=0.3', ASKED, call('SendMessage')],
  ['what is no JSON', 'POST', '/shop/rpc', ASKED, '{'],
  ['a method that is none', 'POST', '/shop/rpc', ASKED, call('Dance')],
  ['a compressed body', 'POST', '/shop/rpc', [...ASKED, 'Content-Encoding', 'gzip'], call('SendMessage')],
  ['a type that is not JSON', 'POST', '/shop/rpc', ['Content-Type', 'text/plain'], call('SendMessage')],
  ['a body that is too large', 'POST', '/shop/rpc', ASKED, call('SendMessage', { message: MESSAGE, metadata: { x: 'x'.repeat(2_000) } })],
  ['an address that is none', 'POST', '/shop/nothing', ASKED, call('SendMessage')],
  ['a wrong verb', 'PUT', '/shop/rpc', ASKED, call('SendMessage')],
  ['a target that two readers read differently', 'POST', '/shop/rest//message:send', ASKED, '{}'],
  ['a header sent twice', 'POST', '/shop/rpc', [...ASKED, 'Content-Type', 'text/plain'], call('SendMessage')],
  ['an upgrade', 'POST', '/shop/rpc', [...ASKED, 'Connection', 'upgrade', 'Upgrade', 'websocket'], call('SendMessage')],
  ['a preflight', 'OPTIONS', '/shop/rpc', ['Origin', 'https://o.test'], null],
  ['a passthrough prefix', 'POST', '/shop/files/a?b=c', ['Content-Type', 'text/plain', 'A2A-Extensions', 'urn:any'], 'hello']
]

interface Answer {
  readonly status: number
  readonly phrase: string
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: string
}

function send (origin: string, [, method, target, headers, body]: typeof REQUESTS[number]): Promise<Answer> {
  const { hostname, port, host } = new URL(origin)
  return new Promise((resolve, reject) => {
    const length = body !== null && !headers.includes('Content-Length') ? ['Content-Length', String(Buffer.byteLength(body))] : []
    const outgoing = httpRequest(
      { hostname, port, method, path: target, headers: ['Host', host, ...headers, ...length] as unknown as NodeJS.Dict<string> },
      response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            phrase: response.statusMessage ?? '',
            headers: response.headers,
            body: Buffer.concat(chunks).toString()
          })
        })
      }
    )
    outgoing.on('error', reject)
    outgoing.end(body ?? undefined)
  })
}

/** Without what the connection and the HTTP client add. */
function endToEnd (rawHeaders: readonly string[]): string[] {
  const own = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'x-forwarded-for', 'keep-alive', 'via'])
  const lines: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!own.has(rawHeaders[i]?.toLowerCase() ?? '')) lines.push(`${rawHeaders[i]?.toLowerCase()}: ${rawHeaders[i + 1]}`)
  }
  return lines.sort()
}

t.test('every kind of request', async t => {
  const agent = await fakeAgent(t, { card })
  const options = {
    yaml: `limits: {body: 1KiB}\nagents:\n  - name: shop\n    path: /shop\n    upstream: {url: "${agent.url}"}\n    passthrough: [/files]\n`
  }
  const gateway = await gatewayFor(t, options)
  const { agents: [config], limits } = configOf(options)
  if (config === undefined) throw new Error('no agent')
  const value = card(agent.url)
  const read = readCard(value)
  if (!read.ok) throw new Error(read.problem)
  const document = { bytes: Buffer.from(JSON.stringify(value)), value, card: read.card }
  const state = buildAgentState(
    { byVersion: { 0.3: document, '1.0': document }, fetchedAt: 0, origin: 'test' },
    { agent: config, maxExtensions: limits.extensions, previous: null, secretOf: SECRET_HIDDEN }
  )

  for (const request of REQUESTS) {
    const [name, method, target, headers, body] = request
    agent.received.length = 0
    const answer = await send(gateway.url, request)
    const [arrived] = agent.received
    const { path, query } = splitTarget(target)
    const plain: PlainRequest = {
      method,
      path: path.slice('/shop'.length),
      query,
      rawHeaders: ['Host', new URL(gateway.url).host, ...headers],
      body: body === null ? null : Buffer.from(body)
    }
    const judgement = dryRunRequest({ config, state }, plain, limits)
    t.equal(
      (judgement.plan?.evaluation ?? null) === null,
      judgement.rejection !== null || judgement.kind !== 'operation' || !headers.some(value => value.includes(URI)),
      `${name}: its answer shows whether the extension is active`
    )
    if (judgement.rejection !== null) {
      t.equal(arrived, undefined, `${name}: does not reach the agent`)
      const told = rejectionResponse(judgement.rejection, judgement.caller)
      t.equal(answer.status, told.status, `${name}: status`)
      t.equal(answer.body, told.body.toString(), `${name}: body`)
      for (let i = 0; i < told.headers.length; i += 2) {
        t.equal(answer.headers[told.headers[i] ?? ''], told.headers[i + 1], `${name}: ${told.headers[i]}`)
      }
    } else {
      const { forwarded } = judgement
      t.equal(`${arrived?.method} ${arrived?.url}`, `${forwarded?.method} ${forwarded?.target}`, `${name}: address at the agent`)
      t.same(endToEnd(arrived?.rawHeaders ?? []), endToEnd(forwarded?.headers ?? []), `${name}: headers`)
      t.equal(arrived?.body.toString(), forwarded?.body?.toString() ?? '', `${name}: body`)
    }
  }

  t.test('the gateway responds with the card', async t => {
    t.match(
      dryRunRequest(
        { config, state },
        { method: 'GET', path: '/.well-known/agent-card.json', query: '', rawHeaders: [], body: null },
        limits
      ),
      { kind: 'card', rejection: null, forwarded: null }
    )
  })
})
