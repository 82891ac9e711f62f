/** The catalogue's object-schemas on requests: the nine points of the reference, extensions.md §5. */
import t from 'tap'
import type { AgentPolicy } from '#policy/compile/compiled.js'
import type { Decision } from '#policy/request/decision.js'
import type { Sent } from './fixtures.js'
import { declaring, message, OBJECT_SCHEMAS, objectSchemas, part03, part10, policyOf, send } from './fixtures.js'

const fight = {
  type: 'object',
  properties: { a: { type: 'string' }, b: { type: 'string' } },
  required: ['a', 'b'],
  additionalProperties: false
}
const policy = policyOf(
  { ...declaring(OBJECT_SCHEMAS), schemas: { fight, other: { type: 'number' } } },
  { 'object-schemas': objectSchemas }
)
const good = { a: 'x', b: 'y' }
const bad = { a: 'Zq7Secret' }

interface Style { readonly name: string, readonly sent: Sent, readonly part: typeof part10, readonly root: string, readonly type: string }
const STYLES: readonly Style[] = [
  { name: '1.0 JSON-RPC', sent: {}, part: part10, root: 'params.message.parts', type: 'mediaType' },
  { name: '1.0 HTTP+JSON', sent: { binding: 'HTTP+JSON' }, part: part10, root: 'message.parts', type: 'mediaType' },
  {
    name: '1.0 with the 0.3 tag',
    sent: {},
    part: (data, mimeType = 'application/json;schema=fight', more = {}) => ({ data, metadata: { mimeType }, ...more }),
    root: 'params.message.parts',
    type: 'metadata.mimeType'
  },
  {
    name: '1.0 snake_case',
    sent: {},
    part: (data, media = 'application/json;schema=fight', more = {}) => ({ data, media_type: media, ...more }),
    root: 'params.message.parts',
    type: 'media_type'
  },
  { name: '0.3 JSON-RPC', sent: { version: '0.3' }, part: part03, root: 'params.message.parts', type: 'metadata.mimeType' }
]
const outcome = (decision: Decision): string =>
  decision.rejection === null ? 'forward' : `${decision.rejection.customReason ?? decision.rejection.reason}: ${decision.rejection.message}`

