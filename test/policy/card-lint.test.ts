/** Warnings about mismatches between cards and policies. */
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import type { AgentCard } from '#a2a/card/card.js'
import type { PolicyConfig } from '#config/model/model.js'
import { lintCards } from '#policy/card/lint.js'
import type { LintOptions } from '#policy/card/lint.js'
import { sentencesOf, unsaid } from '../helpers/sentences.js'

const EXT = 'https://example.com/ext/order/v1'
const NAMED: PolicyConfig = {
  uri: EXT,
  request: [
    {
      id: 'r',
      select: { part: { mediaType: 'application/json;schema=*' } },
      schema: { fromCard: ['/schemas/{schema}', '/capabilities/extensions/{self}/params/schemas/{schema}'] }
    }
  ]
}

const card = (extensions: readonly object[] = [], more: object = {}): AgentCard => {
  const read = readCard({ name: 'a', url: 'http://agent.test/', ...more, capabilities: { extensions } })
  if (!read.ok) throw new Error(read.problem)
  return read.card
}

const printed: string[] = []

function lint (one: AgentCard, inForce: LintOptions['inForce'] = {}, options: Partial<LintOptions> & { old?: AgentCard } = {}): string[] {
  const { old = one, ...rest } = options
  const lines = lintCards({ cards: { 0.3: old, '1.0': one }, inForce, byDefault: [], known: inForce, ...rest }).map(
    ({ message, hint }) => `${message} (${hint})`
  )
  printed.push(...lines)
  return lines
}

t.test('a matching card and policies produce no warnings', async t => {
  t.same(lint(card()), [])
  t.same(
    lint(card([{ uri: EXT }], { defaultInputModes: ['application/json;schema=a', 'text/plain', 'nonsense', 7] }), {
      p: { uri: EXT, owns: { headers: ['x'] } }
    }),
    []
  )
  t.same(
    lint(card([{ uri: EXT, required: true, params: { schemas: { a: {} } } }], { defaultInputModes: ['application/json;schema=a', 'text/plain'] }), {
      p: NAMED
    }),
    []
  )
})

t.test('a policy for an extension that no card declares', async t => {
  const near = 'https://example.com/ext/order/v2'
  t.same(lint(card([{ uri: near }]), { p: { uri: EXT } }), [
    `policy "p" applies to "${EXT}", which the card does not declare (did you mean "${near}"? If both are the same, name it in aliases)`
  ])
  t.same(lint(card(), { p: { uri: EXT } }), [`policy "p" applies to "${EXT}", which the card does not declare (it declares none)`])
  t.same(lint(card([{ uri: 'urn:other/v1' }]), { p: { uri: EXT } }), [
    `policy "p" applies to "${EXT}", which the card does not declare (it declares "urn:other/v1")`
  ])
  t.same(lint(card([{ uri: 'urn:old/v1' }]), { p: { uri: EXT, aliases: [{ uri: 'urn:old/v1', relation: 'satisfies' }] } }), [])
  t.same(
    lint(card([{ uri: 'urn:old/v1' }]), { p: { uri: EXT, aliases: [{ uri: 'urn:old/v1', relation: 'satisfies' }] }, q: { uri: 'urn:old/v1' } }),
    [
      `policy "p" applies to "${EXT}", which the card does not declare (it declares "urn:old/v1", an alias that satisfies the requirement; another policy applies to the alias)`
    ]
  )
  t.same(lint(card([{ uri: 'urn:old/v1' }]), { p: { uri: EXT, aliases: [{ uri: 'urn:old/v1', relation: 'same' }] } }), [])
  t.same(lint(card([{ uri: 'urn:x/v1' }]), { p: { uriPattern: 'https://*.example/*' } }), [
    'policy "p" applies to "https://*.example/*", and the card declares no such extension (it declares "urn:x/v1")'
  ])
  t.same(lint(card([{ uri: 'https://a.example/v2' }]), { p: { uriPattern: 'https://*.example/*' } }), [])
  t.same(lint(card(), { p: { uri: EXT } }, { byDefault: ['p'] }), [], 'nobody chose it')
  t.same(
    lint(card(), { p: { uri: EXT } }, { old: card([{ uri: EXT }]) }),
    [`only the card for 0.3 declares "${EXT}" (the card of its version applies to each client)`],
    'either card counts'
  )
})

const unknown = (index: number, uri: string): string =>
  `/capabilities/extensions/${index} requires "${uri}", and no policy is for it: the gateway rejects clients that do not request it, and validates no data of it (write a policy for its data; if it only adds data to the card, write required: false in the card)`

