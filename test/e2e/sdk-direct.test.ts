/**
 * The behaviour of the official SDKs with each other, without a gateway: the baseline of sdk-via-gateway. The test records the SDKs' own
 * failures, so that it detects a new release that changes them.
 */
import t from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { AgentKind } from '../helpers/agents.js'
import type { ClientKind, Transport } from '../helpers/sdk-clients.js'
import { clients, outcomes, runMatrix, transports } from './matrix.js'

quietSdk()

const KNOWN = 'https://example.com/ext/known/v1'
const UNKNOWN = 'https://example.com/ext/unknown/v1'

/** Refusals any client and agent agree on. */
const refused = {
  sendUnknownTask: 'TaskNotFoundError',
  streamUnknownTask: 'TaskNotFoundError',
  getUnknownTask: 'TaskNotFoundError',
  cancelFinished: 'TaskNotCancelableError',
  subscribeFinished: 'UnsupportedOperationError',
  pushGetDeleted: 'TaskNotFoundError'
}
const strangers = { connect: 'Error' }
/** SDK 0.3.14 wants `config` where every client sends the 0.3 proto's own shape. */
const push03 = { pushGet: 'Error', pushGetDeleted: 'Error' }

const expected: Record<AgentKind, Record<ClientKind, Record<Transport, Record<string, string>>>> = {
  v1: {
    v1: { JSONRPC: refused, 'HTTP+JSON': refused },
    'v1-as-03': { JSONRPC: strangers, 'HTTP+JSON': strangers },
    v03: { JSONRPC: strangers, 'HTTP+JSON': strangers }
  },
  dual: {
    v1: { JSONRPC: refused, 'HTTP+JSON': refused },
    'v1-as-03': {
      JSONRPC: { ...refused, listTasks: 'JsonRpcTransportError', subscribeFinished: 'Error' },
      'HTTP+JSON': { ...refused, listTasks: 'UnsupportedOperationError' }
    },
    v03: {
      JSONRPC: { ...refused, listTasks: 'Error', streamUnknownTask: 'Error', subscribeFinished: 'Error' },
      'HTTP+JSON': { ...refused, listTasks: 'Error' }
    }
  },
  v03: {
    v1: { JSONRPC: strangers, 'HTTP+JSON': strangers },
    'v1-as-03': {
      JSONRPC: {
        ...refused,
        listTasks: 'JsonRpcTransportError',
        streamUnknownTask: 'Error',
        subscribeFinished: 'ok',
        pushGetDeleted: 'JsonRpcTransportError'
      },
      'HTTP+JSON': {
        ...refused,
        ...push03,
        listTasks: 'UnsupportedOperationError',
        streamUnknownTask: 'Error',
        subscribeFinished: 'ok',
        pushCreate: 'RequestMalformedError'
      }
    },
    v03: {
      JSONRPC: { ...refused, listTasks: 'Error', streamUnknownTask: 'Error', subscribeFinished: 'ok', pushGetDeleted: 'Error' },
      'HTTP+JSON': { ...refused, ...push03, listTasks: 'Error', streamUnknownTask: 'Error', subscribeFinished: 'ok', pushCreate: 'Error' }
    }
  }
}

for (const kind of ['v1', 'dual', 'v03'] as const) {
  for (const client of clients) {
    for (const transport of transports) {
      t.test(`agent ${kind}, client ${client}, ${transport}`, async (t) => {
        const agent = await startAgent({ kind, card: { extensions: [{ uri: KNOWN }] } })
        t.teardown(() => agent.close())
        const options = { cardUrl: agent.cardUrl, client, transport, authorization: 'Bearer x', extensions: [KNOWN, UNKNOWN] }

        const story = await runMatrix(options)
        const failed = Object.fromEntries(Object.entries(outcomes(story)).filter(([, name]) => name !== 'ok'))
        const { ...wanted } = expected[kind][client][transport]
        t.same(failed, Object.fromEntries(Object.entries(wanted).filter(([, name]) => name !== 'ok')))
        if (story.sendTask !== undefined) {
          t.equal(story.sendTask.http[0]?.activated, kind === 'v03' ? null : KNOWN, 'only SDK 1.3.0 echoes')
        }
        t.same(await runMatrix(options), story, 'told twice, the story is the same')
      })
    }
  }
}

t.test('a request is recorded byte for byte and still reaches the SDK', async (t) => {
  const agent = await startAgent({ kind: 'v1' })
  t.teardown(() => agent.close())
  const body =
    '{ "jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"message"}]}}}'
  const response = await fetch(`${agent.url}/a2a/jsonrpc`, {
    method: 'POST', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' }, body
  })
  t.match(await response.json(), { result: { message: { parts: [{ text: 'echo: message' }] } } })
  t.equal(agent.calls()[0]?.body.toString(), body)
})

t.test('SDK 1.3.0 rejects sends without a required extension, 0.3.14 never does', async (t) => {
  for (const [kind, client, name] of [
    ['dual', 'v1', 'ExtensionSupportRequiredError'],
    ['dual', 'v03', 'Error'],
    ['v03', 'v03', undefined]
  ] as const) {
    const agent = await startAgent({ kind, card: { extensions: [{ uri: KNOWN, required: true }] } })
    t.teardown(() => agent.close())
    const story = await runMatrix({ cardUrl: agent.cardUrl, client, transport: 'JSONRPC' })
    t.equal(story.sendMessage?.error?.name, name, `${client} to ${kind}`)
    if (name !== undefined) t.match(JSON.stringify(story.sendMessage?.http), /-32008/)
  }
})

t.test('a root key unknown to the SDK', async (t) => {
  const schemas = { order: { type: 'object' } }
  for (const kind of ['v1', 'dual', 'v03'] as const) {
    const agent = await startAgent({ kind, card: { schemas } })
    t.teardown(() => agent.close())
    const card: unknown = await (await fetch(agent.cardUrl)).json()
    t.match(card, { schemas }, `survives in the card of ${kind}`)
  }
})
