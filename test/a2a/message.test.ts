import t from 'tap'
import fc from 'fast-check'
import type { JsonObject } from '#wire/json/object.js'
import { MAX_PROBLEMS } from '#a2a/fields.js'
import type { RequestView } from '#a2a/message/message.js'
import { viewRequest } from '#a2a/message/message.js'
import { check } from '../helpers/seed.js'

// Through JSON, as requests come: `__proto__` is then an ordinary member.
const json = (value: unknown): JsonObject =>
  (typeof value === 'string' ? JSON.parse(value) : JSON.parse(JSON.stringify(value))) as JsonObject
const old = (params: unknown): RequestView => viewRequest(json(params), 'params', '0.3', 'JSONRPC')
const oldRest = (body: unknown): RequestView => viewRequest(json(body), '', '0.3', 'HTTP+JSON')
const current = (params: unknown): RequestView => viewRequest(json(params), 'params', '1.0', 'JSONRPC')
const rest = (body: unknown): RequestView => viewRequest(json(body), '', '1.0', 'HTTP+JSON')
const parts = (...list: unknown[]): object => ({ message: { parts: list } })
const TYPE = 'application/json;schema=x'

t.test('0.3: kind parts', async t => {
  const view = old({
    message: {
      kind: 'message',
      messageId: 1,
      taskId: 't',
      extensions: ['u', 7],
      parts: [
        { kind: 'text', text: 'a' },
        { kind: 'data', data: { a: 1 }, metadata: { mimeType: TYPE } },
        { kind: 'file', file: { uri: 'x' } }
      ]
    }
  })
  t.match(view, {
    tenant: null,
    problems: [],
    message: {
      path: 'params.message',
      taskId: 'present',
      contextId: 'absent',
      listed: ['u'],
      parts: [
        {
          path: 'params.message.parts[0]',
          isData: false,
          data: undefined,
          dataPath: 'params.message.parts[0].data',
          mediaTypes: [],
          ambiguity: null
        },
        {
          path: 'params.message.parts[1]',
          isData: true,
          data: { a: 1 },
          dataPath: 'params.message.parts[1].data',
          mediaTypes: [{ text: TYPE, path: 'params.message.parts[1].metadata.mimeType', place: 'metadata.mimeType' }],
          ambiguity: null
        },
        {
          path: 'params.message.parts[2]',
          isData: false,
          data: undefined,
          dataPath: 'params.message.parts[2].data',
          mediaTypes: [],
          ambiguity: null
        }
      ]
    }
  })
})

t.test('1.0: the member determines the kind of a part, and kind has no effect', async t => {
  const view = rest({
    tenant: 'acme',
    message: { contextId: 'c', parts: [{ data: [1], mediaType: TYPE, kind: 'text' }, { text: 'a' }, { raw: 'aa' }, { url: 'u' }] }
  })
  t.equal(view.tenant, 'acme')
  t.same(view.problems, [])
  t.match(view.message, { path: 'message', contextId: 'present', taskId: 'absent' })
  t.same(view.message?.parts.map(part => part.isData), [true, false, false, false])
  t.match(view.message?.parts[0], {
    data: [1],
    dataPath: 'message.parts[0].data',
    mediaTypes: [{ text: TYPE, path: 'message.parts[0].mediaType', place: 'mediaType' }],
    ambiguity: null
  })
})

t.test('snake_case is read, and paths name the client\'s own fields', async t => {
  t.match(
    current({
      message: { task_id: 't', context_id: 'c', parts: [{ data: 1, media_type: TYPE, metadata: { mime_type: TYPE, media_type: TYPE } }] }
    }),
    {
      problems: [],
      message: {
        taskId: 'present',
        contextId: 'present',
        parts: [
          {
            mediaTypes: [
              { path: 'params.message.parts[0].media_type' },
              { path: 'params.message.parts[0].metadata.media_type' },
              { path: 'params.message.parts[0].metadata.mime_type' }
            ]
          }
        ]
      }
    }
  )
})

