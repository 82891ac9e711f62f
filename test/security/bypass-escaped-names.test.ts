/**
 * V8 13.6 (Node 24) reads some escaped member names as literal names that it has read before. Every name, in every text that decides
 * something, must have the same effect escaped as plain, whatever this process has read before. On other versions of Node the tests pass
 * also with `JSON.parse`.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import { viewResponse } from '#a2a/message/read-result.js'
import type { JwtConfig } from '#config/model/model.js'
import { readJwkSet } from '#identity/jwk-set.js'
import { readToken } from '#identity/jwt.js'
import { KeyedMemory } from '#policy/task/keyed-memory.js'
import { FIELDS, TaskMemory } from '#policy/task/memory.js'
import { readRecording } from '#offline/recording/recording.js'
import { otlpExporter } from '#telemetry/otlp/exporter.js'
import { redactLine } from '#telemetry/redact.js'
import { readDocument } from '#agents/card/card-fetch.js'
import { JSON_PAYLOAD } from '#a2a/payload.js'
import { editJson } from '#wire/json/edit.js'
import { testEngine } from '#wire/json/engine-faults.js'
import { memberSpan } from '#wire/json/span.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { escapedNames, poisonEngine } from '../wire/fixtures/escaped-names.js'
import { BAD, bodyOf, dataPart, FORMS, messageOf, nameOf, refusalIn, REQUIRED, schemaCard, send, sending, target, textPart } from './kit.js'
import type { Form } from './kit.js'

const { faults, misread } = testEngine()
t.comment(`Node ${process.version}: ${faults.length === 0 ? 'no known fault' : faults.map(({ name }) => name).join(', ')}`)
const LIMITS = { depth: 64, members: 10_000 }

const MORE = ',"taskId":"t","contextId":"c","metadata":{"own":{"x":1}},"extensions":["https://example.com/e"],"referenceTaskIds":["r"]'
const REST = ',"configuration":{"blocking":true,"pushNotificationConfig":{"url":"https://example.com/p","token":"x"}},"metadata":{"z":1,"own":2},"tenant":"a"'

function requestText (form: Form): string {
  return bodyOf(form, messageOf(form, [dataPart(form, BAD), textPart(form)], MORE), REST)
}

const TOKEN: JwtConfig = {
  issuer: 'https://issuer.example',
  audience: ['agent'],
  algorithms: ['ES256'],
  types: ['jwt'],
  leeway: 0,
  maxLifetime: 3_600_000,
  header: null,
  claims: { subject: '/sub', client: null, scopes: null, groups: null, tenant: null }
} as unknown as JwtConfig
const HEADER = '{"alg":"ES256","kid":"k","typ":"JWT"}'
const CLAIMS = '{"iss":"https://issuer.example","aud":"agent","sub":"ada","exp":1000,"nbf":1,"iat":1,"scope":"a b","cnf":{"x5t#S256":"' + 'A'.repeat(43) + '"},"groups":["g"]}'
const base64 = (text: string): string => Buffer.from(text).toString('base64url')
const tokenOf = (header: string, claims: string): unknown => readToken(`${base64(header)}.${base64(claims)}.AAAA`, TOKEN, 10_000)

/** Data of a value, without functions. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))
const call = (form: Form, text: string, from: 'body' | 'route'): unknown => {
  const read = readCall({
    bytes: Buffer.from(text),
    binding: form.binding,
    version: form.version,
    contentType: 'application/json',
    restOperation: form.binding === 'JSONRPC' ? null : from === 'body' ? 'SendMessage' : 'Extension',
    limits: LIMITS
  })
  return plain({ ...read, id: read.id() })
}

const TASK_KEYS = ['call-1', 2]
const TASK_FIELDS = [FIELDS.state, FIELDS.substate('')]

/** The states of two keys of a task, as a gateway writes them. */
function recordText (): string {
  const memory = new TaskMemory(null)
  const keys = new KeyedMemory(memory, 'p')
  for (const key of TASK_KEYS) for (const field of TASK_FIELDS) keys.of(key)?.set(field, `value of ${key}`)
  return memory.get(FIELDS.keyed('p')) ?? ''
}

