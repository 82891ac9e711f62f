/** Every sentence about `identity`, as printed: file:line:col: message (hint). */
import type { Row } from './rows.js'
import { AGENT, lines } from './rows.js'

const DIGEST = 'a'.repeat(64)

/** What the texts name, beside the file. */
export const IDENTITY_FILES = {
  'keys.yaml': `- {id: a, sha256: ${DIGEST}, client: c, expires: 2027-01-01, groups: [g], scopes: [s], tenant: t}\n- {id: b, sha256: ${'b'.repeat(64)}, expires: "2027-01-01T10:00:00+02:00"}\n`,
  'keys.json': JSON.stringify([{ id: 'a', sha256: DIGEST }]),
  'map.yaml': 'id: a\n',
  'text.yaml': 'a: [\n',
  'latin1.yaml': Buffer.from([0xe9]),
  'big.yaml': `# ${'x'.repeat(4 * 1024 * 1024)}`,
  'wrong.yaml': [
    '- a',
    '- {id: "", sha256: x}',
    `- {id: a, sha256: ${DIGEST}, client: " ", groups: g, expires: soon}`,
    `- {id: a, sha256: ${DIGEST}, expire: 2027-01-01, expires: 2027-02-31}`
  ].join('\n'),
  'deep.yaml': `- {id: a, sha256: ${DIGEST}, other: 1}`,
  folder: {}
}

export const identityLines = (text: string, directory: string): string[] => lines(text, {}, directory)

export const withSource = (source: string): string => `${AGENT}identity:\n  sources:\n    s: ${source}\n`
const withKeys = (file: string): string => withSource(`{basic: {keys: {file: ${file}}}}`)
const AT = 'g.yaml:7:30: identity.sources.s.basic.keys.file'

export const IDENTITY_ROWS: readonly Row[] = [
  ['right', withKeys('keys.yaml')],
  ['right, JSON', withKeys('keys.json')],
  ['right, a header', withSource('{apiKey: {header: X-Key, keys: {file: keys.yaml}}}')],
  ['right, a query', withSource('{apiKey: {query: key, allowQuery: true, keys: {file: keys.yaml}}}')],
  ['null', `${AGENT}identity: null\n`],
  ['no sources', `${AGENT}identity: {}\n`, 'g.yaml:5:11: identity.sources is required'],
  ['no source', `${AGENT}identity: {sources: {}}\n`, 'g.yaml:5:21: identity.sources must have at least 1 key'],
  ['no kind', withSource('{}'), 'g.yaml:7:8: identity.sources.s must have at least 1 key (known keys: apiKey, basic)'],
  [
    'two kinds',
    withSource('{basic: {keys: {file: keys.yaml}}, apiKey: {header: x-key, keys: {file: keys.yaml}}}'),
    'g.yaml:7:8: identity.sources.s must have at most 1 key'
  ],
  [
    'no carrier',
    withSource('{apiKey: {keys: {file: keys.yaml}}}'),
    'g.yaml:7:9: identity.sources.s.apiKey needs one of header, cookie and query (such as "header: x-api-key")'
  ],
  [
    'two carriers',
    withSource('{apiKey: {header: x-key, cookie: key, keys: {file: keys.yaml}}}'),
    'g.yaml:7:33: identity.sources.s.apiKey has both header and cookie (give each a source of its own)'
  ],
  [
    'a query without consent',
    withSource('{apiKey: {query: key, keys: {file: keys.yaml}}}'),
    'g.yaml:7:25: identity.sources.s.apiKey.query also needs allowQuery (proxies log URLs; prefer a header)'
  ],
  [
    'a header with a meaning',
    withSource('{apiKey: {header: Authorization, keys: {file: keys.yaml}}}'),
    'g.yaml:7:26: identity.sources.s.apiKey.header cannot be "Authorization" (choose another header, such as x-api-key)'
  ],
  ['no file', withKeys('none.yaml'), `${AT}: "none.yaml": no such file`],
  ['a folder', withKeys('folder'), `${AT}: "folder": not a file`],
  ['too large', withKeys('big.yaml'), `${AT}: "big.yaml": larger than 4 MiB`],
  ['not UTF-8', withKeys('latin1.yaml'), `${AT}: "latin1.yaml": not UTF-8`],
  ['no YAML', withKeys('text.yaml'), `${AT}: "text.yaml": 2:1: Flow sequence in block collection must be sufficiently indented and end with a ]`],
  ['no list', withKeys('map.yaml'), `${AT}: "map.yaml": must be a list of keys, as "a2a-gateway key" prints them`],
  [
    'wrong entries',
    withKeys('wrong.yaml'),
    ...[
      '1:3: must be a mapping with id and sha256',
      '2:8: id must have from 1 to 256 visible ASCII characters',
      '2:20: sha256 must be the SHA-256 of the key, 64 hex digits',
      '3:92: client must have from 1 to 256 visible ASCII characters',
      '3:105: groups must be a list of at most 32 names',
      '3:117: expires must be a date or time, such as 2027-01-01 or 2027-01-01T12:00:00Z',
      '4:84: unknown key "expire", did you mean "expires"?',
      '4:8: two keys have the id "a"',
      '4:19: two entries have the same key',
      '4:115: expires must be a date or time, such as 2027-01-01 or 2027-01-01T12:00:00Z'
    ].map(text => `${AT}: "wrong.yaml": ${text}`)
  ],
  [
    'an unknown key',
    withKeys('deep.yaml'),
    `${AT}: "deep.yaml": 1:85: unknown key "other", known keys: id, sha256, client, expires, groups, scopes, tenant`
  ]
]