t.test('0.3 HTTP+JSON: content, data one level deeper, request for message', async t => {
  const view = oldRest({
    request: { content: [{ data: { data: { a: 1 } }, metadata: { mimeType: TYPE } }, { text: 'x' }, { data: { a: 2 } }] }
  })
  t.same(view.problems, [
    { path: 'request.content[2].data', message: 'must contain the document in a member "data", as this binding requires' }
  ])
  t.match(view.message?.parts, [
    {
      isData: true,
      data: { a: 1 },
      path: 'request.content[0]',
      dataPath: 'request.content[0].data.data',
      ambiguity: null,
      mediaTypes: [{ path: 'request.content[0].metadata.mimeType' }]
    },
    { isData: false },
    { isData: true, data: { a: 2 }, dataPath: 'request.content[2].data' }
  ])
  t.match(
    oldRest({ message: { content: [{ data: { data: { data: 1 } } }] } }).message?.parts[0],
    { data: { data: 1 }, dataPath: 'message.content[0].data.data' },
    'one level, no more'
  )
  t.match(
    oldRest(parts({ kind: 'data', data: { data: 1 } })).message?.parts[0],
    { data: { data: 1 } },
    'JSON-RPC style parts are not nested'
  )
  t.equal(rest({ request: { parts: [] } }).message, null, '1.0 has no such spelling')
  t.equal(old({ request: { parts: [] } }).message, null, 'nor has JSON-RPC')
  t.match(oldRest({ request: 'x', message: { content: [] } }), { problems: [], message: { path: 'message' } })
})

t.test('absent, null and empty task ids count as absent; any other value is a task', async t => {
  for (const taskId of [undefined, null, '']) t.equal(current({ message: { taskId } }).message?.taskId, 'absent', JSON.stringify(taskId))
  for (const taskId of ['t', ' ', 0, false, [], {}]) {
    t.equal(current({ message: { taskId } }).message?.taskId, 'present', JSON.stringify(taskId))
  }
  t.match(current({ message: { referenceTaskIds: ['t'] } }).message, { taskId: 'absent' })
})

/** Go's encoding/json folds these letters to k and s. */
const KELVIN = 'tas\u212aId'
const LONG_S = 'part\u017f'
const FIRST = 'params.message.parts[0]'
t.test('data that gateway and agent might read differently is a problem, described as a predicate of its path', async t => {
  const rows: readonly (readonly [string, RequestView, string, string])[] = [
    [
      'twins',
      current(parts({ data: 1, mediaType: 'a/b', media_type: 'a/c' })),
      `${FIRST}.media_type`,
      'occurs together with "mediaType", another spelling of the same field; send only "mediaType"'
    ],
    [
      'equal twins',
      current({ message: { taskId: 't', task_id: 't' } }),
      'params.message.task_id',
      'occurs together with "taskId", another spelling of the same field; send only "taskId"'
    ],
    [
      'a null twin',
      current({ message: { taskId: null, task_id: 't' } }),
      'params.message.task_id',
      'occurs together with "taskId", another spelling of the same field; send only "taskId"'
    ],
    [
      "case variant of a part's field",
      current(parts({ Data: 1 })),
      `${FIRST}.Data`,
      'is read as "data" by some agents; spell it "data" or leave it out'
    ],
    [
      'case variant of message',
      current({ Message: {} }),
      'params.Message',
      'is read as "message" by some agents; spell it "message" or leave it out'
    ],
    [
      'case variant of parts',
      current({ message: { PARTS: [] } }),
      'params.message.PARTS',
      'is read as "parts" by some agents; spell it "parts" or leave it out'
    ],
    [
      'underscored variant',
      current({ message: { _task_id: 'x' } }),
      'params.message._task_id',
      'is read as "taskId" by some agents; spell it "taskId" or leave it out'
    ],
    [
      'Kelvin sign',
      current({ message: { [KELVIN]: 'x' } }),
      `params.message["${KELVIN}"]`,
      'is read as "taskId" by some agents; spell it "taskId" or leave it out'
    ],
    [
      'long s',
      current({ message: { [LONG_S]: [] } }),
      `params.message["${LONG_S}"]`,
      'is read as "parts" by some agents; spell it "parts" or leave it out'
    ],
    [
      'case variant in part metadata',
      current(parts({ data: 1, metadata: { MimeType: 'x' } })),
      `${FIRST}.metadata.MimeType`,
      'is read as "mimeType" by some agents; spell it "mimeType" or leave it out'
    ],
    [
      'two members',
      current(parts({ text: 'a', data: 1 })),
      FIRST,
      'contains both "text" and "data"; a part has exactly one of text, raw, url, data'
    ],
    [
      'two members, 0.3',
      old(parts({ kind: 'data', data: {}, file: {} })),
      FIRST,
      'contains both "file" and "data"; a part has exactly one of text, file, data'
    ],
    ['kind contradicts', old(parts({ kind: 'text', data: {} })), FIRST, 'has kind "text" but contains "data"; make them agree'],
    [
      'kind text with a file of 1.0',
      old(parts({ kind: 'text', url: 'https://f.test/a' })),
      FIRST,
      'has kind "text" but contains a file of A2A 1.0; make them agree'
    ],
    [
      'kind contradicts the other way',
      old(parts({ kind: 'data', text: '' })),
      FIRST,
      'has kind "data" but contains "text"; make them agree'
    ],
    [
      'parts and content',
      old({ message: { parts: [], content: [] } }),
      'params.message.content',
      'occurs together with "parts"; send only the one that this binding defines'
    ],
    [
      'message and request',
      oldRest({ message: {}, request: {} }),
      'request',
      'occurs together with "message", another spelling of the same field; send only "message"'
    ],
    ['media type list', current(parts({ data: 1, mediaType: [TYPE] })), `${FIRST}.mediaType`, 'must be a string'],
    [
      'media type object in metadata',
      old(parts({ kind: 'data', data: {}, metadata: { mimeType: { a: 1 } } })),
      `${FIRST}.metadata.mimeType`,
      'must be a string'
    ]
  ]
  for (const [name, view, path, message] of rows) t.same(view.problems, [{ path, message }], name)
})

