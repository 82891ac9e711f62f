import type { Row } from './rows.js'
import { lines, policyWith } from './rows.js'

// Every sentence about policies that change requests, as printed: file:line:col: message (hint).

const SECRET = 'hunter2-hunter2'
const stripping = (select: string, more = 'schema: false'): string =>
  policyWith(`request: [{id: r, select: ${select}, ${more}, verdict: strip}]`)

/** What the texts name, beside the file. */
export const EDIT_FILES = {
  'secret.txt': `${SECRET}\n`,
  'bad.json': `{"a": ${SECRET}}`,
  'big.txt': 'x'.repeat(64 * 1024 + 1),
  'latin1.txt': Buffer.from([0xe9]),
  'empty.txt': '\n',
  folder: {}
}
const env = { TOKEN: SECRET, EMPTY: '', BIG: 'x'.repeat(64 * 1024 + 1) }

export const editLines = (text: string, directory: string): string[] => lines(text, env, directory)

const FILE_HINT = '(paths are relative to the configuration file)'

export const EDIT_ROWS: readonly Row[] = [
  [
    'strip and a lower bound',
    stripping('{header: x}', 'count: {min: 1}'),
    'g.yaml:9:52: extensions.p.request[0].count.min: verdict strip cannot satisfy a lower bound, because it only removes values (put the lower bound into a separate rule)'
  ],
  [
    'strip the message',
    stripping('{pointer: /message}'),
    'g.yaml:9:41: extensions.p.request[0].select.pointer: every message needs "/message" (reject it instead)'
  ],
  [
    'strip all parts',
    stripping('{pointer: /message/parts}'),
    'g.yaml:9:41: extensions.p.request[0].select.pointer: every message needs "/message/parts" (reject it instead)'
  ],
  [
    'strip the first',
    stripping('{part: {take: first}}'),
    'g.yaml:9:45: extensions.p.request[0].select.part.take: verdict strip applies to all parts: if one is removed, the next takes its place without an evaluation (remove take)'
  ],
  [
    'strip an item',
    stripping('{pointer: /message/metadata/p/0}'),
    'g.yaml:9:41: extensions.p.request[0].select.pointer: verdict strip cannot remove one item from a list: if one is removed, the next takes its place without an evaluation (strip the list, or reject)'
  ],
  [
    'strip an item of a value',
    stripping('{metadata: {key: p, path: /0}}'),
    'g.yaml:9:57: extensions.p.request[0].select.metadata.path: verdict strip cannot remove one item from a list: if one is removed, the next takes its place without an evaluation (strip the list, or reject)'
  ],
  [
    'strip what the gateway writes',
    stripping('{header: A2A-Extensions}'),
    'g.yaml:9:40: extensions.p.request[0].select.header: the header "A2A-Extensions" cannot be removed (every request to an agent needs it)'
  ],
  [
    'owned header that the gateway writes',
    policyWith('owns: {headers: [Host]}\ninactive: {request: strip}'),
    'g.yaml:9:22: extensions.p.owns.headers[0]: the header "Host" cannot be removed (every request to an agent needs it)'
  ],
  [
    'strip nothing',
    policyWith('inactive: {request: strip}'),
    "g.yaml:9:25: extensions.p.inactive.request has no effect without owns (list the extension's own data in owns)"
  ],
  [
    'never inactive',
    policyWith('owns: {headers: [x]}\nactivation: {signals: [always]}\ninactive: {request: strip}'),
    'g.yaml:11:25: extensions.p.inactive.request has no effect: the signal always activates the extension in every request with its data (remove one of them)'
  ],
  [
    'verdict',
    policyWith('request: [{id: r, select: {part: {}}, schema: false, verdict: stripe}]'),
    'g.yaml:9:67: extensions.p.request[0].verdict must be one of reject, warn, strip, not "stripe" (did you mean "strip"?)'
  ],

  [
    'inject nothing',
    policyWith('inject: [{metadata: a}]'),
    'g.yaml:9:14: extensions.p.inject[0] needs value, fromSecret or fromCaller (such as "fromSecret: {file: token.txt}")'
  ],
  [
    'inject without a name',
    policyWith('inject: [{value: 1}]'),
    'g.yaml:9:14: extensions.p.inject[0].metadata is required (such as "metadata: $uri")'
  ],
  [
    'inject twice as much',
    policyWith('inject: [{metadata: a, value: 1, fromSecret: {env: TOKEN}}]'),
    'g.yaml:9:38: extensions.p.inject[0] has both value and fromSecret (keep one)'
  ],
  [
    'two sources',
    policyWith('inject: [{metadata: a, fromSecret: {env: TOKEN, file: secret.txt}}]'),
    'g.yaml:9:40: extensions.p.inject[0].fromSecret must have at most 1 key'
  ],
  [
    'no source',
    policyWith('inject: [{metadata: a, fromSecret: {}}]'),
    'g.yaml:9:40: extensions.p.inject[0].fromSecret must have at least 1 key (known keys: file, env)'
  ],
  [
    'as without secret',
    policyWith('inject: [{metadata: a, value: 1, as: json}]'),
    'g.yaml:9:38: extensions.p.inject[0].as has no effect without fromSecret'
  ],
  [
    'a pattern',
    policyWith('inject: [{metadata: a.*, value: 1}]'),
    'g.yaml:9:25: extensions.p.inject[0].metadata must be one name, without "*"'
  ],
  [
    'when and unless',
    policyWith('inject: [{metadata: a, value: 1, when: {taskId: present}, unless: {taskId: present}}]'),
    'g.yaml:9:63: extensions.p.inject[0]: when and unless are the same (it would never be added)'
  ],
  [
    'one name twice',
    policyWith('inject: [{metadata: a, value: 1}, {metadata: a, in: params, value: 1}, {metadata: a, value: 2}]'),
    'g.yaml:9:87: extensions.p.inject[2].metadata: "a" is already added (keep one, or give the earlier one a condition)'
  ],
  [
    "a variable's name",
    policyWith('inject: [{metadata: a, fromSecret: {env: $TOKEN}}]'),
    'g.yaml:9:46: extensions.p.inject[0].fromSecret.env must be the name of an environment variable (without "$")'
  ],
  [
    'no such variable',
    policyWith('inject: [{metadata: a, fromSecret: {env: NOPE}}]'),
    'g.yaml:9:46: extensions.p.inject[0].fromSecret.env: environment variable NOPE is not set'
  ],
  [
    'empty variable',
    policyWith('inject: [{metadata: a, fromSecret: {env: EMPTY}}]'),
    'g.yaml:9:46: extensions.p.inject[0].fromSecret.env: environment variable EMPTY is empty'
  ],
  [
    'long variable',
    policyWith('inject: [{metadata: a, fromSecret: {env: BIG}}]'),
    'g.yaml:9:46: extensions.p.inject[0].fromSecret.env: environment variable BIG is larger than 64 KiB'
  ],
  [
    'variable that is no JSON',
    policyWith('inject: [{metadata: a, as: json, fromSecret: {env: TOKEN}}]'),
    'g.yaml:9:56: extensions.p.inject[0].fromSecret.env: environment variable TOKEN is not valid JSON'
  ],
  [
    'no such file',
    policyWith('inject: [{metadata: a, fromSecret: {file: nope}}]'),
    `g.yaml:9:47: extensions.p.inject[0].fromSecret.file: cannot read "nope": no such file ${FILE_HINT}`
  ],
  [
    'a directory',
    policyWith('inject: [{metadata: a, fromSecret: {file: folder}}]'),
    `g.yaml:9:47: extensions.p.inject[0].fromSecret.file: cannot read "folder": not a file ${FILE_HINT}`
  ],
  [
    'a file too large',
    policyWith('inject: [{metadata: a, fromSecret: {file: big.txt}}]'),
    `g.yaml:9:47: extensions.p.inject[0].fromSecret.file: the file "big.txt" is larger than 64 KiB ${FILE_HINT}`
  ],
  [
    'a file that is no text',
    policyWith('inject: [{metadata: a, fromSecret: {file: latin1.txt}}]'),
    `g.yaml:9:47: extensions.p.inject[0].fromSecret.file: the file "latin1.txt" is not UTF-8 ${FILE_HINT}`
  ],
  [
    'an empty file',
    policyWith('inject: [{metadata: a, fromSecret: {file: empty.txt}}]'),
    `g.yaml:9:47: extensions.p.inject[0].fromSecret.file: the file "empty.txt" is empty ${FILE_HINT}`
  ],
  [
    'a file that is no JSON',
    policyWith('inject: [{metadata: a, as: json, fromSecret: {file: bad.json}}]'),
    `g.yaml:9:57: extensions.p.inject[0].fromSecret.file: the file "bad.json" is not valid JSON ${FILE_HINT}`
  ],
  [
    'a condition that says nothing',
    policyWith('inject: [{metadata: a, value: 1, when: {}}]'),
    'g.yaml:9:44: extensions.p.inject[0].when must have at least 1 key (known keys: taskId, contextId, listed, active, caller, match)'
  ],
  [
    'duties that nobody supplies',
    policyWith(
      'activation: {default: inject}\ninject: [{metadata: k, value: 1, when: {taskId: absent}}]\nrequest: [{id: r, select: {metadata: {key: k}}, count: {min: 1}}]'
    ),
    'g.yaml:9:27: extensions.p: default: inject activates the extension for clients that may not send the data that rule "r" requires (remove default: inject or the lower bound, or supply it with inject)'
  ],

  [
    'inject for the active alone',
    policyWith('inject: [{metadata: a, value: 1}]'),
    "g.yaml:9:5: extensions.p.inject applies to requests in which the extension is active: other requests are forwarded with a client's own member of that name (own the name, and set inactive.request to strip or reject)"
  ],
  [
    'a file as condition',
    policyWith('owns: {metadata: [a]}\ninactive: {request: strip}\ninject: [{metadata: a, value: 1, when: {match: {file: s.json}}}]'),
    'g.yaml:11:53: extensions.p.inject[0].when.match needs an inline schema, not file (write the schema itself)'
  ],

  [
    'verbatim and strip',
    policyWith('integrity: verbatim\nrequest: [{id: r, select: {part: {}}, count: {max: 1}, verdict: strip}]'),
    'g.yaml:10:60: extensions.p: integrity verbatim forwards requests as the client sent them, but rule "r" strips (remove one of the two)'
  ],
  [
    'verbatim and inject',
    policyWith('integrity: verbatim\ninject: [{metadata: a, value: 1}]'),
    'g.yaml:10:5: extensions.p: integrity verbatim forwards requests as the client sent them, but inject adds to them (remove one of the two)'
  ],
  [
    'verbatim and inactive data',
    policyWith('integrity: verbatim\nowns: {headers: [x]}\ninactive: {request: strip}'),
    'g.yaml:11:16: extensions.p: integrity verbatim forwards requests as the client sent them, but inactive.request strips (remove one of the two)'
  ],
  [
    'verbatim and default',
    policyWith('integrity: verbatim\nactivation: {default: inject}'),
    'g.yaml:10:18: extensions.p: integrity verbatim forwards requests as the client sent them, but activation.default adds to their headers (remove one of the two)'
  ],
  [
    'verbatim and onMissing',
    policyWith('integrity: verbatim\nactivation: {requires: [object-schemas], onMissing: add}'),
    'g.yaml:10:46: extensions.p: integrity verbatim forwards requests as the client sent them, but activation.onMissing adds to their headers (remove one of the two)'
  ],
  [
    'integrity',
    policyWith('integrity: verbatm'),
    'g.yaml:9:16: extensions.p.integrity must be one of normal, verbatim, not "verbatm" (did you mean "verbatim"?)'
  ],

  [
    'redact, no pointer',
    policyWith('redact: [$uri#a]'),
    'g.yaml:9:14: extensions.p.redact[0] must be a metadata key, or one with "#" and a JSON Pointer (such as "$uri" or "$uri#/tokens/*/secret")'
  ],
  [
    'redact, a pointer without a key',
    policyWith('redact: [/token]'),
    'g.yaml:9:14: extensions.p.redact[0] must be a metadata key, or one with "#" and a JSON Pointer (such as "$uri" or "$uri#/tokens/*/secret")'
  ],
  [
    'redact, misspelled',
    policyWith('redact: [$url, $uris#/a]'),
    'g.yaml:9:14: extensions.p.redact[0] must be "$uri", "$uri/" and a suffix, or a name without "$" ("$uri" is the extension\'s URI)',
    'g.yaml:9:20: extensions.p.redact[1] must be "$uri", "$uri/" and a suffix, or a name without "$" ("$uri" is the extension\'s URI)'
  ],
  [
    'redact, empty',
    policyWith('redact: [""]'),
    'g.yaml:9:14: extensions.p.redact[0] must be a metadata key, or one with "#" and a JSON Pointer (such as "$uri" or "$uri#/tokens/*/secret")'
  ]
]
