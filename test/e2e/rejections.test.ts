/**
 * The two most important rejections of the project, a missing required extension and data that violates its schema. The test covers every
 * binding and version: each field on the wire, the error of the official clients, and never more than a card fetch at the agent.
 */
import t from 'tap'
import type { Test } from 'tap'
import { quietSdk, startAgent } from '../helpers/agents.js'
import type { AgentKind, CardOptions, TestAgent } from '../helpers/agents.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { connect, taskIdOf } from '../helpers/sdk-clients.js'
import type { ClientKind, Transport } from '../helpers/sdk-clients.js'
import type { Answered, Form } from '../security/kit.js'
import {
  bodyOf,
  dataPart,
  dataPathOf,
  FIGHT_SCHEMA,
  FORMS,
  GOOD,
  messageOf,
  nameOf,
  SCHEMAS,
  send,
  sending,
  TAG,
  textPart
} from '../security/kit.js'

quietSdk()

const FIRST = 'https://example.com/ext/first/v1'
const SECOND = 'https://example.com/ext/second/v1'
const REQUIRING: CardOptions = {
  extensions: [{ uri: FIRST, required: true }, { uri: 'https://example.com/ext/optional/v1' }, { uri: SECOND, required: true }]
}
const SCHEMA: CardOptions = { extensions: [{ uri: SCHEMAS }], schemas: { fightComparison: FIGHT_SCHEMA } }

interface Pair { readonly agent: TestAgent, readonly gateway: TestGateway, readonly cardUrl: string }

async function behind (t: Test, kind: AgentKind, card: CardOptions): Promise<Pair> {
  const agent = await startAgent({ kind, card })
  t.teardown(() => agent.close())
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  return { agent, gateway, cardUrl: `${gateway.url}/.well-known/agent-card.json` }
}

const kindsFor = (form: Form): readonly AgentKind[] => form.version === '1.0' ? ['v1', 'dual'] : ['v03', 'dual']

/** The kit's paths are those of its own agent; the SDK's agents have others. */
function call (
  pair: Pair,
  form: Form,
  body: string,
  headers: readonly (readonly [string, string])[] = [],
  stream = false
): Promise<Answered> {
  const plain = sending(form, body, { headers, stream })
  return send(pair.gateway.url, { ...plain, path: plain.path.replace(/^\/rpc/, '/a2a/jsonrpc').replace(/^\/rest/, '/a2a/rest') })
}

interface Expected {
  readonly code: number
  readonly type: string
  readonly http: number
  readonly status: string
  readonly message: string
  readonly details: unknown[]
  readonly rule: string
}

/** Everything of the answer: status, headers, and a body that holds exactly this. */
function exactly (t: Test, answer: Answered, form: Form, expected: Expected, id: unknown, streamed = false): void {
  const { code, http, status, message, details, rule } = expected
  const rpc = form.binding === 'JSONRPC'
  t.equal(answer.status, rpc ? 200 : http, 'HTTP status')
  t.equal(answer.headers['content-type'], streamed ? 'text/event-stream' : 'application/json', 'content type')
  t.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.text)), 'content length')
  t.equal(answer.headers['cache-control'], 'no-store', 'nothing keeps it')
  t.equal(answer.headers['gateway-decision'], `reject;rule="${rule}"`, 'who refused')
  if (streamed) t.match(answer.text, /^data: \{.*\}\n\n$/, 'one event and the end')
  const rest = { code: http, status, message, details }
  t.same(answer.json, rpc
    ? { jsonrpc: '2.0', id, error: { code, message, data: form.version === '1.0' ? details : { error: message, details } } }
    : form.version === '1.0' ? { error: rest } : { code, message, type: expected.type, data: details, error: rest })
}

const headerOf = ({ version }: Form): string => version === '1.0' ? 'A2A-Extensions' : 'X-A2A-Extensions'

function missing (form: Form): Expected {
  const header = headerOf(form)
  return {
    code: -32008,
    type: 'ExtensionSupportRequiredError',
    http: 400,
    status: 'FAILED_PRECONDITION',
    message: `This agent requires extensions that the request does not activate: ${FIRST}, ${SECOND}. Send the header "${header}: ${FIRST},${SECOND}" with the request.`,
    rule: `${FIRST}/required`,
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'EXTENSION_SUPPORT_REQUIRED',
        domain: 'a2a-protocol.org',
        metadata: { rule: 'required', extension: FIRST, missingExtensions: `${FIRST},${SECOND}` }
      },
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [FIRST, SECOND].map(uri => ({ field: `header ${header}`, description: `must name the required extension ${uri}` }))
      },
      { '@type': 'type.googleapis.com/google.rpc.Help', links: [{ description: 'Specification of the extension', url: FIRST }] }
    ]
  }
}

