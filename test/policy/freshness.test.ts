/** `notOlderThan`: the age of values, by the clock that the caller passes. */
import t from 'tap'
import type { FreshnessConfig } from '#config/model/policy-model.js'
import { withBudget } from '#jsonschema/evaluation.js'
import { compileFreshness, freshnessProblem } from '#policy/freshness.js'
import { plain } from '#policy/selectors/selection.js'
import { ask, policyFor, rule, V1 } from './responses.js'
import { declaring, message, policyOf, send } from './fixtures.js'

const AT = Date.parse('2026-01-15T12:00:00Z')

/** @param seconds time of the evaluation, after AT */
function problem (config: FreshnessConfig, value: unknown, seconds: number | null): string | null {
  const now = seconds === null ? null : AT + seconds * 1000
  const found = withBudget(null, () => freshnessProblem(compileFreshness({ skew: '0s', ...config }), plain('v', value, [])), now)
  return found === null ? null : `${found.path} ${found.message}`
}

t.test('age, lifetime and expiry: the earliest end counts', async t => {
  const at = '2026-01-15T12:00:00Z'
  const whole: FreshnessConfig = { age: '60s', time: '/at', ttl: '/g/ttl', expires: '/g/exp' }
  const rows: [FreshnessConfig, unknown, number, boolean][] = [
    [{ age: '60s' }, at, 60, true],
    [{ age: '60s' }, at, 61, false],
    [{ age: '60s' }, '2026-01-15t14:00:00.5+02:00', 60, true],
    [{ age: '60s' }, AT / 1000, 61, false],
    [{ age: '60s' }, String(AT / 1000), 60, true],
    [whole, { at }, 60, true],
    [whole, { at, g: { ttl: 10 } }, 11, false],
    [whole, { at, g: { ttl: 1000 } }, 61, false],
    [whole, { at, g: { ttl: 50, exp: '2026-01-15T12:00:40Z' } }, 41, false],
    [whole, { at, g: { ttl: 50, exp: '2026-01-15T12:00:40Z' } }, 40, true],
    [{ time: '/at', ttl: '/ttl' }, { at }, 1e9, true],
    [{ expires: '/e' }, { e: at }, 0, true],
    [{ expires: '/e' }, { e: at }, 1, false],
    [{ expires: '/e' }, {}, 1, true],
    [{ age: '60s', skew: '5s' }, at, 65, true],
    [{ age: '60s', skew: '5s' }, at, -5, true],
    [{ age: '60s', skew: '5s' }, at, -6, false]
  ]
  for (const [config, value, now, fresh] of rows) {
    t.equal(problem(config, value, now) === null, fresh, `${JSON.stringify(config)} ${JSON.stringify(value)} ${now}`)
  }
})

t.test('what is no time, and no clock, is a violation', async t => {
  for (const value of ['yesterday', '2026-01-15', '2026-13-45T12:00:00Z', null, true, {}, [], undefined, '', NaN]) {
    t.equal(problem({ age: '60s' }, value, 0), 'v must be a time: RFC 3339, or seconds since 1970')
  }
  const at = '2026-01-15T12:00:00Z'
  for (const ttl of ['10', -1, null]) t.equal(problem({ time: '/at', ttl: '/ttl' }, { at, ttl }, 0), 'v.ttl must be a number of seconds, 0 or more')
  t.equal(problem({ time: '/at', expires: '/e' }, { at, e: 'soon' }, 0), 'v.e must be a time: RFC 3339, or seconds since 1970')
  t.equal(problem({ age: '60s' }, at, null), 'v cannot be evaluated: the current time is not known')
})

t.test('in rules for requests and for responses', async t => {
  const uri = 'urn:x'
  const policy = policyOf(declaring(uri), {
    x: { uri, request: [{ id: 'r', select: { part: { data: true, path: '/at' } }, notOlderThan: { age: '60s' } }] }
  })
  t.match(send(policy, message({ data: { at: '2001-01-01T00:00:00Z' } })).rejection, { rule: 'x/r', message: /cannot be evaluated/ }, 'no clock')
  const { review } = ask(policyFor({ response: [rule({ select: { part: { data: true, path: '/at' } }, schema: true, notOlderThan: { age: '60s' } })] }))
  const answered = review?.evaluate(V1.body('message', V1.message([{ data: { at: '2001-01-01T00:00:00Z' } }], {}, 'agent')), false)
  t.match(answered?.rejection, { rule: 'ext/r' })
})
