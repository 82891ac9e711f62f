/** Every sentence about `agentSources` and `server.catalog`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'

const sources = (...list: readonly string[]): string => `version: 1\nagents: []\nagentSources:\n${list.map(one => `  - ${one}\n`).join('')}`
const CATALOG = 'catalog: "https://a.test/c.json"'
const T = 'agent: {path: "/a/{name}"}'

export const SOURCE_ROWS: readonly Row[] = [
  ['a catalog', sources(`{name: a, ${CATALOG}, ${T}}`)],
  ['a file that is not there yet', sources(`{name: a, catalog: later.json, ${T}}`)],
  ['Services', sources(`{name: a, kubernetes: {namespaces: [x], selector: "a=b"}, ${T}}`)],
  ['neither agents nor sources', 'version: 1\nagents: []\n', 'g.yaml:2:9: agents must have at least 1 entry'],
  [
    'twins',
    sources(`{name: a, ${CATALOG}, ${T}}`, `{name: a, ${CATALOG}, agent: {path: "/b/{name}"}}`),
    'g.yaml:5:12: agentSources[0] and agentSources[1] have the same name, "a"'
  ],
  [
    'no kind',
    sources(`{name: a, ${T}}`),
    'g.yaml:4:5: agentSources[0] needs exactly one of catalog and kubernetes (such as catalog: https://agents.example.com/.well-known/ai-catalog.json)'
  ],
  ['an address that is none', sources(`{name: a, catalog: "ftp://a.test", ${T}}`), 'g.yaml:4:24: agentSources[0].catalog must be an absolute http or https URL (such as "http://127.0.0.1:9999")'],
  ['an empty address', sources(`{name: a, catalog: "", ${T}}`), 'g.yaml:4:24: agentSources[0].catalog must be a URL or the name of a file'],
  [
    'allowPrivate of Services',
    sources(`{name: a, kubernetes: {namespaces: [x], selector: "a=b"}, allowPrivate: [10.0.0.0/8], ${T}}`),
    'g.yaml:4:63: agentSources[0].allowPrivate is for catalogs: addresses of Services come from the cluster (remove it)'
  ],
  [
    'an address in the template',
    sources(`{name: a, ${CATALOG}, agent: {path: "/a/{name}", upstream: {url: "http://h"}}}`),
    'g.yaml:4:87: agentSources[0].agent.upstream.url comes from the source (remove it)'
  ],
  [
    'a path for all agents',
    sources(`{name: a, ${CATALOG}, agent: {path: /a}}`),
    'g.yaml:4:63: agentSources[0].agent.path must contain "{name}": the source may have several agents (or set limit: 1)'
  ],
  [
    'no path',
    sources(`{name: a, ${CATALOG}, agent: {mode: off}}`),
    'g.yaml:4:56: agentSources[0].agent.path is required (such as "path: /agents/{name}")'
  ],
  ['one agent', sources(`{name: a, ${CATALOG}, limit: 1, agent: {path: /a, name: b}}`)],
  [
    'a template that is wrong',
    sources(`{name: a, ${CATALOG}, agent: {path: "/a/{name}", mode: off, extensions: [none-such]}}`),
    'g.yaml:4:100: no policy is named "none-such" (a2a-gateway help catalogue lists those of the catalogue)'
  ],
  [
    'no keys',
    sources(`{name: a, ${CATALOG}, admit: signed, ${T}}`),
    'g.yaml:4:56: agentSources[0].admit: signed needs the keys that sign the catalog or its cards (set keys, or agent.card.verify)'
  ],
  [
    'no keys for Services',
    sources(`{name: a, kubernetes: {namespaces: [x], selector: "a=b"}, admit: signed, ${T}}`),
    'g.yaml:4:70: agentSources[0].admit: signed needs the keys that sign the cards (set keys, or agent.card.verify)'
  ],
  [
    'keys without a place',
    sources(`{name: a, ${CATALOG}, admit: signed, keys: {}, ${T}}`),
    'g.yaml:4:70: agentSources[0].keys needs exactly one of url and file'
  ],
  [
    'a catalog without a publisher',
    'version: 1\nserver: {catalog: {publish: true}}\nagents: [{name: a, upstream: {url: "http://h"}}]\n',
    'g.yaml:2:19: server.catalog.publisher is required to publish a catalog (such as {domain: agents.example.com, name: Example Inc.})'
  ],
  [
    'a domain that is none',
    'version: 1\nserver: {catalog: {publish: true, publisher: {domain: "Agents.example.com:8080", name: E}}}\nagents: [{name: a, upstream: {url: "http://h"}}]\n',
    'g.yaml:2:55: server.catalog.publisher.domain must be a domain name in lower case (such as "agents.example.com", without scheme, port and final dot)'
  ]
]
