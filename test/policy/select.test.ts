import t from 'tap'
import { readCall } from '#a2a/message/call.js'
import type { SelectorConfig } from '#config/model/model.js'
import { compileCondition } from '#policy/compile/condition.js'
import type { SelectContext } from '#policy/selectors/selection.js'
import { compileSelector } from '#policy/selectors/select.js'
import { RequestSubject } from '#policy/selectors/subject.js'

const view = (message: object): RequestSubject =>
  new RequestSubject(
    readCall({
      bytes: Buffer.from(JSON.stringify({ message })),
      binding: 'HTTP+JSON',
      version: '1.0',
      contentType: 'application/json',
      restOperation: 'SendMessage',
      limits: { depth: 64, members: 1_000 }
    }),
    []
  )
type Conditions = Parameters<typeof compileCondition>
const context: SelectContext = { policy: 'p', uris: ['urn:x'], matcher: () => () => true, activeAs: uri => [uri] }
const select = (part: SelectorConfig['part'], ...parts: unknown[]): unknown[] =>
  compileSelector(part === undefined ? {} : { part }, context)
    .select(view({ parts }))
    .map(({ path, captures, ambiguous }) => [path, Object.fromEntries(captures), ambiguous])

t.test('data: true selects DataParts, absence selects every part', async t => {
  const parts = [{ text: 'a' }, { data: 1 }, { url: 'u' }, { data: 2 }]
  t.same(select({ data: true }, ...parts), [['message.parts[1].data', {}, null], ['message.parts[3].data', {}, null]])
  t.equal(select({}, ...parts).length, 4)
  t.equal(select({ data: true, take: 'first' }, ...parts).length, 1)
  t.same(select({ data: true }), [])
})

t.test('media types: one or several patterns, parameters captured', async t => {
  const parts = [
    { data: 1, mediaType: 'application/json+a2ui' },
    { data: 2, mediaType: 'Application/A2UI+json; v=1' },
    { data: 3, mediaType: 'application/json;schema="x y"' },
    { data: 4 }
  ]
  t.same(select({ mediaType: 'application/json+a2ui' }, ...parts), [['message.parts[0].data', {}, null]])
  t.same(select({ mediaType: ['application/json+a2ui', 'application/a2ui+json;v=1', 'application/json;schema=*'] }, ...parts), [
    ['message.parts[0].data', {}, null], ['message.parts[1].data', {}, null], ['message.parts[2].data', { schema: 'x y' }, null]
  ])
  t.same(select({ mediaType: 'application/a2ui+json;v=2' }, ...parts), [])
})

t.test('a malformed type counts only for the pattern that it resembles', async t => {
  const parts = [{ data: 1, mediaType: 'application/json;;schema' }, { data: 2, mediaType: 'text/plain;x=' }]
  t.same(select({ mediaType: 'application/json' }, ...parts), [
    ['message.parts[0].data', {}, 'message.parts[0].mediaType is not a well-formed media type']
  ])
  t.same(select({ mediaType: 'image/png' }, ...parts), [])
})

t.test('take first: the first part, for each place that states a type', async t => {
  const mediaType = 'application/json'
  const inMetadata = { data: 1, metadata: { mimeType: mediaType } }
  const onPart = { data: 1, mediaType }
  const paths = (...parts: unknown[]): unknown[] =>
    select({ data: true, mediaType, take: 'first' }, ...parts).map(one => (one as unknown[])[0])
  t.same(paths(onPart, onPart), ['message.parts[0].data'])
  t.same(paths(inMetadata, inMetadata), ['message.parts[0].data'])
  t.same(paths(inMetadata, inMetadata, onPart, onPart), ['message.parts[0].data', 'message.parts[2].data'])
  t.same(paths({ ...onPart, ...inMetadata }, onPart, inMetadata), ['message.parts[0].data'])
})

t.test('conditions: all of when must match, and not all of unless', async t => {
  const rows: readonly (readonly [object, readonly [Conditions[0], Conditions[1]], boolean])[] = [
    [{ taskId: 't' }, [{ taskId: 'present' }, undefined], true],
    [{ taskId: 't' }, [{ taskId: 'absent' }, undefined], false],
    [{ taskId: 't' }, [{ taskId: 'present', contextId: 'present' }, undefined], false],
    [{ taskId: 't' }, [undefined, { taskId: 'present' }], false],
    [{}, [undefined, { taskId: 'present' }], true],
    [{ contextId: 'c' }, [{ taskId: 'absent' }, { contextId: 'present' }], false],
    [{}, [{}, undefined], true],
    [{}, [undefined, {}], false]
  ]
  for (const [message, [when, unless], expected] of rows) {
    t.equal(compileCondition(when, unless, context)?.(view(message)), expected, JSON.stringify([message, when, unless]))
  }
  t.equal(compileCondition(undefined, undefined, context), null)
})