for (const { name, sent, part, root, type } of STYLES) {
  t.test(name, async t => {
    const ask = (body: object, on: AgentPolicy = policy): Decision => send(on, body, sent)
    const says = (body: object, on?: AgentPolicy): string => outcome(ask(body, on))

    t.test('1: the part itself triggers, no header', async t => {
      t.equal(says(message(part(good))), 'forward')
      t.match(says(message(part(bad))), /^EXTENSION_DATA_INVALID/)
      t.match(outcome(send(policy, message(part(bad)), { ...sent, requested: [OBJECT_SCHEMAS] })), /^EXTENSION_DATA_INVALID/)
    })

    t.test('2: flagged is a DataPart of application/json with a schema parameter, read as a media type', async t => {
      for (const flagged of [
        'application/json;schema=fight',
        'application/json; schema=fight',
        'Application/JSON;SCHEMA=fight',
        'application/json;schema="fight"',
        'application/json;charset=utf-8;schema=fight',
        'application/json ;schema=fight;x=y',
        'application/json;schema="f\\ight"'
      ]) {
        t.match(says(message(part(bad, flagged))), /^EXTENSION_DATA_INVALID/, flagged)
        t.equal(says(message(part(good, flagged))), 'forward', flagged)
      }
      for (const plain of [
        'application/json',
        'application/json;charset=utf-8',
        'application/json+a2ui',
        'text/plain;schema=fight',
        'application/jsonl;schema=fight',
        '',
        null
      ]) {
        t.equal(says(message(part(bad, plain))), 'forward', String(plain))
      }
      t.match(says(message(part(good, 'application/json;schema=Fight'))), /^CONTENT_TYPE_NOT_SUPPORTED/, 'names keep their case')
    })

    t.test('a tag that readers may read differently is rejected', async t => {
      for (const odd of [
        'application/json;schema=fight;schema=other',
        'application/json;schema=',
        'application/json;schema',
        'application/json; schema = fight',
        ' application/json;schema=fight',
        'application/json,schema=fight',
        'application/json;schema="fight'
      ]) {
        t.equal(
          says(message(part(good, odd))),
          `EXTENSION_DATA_INVALID: ${root}[0].data cannot be evaluated: ${root}[0].${type} is not a well-formed media type.`,
          odd
        )
      }
      t.match(says(message(part(good, ['application/json;schema=fight']))), `INVALID_PARAMS: ${root}[0].${type} must be a string.`)
    })

    t.test('3: only the first flagged part counts', async t => {
      const text = sent.version === '0.3' ? { kind: 'text', text: 'hi' } : { text: 'hi' }
      t.equal(
        says(message(text, part(bad, 'application/json'), part(good), part(bad), part(bad, 'application/json;schema=nope'))),
        'forward'
      )
      const second = ask(message(text, part(bad), part(good)))
      t.same(second.violations.map(found => found.path), [`${root}[1].data.b`])
    })

    t.test('4: an undeclared name and invalid data', async t => {
      const undeclared = ask(message(part(good, 'application/json;schema=Zq7Secret')))
      t.equal(
        outcome(undeclared),
        `CONTENT_TYPE_NOT_SUPPORTED: ${root}[0].${type} names a schema that the agent's card does not declare; the card declares fight, other.`
      )
      t.notOk(JSON.stringify(undeclared.rejection).includes('Zq7Secret'), 'the name is not repeated')
      for (const prototype of ['__proto__', 'constructor', 'toString']) {
        t.match(says(message(part(good, `application/json;schema=${prototype}`))), /^CONTENT_TYPE_NOT_SUPPORTED/, prototype)
      }
      const invalid = ask(message(part(bad)))
      t.equal(outcome(invalid), `EXTENSION_DATA_INVALID: ${root}[0].data.b is required (the schema "fight" of the agent's card).`)
      t.same(invalid.rejection, {
        reason: 'EXTENSION_DATA_INVALID',
        message: `${root}[0].data.b is required (the schema "fight" of the agent's card).`,
        rule: 'object-schemas/validate-first-structured-part',
        metadata: { rule: 'validate-first-structured-part', extension: OBJECT_SCHEMAS },
        fields: [{ field: `${root}[0].data.b`, description: 'is required (the schema "fight" of the agent\'s card)' }],
        helpUri: OBJECT_SCHEMAS
      })
      t.notOk(JSON.stringify(ask(message(part({ a: 'Zq7Secret', b: 1, c: 'Zq7Secret' })))).includes('Zq7Secret'), 'values are not repeated')
      t.equal(
        says(message(part({ a: 1, b: 2, c: 3, d: 4 }))),
        `EXTENSION_DATA_INVALID: ${root}[0].data.c is not a property the schema allows (the schema "fight" of the agent's card); ${root}[0].data.d is not a property the schema allows (the schema "fight" of the agent's card); ${root}[0].data.a must be a string (the schema "fight" of the agent's card). 1 more problem in the details.`
      )
    })

    t.test('5: no flagged part, no evaluation', async t => {
      t.equal(says(message(sent.version === '0.3' ? { kind: 'text', text: 'x' } : { text: 'x' })), 'forward')
      t.equal(says({ message: {} }), 'forward')
    })

    t.test('6: on a task every flagged part is rejected, valid or not', async t => {
      const running = (taskId: unknown, ...parts: unknown[]): string => says({ message: { taskId, parts } })
      const refusal = `STRUCTURED_INPUT_TASK_RUNNING: ${root}[0].data: structured input is accepted only in a message that starts a task, and this message names a task; leave out taskId to start a new task.`
      t.equal(running('t', part(good)), refusal)
      t.equal(running('t', part(bad)), refusal)
      t.equal(running('t', part(good, 'application/json;schema=nope')), refusal)
      const snake = says({ message: { task_id: 't', parts: [part(good)] } })
      if (name === '0.3 JSON-RPC') t.match(snake, /task_id is read as "taskId" by some agents only/)
      else t.equal(snake, refusal)
      t.equal(running('t', part(good, 'application/json')), 'forward')
      t.equal(running('', part(good)), 'forward')
      t.equal(running(null, part(good)), 'forward')
      t.equal(says({ message: { contextId: 'c', referenceTaskIds: ['t'], parts: [part(good)] } }), 'forward', 'a context alone is no task')
      t.match(ask({ message: { taskId: 't', parts: [part(good)] } }).rejection, {
        reason: 'EXTENSION_CONFLICT',
        customReason: 'STRUCTURED_INPUT_TASK_RUNNING',
        rule: 'object-schemas/no-structured-input-on-existing-task'
      })
    })

    t.test('9: data of any JSON type is validated only with its schema', async t => {
      t.equal(says(message(part(7, 'application/json;schema=other'))), 'forward')
      t.match(says(message(part([7], 'application/json;schema=other'))), /^EXTENSION_DATA_INVALID.*must be a number/)
    })
  })
}