t.test('a null sibling does not count as a second member', async t => {
  for (const view of [
    current(parts({ text: null, data: { a: 1 }, url: null })),
    old(parts({ kind: 'data', text: null, data: { a: 1 }, file: null }))
  ]) {
    t.same(view.problems, [])
    t.match(view.message?.parts[0], { isData: true, data: { a: 1 } })
  }
  t.match(current(parts({ data: null, text: 'x' })).message?.parts[0], { isData: false })
})

t.test('a DataPart that some agents do not recognize is marked', async t => {
  t.match(old(parts({ data: {} })).message?.parts[0], {
    isData: true,
    ambiguity: 'contains "data" without kind "data", so some agents do not read it as data; set kind to "data"'
  })
  t.match(old(parts({ kind: 'Data', data: {} })).message?.parts[0], { isData: true, ambiguity: /without kind/ })
  t.match(old(parts({ kind: 'data', data: null })).message?.parts[0], {
    isData: true,
    data: null,
    ambiguity: 'contains null as data, which some agents read as no data; send a value'
  })
  t.match(current(parts({ data: null })).message?.parts[0], { isData: true, data: null, ambiguity: /contains null/ })
  t.match(current(parts({ data: 0 })).message?.parts[0], { isData: true, data: 0, ambiguity: null })
})

t.test('names of Object.prototype are ordinary names', async t => {
  const names =
    '{"message":{"parts":[{"data":{"__proto__":{"a":1},"constructor":2},"__proto__":{"text":"x"},"constructor":1,"toString":1,"hasOwnProperty":1,"metadata":{"__proto__":{"mimeType":"a/b"}}}],"__proto__":{"taskId":"t"}},"__proto__":{"tenant":"x"}}'
  const view = current(names)
  t.same(view.problems, [])
  t.equal(view.tenant, null)
  t.equal(view.message?.taskId, 'absent')
  const data = view.message?.parts[0]?.data as JsonObject
  t.same(Object.keys(data), ['__proto__', 'constructor'])
  t.same(view.message?.parts[0]?.mediaTypes, [])
  t.equal(current('{"__proto__":{"message":{}}}').message, null)
})

t.test('a value that is neither a message nor a list of parts is left to the agent', async t => {
  for (const message of [undefined, null, 'x', 7, [], [{ parts: [] }]]) t.equal(current({ message }).message, null, JSON.stringify(message))
  for (const list of [undefined, null, {}, 'x', 7]) t.same(current({ message: { parts: list } }).message?.parts, [], JSON.stringify(list))
  t.same(
    current(parts('x', null, [], 7, { data: 1 })).message?.parts.map(part => part.path),
    ['params.message.parts[4]'],
    'places are kept'
  )
})

