/**
 * For any strip edits, the forwarded bytes parse, contain nothing that the rules remove, pass the rules a second time unchanged, and
 * otherwise equal the client's bytes.
 */
import fc from 'fast-check'
import { deepStrictEqual as same, strictEqual as equal } from 'node:assert'
import t from 'tap'
import { bodyOf } from '#pipeline/request.js'
import type { PolicyConfig } from '#config/model/model.js'
import { check } from '../helpers/seed.js'
import { declaring, policyOf, send } from './fixtures.js'

const URI = 'urn:x:v1'
const KEYS = ['a', 'b.1', 'b.2', '__proto__', 'é', '', 'c']

/** A key as no encoder would write it. */
const escaped = (key: string): string => `"${[...key].map(letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
const key = fc.tuple(fc.constantFrom(...KEYS), fc.boolean()).map(([name, odd]) => odd ? escaped(name) : JSON.stringify(name))
const space = fc.constantFrom('', '', ' ', '\n')
const scalar = fc.constantFrom('1', '1.0', '12345678901234567890', '"b.1"', 'null', '{"a":1e400}', '[{"b.1":2}]', '"},{"')
const members = fc.uniqueArray(fc.tuple(key, scalar), { maxLength: 5, selector: ([name]) => JSON.parse(name) as string })
const object = fc
  .tuple(members, space)
  .map(([all, gap]) => `{${all.map(([name, value]) => `${gap}${name}${gap}:${gap}${value}${gap}`).join(',')}}`)
const part = fc
  .tuple(fc.option(object), fc.option(object), fc.constantFrom('', ',"mediaType":"application/x"', ',"media_type":"application/x"'))
  .map(
    ([data, metadata, type]) =>
      `{${data === null ? '"text":"t"' : `"data":${data}`}${metadata === null ? '' : `,"metadata":${metadata}`}${type}}`
  )
const request = fc
  .tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.option(object), fc.option(object), space)
  .map(
    ([parts, message, params, gap]) =>
      `{"message":{${gap}"parts":[${parts.join(`${gap},`)}]${message === null ? '' : `,"metadata":${message}`}}${params === null ? '' : `,"metadata":${params}`}${gap}}`
  )

const names = fc.subarray(['a', 'b.*', '__proto__', 'é', '*'], { minLength: 1, maxLength: 3 })
const policy = fc.oneof(
  fc.record({ metadata: names, dataKeys: names }).map((owns): PolicyConfig => ({ uri: URI, owns, inactive: { request: 'strip' } })),
  names.map((keys): PolicyConfig => ({
    uri: URI,
    request: [
      ...keys.map((one, i) => ({
        id: `m${i}`,
        select: { metadata: { in: ['message', 'params', 'part'] as const, key: one } },
        schema: false,
        verdict: 'strip' as const
      })),
      ...keys.map((one, i) => ({ id: `d${i}`, select: { part: { dataKey: one } }, count: { max: 0 }, verdict: 'strip' as const }))
    ]
  }))
)

const FORBIDDEN = (config: PolicyConfig): RegExp[] =>
  [...(config.owns?.metadata ?? []), ...(config.request ?? []).flatMap(({ select }) => select.metadata?.key ?? [])].map(
    glob => new RegExp(`^${glob.replace('.', '\\.').replace('*', '.*')}$`, 's')
  )
const DATA = (config: PolicyConfig): RegExp[] =>
  [...(config.owns?.dataKeys ?? []), ...(config.request ?? []).flatMap(({ select }) => select.part?.dataKey ?? [])].map(
    glob => new RegExp(`^${glob.replace('.', '\\.').replace('*', '.*')}$`, 's')
  )

interface Sent { message: { parts: Record<string, unknown>[], metadata?: Record<string, unknown> }, metadata?: Record<string, unknown> }

/** The same by another way: parsed, members left out. */
function expected (value: Sent, config: PolicyConfig): unknown {
  const without = (from: unknown, patterns: readonly RegExp[]): unknown =>
    typeof from !== 'object' || from === null
      ? from
      : Object.fromEntries(Object.entries(from).filter(([name]) => !patterns.some(pattern => pattern.test(name))))
  const clean = <T extends { metadata?: unknown }>(holder: T): T =>
    holder.metadata === undefined ? holder : { ...holder, metadata: without(holder.metadata, FORBIDDEN(config)) }
  return clean({
    ...value,
    message: clean({
      ...value.message,
      parts: value.message.parts.map(one => clean('data' in one ? { ...one, data: without(one['data'], DATA(config)) } : one))
    })
  })
}

/** White space and commas aside, what is left is what was there, in its order. */
function isSubsequence (short: string, long: string): boolean {
  let at = 0
  for (const letter of short.replace(/[\s,]/g, '')) {
    at = long.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}

t.test('stripped requests', async t => {
  let changed = 0
  check('policy/edits-property/stripped', fc.property(policy, request, (config, params) => {
    const text = `{"jsonrpc":"2.0","id":1e0,"method":"SendMessage","params":${params}}`
    const compiled = policyOf(declaring(URI), { x: config })
    const once = (bytes: Buffer): Buffer => {
      const decision = send(compiled, bytes.toString())
      equal(decision.rejection, null)
      return bodyOf({ decision }, bytes)
    }
    const before = Buffer.from(text)
    const after = once(before)
    const parsed = JSON.parse(after.toString()) as { params: Sent }
    same(JSON.stringify(parsed.params), JSON.stringify(expected((JSON.parse(text) as { params: Sent }).params, config)))
    equal(isSubsequence(after.toString(), text), true)
    equal(once(after), after, 'nothing is left to strip: the very same buffer')
    if (after === before) equal(after.toString(), text)
    else changed++
  }), { numRuns: 500 })
  t.ok(changed > 100, `${changed} requests were changed`)
})