t.test('0.3 HTTP+JSON: content, one level deeper', async t => {
  const ask = (data: unknown): string =>
    outcome(
      send(
        policy,
        { message: { content: [{ data: { data }, metadata: { mimeType: 'application/json;schema=fight' } }] } },
        { version: '0.3', binding: 'HTTP+JSON' }
      )
    )
  t.equal(ask(good), 'forward')
  t.equal(ask(bad), 'EXTENSION_DATA_INVALID: message.content[0].data.data.b is required (the schema "fight" of the agent\'s card).')
})

t.test('3, hostile: no part can hide the one that the agent reads', async t => {
  const flag = 'application/json;schema=fight'
  const rows: readonly (readonly [string, Sent, unknown[], RegExp])[] = [
    [
      '1.0: one tag each',
      {},
      [
        { data: good, metadata: { mimeType: flag } },
        { data: bad, mediaType: flag }
      ],
      /parts\[1\]\.data\.b is required/
    ],
    [
      '1.0: the other way',
      {},
      [
        { data: good, mediaType: flag },
        { data: bad, metadata: { mimeType: flag } }
      ],
      /parts\[1\]\.data\.b is required/
    ],
    [
      '1.0: third place',
      {},
      [
        { data: good, mediaType: flag, metadata: { mimeType: flag } },
        { data: bad, metadata: { mediaType: flag } }
      ],
      /parts\[1\]\.data\.b is required/
    ],
    [
      '0.3: a 1.0 tag first',
      { version: '0.3' },
      [{ kind: 'data', data: good, mediaType: flag }, part03(bad)],
      /parts\[1\]\.data\.b is required/
    ],
    [
      '0.3: no kind',
      { version: '0.3' },
      [{ data: good, metadata: { mimeType: flag } }, part03(bad)],
      /parts\[0\]\.data cannot be evaluated: params\.message\.parts\[0\] contains "data" without kind "data", so some agents do not read it as data; set kind to "data"\./
    ],
    [
      '1.0: null data',
      {},
      [{ data: null, mediaType: flag }, part10(bad)],
      /parts\[0\]\.data cannot be evaluated: .* contains null as data/
    ],
    [
      '1.0: tags disagree',
      {},
      [{ data: good, mediaType: 'application/json', metadata: { mimeType: flag } }],
      /parts\[0\]\.data cannot be evaluated: params\.message\.parts\[0\]\.mediaType and params\.message\.parts\[0\]\.metadata\.mimeType state different media types\./
    ]
  ]
  for (const [name, sent, parts, expected] of rows) t.match(outcome(send(policy, message(...parts), sent)), expected, name)
  t.equal(
    outcome(
      send(policy, message({ data: good, mediaType: flag, metadata: { mimeType: 'Application/JSON; schema="fight"' } }, part10(bad)))
    ),
    'forward',
    'two spellings of one type agree'
  )
})