t.test('problems are limited where they are found', async t => {
  const odd = Array.from({ length: 50_000 }, () => ({ text: 'a', data: 1, Data: 2, media_type: 'a', mediaType: 'b' }))
  t.equal(current(parts(...odd)).problems.length, MAX_PROBLEMS)
})

t.test('an object of many unknown members is read in time that grows with it', async t => {
  const time = (count: number): number => {
    const message = json(JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`member_${i}`, i]))))
    const start = process.hrtime.bigint()
    t.same(viewRequest({ message }, '', '1.0', 'HTTP+JSON').problems, [])
    return Number(process.hrtime.bigint() - start) / 1e6
  }
  const best = (count: number): number => Math.min(time(count), time(count), time(count))
  const small = best(10_000)
  const large = best(100_000)
  t.ok(large < Math.max(small, 2) * 60, `10,000 in ${small.toFixed(1)} ms, 100,000 in ${large.toFixed(1)} ms`)
})

// A message as its author thinks of it, and the ways to write it.
interface Thought {
  readonly taskId: string | null
  readonly contextId: string | null
  readonly listed: readonly string[]
  readonly parts: readonly ThoughtPart[]
}
type ThoughtPart = { readonly text: string } | { readonly data: Record<string, unknown>, readonly type: string | null }

const thought: fc.Arbitrary<Thought> = fc.record({
  taskId: fc.option(fc.string({ minLength: 1 })),
  contextId: fc.option(fc.string({ minLength: 1 })),
  listed: fc.array(fc.webUrl(), { maxLength: 3 }),
  parts: fc.array(
    fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({
        data: fc.dictionary(
          fc.string().filter(key => key !== 'data'),
          fc.jsonValue({ maxDepth: 2 })
        ),
        type: fc.option(fc.string({ minLength: 1 }))
      })
    ),
    { maxLength: 5 }
  )
})
const some = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))

const writers: Readonly<Record<string, (message: Thought) => RequestView>> = {
  0.3: ({ taskId, contextId, listed, parts }) =>
    old({
      message: {
        kind: 'message',
        messageId: 'm',
        role: 'user',
        ...some({ taskId, contextId }),
        extensions: listed,
        parts: parts.map(part =>
          'text' in part ? { kind: 'text', ...part } : { kind: 'data', data: part.data, metadata: some({ mimeType: part.type }) }
        )
      }
    }),
  '1.0': ({ taskId, contextId, listed, parts }) =>
    current({
      message: {
        messageId: 'm',
        role: 'ROLE_USER',
        ...some({ taskId, contextId }),
        extensions: listed,
        parts: parts.map(part => ('text' in part ? part : { data: part.data, ...some({ mediaType: part.type }) }))
      }
    }),
  '1.0 in snake_case': ({ taskId, contextId, listed, parts }) =>
    rest({
      message: {
        message_id: 'm',
        role: 'ROLE_USER',
        ...some({ task_id: taskId, context_id: contextId }),
        extensions: listed,
        parts: parts.map(part => ('text' in part ? part : { data: part.data, ...some({ media_type: part.type }) }))
      }
    }),
  '0.3 as ProtoJSON': ({ taskId, contextId, listed, parts }) =>
    oldRest({
      request: {
        message_id: 'm',
        role: 'ROLE_USER',
        ...some({ task_id: taskId, context_id: contextId }),
        extensions: listed,
        content: parts.map(part => ('text' in part ? part : { data: { data: part.data }, metadata: some({ mime_type: part.type }) }))
      }
    })
}

