/**
 * The view that callers of the official SDKs have of a rejection: the text of the exception must name the header to send, and no rejection
 * may look like success. The first part uses the gateway itself. The second part uses a bare server to find out what each SDK can read at
 * all.
 */
import t from 'tap'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { AgentKind } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { Transport } from '../helpers/sdk-clients.js'
import { jsStory } from './js-story.js'
import { SETUP_TIMEOUT, programs, runClient } from './toolchains.js'
import type { ForeignStory, Outcome } from './toolchains.js'

quietSdk()
t.setTimeout(2 * SETUP_TIMEOUT)

const REQUIRED = 'https://example.com/ext/required/v1'

type Client = 'js-1' | 'js-0.3' | 'js-1-as-0.3' | 'py-1' | 'py-0.3' | 'go-2' | 'go-2-as-0.3' | 'go-0.3'
const V1: readonly Client[] = ['js-1', 'py-1', 'go-2']
const V03: readonly Client[] = ['js-0.3', 'js-1-as-0.3', 'py-1', 'py-0.3', 'go-2-as-0.3', 'go-0.3']

t.before(async () => {
  for (const sdk of ['py-1', 'py-0.3', 'go-2', 'go-0.3'] as const) await programs(sdk)
})

function story (client: Client, url: string, transport: Transport): Promise<ForeignStory> {
  switch (client) {
    case 'js-1': return jsStory({ client: 'v1', transport, url, brief: true })
    case 'js-0.3': return jsStory({ client: 'v03', transport, url, brief: true })
    case 'js-1-as-0.3': return jsStory({ client: 'v1-as-03', transport, url, brief: true })
    case 'go-2-as-0.3': return runClient('go-2', { transport, url, legacy: true })
    default: return runClient(client, { transport, url })
  }
}

for (const [kind, clients] of [['v1', V1], ['v03', V03]] as [AgentKind, readonly Client[]][]) {
  for (const transport of ['JSONRPC', 'HTTP+JSON'] as const) {
    t.test(`rejected by the gateway: ${kind}, ${transport}`, async t => {
      const agent = await startAgent({ kind, card: { extensions: [{ uri: REQUIRED, required: true }] } })
      t.teardown(() => agent.close())
      const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
      for (const client of clients) {
        // Their HTTP+JSON of 0.3: the one has none, the other uses paths that no other SDK serves.
        if (transport === 'HTTP+JSON' && client.startsWith('go') && kind === 'v03') continue
        const told = await story(client, gateway.url, transport)
        for (const operation of ['message', 'send', 'stream'] as const) {
          t.match(told[operation]?.error, `A2A-Extensions: ${REQUIRED}`, `${client}: ${operation} says which header to send`)
        }
      }
      t.equal(agent.calls().filter(({ body }) => /"parts"|"content"/.test(body.toString())).length, 0)
    })
  }
}

// ---- what the SDKs can read ----

const MESSAGE = `Send the header "A2A-Extensions: ${REQUIRED}" with the request.`
const INFO = {
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason: 'EXTENSION_SUPPORT_REQUIRED',
  domain: 'a2a-protocol.org',
  metadata: { rule: 'required' }
}
const OWN = { ...INFO, reason: 'EXTENSION_DATA_INVALID', domain: 'a2a-extension-gateway' }
const FIELDS = { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'a', description: 'b' }] }
const STATUS = { code: 400, status: 'FAILED_PRECONDITION', message: MESSAGE, details: [INFO, FIELDS] }

interface Form {
  readonly type: 'application/json' | 'application/a2a+json' | 'text/event-stream'
  readonly status: number
  /** JSON-RPC: `error.data`. HTTP+JSON: the body. */
  readonly body: unknown
  /** SSE only. */
  readonly event?: string
  /** Reason phrase of the status line. */
  readonly phrase?: string
  /** reads: the message reaches the caller · lost: an error without it · silent: no error at all. */
  readonly stream: Partial<Record<Client, 'reads' | 'lost' | 'silent'>>
}

const JSON_OK = { type: 'application/json', status: 200 } as const
const JSON_BAD = { type: 'application/json', status: 400 } as const
const SSE = { type: 'text/event-stream', status: 200 } as const

