/** Discovery: the card that a client gets from the proxy. */
import type { Case, CardRule, Claim } from '../model.js'
import { casesOf, CARD, HTTP } from './build.js'
import type { Row } from './build.js'

const card = (id: string, name: string, rule: CardRule, level: Row['level'], spec: string, claims: readonly Claim[] = [], register?: string): Row => ({
  id: `D-${id}`, name, group: 'discovery', level, spec, on: CARD, operation: 'card', expect: [{ check: 'card', rule }], ...claims.length > 0 ? { claims } : {}, ...register === undefined ? {} : { register }
})
const header = (id: string, name: string, level: Row['level'], spec: string, expect: Row['expect'], lines: ReadonlyArray<readonly [string, string]> = [], extra: Partial<Row> = {}): Row => ({
  id: `D-${id}`,
  name,
  group: 'discovery',
  level,
  spec,
  on: CARD,
  operation: 'card',
  expect,
  request: () => ({ kind: 'http', method: 'GET', target: '/.well-known/agent-card.json', headers: [['Accept', 'application/json'], ...lines], body: null }),
  ...extra
})

export const DISCOVERY_CASES: readonly Case[] = casesOf([
  card('VALID', 'the card is at the well-known path, as JSON', 'valid', 'must', 'A2A 1.0.1 §8.2', [], 'T2'),
  card('ADDRESSES', 'all addresses of interfaces lead to the proxy', 'addresses', 'must', 'profile D1', ['rewritesCards']),
  card('REACHABLE', 'each interface of the card leads to the agent', 'reachable', 'must', 'profile D2'),
  card('ORDER', 'the order of the interfaces, which is their preference, stays', 'order', 'must', 'A2A 1.0.1 §8.3.1'),
  card('MEMBERS', 'all other members of the card stay', 'members', 'must', 'A2A 1.0.1 §5.7', [], 'A4'),
  card('SIGNATURE', 'a card that has changed keeps no signature of the old content', 'signature', 'must', 'A2A 1.0.1 §8.4; profile D3'),
  card('VALIDATOR', 'the card has an entity tag, of its own content', 'validator', 'should', 'A2A 1.0.1 §8.6; RFC 9110 §8.8.3'),
  card('NOT-MODIFIED', 'a client that has the card gets 304', 'not-modified', 'should', 'A2A 1.0.1 §8.6; RFC 9110 §13.1.2'),
  card('HOST', 'the Host of one client does not change the card of another', 'host', 'must', 'RFC 9110 §7.2; profile D4'),
  card('FORWARDED-HOST', 'a forwarding header of a client does not change the card', 'forwarded-host', 'must', 'RFC 7239 §8.1; profile D4'),
  card('OLD-PATH', 'the path of A2A 0.2 has the same card', 'same-everywhere', 'may', 'A2A 0.2.6 §5.3'),
  card('PRIVATE', 'the extended card of one caller is not given to another', 'private', 'must', 'A2A 1.0.1 §13.3; RFC 9111 §3.5'),
  header('CACHE-CONTROL', 'Cache-Control has a max-age', 'should', 'A2A 1.0.1 §8.6', [{ check: 'response-header', name: 'Cache-Control', as: 'has', value: 'max-age' }]),
  header('VERSION-1.0', 'a client of 1.0 gets the card', 'must', 'A2A 1.0.1 §3.6', [{ check: 'card', rule: 'valid' }, { check: 'card', rule: 'members' }], [['A2A-Version', '1.0']]),
  header('HEAD', 'HEAD gets the headers of the card, and no body', 'should', 'RFC 9110 §9.3.2', [{ check: 'status' }, { check: 'body', as: 'bytes' }, { check: 'response-header', name: 'Content-Type', as: 'present' }], [], {
    request: () => ({ kind: 'http', method: 'HEAD', target: '/.well-known/agent-card.json', headers: [], body: null })
  }),
  header('QUERY', 'a query after the path of the card does not matter', 'should', 'RFC 9110 §7.1', [{ check: 'card', rule: 'valid' }], [], {
    request: () => ({ kind: 'http', method: 'GET', target: '/.well-known/agent-card.json?x=1', headers: [], body: null })
  }),
  header('NO-FETCH', 'addresses in the card are not fetched', 'must', 'profile S7; A2A 1.0.1 §14.1.1', [{ check: 'no-fetch' }]),
  {
    id: 'D-EXTENDED', name: 'the addresses of an extended card lead to the proxy', group: 'discovery', level: 'must', spec: 'profile D1; A2A 1.0.1 §13.3', on: HTTP, operation: 'get_extended_agent_card', expect: [{ check: 'status' }, { check: 'card', rule: 'extended' }], claims: ['rewritesCards']
  },
  {
    id: 'D-EXTENDED-STORE', name: 'an extended card is not stored for others', group: 'discovery', level: 'must', spec: 'RFC 9111 §3.5', on: [['rest', '1.0']], operation: 'get_extended_agent_card', expect: [{ check: 'response-header', name: 'Cache-Control', as: 'has', value: 'private' }]
  }
])