t.test('a message gives the same view in every generation', async t => {
  t.ok(check('a2a/message/generations', fc.property(thought, message => {
    const expected = {
      taskId: message.taskId === null ? 'absent' : 'present',
      contextId: message.contextId === null ? 'absent' : 'present',
      listed: message.listed,
      parts: message.parts.map(part =>
        'text' in part
          ? { isData: false, data: undefined, types: [] }
          : { isData: true, data: json(part.data), types: part.type === null ? [] : [part.type] }
      )
    }
    for (const [name, write] of Object.entries(writers)) {
      const view = write(message)
      const { message: seen } = view
      const got = {
        taskId: seen?.taskId,
        contextId: seen?.contextId,
        listed: seen?.listed,
        parts: seen?.parts.map(part => ({ isData: part.isData, data: part.data, types: part.mediaTypes.map(type => type.text) }))
      }
      if (view.problems.length > 0 || JSON.stringify(got) !== JSON.stringify(expected)) throw new Error(`${name}: ${JSON.stringify(view)}`)
    }
  }), { numRuns: 500 }) > 0, 'inputs')
})

t.test('a value that ts-proto readers convert to text and others reject is a problem', async t => {
  const first = (view: RequestView): unknown => view.problems[0]
  for (const [request, path, message] of [
    [{ message: { taskId: 5 } }, 'params.message.taskId', 'must be a string'],
    [{ message: { contextId: ['c'] } }, 'params.message.contextId', 'must be a string'],
    [{ message: { extensions: 'urn:a' } }, 'params.message.extensions', 'must be a list of strings'],
    [{ message: { extensions: ['urn:b', ['urn:a']] } }, 'params.message.extensions[1]', 'must be a string'],
    [{ message: { metadata: [] } }, 'params.message.metadata', 'must be an object'],
    [{ metadata: 'x', message: {} }, 'params.metadata', 'must be an object'],
    [{ tenant: 0, message: {} }, 'params.tenant', 'must be a string'],
    [{ message: { parts: [{ text: ['a'] }] } }, 'params.message.parts[0].text', 'must be a string'],
    [{ message: { parts: [{ raw: [1] }] } }, 'params.message.parts[0].raw', 'must be a string'],
    [{ message: { parts: [{ url: 5 }] } }, 'params.message.parts[0].url', 'must be a string'],
    [{ message: { parts: [{ text: 'a', mediaType: 5 }] } }, 'params.message.parts[0].mediaType', 'must be a string'],
    [{ message: { parts: [{ text: 'a', metadata: [] }] } }, 'params.message.parts[0].metadata', 'must be an object']
  ] as const) t.same(first(current(request)), { path, message }, path)
  const nothing = {
    taskId: null,
    contextId: null,
    extensions: null,
    metadata: null,
    parts: [{ text: 'a', mediaType: null, metadata: null }]
  }
  t.same(current({ tenant: null, metadata: null, message: nothing }).problems, [], 'null is absent')
  t.same(old({ tenant: 5, message: {} }).problems, [], '0.3 knows no tenant')
})

t.test('0.3: data that only some agents read is a problem', async t => {
  const first = (view: RequestView): unknown => view.problems[0]?.message
  t.match(first(old({ message: { task_id: 't' } })), /is read as "taskId" by some agents only/)
  t.equal(first(oldRest({ message: { task_id: 't' } })), undefined, 'ProtoJSON has both spellings')
  t.match(first(old(parts({ kind: 'data' }))), /has kind "data" but lacks its content/)
  t.match(first(old(parts({ kind: 'file', file: { uri: 'https://a', bytes: 'aGk=' } }))), /contains both "uri" and "bytes"/)
  t.match(first(old(parts({ kind: 'file', file: [] }))), /must be an object/)
})

t.test('0.3: data that is not an object is wrapped, with a flag that translating SDKs know', async t => {
  const flagged = (data: unknown, flag: unknown = true): RequestView =>
    old(parts({ kind: 'data', data, metadata: { data_part_compat: flag } }))
  t.match(flagged({ value: [1] }), {
    problems: [],
    message: { parts: [{ data: [1], dataPath: 'params.message.parts[0].data.value', dataSteps: ['data', 'value'] }] }
  })
  for (const [view, name] of [
    [flagged({ value: 'x', a: 1 }), 'more beside it'],
    [flagged({ value: { a: 1 } }), 'an object'],
    [flagged({ a: 1 }), 'no value'],
    [flagged({ value: 1 }, 'true'), 'a flag that only Python takes']
  ] as const) t.match(view.problems[0]?.message, /contains "data_part_compat", but the data does not consist/, name)
  t.same(flagged({ value: 1 }, false).problems, [])
})