const FORMS: readonly (readonly [version: '1.0' | '0.3', transport: Transport, name: string, form: Form])[] = [
  ['1.0', 'JSONRPC', 'plain JSON', { ...JSON_OK, body: [INFO, FIELDS], stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'silent' } }],
  ['1.0', 'JSONRPC', 'one event', { ...SSE, body: [INFO, FIELDS], stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'reads' } }],
  [
    '1.0',
    'JSONRPC',
    'data as an object',
    { ...SSE, body: { error: MESSAGE }, stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'lost' } }
  ],
  ['1.0', 'JSONRPC', 'another status', { ...JSON_BAD, body: [INFO], stream: { 'js-1': 'reads', 'py-1': 'lost', 'go-2': 'lost' } }],
  [
    '1.0',
    'JSONRPC',
    'another status and a reason phrase',
    { ...JSON_BAD, body: [INFO], phrase: MESSAGE, stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'reads' } }
  ],
  [
    '1.0',
    'HTTP+JSON',
    'application/a2a+json',
    { type: 'application/a2a+json', status: 400, body: { error: STATUS }, stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'lost' } }
  ],
  [
    '1.0',
    'HTTP+JSON',
    'application/json',
    { ...JSON_BAD, body: { error: STATUS }, stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'reads' } }
  ],
  [
    '1.0',
    'HTTP+JSON',
    'a reason of our own',
    { ...JSON_BAD, body: { error: { ...STATUS, details: [OWN, FIELDS] } }, stream: { 'js-1': 'reads', 'py-1': 'lost', 'go-2': 'reads' } }
  ],
  [
    '1.0',
    'HTTP+JSON',
    'a known reason before our own',
    {
      ...JSON_BAD,
      body: { error: { ...STATUS, details: [{ ...INFO, reason: 'INVALID_PARAMS' }, OWN, FIELDS] } },
      stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'reads' }
    }
  ],
  [
    '1.0',
    'HTTP+JSON',
    'a reason of our own and a reason phrase',
    {
      ...JSON_BAD,
      body: { error: { ...STATUS, details: [OWN] } },
      phrase: MESSAGE,
      stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'reads' }
    }
  ],
  ['1.0', 'HTTP+JSON', 'one event', { ...SSE, body: { error: STATUS }, stream: { 'js-1': 'silent', 'py-1': 'silent', 'go-2': 'reads' } }],
  [
    '1.0',
    'HTTP+JSON',
    'one event named error',
    { ...SSE, event: 'error', body: { error: STATUS }, stream: { 'js-1': 'reads', 'py-1': 'reads', 'go-2': 'reads' } }
  ],
  [
    '0.3',
    'JSONRPC',
    'plain JSON',
    {
      ...JSON_OK,
      body: [INFO, FIELDS],
      stream: { 'js-0.3': 'lost', 'js-1-as-0.3': 'reads', 'py-1': 'reads', 'py-0.3': 'lost', 'go-2-as-0.3': 'silent', 'go-0.3': 'silent' }
    }
  ],
  [
    '0.3',
    'JSONRPC',
    'one event',
    {
      ...SSE,
      body: [INFO, FIELDS],
      stream: { 'js-0.3': 'reads', 'js-1-as-0.3': 'reads', 'py-1': 'reads', 'py-0.3': 'reads', 'go-2-as-0.3': 'reads', 'go-0.3': 'lost' }
    }
  ],
  [
    '0.3',
    'JSONRPC',
    'one event, data as an object',
    {
      ...SSE,
      body: { error: MESSAGE, details: [INFO] },
      stream: { 'js-0.3': 'reads', 'js-1-as-0.3': 'reads', 'py-1': 'reads', 'py-0.3': 'reads', 'go-2-as-0.3': 'lost', 'go-0.3': 'reads' }
    }
  ],
  [
    '0.3',
    'JSONRPC',
    'one event, no data',
    {
      ...SSE,
      body: undefined,
      stream: { 'js-0.3': 'reads', 'js-1-as-0.3': 'reads', 'py-1': 'reads', 'py-0.3': 'reads', 'go-2-as-0.3': 'reads', 'go-0.3': 'lost' }
    }
  ],
  [
    '0.3',
    'JSONRPC',
    'another status',
    {
      ...JSON_BAD,
      body: [INFO],
      stream: { 'js-0.3': 'reads', 'js-1-as-0.3': 'reads', 'py-1': 'lost', 'py-0.3': 'lost', 'go-2-as-0.3': 'lost', 'go-0.3': 'lost' }
    }
  ],
  [
    '0.3',
    'JSONRPC',
    'another status and a reason phrase',
    {
      ...JSON_BAD,
      body: [INFO],
      phrase: MESSAGE,
      stream: { 'js-0.3': 'reads', 'js-1-as-0.3': 'reads', 'py-1': 'lost', 'py-0.3': 'reads', 'go-2-as-0.3': 'reads', 'go-0.3': 'reads' }
    }
  ],
  [
    '0.3',
    'HTTP+JSON',
    'code, message, data',
    {
      ...JSON_BAD,
      body: { code: -32008, message: MESSAGE, data: [INFO] },
      stream: { 'js-0.3': 'reads', 'js-1-as-0.3': 'reads', 'py-1': 'lost', 'py-0.3': 'lost', 'go-2-as-0.3': 'lost' }
    }
  ],
  [
    '0.3',
    'HTTP+JSON',
    'with type and error too',
    {
      ...JSON_BAD,
      body: { code: -32008, message: MESSAGE, type: 'InvalidParamsError', error: STATUS, data: [INFO] },
      stream: { 'js-0.3': 'reads', 'js-1-as-0.3': 'reads', 'py-1': 'reads', 'py-0.3': 'lost', 'go-2-as-0.3': 'reads' }
    }
  ],
  [
    '0.3',
    'HTTP+JSON',
    'with type, error and a reason phrase',
    {
      ...JSON_BAD,
      body: { code: -32008, message: MESSAGE, type: 'InvalidParamsError', error: STATUS, data: [INFO] },
      phrase: MESSAGE,
      stream: { 'js-0.3': 'reads', 'js-1-as-0.3': 'reads', 'py-1': 'reads', 'py-0.3': 'reads', 'go-2-as-0.3': 'reads' }
    }
  ],
  [
    '0.3',
    'HTTP+JSON',
    'one event',
    {
      ...SSE,
      body: { code: -32008, message: MESSAGE, data: [INFO] },
      stream: { 'js-1-as-0.3': 'lost', 'py-1': 'silent', 'py-0.3': 'lost', 'go-2-as-0.3': 'lost' }
    }
  ]
]