/** Three violations at once: a missing member, a wrong type, one too many. */
const INVALID = '{"b":7,"c":"secret-value"}'

function invalid (form: Form): Expected {
  const path = dataPathOf(form, 1)
  const which = '(the schema "fightComparison" of the agent\'s card)'
  const violations = [
    { field: `${path}.a`, description: `is required ${which}` },
    { field: `${path}.c`, description: `is not a property the schema allows ${which}` },
    { field: `${path}.b`, description: `must be a string ${which}` }
  ]
  return {
    code: -32602,
    type: 'InvalidParamsError',
    http: 400,
    status: 'INVALID_ARGUMENT',
    message: `${violations.map(({ field, description }) => `${field} ${description}`).join('; ')}.`,
    rule: 'object-schemas/validate-first-structured-part',
    details: [
      ...[['INVALID_PARAMS', 'a2a-protocol.org'], ['EXTENSION_DATA_INVALID', 'a2a-extension-gateway']].map(([reason, domain]) => ({
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason,
        domain,
        metadata: { rule: 'validate-first-structured-part', extension: SCHEMAS }
      })),
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations },
      { '@type': 'type.googleapis.com/google.rpc.Help', links: [{ description: 'Specification of the extension', url: SCHEMAS }] }
    ]
  }
}

for (const form of FORMS) {
  for (const kind of kindsFor(form)) {
    for (const stream of [false, true]) {
      const name = `${nameOf(form)}, agent ${kind}, ${stream ? 'streaming' : 'unary'}`
      const asEvent = stream && form.binding === 'JSONRPC'

      t.test(`a missing required extension: ${name}`, async (t) => {
        const pair = await behind(t, kind, REQUIRING)
        const before = pair.agent.received.length
        const body = bodyOf(form, messageOf(form, [textPart(form, 'message')]), '', stream)
        exactly(t, await call(pair, form, body, [], stream), form, missing(form), 1)
        const precise = await call(
          pair,
          form,
          body.replace('"id":1', '"id":12345678901234567890'),
          [['Accept', 'text/event-stream']],
          stream
        )
        exactly(t, precise, form, missing(form), Number('12345678901234567890'), asEvent)
        if (form.binding === 'JSONRPC') t.match(precise.text, '"id":12345678901234567890,', 'the id keeps its digits')
        t.equal(pair.agent.received.length, before, 'nothing arrived')
        const followed = await call(pair, form, body, [[headerOf(form), `${FIRST},${SECOND}`]], stream)
        t.equal(followed.headers['gateway-decision'], undefined)
        t.match(followed.text, /echo: message/, 'with the header it goes through')
        t.equal(pair.agent.received.length, before + 1)
      })

      t.test(`data that violates its schema: ${name}`, async (t) => {
        const pair = await behind(t, kind, SCHEMA)
        const before = pair.agent.received.length
        const body = (data: string) => bodyOf(form, messageOf(form, [textPart(form, 'message'), dataPart(form, data)]), '', stream)
        const answer = await call(pair, form, body(INVALID), [], stream)
        exactly(t, answer, form, invalid(form), 1)
        t.notOk(answer.text.includes('secret-value'), 'the client\'s values are not echoed')
        exactly(
          t,
          await call(pair, form, body(INVALID).replace('"id":1', '"id":"a\\u0041"'), [['Accept', 'text/event-stream']], stream),
          form,
          invalid(form),
          'aA',
          asEvent
        )
        t.equal(pair.agent.received.length, before, 'nothing arrived')
        const followed = await call(pair, form, body(GOOD), [], stream)
        t.equal(followed.headers['gateway-decision'], undefined, 'valid data goes through')
        t.equal(pair.agent.received.length, before + 1)
      })
    }
  }
}

t.test('1.0 over HTTP+JSON: the rejection has the media type of the request', async (t) => {
  const pair = await behind(t, 'v1', REQUIRING)
  const form = { binding: 'HTTP+JSON', version: '1.0' } as const
  const body = bodyOf(form, messageOf(form, [textPart(form)]))
  for (const type of ['application/a2a+json', 'Application/A2A+JSON; charset=utf-8']) {
    const answer = await call(pair, form, body, [['Content-Type', type]])
    t.same([answer.status, answer.headers['content-type']], [400, 'application/a2a+json'])
    t.same(answer.json, {
      error: { code: 400, status: 'FAILED_PRECONDITION', message: missing(form).message, details: missing(form).details }
    })
  }
})

