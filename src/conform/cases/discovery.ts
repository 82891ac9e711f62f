/** Discovery: the card that a client gets from the proxy. */
import type { Case, CardRule } from '../model.js'
import { casesOf, CARD, HTTP } from './build.js'
import type { Row } from './build.js'

/** A rule for the card. */
const card = (id: string, name: string, rule: CardRule, level: Row['level'], extra: Partial<Row> & { readonly spec: string }): Row => ({
  id: `D-${id}`, name, group: 'discovery', level, on: CARD, operation: 'card', expect: [{ check: 'card', rule }], ...extra
})
/** Another request for the card. */
const header = (id: string, name: string, level: Row['level'], expect: Row['expect'], extra: Partial<Row> & { readonly spec: string }): Row => ({
  id: `D-${id}`, name, group: 'discovery', level, on: CARD, operation: 'card', expect, ...extra
})

export const DISCOVERY_CASES: readonly Case[] = casesOf([
  card('VALID', 'the card is at the well-known path, as JSON', 'valid', 'must', { spec: 'A2A 1.0.1 §8.2', register: 'T2' }),
  card(
    'ADDRESSES', 'all addresses of interfaces lead to the proxy', 'addresses', 'must', { spec: 'profile D1', claims: ['rewritesCards'] }
  ),
  card('REACHABLE', 'each interface of the card leads to the agent', 'reachable', 'must', { spec: 'profile D2' }),
  card('ORDER', 'the order of the interfaces, which is their preference, stays', 'order', 'must', { spec: 'A2A 1.0.1 §8.3.1' }),
  card('MEMBERS', 'all other members of the card stay', 'members', 'must', { spec: 'A2A 1.0.1 §5.7', register: 'A4' }),
  card(
    'SIGNATURE', 'a card that has changed keeps no signature of the old content', 'signature', 'must',
    { spec: 'A2A 1.0.1 §8.4; profile D3' }
  ),
  card(
    'VALIDATOR', 'the card has an entity tag that follows from its content', 'validator', 'should',
    { spec: 'A2A 1.0.1 §8.6; RFC 9110 §8.8.3' }
  ),
  card('NOT-MODIFIED', 'a client that has the card gets 304', 'not-modified', 'should', { spec: 'A2A 1.0.1 §8.6; RFC 9110 §13.1.2' }),
  card('HOST', 'the Host of one client does not change the card of another', 'host', 'must', { spec: 'RFC 9110 §7.2; profile D4' }),
  card(
    'FORWARDED-HOST', 'a forwarding header of a client does not change the card', 'forwarded-host', 'must',
    { spec: 'RFC 7239 §8.1; profile D4' }
  ),
  card('OLD-PATH', 'the path of A2A 0.2 has the same card', 'same-everywhere', 'may', { spec: 'A2A 0.2.6 §5.3' }),
  card('PRIVATE', 'the extended card of one caller is not given to another', 'private', 'must', { spec: 'A2A 1.0.1 §13.3; RFC 9111 §3.5' }),
  header(
    'CACHE-CONTROL', 'Cache-Control has a max-age', 'should',
    [{ check: 'response-header', name: 'Cache-Control', as: 'has', value: 'max-age' }], { spec: 'A2A 1.0.1 §8.6' }
  ),
  header('VERSION-1.0', 'a client of 1.0 gets the card', 'must', [{ check: 'card', rule: 'valid' }, { check: 'card', rule: 'members' }], {
    spec: 'A2A 1.0.1 §3.6',
    request: () => ({ kind: 'http', method: 'GET', target: '/.well-known/agent-card.json', headers: [['A2A-Version', '1.0']], body: null })
  }),
  header('HEAD', 'HEAD gets the headers of the card, and no body', 'should', [
    { check: 'status' }, { check: 'body', as: 'bytes' }, { check: 'response-header', name: 'Content-Type', as: 'present' }
  ], {
    spec: 'RFC 9110 §9.3.2',
    request: () => ({ kind: 'http', method: 'HEAD', target: '/.well-known/agent-card.json', headers: [], body: null })
  }),
  header('QUERY', 'a query after the path of the card does not matter', 'should', [{ check: 'card', rule: 'valid' }], {
    spec: 'RFC 9110 §7.1',
    request: () => ({ kind: 'http', method: 'GET', target: '/.well-known/agent-card.json?x=1', headers: [], body: null })
  }),
  {
    id: 'D-EXTENDED',
    name: 'the addresses of an extended card lead to the proxy',
    group: 'discovery',
    level: 'must',
    spec: 'profile D1; A2A 1.0.1 §13.3',
    on: HTTP,
    operation: 'get_extended_agent_card',
    expect: [
      { check: 'status' }, { check: 'card', rule: 'extended' }
    ],
    claims: ['rewritesCards']
  },
  {
    id: 'D-EXTENDED-STORE',
    name: 'an extended card is not stored for others',
    group: 'discovery',
    level: 'must',
    spec: 'RFC 9111 §3.5',
    on: [
      ['rest', '1.0']
    ],
    operation: 'get_extended_agent_card',
    expect: [{ check: 'response-header', name: 'Cache-Control', as: 'has', value: 'private' }]
  }
])