t.test('extensions of the card and existing policies', async t => {
  const data: PolicyConfig = { uri: EXT }
  const refused = (hint: string): string =>
    `/capabilities/extensions/0 requires "${EXT}", which only adds data to the card: the gateway rejects clients that do not request it, without a benefit (${hint})`
  const idle = `/capabilities/extensions/0 declares "${EXT}"; the agent does not use the policy "order" for it (name it in extensions of the agent)`
  t.same(lint(card([{ uri: EXT }]), {}, { known: { order: NAMED } }), [idle])
  for (const relation of ['same', 'satisfies'] as const) {
    const aliased: PolicyConfig = { ...NAMED, uri: 'urn:new/v1', aliases: [{ uri: EXT, relation }] }
    t.same(lint(card([{ uri: EXT }]), {}, { known: { order: aliased } }), [idle], 'found by an alias')
    if (relation === 'satisfies') t.same(lint(card([{ uri: EXT }]), {}, { known: { aliased, order: NAMED } }), [idle], 'its own policy comes first')
  }
  t.same(lint(card([{ uri: EXT, required: true }]), { order: data }), [
    refused('activation.required: never in its policy, or required: false in the card')
  ])
  t.same(lint(card([{ uri: EXT, required: true }]), { order: { ...data, activation: { required: 'never' } } }), [], 'mended')
  t.same(lint(card([{ uri: EXT, required: true }]), { order: { ...data, mode: 'off' } }), [], 'not looked at')
  t.same(lint(card([{ uri: EXT, required: true }]), {}, { known: { order: { ...NAMED, activation: { required: 'never' } } } }), [
    idle,
    refused('add the policy "order" to extensions of the agent')
  ])
  t.same(lint(card([{ uri: EXT, required: true }])), [unknown(0, EXT)], 'nothing is known of it')
  for (const duties of [{ owns: { headers: ['x'] } }, { methods: { m: {} } }, { activation: { signals: ['listed'] } }] as const) {
    t.same(lint(card([{ uri: EXT, required: true }]), { order: { ...data, ...duties } }), [], Object.keys(duties).join())
  }
})

t.test('schemas by name', async t => {
  const extension = { uri: EXT, params: { schemas: { order: {}, 'in/voice': {} } } }
  t.same(
    lint(
      card([extension], {
        defaultInputModes: ['application/json;schema=orders', 'text/plain'],
        skills: [{ outputModes: ['application/json; schema="in/voice"', 'text/plain'] }, 7]
      }),
      { p: NAMED }
    ),
    [
      'defaultInputModes[0] names the schema "orders", which the card does not declare (did you mean "order"?)',
      'no input or output mode names the schema "order" at "/capabilities/extensions/0/params/schemas/order" (clients find it through application/json;schema=NAME in defaultInputModes or the modes of a skill)',
      'only output modes name the schema "in/voice" at "/capabilities/extensions/0/params/schemas/in~1voice": the gateway accepts requests with it too (a rule with schema: {enumFromCard: /skills/*/inputModes/*} on the media type rejects them)'
    ]
  )
  t.same(
    lint(
      card([{ uri: 'urn:first/v1' }, extension], {
        skills: [{ input_modes: ['application/json;schema=b', 'application/json;schema=order', 'application/json;schema=in%2fvoice', 'text/plain'] }]
      }),
      { p: NAMED }
    ),
    [
      'skills[0].input_modes[0] names the schema "b", which the card does not declare (it declares "order", "in/voice")',
      'skills[0].input_modes[2] names the schema "in%2fvoice", which the card does not declare (it declares "order", "in/voice")',
      'no input or output mode names the schema "in/voice" at "/capabilities/extensions/1/params/schemas/in~1voice" (clients find it through application/json;schema=NAME in defaultInputModes or the modes of a skill)'
    ]
  )
  t.same(lint(card([{ uri: EXT }], { defaultOutputModes: ['application/json;schema=b', 'text/plain'] }), { p: NAMED }), [
    'defaultOutputModes[0] names the schema "b", which the card does not declare (it declares none)'
  ])
  const [recent, old] = [
    card([{ uri: EXT }], { schemas: { order: {} } }),
    card([{ uri: EXT }], { defaultInputModes: ['application/json;schema=order', 'text/plain; charset=utf-8'] })
  ]
  t.same(
    lint(recent, { p: NAMED }, { old }),
    [
      'the key "schemas" at the root of the card is not a field of AgentCard: typed parsers drop it (it could be in /capabilities/extensions/0/params/schemas)'
    ],
    'one card may hold the schema, the other the mode'
  )
  const large = card([extension], { defaultInputModes: ['text/plain', ...Array.from({ length: 5_000 }, (_, index) => `application/json;schema=n${index}`)] })
  const begun = Date.now()
  t.equal(lint(large, { p: NAMED }).length, 102)
  t.ok(Date.now() - begun < 2_000, 'a large card takes no long time')
})

