import t from 'tap'
import type { TaskOwnershipConfig } from '#config/model/model.js'
import type { Principal } from '#identity/principal.js'
import type { CompiledOwnership } from '#policy/access/ownership.js'
import { compileOwnership, outcomeOf, taskCallerOf } from '#policy/access/ownership.js'

const CONFIG: TaskOwnershipConfig = { owner: 'subject', contexts: 'own', list: 'filter', onUnknown: 'reject', shared: null }
const ADA: Principal = {
  source: 's', sources: ['s'], kind: 'jwt', subject: 'ada', client: 'app', scopes: [], groups: ['users'], tenant: null, spiffe: null, claims: {}
}

const compiled = (more: Partial<TaskOwnershipConfig> = {}): CompiledOwnership =>
  compileOwnership({ ...CONFIG, ...more }, () => () => false) as CompiledOwnership
const owner = (caller: Principal | null, more: Partial<TaskOwnershipConfig> = {}): string => taskCallerOf(compiled(more), caller).owner

t.test('owners differ by source and by subject or client', async t => {
  t.equal(owner(ADA), owner({ ...ADA, client: 'other', groups: [] }))
  t.not(owner(ADA), owner({ ...ADA, subject: 'bob' }))
  t.not(owner(ADA), owner({ ...ADA, source: 'other' }))
  t.not(owner({ ...ADA, source: 'a', sources: ['a'], subject: 'b,c' }), owner({ ...ADA, source: 'a,b', sources: ['a,b'], subject: 'c' }))
  t.equal(owner(ADA, { owner: 'client' }), owner({ ...ADA, subject: 'bob' }, { owner: 'client' }))
  t.not(owner({ ...ADA, client: null }, { owner: 'client' }), owner({ ...ADA, client: 'ada' }, { owner: 'client' }), 'a subject is no client of that name')
  t.not(owner({ ...ADA, client: null }, { owner: 'client' }), owner({ ...ADA, client: null, subject: 'bob' }, { owner: 'client' }))
  t.equal(compileOwnership(null, () => () => false), null)
})

t.test('requests without a caller own nothing, not even what they create', async t => {
  const nobody = taskCallerOf(compiled(), null)
  t.equal(outcomeOf(nobody, nobody.owner), 'mismatch')
  t.equal(outcomeOf(nobody, null), 'unknown')
  t.equal(taskCallerOf(compiled({ shared: { anonymous: true } }), null).shared, true)
  t.equal(taskCallerOf(compiled({ shared: { groups: ['support'] } }), ADA).shared, false)
})
