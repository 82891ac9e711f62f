/** Every sentence about `delegation` and `access.delegation`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'

const IDENTITY = 'identity: {sources: {corp: {jwt: {issuer: "https://idp.example.com", audience: [aud], keys: discover}}}}\n'

/** Line 4 has the keys of the agent's `access`, from column 14; line 5 has the keys of `delegation`, from column 14. */
function chained (access: string, domain: string | null = '', root = IDENTITY): string {
  const keys = domain === null ? '' : `delegation: {gateway: edge, trustDomain: test, key: {file: ec.pem}${domain}}\n`
  return `version: 1\nagents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"},\n    access: {${access}}}\n${keys}${root}`
}

/** Line 6 has the budgets, from column 11. */
function budgets (entries: string, access = 'delegation: {}'): string {
  const policy = 'extensions: {usage: {uri: "urn:u", activation: {signals: [always]}, observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: tokens}}}]}}}'
  return `version: 1\nagents:\n  - {name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [usage],\n    access: {${access}}}\n${policy}\nbudgets: [${entries}]\n`
}

const AS = 'delegation: {as: {client: a}}'

export const DELEGATION_ROWS: readonly Row[] = [
  ['right', chained('delegation: {maxDepth: 2, as: {client: a, source: corp}, mayReach: [b, "c/*"], initiator: ignore}', ', keys: [{url: "https://b.example.com/.well-known/jwks.json"}], ttl: 1h, agents: {groups: [agents]}')],
  ['right, defaults', `${chained('delegation: {}', '')}accessDefaults: {delegation: {maxDepth: 1}}\n`],
  ['right, without a domain', chained('delegation: {maxDepth: 0}', null)],
  ['right, claims with initiator: ignore', chained('allow: [{id: x, on: [all], caller: {claims: {/a: b}}}], delegation: {initiator: ignore}', null)],
  ['right, budgets', budgets('{id: tokens, by: [chain], of: usage/tokens, limit: 5, window: 1h, remaining: /metadata/left}')],
  ['right, time', chained('delegation: {maxTime: 30s}', null)],
  ['a budget of no chain', budgets('{id: tokens, by: [chain], of: usage/tokens, limit: 5, window: 1h}', ''), 'g.yaml:6:28: budgets[0].by: agent "a" has no access.delegation, so its calls belong to no chain (write access.delegation)'],
  ['a chain and more', budgets('{id: tokens, by: [chain, agent], of: usage/tokens, limit: 5, window: 1h}'), 'g.yaml:6:28: budgets[0].by: chain stands alone (write two budgets)'],
  ['the name of the time', budgets('{id: time, by: [chain], of: usage/tokens, limit: 5, window: 1h}'), 'g.yaml:6:16: budgets[0].id must not be "time" with "by: [chain]" (the header a2a-budget has the remaining time under this name)'],
  ['a pointer without a chain', budgets('{id: tokens, by: [agent], of: usage/tokens, limit: 5, window: 1h, remaining: /a}'), 'g.yaml:6:77: budgets[0].remaining has no effect without "by: [chain]" (remove it)'],
  [
    'too many budgets',
    budgets(Array.from({ length: 6 }, (_, i) => `{id: t${i}, by: [chain], of: usage/tokens, limit: 5, window: 1h}`).join(', ')),
    'g.yaml:6:326: budgets has more than 5 entries with "by: [chain]" (a header has no room for more)'
  ],
  ['a limit of requests by chain', `${chained('delegation: {}', null)}rates: [{id: x, by: [chain], rate: 1/1s}]\n`, 'g.yaml:6:22: rates[0].by[0] must be one of caller, client, source, tenant, address, agent, operation, extension, not "chain"'],
  ['no gateway', chained(AS).replace('gateway: edge, ', ''), 'g.yaml:5:13: delegation.gateway is required (such as "gateway: edge")'],
  ['an unknown key of the domain', chained(AS, ', depth: 3'), 'g.yaml:5:69: unknown key "depth" in delegation (known keys: gateway, trustDomain, key, kid, publish, keys, ttl, agents)'],
  ['nobody uses it', chained('').replace('access: {}', 'mode: enforce'), 'g.yaml:5:1: delegation has no effect: no agent has access.delegation (write it in accessDefaults, or in access of an agent)'],
  ['a key that is not there', chained(AS).replace('ec.pem', 'nowhere.pem'), 'g.yaml:5:60: delegation.key.file: cannot read "nowhere.pem": no such file (paths are relative to the configuration file)'],
  ['a key that is none', chained(AS).replace('ec.pem', 'text.pem'), 'g.yaml:5:60: delegation.key.file: "text.pem" is not the PEM file of a private key without a password'],
  ['a key that everybody reads', chained(AS).replace('ec.pem', 'open.pem'), 'g.yaml:5:60: delegation.key.file: every user of this machine can read "open.pem" (chmod 600, or defaultMode: 0400 of a Kubernetes volume)'],
  ['keys from nowhere', chained(AS, ', keys: [{}]'), 'g.yaml:5:76: delegation.keys[0] needs url or file (such as "url: https://travel.example.com/.well-known/jwks.json")'],
  ['keys from two places', chained(AS, ', keys: [{url: "https://b.example.com/k", file: keys.json}]'), 'g.yaml:5:109: delegation.keys[0] has both url and file (write two entries)', 'g.yaml:5:115: delegation.keys[0].file: "keys.json" has no key that can verify tokens'],
  ['a file without keys', chained(AS, ', keys: [{file: keys.json}]'), 'g.yaml:5:83: delegation.keys[0].file: "keys.json" has no key that can verify tokens'],
  ['keys over clear text', chained(AS, ', keys: [{url: "http://b.example.com/k"}]'), 'g.yaml:5:82: delegation.keys[0].url must be an https URL (http is for issuers on this machine only: a changed response could make tokens valid)'],
  ['agents of no source', chained(AS, ', agents: {source: [crop]}'), 'g.yaml:5:87: delegation.agents.source[0]: identity has no source "crop" (did you mean "corp"?)'],
  ['agents without identity', chained(AS, ', agents: {groups: [x]}', ''), 'g.yaml:5:69: delegation.agents never matches: without identity, no request has a caller (configure identity)'],
  ['nobody in particular', chained('delegation: {as: {source: corp}}'), 'g.yaml:4:31: agents[0].access.delegation.as needs subject, client or spiffe (the source alone would let all its callers use the chain)'],
  ['an agent of no source', chained('delegation: {as: {client: a, source: crop}}'), 'g.yaml:4:51: agents[0].access.delegation.as.source: identity has no source "crop" (did you mean "corp"?)'],
  ['a list without a chain', chained('delegation: {mayReach: [b]}'), 'g.yaml:4:27: agents[0].access.delegation.mayReach has no effect without as: the agent gets no chain to which the list could belong (name the agent as a caller in as)'],
  [
    'chains that nobody signs',
    chained('delegation: {as: {client: a}, mayReach: [b]}', null),
    'g.yaml:4:27: agents[0].access.delegation.as has no effect without delegation, which signs the chains (configure delegation)',
    'g.yaml:4:44: agents[0].access.delegation.mayReach has no effect without delegation, which signs the chains (configure delegation)'
  ],
  [
    'claims of the initiator',
    chained('allow: [{id: x, on: [all], caller: {claims: {/a: b}}}], deny: [{id: y, on: [all], caller: {match: {}}}], delegation: {}', null),
    'g.yaml:4:50: agents[0].access.allow[0].caller.claims contradicts agents[0].access.delegation.initiator: authorize, because a chain of callers has no claims of the initiator (use subject, client, scopes, groups or tenant, or write initiator: ignore)',
    'g.yaml:4:105: agents[0].access.deny[0].caller.match contradicts agents[0].access.delegation.initiator: authorize, because a chain of callers has no claims of the initiator (use subject, client, scopes, groups or tenant, or write initiator: ignore)'
  ],
  [
    'claims of the initiator in the defaults',
    `${chained('delegation: {}', null)}accessDefaults: {allow: [{id: x, on: [all], caller: {claims: {/a: b}}}]}\n`,
    'g.yaml:6:54: accessDefaults.allow[0].caller.claims contradicts agents[0].access.delegation.initiator: authorize, because a chain of callers has no claims of the initiator (use subject, client, scopes, groups or tenant, or write initiator: ignore)'
  ]
]