t.test('what the SDKs read of a rejected stream', async t => {
  const server = createServer((req, res) => {
    const [, version = '', index = '', path = ''] = (req.url ?? '').split('/')
    const base = `http://${req.headers.host}/${version}/${index}`
    const [, , , form] = FORMS[Number(index)]!
    const body: Buffer[] = []
    req.on('data', (chunk: Buffer) => { body.push(chunk) })
    req.on('end', () => {
      if (path === '.well-known') {
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(card(base, version)))
        return
      }
      const answer =
        path === 'rpc'
          ? {
              jsonrpc: '2.0',
              id: (JSON.parse(Buffer.concat(body).toString()) as { id: unknown }).id,
              error: { code: -32008, message: MESSAGE, data: form.body }
            }
          : form.body
      const text = JSON.stringify(answer)
      const event = form.event === undefined ? '' : `event: ${form.event}\n`
      res
        .writeHead(form.status, form.phrase ?? '', { 'content-type': form.type })
        .end(form.type === SSE.type ? `${event}data: ${text}\n\n` : text)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const [index, [version, transport, name, form]] of FORMS.entries()) {
    const clients = Object.keys(form.stream) as Client[]
    const stories = await Promise.all(clients.map(client => story(client, `${root}/${version}/${index}`, transport)))
    t.same(
      Object.fromEntries(clients.map((client, i) => [client, judge(stories[i]?.stream)])),
      form.stream,
      `${version}, ${transport}: ${name}`
    )
  }
})

function judge (outcome: Outcome | undefined): 'reads' | 'lost' | 'silent' {
  if (outcome?.error === undefined) return 'silent'
  return outcome.error.includes(`A2A-Extensions: ${REQUIRED}`) ? 'reads' : 'lost'
}

function card (base: string, version: string): object {
  return {
    name: 'Refusing',
    description: 'Refuses.',
    version: '1.0.0',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'none', name: 'None', description: 'None.', tags: ['test'] }],
    ...(version === '1.0'
      ? {
          supportedInterfaces: [
            ['rpc', 'JSONRPC'],
            ['rest', 'HTTP+JSON']
          ].map(([path, protocolBinding]) => ({ url: `${base}/${path}`, protocolBinding, protocolVersion: '1.0' }))
        }
      : {
          protocolVersion: '0.3.0',
          url: `${base}/rpc`,
          preferredTransport: 'JSONRPC',
          additionalInterfaces: [{ url: `${base}/rest`, transport: 'HTTP+JSON' }]
        })
  }
}