t.test('trap a: the card\'s params are the fallback for its root', async t => {
  const params = { schemas: { fight, more: { type: 'null' } } }
  const inParams = policyOf(declaring('https://x.test/first', { uri: OBJECT_SCHEMAS, params }), { 'object-schemas': objectSchemas })
  t.match(outcome(send(inParams, message(part10(bad)))), /data\.b is required/)
  t.equal(outcome(send(inParams, message(part10(good)))), 'forward')
  const both = policyOf(
    { ...declaring({ uri: OBJECT_SCHEMAS, params }), schemas: { fight: { type: 'number' } } },
    { 'object-schemas': objectSchemas }
  )
  t.match(outcome(send(both, message(part10(good)))), /must be a number/, 'the root wins')
  t.match(outcome(send(both, message(part10(good, 'application/json;schema=nope')))), /the card declares fight, more\.$/)
})

t.test('a card without schemas: everything flagged is undeclared', async t => {
  for (const schemas of [undefined, null, {}, [], 'x', 7]) {
    t.equal(
      outcome(send(policyOf({ ...declaring(OBJECT_SCHEMAS), schemas }, { 'object-schemas': objectSchemas }), message(part10(good)))),
      "CONTENT_TYPE_NOT_SUPPORTED: params.message.parts[0].mediaType names a schema that the agent's card does not declare; the card declares none.",
      JSON.stringify(schemas)
    )
  }
})

t.test('a card that does not declare the extension: no evaluation', async t => {
  t.equal(outcome(send(policyOf({ schemas: { fight } }, { 'object-schemas': objectSchemas }), message(part10(bad)))), 'forward')
})

t.test('traps b and c: an unusable schema rejects its own data, others work', async t => {
  const broken = policyOf(
    {
      ...declaring(OBJECT_SCHEMAS),
      schemas: {
        fight,
        remote: { properties: { a: { $ref: 'https://x.test/s' } } },
        old: { $schema: 'http://json-schema.org/draft-04/schema#' }
      }
    },
    { 'object-schemas': objectSchemas }
  )
  t.equal(outcome(send(broken, message(part10(good)))), 'forward')
  t.match(outcome(send(broken, message(part10(bad)))), /data\.b is required/)
  t.equal(
    outcome(send(broken, message(part10(good, 'application/json;schema=remote')))),
    'SCHEMA_UNUSABLE: params.message.parts[0].data cannot be accepted: the schema "remote" of the agent\'s card is unusable (/schemas/remote/properties/a/$ref: the reference "https://x.test/s" points outside the schema; the gateway fetches nothing, so copy the target into "$defs"); the agent\'s card must be fixed first.'
  )
  t.match(outcome(send(broken, message(part10(good, 'application/json;schema=old')))), /\(\/schemas\/old\/\$schema: /)
  t.same(broken.unusable.map(problem => problem.pointer), ['/schemas/remote/properties/a/$ref', '/schemas/old/$schema'])
})

t.test('schemas may have any name', async t => {
  const hostile = policyOf(
    `{"capabilities":{"extensions":[{"uri":"${OBJECT_SCHEMAS}"}]},"schemas":{"__proto__":{"type":"number"},"constructor":{"type":"number"},"a/b~c":{"type":"number"},"":{"type":"number"},"\\u202e\\u009b":{"type":"number"},"${'n'.repeat(500)}":{"type":"number"}}}`,
    { 'object-schemas': objectSchemas }
  )
  for (const name of ['__proto__', 'constructor', '"a/b~c"', '""', `"${'n'.repeat(500)}"`]) {
    t.equal(outcome(send(hostile, message(part10(1, `application/json;schema=${name}`)))), 'forward', name)
    t.match(
      outcome(send(hostile, message(part10('x', `application/json;schema=${name}`)))),
      /^EXTENSION_DATA_INVALID.*must be a number/,
      name
    )
  }
  const { rejection: refusal } = send(hostile, message(part10(1, 'application/json;schema=none')))
  t.match(
    refusal?.message,
    /the card declares __proto__, constructor, a\/b~c, , \\u202e\\u009b, n{61}\.\.\.$/,
    'names are clipped, control characters escaped'
  )
  const many = policyOf(
    { ...declaring(OBJECT_SCHEMAS), schemas: Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`s${i}`, true])) },
    { 'object-schemas': objectSchemas }
  )
  t.match(send(many, message(part10(1, 'application/json;schema=none'))).rejection?.message, /the card declares s0, .*, s19 and 5 more\.$/)
})