/** Each text that others write, and what the gateway reads from it. */
const PLACES: readonly (readonly [place: string, text: string, read: (text: string) => unknown])[] = [
  ...FORMS.map(form => [`request, ${nameOf(form)}`, requestText(form), (text: string) => call(form, text, 'body')] as const),
  ['body of the route of an extension', requestText(FORMS[2] as Form), text => call(FORMS[2] as Form, text, 'route')],
  ...(['1.0', '0.3'] as const).flatMap(version => [false, true].map(stream => [
    `${stream ? 'event' : 'response'}, ${version}`,
    version === '1.0'
      ? '{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":{"a":1}}],"extensions":["e"]}},"artifacts":[{"artifactId":"a","parts":[{"text":"x"}],"metadata":{"m":1}}]}}}'
      : '{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"data","data":{"a":1}}],"extensions":["e"]}},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"x"}]}]}}',
    (text: string) => {
      const parsed = JSON_PAYLOAD.parse(Buffer.from(text), LIMITS)
      const options = { binding: 'JSONRPC', version, operation: 'SendMessage', id: 1, stream } as const
      return plain(parsed.ok ? viewResponse(parsed.value, options) : parsed)
    }
  ] as const)),
  [
    'card',
    JSON.stringify(schemaCard('https://a.example', {}, [{ uri: REQUIRED, required: true, params: { a: [1] } }])),
    text => {
      const read = readDocument(
        { kind: 'fetched', from: 'x', status: 200, bytes: Buffer.from(text), contentType: 'application/json', validators: null, lifetime: null },
        { jsonDepth: 64, jsonMembers: 10_000 } as Parameters<typeof readDocument>[1]
      )
      return typeof read === 'string' ? read : plain(read.card)
    }
  ],
  [
    'keys',
    '{"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"BBBB","kid":"k","alg":"ES256","use":"sig","key_ops":["verify"]}]}',
    text => plain(readJwkSet(Buffer.from(text)))
  ],
  ['private key in a set of keys', '{"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"BBBB","d":"CCCC"}]}', text => plain(readJwkSet(Buffer.from(text)))],
  ['claims of a token', CLAIMS, text => plain(tokenOf(HEADER, text))],
  [
    'recording',
    JSON.stringify({ method: 'POST', url: '/rpc', headers: { 'content-type': 'application/json', 'a2a-version': '1.0' }, body: { a: { b: 1 } } }),
    text => plain(readRecording(Buffer.from(text), 'request.json', () => Buffer.alloc(0)))
  ],
  ['record of a task in Redis', recordText(), text => {
    const keys = new KeyedMemory(new TaskMemory(new Map([[FIELDS.keyed('p'), text]])), 'p')
    return TASK_KEYS.map(key => TASK_FIELDS.map(field => keys.of(key)?.get(field)))
  }],
  ['log line', '{"level":"info","err":{"config":{"headers":{"authorization":"Bearer abcdefg123","x":"y"}}},"msg":"m"}\n', text => redactLine(text)],
  ['edit of a document', '{"a":{"b":[1,{"c":2}],"d":3}}', text => {
    const bytes = editJson(Buffer.from(text), [{ path: ['a', 'b', 1, 'c'], value: Buffer.from('9') }, { path: ['a', 'd'], value: null }])
    const parsed = JSON_PAYLOAD.parse(bytes, LIMITS)
    return [plain(parsed), memberSpan(bytes, ['a', 'b', 1, 'c']) !== null]
  }]
]

t.test('the gateway reads correctly on this engine', async t => { t.same(misread, []) })

for (const [place, text, read] of PLACES) {
  t.test(`${place}: a name has the same effect, escaped or not`, async t => {
    const expected = read(text)
    const names = escapedNames(text)
    for (const name of names) {
      poisonEngine(name)
      t.same(read(name.text), expected, name.label)
    }
    t.ok(names.length > 3, `${names.length} names`)
  })
}

t.test('the header of a token: an escaped name has two readers, and is malformed', async t => {
  t.match(tokenOf(HEADER, CLAIMS), { alg: 'ES256' })
  for (const name of escapedNames(HEADER)) {
    poisonEngine(name)
    t.same(tokenOf(name.text, CLAIMS), { problem: 'malformed' }, name.label)
  }
})

t.test('a request that is rejected is rejected with each of its names escaped, after any request', async t => {
  for (const mode of ['reject', 'forward']) {
    const one = await target(t, { agent: [`protocol: {backslashNames: ${mode}}`] })
    for (const form of FORMS) {
      const body = bodyOf(form, messageOf(form, [dataPart(form, BAD)]))
      const { reason, message } = refusalIn(await one.send(sending(form, body)))
      t.equal(reason, 'EXTENSION_DATA_INVALID')
      for (const name of escapedNames(body)) {
        for (let i = 0; i < 3; i++) await one.send(sending(form, name.poison))
        one.agent.received.length = 0
        const refusal = refusalIn(await one.send(sending(form, name.text)))
        t.same([refusal.reason, refusal.message], [reason, message], `${mode}, ${nameOf(form)}: ${name.label}`)
        t.equal(one.agent.received.length, 0)
      }
    }
  }
})

const RULE = 'https://example.com/ext/own/v1'
const policy = `extensions: {own: {uri: ${RULE}, mode: enforce, owns: {metadata: [own]}, activation: {signals: [header]}, inactive: {request: reject}}}`

