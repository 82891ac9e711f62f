/** Conditions on the caller: every key alone, all keys together, and a request without a caller. */
import t from 'tap'
import type { CallerConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import { compileCaller } from '#policy/access/caller.js'

const ADA: Principal = {
  source: 'corp',
  sources: ['corp', 'mesh'],
  kind: 'jwt',
  subject: 'ada',
  client: 'billing-ui',
  scopes: ['a2a.read', 'pay'],
  groups: ['finance', 'staff'],
  tenant: 'acme',
  spiffe: 'spiffe://prod.example.com/ns/jobs/sa/batch',
  claims: { employment: 'intern', level: 3, roles: ['a', 'b'], deep: { 'x/y': true }, none: null }
}
const BARE: Principal = { ...ADA, client: null, scopes: [], groups: [], tenant: null, spiffe: null, claims: {} }
const never = (): never => { throw new Error('no match in this condition') }

t.test('each key', async t => {
  const rows: readonly [CallerConfig, boolean][] = [
    [{ source: ['partners', 'corp'] }, true],
    [{ source: ['mesh'] }, true],
    [{ source: ['cor*'] }, false],
    [{ subject: ['bob', 'a*a'] }, true],
    [{ subject: ['ad'] }, false],
    [{ client: ['billing-*'] }, true],
    [{ spiffe: ['spiffe://prod.example.com/ns/jobs/*'] }, true],
    [{ spiffe: ['spiffe://prod.example.com/ns/web/*'] }, false],
    [{ scopes: ['pay', 'a2a.read'] }, true],
    [{ scopes: ['pay', 'admin'] }, false],
    [{ groups: ['admins', 'finance'] }, true],
    [{ groups: ['admins'] }, false],
    [{ tenant: ['acme'] }, true],
    [{ claims: { '/employment': 'intern' } }, true],
    [{ claims: { '/employment': ['full', 'intern'] } }, true],
    [{ claims: { '/employment': 'full' } }, false],
    [{ claims: { '/roles': 'b' } }, true],
    [{ claims: { '/deep/x~1y': true, '/level': 3 } }, true],
    [{ claims: { '/level': '3' } }, false],
    [{ claims: { '/absent': 'x' } }, false],
    [{ claims: { '/constructor': 'x' } }, false],
    [{ subject: ['ada'], groups: ['admins'] }, false],
    [{ anonymous: false }, true],
    [{ anonymous: true }, false]
  ]
  t.same(rows.filter(([config, expected]) => compileCaller(config, never)(ADA) !== expected), [])
  t.same(rows.filter(([config]) => compileCaller(config, never)(null)).map(([config]) => config), [{ anonymous: true }])
})

t.test('a caller without a value does not match a pattern for it', async t => {
  for (const key of ['client', 'tenant', 'spiffe'] as const) t.notOk(compileCaller({ [key]: ['*'] }, never)(BARE), key)
})

t.test('match sees the caller without its kind', async t => {
  const seen: unknown[] = []
  const condition = compileCaller({ match: { type: 'object' } }, schema => shape => seen.push(schema, shape) > 0)
  t.ok(condition(ADA))
  const { kind: _, ...shape } = ADA
  t.same(seen, [{ type: 'object' }, shape])
})