t.test('only operations that carry a message are evaluated, and unknown methods if they are forwarded', async t => {
  t.equal(outcome(send(policy, message(part10(bad)), { method: 'GetTask' })), 'forward')
  t.match(outcome(send(policy, message(part10(bad)), { method: 'SendStreamingMessage' })), /^EXTENSION_DATA_INVALID/)
  const forwarding = policyOf(
    { ...declaring(OBJECT_SCHEMAS), schemas: { fight } },
    { 'object-schemas': objectSchemas },
    { unknownMethods: 'forward' }
  )
  t.match(outcome(send(forwarding, message(part10(bad)), { method: 'x.y' })), /^EXTENSION_DATA_INVALID/)
  t.equal(outcome(send(forwarding, message(part10(good)), { method: 'x.y' })), 'forward')
})

const NAMES = ['order:v1', 'Resp[int]', 'ns/Name', 'name@2', 'two words', 'größe', 'a"b', 'a\\b', '"q', 'x=y', 'ok,go']

t.test('1: a schema name as the card declares it in its modes, whatever its characters', async t => {
  const typeOf = (name: string): string => `application/json;schema=${name}`
  const schemas = Object.fromEntries(NAMES.map(name => [name, fight]))
  const quoted = (name: string): string => `application/json;schema="${name.replace(/["\\]/g, '\\$&')}"`
  for (const [where, modes] of [
    ['defaultInputModes', { defaultInputModes: NAMES.map(typeOf) }],
    ['modes of a skill', { skills: [{ inputModes: [], outputModes: NAMES.map(typeOf) }] }],
    ['snake_case', { default_output_modes: NAMES.map(typeOf) }]
  ] as const) {
    const declared = policyOf({ ...declaring(OBJECT_SCHEMAS), schemas, ...modes }, { 'object-schemas': objectSchemas })
    for (const { name: style, sent, part } of STYLES) {
      for (const name of NAMES) {
        if (name === '"q') continue
        const says = (data: object, type: string): unknown => send(declared, message(part(data, type)), sent).rejection?.reason ?? 'forward'
        t.same(
          [says(good, typeOf(name)), says(bad, typeOf(name)), says(good, quoted(name)), says(bad, quoted(name))],
          ['forward', 'EXTENSION_DATA_INVALID', 'forward', 'EXTENSION_DATA_INVALID'],
          `${where}, ${style}, ${name}`
        )
        t.equal(says(good, ` ${typeOf(name)}`), 'EXTENSION_DATA_INVALID', 'only the text of the card counts')
      }
    }
  }
  const twice = policyOf({ ...declaring(OBJECT_SCHEMAS), schemas, defaultInputModes: NAMES.map(typeOf) }, { 'object-schemas': objectSchemas })
  const both = (one: string, other: string): unknown =>
    send(twice, message({ data: good, mediaType: one, metadata: { mimeType: other } })).rejection?.message ?? 'forward'
  t.equal(both(typeOf('order:v1'), quoted('order:v1')), 'forward', 'two spellings of one type agree')
  t.match(both(typeOf('order:v1'), quoted('name@2')), /state different media types/)
})

t.test('1: a name that the card does not declare unquoted: the rejection asks for quotes', async t => {
  for (const { sent, part, root, type } of STYLES) {
    for (const name of ['order:v1', 'Resp[int]', 'fight ok']) {
      t.equal(
        outcome(send(policy, message(part(good, `application/json;schema=${name}`)), sent)),
        `EXTENSION_DATA_INVALID: ${root}[0].data cannot be evaluated: ${root}[0].${type} is not a well-formed media type; a name with special characters needs quotes, as in application/json;schema="a:b".`
      )
    }
  }
})