t.test('a rule on metadata sees an escaped name after literal names that hide it', async t => {
  const card = (url: string) => plainCard(url, { capabilities: { streaming: true, extensions: [{ uri: RULE }] } })
  const one = await target(t, { card, agent: ['extensions: [own]', 'protocol: {backslashNames: forward}'], root: [policy] })
  for (const form of FORMS) {
    const body = (name: string): string => bodyOf(form, messageOf(form, [textPart(form)], `,"metadata":{"z":1,${name}:{}}`))
    const before = await one.send(sending(form, body('"own"')))
    t.match(String(before.headers['gateway-decision']), /^reject/, nameOf(form))
    for (let i = 0; i < 3; i++) t.equal((await one.send(sending(form, body('"\\\\u0"')))).headers['gateway-decision'], undefined)
    t.equal(one.agent.received.splice(0).length, 3, 'literal names are forwarded')
    t.equal(refusalIn(await one.send(sending(form, body('"\\u006fwn"')))).reason, refusalIn(before).reason)
    t.equal(one.agent.received.length, 0)
  }
})

t.test('protocol.backslashNames: names that hide others are rejected by default, and counted in both modes', async t => {
  const rejecting = await target(t)
  const forwarding = await target(t, { agent: ['protocol: {backslashNames: forward}'] })
  for (const form of FORMS) {
    const body = (name: string): string => bodyOf(form, messageOf(form, [textPart(form)], `,"metadata":{${JSON.stringify(name)}:1}`))
    for (const name of ['\\', '\\u00', 'https:\\/\\/a', 'a\\']) {
      const refusal = refusalIn(await rejecting.send(sending(form, body(name))))
      t.match([refusal.reason, refusal.message], ['INVALID_PARAMS', /The member ".*" in .*metadata has a name with a backslash/], `${nameOf(form)}: ${name}`)
      t.equal(rejecting.agent.received.length, 0)
      t.equal((await forwarding.send(sending(form, body(name)))).status, 200)
      t.equal(forwarding.agent.received.splice(0)[0]?.body.toString(), body(name))
    }
    for (const name of ['\\d+', '\\server', 'C:\\Users', '"\\', 'https://example.com/e']) {
      const sent = body(name).replaceAll('/', '\\/')
      t.equal((await rejecting.send(sending(form, sent))).status, 200, `${nameOf(form)}: ${name}`)
      t.equal(rejecting.agent.received.splice(0)[0]?.body.toString(), sent)
    }
  }
  for (const [{ gateway }, mode] of [[rejecting, 'enforce'], [forwarding, 'observe']] as const) {
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    const line = metrics.split('\n').find(one => one.includes('violations_total{') && one.includes('rule="backslash-name"'))
    t.match(line, new RegExp(`mode="${mode}".* 16$`))
  }
})

t.test('a response with such a name is forwarded, and counted', async t => {
  const answer = '{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}],"metadata":{"\\\\u00":1}}}}'
  const agent = await fakeAgent(t, {
    card: schemaCard,
    answer: (_request, response) => { response.setHeader('content-type', 'application/json').end(answer) }
  })
  const gateway = await gatewayFor(t, { yaml: oneAgent(agent.url) })
  const form = FORMS[0] as Form
  const { text } = await send(gateway.url, sending(form, bodyOf(form, messageOf(form, [textPart(form)]))))
  t.equal(text, answer)
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  t.match(metrics.split('\n').find(one => one.includes('rule="answer-backslash-name"')), /phase="response",mode="observe".* 1$/)
})

t.test('the reply of a collector is not read', async t => {
  const reply = '{"\\u0070artialSuccess":{"rejectedLogRecords":"1","errorMessage":"full"}}'
  let replies = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      replies++
      response.setHeader('content-type', 'application/json').end(reply)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const read: string[] = []
  const { parse } = JSON
  JSON.parse = ((text: string, ...more: [never]) => {
    read.push(text)
    return parse(text, ...more) as unknown
  }) as typeof parse
  t.teardown(() => { JSON.parse = parse })
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(() => { delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT })
  for (const signal of ['TRACES', 'METRICS', 'LOGS'] as const) {
    const exporter = otlpExporter(signal, { contentType: 'application/json', encode: () => Buffer.from('{}'), count: () => 1 })
    const { code } = await new Promise<{ code: number }>(resolve => { exporter.export('items', resolve) })
    t.equal(code, 0, signal)
    await exporter.shutdown()
  }
  t.equal(replies, 3)
  t.same(read.filter(text => text.includes('artialSuccess')), [])
})

t.test('the start says which fault of the engine is worked around', async t => {
  const { gateway } = await target(t, { root: ['telemetry: {logs: {level: info}}'] })
  const [agent] = (await (await fetch(`${gateway.adminUrl}/agents`)).json()) as [{ gateway: { engineFaults?: string[] } }]
  t.same(agent.gateway.engineFaults ?? [], faults.map(({ name }) => name))
  t.equal(process.versions.v8.startsWith('13.6.') ? faults.length : 0, faults.length, 'only V8 13.6 is known to have the fault')
})
