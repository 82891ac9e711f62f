/** Every sentence about `access.require` and `card.security`, as printed. The files are those of identity-rows.ts. */
import type { Row } from './rows.js'

const SOURCES = [
  'corp: {jwt: {issuer: "https://idp.example.com", audience: ["aud"], keys: discover}}',
  'other: {jwt: {issuer: "https://other.example.com", audience: ["aud"], keys: discover}}',
  'partners: {apiKey: {header: X-Key, keys: {file: keys.yaml}}}',
  'more: {apiKey: {header: x-key, keys: {file: keys.json}}}',
  'page: {apiKey: {cookie: session, keys: {file: keys.yaml}}}',
  'hook: {apiKey: {query: key, allowQuery: true, keys: {file: keys.yaml}}}',
  'twice: {apiKey: {query: key, allowQuery: true, keys: {file: keys.json}}}',
  'people: {basic: {keys: {file: keys.yaml}}}',
  'inner: {jwt: {issuer: "https://inner.example.com", audience: ["aud"], keys: discover, header: x-token}}'
]
const identity = (...names: string[]): string => `identity: {sources: {${SOURCES.filter(one => names.includes(one.slice(0, one.indexOf(':')))).join(', ')}}}\n`
const ALL = identity('corp', 'other', 'partners', 'more', 'page', 'hook', 'twice', 'people', 'inner')
const agent = (more: string): string => `version: 1\nagents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"}, ${more}}\n`
const require = (value: string, sources = ALL): string => agent(`access: {require: ${value}}`) + sources
const AT = 'agents[0].access.require'
/** A source of two audiences. */
const TWO = identity('corp', 'people').replace('["aud"]', '["aud", "bud"]')
const admin = (more: string): string => `server: {adminAccess: {${more}}}\n`