t.test('modes that need quotes', async t => {
  const modes = ['application/json;schema=order:v1', 'application/json;schema="b:c"', 'application/json;schema=', 'text', 'a/b;c=d"e', 'text/plain']
  t.same(lint(card([{ uri: EXT, params: { schemas: { 'order:v1': {}, 'b:c': {} } } }], { skills: [{ inputModes: modes }] }), { p: NAMED }), [
    'skills[0].inputModes[0] "application/json;schema=order:v1" is not a well-formed media type: the gateway accepts this text only as the card writes it (write application/json;schema="order:v1")',
    'skills[0].inputModes[4] "a/b;c=d\\"e" is not a well-formed media type: the gateway accepts this text only as the card writes it (write a/b;c="d\\"e")'
  ])
})

t.test('without a policy', async t => {
  const without = ['https://a.example/order', 'urn:x402', 'https://a.example:8443/', 'https://v1.example/order', 'urn:order-ipv']
  const versioned = [
    'https://a.example/order/v1', 'urn:order:2', 'https://a.example/2026-01-02/order', 'https://a.example/order-v1.2', 'urn:a@1.0.0-rc.1', 'https://a.example/V3/#x',
    'https://a.example/order?version=1'
  ]
  t.same(
    lint(card([...without, ...versioned].map(uri => ({ uri })))),
    without.map(
      (uri, index) =>
        `/capabilities/extensions/${index} declares "${uri}": the URI names no version (a breaking change needs a new URI; end it with a version, such as /v1)`
    )
  )
  const text = (list: string): string =>
    `${list} names a schema, but not text/plain: clients that do not know the schema cannot use the agent (add text/plain, if the agent also understands text)`
  const typed = ['application/json;schema=a', 'application/json']
  t.same(lint(card([], { defaultInputModes: typed, defaultOutputModes: [...typed, 'Text/Plain'], skills: [{}, { input_modes: typed }] })), [
    text('defaultInputModes'),
    text('skills[1].input_modes')
  ])
  t.same(lint(card([], { defaultInputModes: ['application/json', 'image/png'] })), [], 'untyped data is a choice')
  const named = card([{ uri: EXT, params: { schemas: { order: {}, receipt: {} } } }], {
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain', 'application/json;schema=receipt']
  })
  t.same(lint(named, {}, { known: { order: NAMED } }), [
    `/capabilities/extensions/0 declares "${EXT}"; the agent does not use the policy "order" for it (name it in extensions of the agent)`,
    'no input or output mode names the schema "order" at "/capabilities/extensions/0/params/schemas/order" (clients find it through application/json;schema=NAME in defaultInputModes or the modes of a skill)',
    'only output modes name the schema "receipt" at "/capabilities/extensions/0/params/schemas/receipt": the gateway accepts requests with it too (a rule with schema: {enumFromCard: /skills/*/inputModes/*} on the media type rejects them)'
  ])
})

t.test('the card itself', async t => {
  const official = 'https://a2a-protocol.org/extensions/mine/v1'
  t.same(
    lint(
      card([{ uri: official }], {
        preferredTransport: 'SOAP',
        additionalInterfaces: [{ url: 'http://agent.test/rpc', transport: 'JSONRPC' }],
        'x-\u202e"': 1,
        default_input_modes: []
      })
    ),
    [
      'the interface SOAP 0.3 http://agent.test/ is not served: the gateway does not support the binding "SOAP" (the gateway removes it from the served card)',
      `/capabilities/extensions/0 declares "${official}": that prefix is reserved for extensions of the A2A project (use your own URI for your extension)`,
      'the key "x-\\u202e\\"" at the root of the card is not a field of AgentCard: typed parsers drop it (it could be in params of its extension: /capabilities/extensions/0/params)'
    ]
  )
})

t.test('twins that disagree', async t => {
  const hint = '(the card of its version applies to each client)'
  t.same(
    lint(
      card([{ uri: 'urn:a/v1' }, { uri: 'urn:b/v1', required: true }, { uri: 'urn:c/v1' }, { uri: 'urn:d/v1', required: true }]),
      {},
      { old: card([{ uri: 'urn:b/v1' }, { uri: 'urn:c/v1', required: true }, { uri: 'urn:d/v1', required: true }, { uri: 'urn:e/v1' }]) }
    ),
    [
      `only the card for 0.3 declares "urn:e/v1" ${hint}`,
      `only the card for 1.0 declares "urn:a/v1" ${hint}`,
      `only the card for 1.0 requires "urn:b/v1" ${hint}`,
      `only the card for 0.3 requires "urn:c/v1" ${hint}`,
      unknown(3, 'urn:d/v1'),
      unknown(2, 'urn:c/v1'),
      unknown(1, 'urn:b/v1')
    ]
  )
})

t.test('every message has been produced', async t => {
  t.same(unsaid(['src/a2a/card/lint.ts', 'src/policy/card/lint.ts', 'src/policy/card/schema-names.ts'].flatMap(sentencesOf), printed), [])
})