t.test('more violations than are shown are counted, and bounded', async (t) => {
  const names = Array.from({ length: 50 }, (_, i) => `m${i}`)
  const pair = await behind(t, 'dual', {
    extensions: [{ uri: SCHEMAS }],
    schemas: { fightComparison: { type: 'object', required: names } }
  })
  for (const form of FORMS) {
    const answer = await call(pair, form, bodyOf(form, messageOf(form, [dataPart(form, '{}')])))
    const error = (answer.json?.error ?? answer.json) as { message: string, data?: unknown[] | { details: unknown[] }, details?: unknown[] }
    const details = Array.isArray(error.data) ? error.data : error.data?.details ?? error.details
    const bad = details?.find(one => Object.hasOwn(one as object, 'fieldViolations')) as { fieldViolations: { field: string }[] }
    t.same(
      bad.fieldViolations.map(({ field }) => field),
      names.slice(0, 20).map(name => `${dataPathOf(form)}.${name}`),
      `${nameOf(form)}: 20 of them, in order`
    )
    t.match(error.message, /17 more problems in the details\.$/)
  }
})

t.test('two violations at once: the missing extension determines the error, the other is listed', async (t) => {
  const pair = await behind(t, 'dual', {
    extensions: [...(REQUIRING.extensions ?? []), { uri: SCHEMAS }],
    schemas: { fightComparison: FIGHT_SCHEMA }
  })
  const before = pair.agent.received.length
  for (const form of FORMS) {
    const answer = await call(pair, form, bodyOf(form, messageOf(form, [dataPart(form, '{"a":1}')])))
    const error = (answer.json?.error ?? answer.json) as { message: string, data?: unknown[] | { details: unknown[] }, details?: unknown[] }
    const details = Array.isArray(error.data) ? error.data : error.data?.details ?? error.details
    const bad = details?.find(one => Object.hasOwn(one as object, 'fieldViolations')) as { fieldViolations: { field: string }[] }
    const path = dataPathOf(form)
    t.same(
      bad.fieldViolations.map(({ field }) => field),
      [`header ${headerOf(form)}`, `header ${headerOf(form)}`, `${path}.b`, `${path}.a`],
      nameOf(form)
    )
    t.match(error.message, / 2 more problems in the details\.$/)
  }
  t.equal(pair.agent.received.length, before)
})

// ---- the official clients ----

const CLIENTS: readonly (readonly [ClientKind, AgentKind, Form['version']])[] = [
  ['v1', 'v1', '1.0'],
  ['v1', 'dual', '1.0'],
  ['v1-as-03', 'dual', '0.3'],
  ['v03', 'v03', '0.3'],
  ['v03', 'dual', '0.3']
]
const TRANSPORTS: readonly Transport[] = ['JSONRPC', 'HTTP+JSON']

/** What a caller that only looks at `error.message` gets to see. */
async function failure (promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return (error as Error).message
  }
  return 'it succeeded'
}

async function drained (stream: AsyncIterable<unknown>): Promise<void> {
  for await (const event of stream) {
    if (typeof event === 'object' && event !== null && 'error' in event) throw new Error(JSON.stringify(event.error))
  }
}

for (const [client, kind, version] of CLIENTS) {
  for (const transport of TRANSPORTS) {
    t.test(`client ${client}, agent ${kind}, ${transport}`, async (t) => {
      const form: Form = { binding: transport, version }
      const required = await behind(t, kind, REQUIRING)
      const plain = await connect({ cardUrl: required.cardUrl, client, transport })
      let before = required.agent.received.length
      for (const [how, text] of [
        ['send', await failure(plain.send('message'))],
        ['stream', await failure(drained(plain.stream('message')))]
      ] as const) {
        t.match(
          text,
          `Send the header "${headerOf(form)}: ${FIRST},${SECOND}"`,
          `${how}: the client hands the message on (${text.slice(0, 80)})`
        )
      }
      t.equal(required.agent.received.length, before, 'nothing arrived')
      const followed = await connect({ cardUrl: required.cardUrl, client, transport, extensions: [FIRST, SECOND] })
      t.match(JSON.stringify(await followed.send('message')), /echo: message/, 'asking for both, it goes through')

      // A 0.3 client drops the tag over HTTP+JSON, so there is nothing to check: see the raw requests above.
      if (version === '0.3' && transport === 'HTTP+JSON') return
      const schemas = await behind(t, kind, SCHEMA)
      const fighter = await connect({ cardUrl: schemas.cardUrl, client, transport })
      before = schemas.agent.received.length
      const data = { data: { a: 'Lion', b: 7 }, mediaType: TAG }
      for (const [how, text] of [
        ['send', await failure(fighter.send('message', data))],
        ['stream', await failure(drained(fighter.stream('message', data)))]
      ] as const) {
        t.match(text, `${dataPathOf(form, 1)}.b must be a string`, `${how}: the client hands the message on (${text.slice(0, 80)})`)
      }
      t.equal(schemas.agent.received.length, before, 'nothing arrived')
    })
  }
}