export const REQUIRE_ROWS: readonly Row[] = [
  ['right', require('[[corp, partners], [people], [anonymous]]', identity('corp', 'partners', 'people'))],
  ['right, by the card', require('card')],
  ['right, null', require('null')],
  ['right, defaults', agent('card: {}') + `accessDefaults: {require: [[corp]]}\n${identity('corp')}`],
  ['right, defaults replaced', agent('access: {require: null}') + `accessDefaults: {require: [[corp]]}\n${identity('corp', 'people')}`],
  ['right, the schemes of the gateway', agent('card: {security: gateway, securityForm: plain}') + ALL],
  ['another word', require('cart'), `g.yaml:3:72: ${AT} must be "card", or a list of alternatives (such as "[[corp, mesh], [partners]]": each a list of sources)`],
  ['no alternatives', require('[]'), `g.yaml:3:72: ${AT} must have at least 1 entry`],
  ['a list of names', require('[corp]'), `g.yaml:3:73: ${AT}[0] must be a list, not a string (write [corp])`],
  ['an empty alternative', require('[[]]'), `g.yaml:3:73: ${AT}[0] must have at least 1 entry`],
  ['a name twice', require('[[corp, corp]]'), `g.yaml:3:80: ${AT}[0] lists "corp" twice`],
  ['an unknown source', require('[[crop]]'), `g.yaml:3:74: ${AT}[0][0]: identity has no source "crop" (did you mean "corp"?)`],
  [
    'a source that nothing resembles',
    require('[[corp, zzzzzzzzzz]]', identity('corp', 'people')),
    `g.yaml:3:80: ${AT}[0][1]: identity has no source "zzzzzzzzzz" (its sources: corp, people)`
  ],
  [
    'anonymous with others',
    require('[[corp, anonymous]]'),
    `g.yaml:3:73: ${AT}[0] requires credentials and none of them (make anonymous a separate alternative: [[a], [anonymous]])`
  ],
  ...([
    ['corp, other', 'corp', 'other', 'header authorization', 80],
    ['corp, people', 'corp', 'people', 'header authorization', 80],
    ['partners, more', 'partners', 'more', 'header x-key', 84],
    ['hook, twice', 'hook', 'twice', 'query parameter key', 80]
  ] as const).map(([names, one, two, place, col]): Row => [
    `one place: ${names}`,
    require(`[[${names}]]`),
    `g.yaml:3:${col}: ${AT}[0][1]: no request can have credentials of "${one}" and "${two}": both are in the ${place} (make each a separate alternative)`
  ]),
  ['right, several places', require('[[corp, partners, page, hook, inner], [other], [more], [twice], [people]]')],
  ['without identity', require('[[corp]]', ''), `g.yaml:3:63: ${AT} needs identity (identity.sources says how callers authenticate)`],
  ['defaults without identity', agent('card: {}') + 'accessDefaults: {require: card}\n', 'g.yaml:4:18: accessDefaults.require needs identity (identity.sources says how callers authenticate)'],
  [
    'an unknown source in the defaults, told once',
    agent('card: {}') + `accessDefaults: {require: [[x]]}\n${identity('corp')}`,
    'g.yaml:4:29: accessDefaults.require[0][0]: identity has no source "x" (its sources: corp)'
  ],
  [
    'a source that no agent uses',
    require('[[corp]]', identity('corp', 'people')),
    'g.yaml:4:107: no agent accepts callers of the source "people" (name it in access.require of an agent)'
  ],
  [
    'a source that no agent uses, by the defaults',
    agent('card: {}') + `accessDefaults: {require: [[corp]]}\n${identity('corp', 'people')}`,
    'g.yaml:5:107: no agent accepts callers of the source "people" (name it in access.require of an agent)'
  ],
  [
    'a source named anonymous',
    agent('card: {}') + 'identity: {sources: {anonymous: {basic: {keys: {file: keys.yaml}}}}}\n',
    'g.yaml:4:22: identity.sources.anonymous: access.require uses this name for requests without credentials (choose another name)'
  ],
  [
    'the schemes of the gateway without identity',
    agent('card: {security: gateway}'),
    'g.yaml:3:71: agents[0].card.security: gateway needs identity (without it, the gateway has no security schemes)'
  ],
  [
    'the schemes of the gateway in a card that stays as it is',
    agent('card: {security: gateway, signature: verbatim}') + ALL,
    'g.yaml:3:71: agents[0].card.security: gateway contradicts signature: verbatim, which serves the card unchanged (write agent)'
  ],
  ['right, an audience', agent('access: {audience: [aud]}') + identity('corp')],
  ['right, an audience of accessDefaults, and none', agent('access: {audience: null}') + `accessDefaults: {audience: [aud]}\n${identity('corp')}`],
  [
    'an audience without identity',
    agent('access: {audience: [aud]}'),
    'g.yaml:3:63: agents[0].access.audience has no effect: no source of the callers reads access tokens (add a jwt source to identity, or remove the key)'
  ],
  [
    'an audience where no token is accepted',
    agent('access: {audience: [aud], require: [[people]]}') + identity('corp', 'people'),
    'g.yaml:3:63: agents[0].access.audience has no effect: no source of the callers reads access tokens (add a jwt source to identity, or remove the key)'
  ],
  [
    'an audience that no source accepts',
    agent('access: {audience: [aud, bud]}') + identity('corp'),
    'g.yaml:3:79: agents[0].access.audience[1]: no source of the callers accepts tokens for "bud" (add it to identity.sources.corp.jwt.audience)'
  ],
  ['any audience', agent('access: {audience: ["*"]}') + identity('corp'), 'g.yaml:3:74: agents[0].access.audience[0] must not be "*" (write "audience: null" to accept all audiences of the source)'],
  ['right, an audience of the admin listener', agent('access: {audience: [aud]}') + TWO + admin('sources: [corp, people], audience: [bud]')],
  ['right, no audience of the admin listener, and another source', agent('access: {require: [[people]]}') + TWO + admin('sources: [corp]')],
  ['right, one audience', agent('card: {}') + identity('corp') + admin('sources: [corp]')],
  [
    'an audience of the admin listener where no token is accepted',
    agent('card: {}') + TWO + admin('sources: [people], audience: [bud]'),
    'g.yaml:5:43: server.adminAccess.audience has no effect: no source of the callers reads access tokens (add a jwt source to identity, or remove the key)'
  ],
  [
    'an audience of the admin listener that no source accepts, and any',
    agent('access: {audience: [aud]}') + TWO + admin('sources: [corp], audience: ["*", cud]'),
    'g.yaml:5:52: server.adminAccess.audience[0] must not be "*" (write "audience: null" to accept all audiences of the source)',
    'g.yaml:5:57: server.adminAccess.audience[1]: no source of the callers accepts tokens for "cud" (add it to identity.sources.corp.jwt.audience)'
  ],
  [
    'an admin listener and an agent behind a source of two audiences',
    agent('access: {audience: [aud]}') + TWO + admin('sources: [people, corp]'),
    'g.yaml:5:10: server.adminAccess accepts tokens for every audience of the source "corp", also those for agents (set server.adminAccess.audience)'
  ],
  [
    'two agents behind a source of two audiences',
    agent('access: {audience: [bud]}') + '  - {name: b, path: /b, upstream: {url: "http://127.0.0.1:2"}}\n' + identity('corp').replace('["aud"]', '["aud", "bud"]'),
    'g.yaml:4:5: agents[1] accepts tokens for every audience of the source "corp", also those for other agents (set access.audience)'
  ]
]
