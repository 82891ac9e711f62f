/**
 * Three gateways in a line (a, b, c) with one initiator: depth, loops, targets and rights hold at each of them, also when one is bypassed.
 * Agents and clients are those of the official SDK.
 */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import t from 'tap'
import { untilSame } from '../helpers/http.js'
import { accessOf, claimsIn, HEADER, headersOf, lineOf } from './kit.js'
import type { Transport } from './kit.js'

const STAFF = 'allow: [{id: agents, on: [all], caller: {groups: [agents]}}, {id: staff, on: [all], caller: {groups: [staff]}}]'
const TEXT = 'allow: [{id: agents, on: [all], caller: {groups: [agents]}}, {id: tasks, on: [GetTask], caller: {groups: [guests]}}, ' +
  '{id: small, on: [messages], caller: {groups: [guests]}, when: {match: {properties: {message: {properties: {parts: {maxItems: 1}}}}}}, unless: {match: {properties: {message: {properties: {parts: {contains: {properties: {text: {const: end}}, required: [text]}}}}}}}}]'
const FORMS: readonly Transport[] = ['JSONRPC', 'HTTP+JSON', 'GRPC']

t.test('three gateways in a line', async t => {
  const line = await lineOf(t, {
    further: {
      a: { narrow: accessOf('as: {client: a}, mayReach: ["b/*"]'), named: accessOf('as: {client: a}, mayReach: [b, c]'), mute: accessOf('maxDepth: 3') },
      c: {
        shallow: accessOf('maxDepth: 1'),
        direct: accessOf('maxDepth: 0'),
        private: accessOf('maxDepth: 3', STAFF),
        body: accessOf('maxDepth: 3', TEXT),
        any: accessOf('initiator: ignore', STAFF)
      }
    }
  })
  const { agents, gateways, send } = line
  const metric = (outcome: string, agent = 'c'): Promise<number> =>
    gateways.c.metric(`a2a_gateway_delegations_total{agent="${agent}",outcome="${outcome}"}`)

  for (const transport of FORMS) {
    t.equal(await send('alice', 'a b c', transport), 'c was reached', transport)
    t.match(claimsIn(headersOf(agents.c)[HEADER] ?? ''), {
      iss: 'test',
      initiator: { source: 'keys', kind: 'apiKey', subject: 'alice', client: 'alice', groups: ['staff'] },
      hops: ['a/a', 'b/b', 'c/c'],
      depth: 3,
      presenter: { client: 'c' }
    }, `${transport}: the chain for the last agent`)
    t.match(await send('alice', 'a b a', transport), /already passed through this agent/, `${transport}: a loop`)
    t.match(await send('alice', 'a b@ c', transport), /belongs to another agent/, `${transport}: agent b is called without its gateway, and passes the chain of a on`)
  }
  t.equal(await metric('delegated'), 3)
  t.equal(await metric('presenter'), 3)

  // Depth: the same limit holds whichever way the call takes.
  t.equal(await send('alice', 'a c/shallow'), 'c was reached', 'one agent in between')
  t.match(await send('alice', 'a b c/shallow'), /Too many agents stand between/, 'two agents in between')
  t.equal(await send('alice', 'c/direct'), 'c was reached')
  t.match(await send('alice', 'a c/direct'), /Too many agents/)
  t.equal(await metric('depth', 'shallow'), 1)

  // Targets: what one agent may reach, no agent behind it may reach either.
  t.match(await send('alice', 'a/narrow b c'), /may not reach this agent/)
  t.equal(await send('alice', 'a/narrow b'), 'b was reached')
  t.equal(await send('alice', 'a/named b c'), 'c was reached', 'names without a gateway')
  t.match(await send('alice', 'a/named b c/shallow'), /Too many agents|may not reach/)
  t.equal(await metric('target'), 1)

  // Rights: never more than the initiator.
  t.equal(await send('alice', 'a b c/private'), 'c was reached')
  t.match(await send('bob', 'a b c/private'), /caller who initiated the call may not send/)
  t.equal(await send('bob', 'a b c'), 'c was reached')
  t.equal(await send('bob', 'a b c/any'), 'c was reached', 'initiator: ignore')
  t.match(await send('bob', 'a c/body'), /caller who initiated the call may not send/, 'a condition on the body')
  t.equal(await metric('initiator', 'private'), 1)
  t.equal(await metric('initiator', 'body'), 1)
  await untilSame(t, () => gateways.c.audits().some(one => {
    const { delegation } = one as { readonly delegation?: { readonly initiator: { readonly id: string } } }
    return one['agent'] === 'private' && one['reason'] === 'DELEGATION_NOT_ALLOWED' && delegation?.initiator.id === 'bob'
  }), true, 'the audit line')
  t.match(gateways.c.audits().find(one => one['agent'] === 'private'), {
    decision: 'rejected',
    extension: 'gateway',
    rule: 'delegation',
    caller: { id: 'b' },
    delegation: { depth: 2, hops: ['a/a', 'b/b'], initiator: { source: 'keys', id: 'bob' } }
  })

  // Agents must say for whom they call.
  for (const transport of FORMS) t.match(await send('alice', 'a -b c', transport), /does not say for whom it calls/, transport)
  t.match(await send('alice', 'a b@ -c'), /does not say for whom it calls/, 'bypassed, and without the chain')
  t.match(await send('alice', 'a/mute b'), /does not say for whom it calls/, 'an agent without "as" gets no chain')
  t.equal(headersOf(agents.a)[HEADER], undefined)

  // Headers that no gateway has written for this caller.
  const stolen = headersOf(agents.b)[HEADER] ?? ''
  const now = Math.floor(Date.now() / 1_000)
  const own = await (await fetch(new URL('/.well-known/jwks.json', line.cardUrl('a')))).json() as { readonly keys: readonly { readonly kid: string }[] }
  const kidOf = own.keys[0]?.kid ?? ''
  const made = (claims: object, file = 'a.pem', header: object = {}): Promise<string> =>
    new SignJWT({ ...claimsIn(stolen), presenter: { client: 'bob' }, iat: now, exp: now + 60, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: kidOf, typ: 'a2a-delegation+jwt', ...header })
      .sign(createPrivateKey(readFileSync(join(line.dir, file))))
  const forged: readonly [what: string, header: string, expected: RegExp][] = [
    ['a valid one', await made({}), /^c was reached$/],
    ['of another caller', stolen, /belongs to another agent/],
    ['with another signature', `${stolen.slice(0, -8)}AAAAAAAA`, /signature of the header a2a-delegation is not valid/],
    ['with changed claims', [stolen.split('.')[0], Buffer.from(JSON.stringify({ ...claimsIn(stolen), depth: 3 })).toString('base64url'), stolen.split('.')[2]].join('.'), /signature/],
    ['too old', await made({ iat: now - 600, exp: now - 60 }), /has expired/],
    ['of the future', await made({ iat: now + 600, exp: now + 1_200 }), /not valid yet/],
    ['of another domain', await made({ iss: 'other' }), /is not a chain of callers of this trust domain/],
    ['of another type', await made({}, 'a.pem', { typ: 'at+jwt' }), /is not a chain/],
    ['with an unknown key', await made({}, 'a.pem', { kid: 'nobody' }), /a key that is not trusted here/],
    ['without hops', await made({ hops: [] }), /is not a chain/],
    ['with too small a depth', await made({ depth: 0 }), /is not a chain/],
    ['without a presenter', await made({ presenter: {} }), /is not a chain/],
    ['without an initiator', await made({ initiator: undefined }), /is not a chain/],
    ['of nobody', await made({ initiator: null }), /caller who initiated the call may not send/],
    ['twice', `${stolen}, ${stolen}`, /is not a chain/],
    ['as text', 'alice', /is not a chain/],
    ['too long', `${'a'.repeat(9_000)}.b.c`, /is not a chain/]
  ]
  for (const [what, header, expected] of forged) t.match(await send('bob', 'c', 'JSONRPC', { [HEADER]: header }), expected, `a chain ${what}`)
  t.equal(await send('bob', 'c', 'GRPC', { [HEADER]: await made({ depth: 9 }) }).then(text => /Too many agents/.test(text)), true, 'the depth that a gateway has signed')
  t.equal(await metric('signature') + await metric('expired') + await metric('unknown_key'), 5)

  // Via: nobody signs it, and it can only add.
  const via = Array.from({ length: 6 }, (_, i) => `1.1 a2a-gateway-00000000000${i}`).join(', ')
  t.match(await send('alice', 'c', 'JSONRPC', { via }), /Too many agents/)
  t.equal(await send('alice', 'c', 'JSONRPC', { via: '1.1 proxy, 1.1 a2a-gateway-000000000000' }), 'c was reached')
})