t.test('a task that continues without the required extension keeps its history', async (t) => {
  for (const [client, kind] of CLIENTS) {
    for (const transport of TRANSPORTS) {
      const pair = await behind(t, kind, { extensions: [{ uri: FIRST, required: true }] })
      const asking = await connect({ cardUrl: pair.cardUrl, client, transport, extensions: [FIRST] })
      const unaware = await connect({ cardUrl: pair.cardUrl, client, transport })
      const taskId = taskIdOf(await asking.send('pause'))
      if (taskId === null) throw new Error('no task')
      const before = JSON.stringify(await asking.getTask(taskId))
      const calls = pair.agent.received.length
      // Older SDKs stored such a message before they refused it (a2a-js#690), and 0.3 SDKs never refuse it.
      t.match(await failure(unaware.send('ignored', { taskId })), /Send the header/, `${client}, ${kind}, ${transport}`)
      t.match(await failure(drained(unaware.stream('ignored', { taskId }))), /Send the header/)
      t.equal(pair.agent.received.length, calls, 'nothing arrived')
      const after = JSON.stringify(await asking.getTask(taskId))
      t.equal(after, before, 'the task is as it was')
      t.notOk(after.includes('ignored'))
    }
  }
})

t.test('without the gateway, the message of a client without the extension enters the history of a 0.3 agent', async (t) => {
  const agent = await startAgent({ kind: 'v03', card: { extensions: [{ uri: FIRST, required: true }] } })
  t.teardown(() => agent.close())
  const unaware = await connect({ cardUrl: agent.cardUrl, client: 'v03', transport: 'JSONRPC' })
  const taskId = taskIdOf(await unaware.send('pause'))
  if (taskId === null) throw new Error('no task')
  await unaware.send('ignored', { taskId })
  t.match(JSON.stringify(await unaware.getTask(taskId)), /ignored/)
})

t.test('the message alone is enough to fix the request', async (t) => {
  /** Reads nothing but the message: a header line between quotes, or paths followed by what is wrong with them. */
  const headerIn = (message: string): [string, string] | null => {
    const found = /Send the header "([A-Za-z0-9-]+): ([^"]+)"/.exec(message)
    return found === null ? null : [found[1] as string, found[2] as string]
  }
  for (const form of FORMS) {
    for (const kind of kindsFor(form)) {
      const pair = await behind(t, kind, { ...SCHEMA, extensions: [...REQUIRING.extensions ?? [], { uri: SCHEMAS }] })
      const headers: [string, string][] = []
      const data: Record<string, unknown> = { b: 7, c: true }
      let answer: Answered | null = null
      for (let attempt = 0; attempt < 5; attempt++) {
        answer = await call(
          pair,
          form,
          bodyOf(form, messageOf(form, [textPart(form, 'message'), dataPart(form, JSON.stringify(data))])),
          headers
        )
        const error = (answer.json?.error ?? answer.json ?? {}) as { message?: unknown }
        const message = typeof error.message === 'string' ? error.message : ''
        const header = headerIn(message)
        if (header !== null) headers.push(header)
        for (const [, name, what] of message.matchAll(/\.data\.([a-z]) (is required|is not a property|must be a string)/g)) {
          if (what === 'is not a property') Reflect.deleteProperty(data, name as string)
          else data[name as string] = 'fixed'
        }
        if (answer.headers['gateway-decision'] === undefined) break
      }
      t.match(answer?.text, /echo: message/, `${nameOf(form)}, agent ${kind}`)
      t.same(headers, [[headerOf(form), `${FIRST},${SECOND}`]])
      t.equal(pair.agent.calls().length, 1, 'the agent saw the fixed request only')
    }
  }
})

t.test('the rejection of a request without a version names the header', async (t) => {
  const pair = await behind(t, 'v1', {})
  const [form] = FORMS as [Form]
  const body = bodyOf(form, messageOf(form, [textPart(form, 'message')]))
  const answer = await call(pair, form, body, [['A2A-Version', '']])
  const { message } = answer.json?.error as { message: string }
  const found = /end the header "([A-Za-z0-9-]+): ([^"]+)"/.exec(message)
  t.same(found?.slice(1), ['A2A-Version', '1.0'])
  t.match((await call(pair, form, body, [[found?.[1] ?? '', found?.[2] ?? '']])).text, /echo: message/)
})
