/**
 * A row of rows.ts, response-rows.ts, caller-rows.ts or edit-rows.ts, or of this file, prints every sentence that `check` can print about a
 * file. The test collects the sentences from the sources by syntax (every string of two words or more), so that a new sentence without a
 * row fails here.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { readConfiguration } from '#offline/configuration.js'
import { formatDiagnostic } from '#config/load.js'
import type { LoadResult, Overrides } from '#config/load.js'
import { sentencesOf, unsaid } from '../helpers/sentences.js'
import { ANSWER_ROWS } from './response-rows.js'
import { identityKeys } from '../identity/signing-keys.js'
import { CREDENTIALS_ROWS, credentialFiles, credentialLines } from './credentials-rows.js'
import { CARD_ROWS, cardFiles, cardLines } from './card-rows.js'
import { EDIT_FILES, EDIT_ROWS, editLines } from './edit-rows.js'
import { ACCESS_FILES, ACCESS_ROWS, accessLines } from './access-rows.js'
import { CALLER_ROWS } from './caller-rows.js'
import { IDENTITY_FILES, IDENTITY_ROWS, identityLines } from './identity-rows.js'
import { GRPC_ROWS } from './grpc-rows.js'
import { MESH_ROWS } from './mesh-rows.js'
import { EXTERNAL_ROWS } from './external-rows.js'
import { DELEGATION_ROWS } from './delegation-rows.js'
import { RATE_ROWS } from './rate-rows.js'
import { OWNERSHIP_ROWS } from './ownership-rows.js'
import { REQUIRE_ROWS } from './require-rows.js'
import { SOURCE_ROWS } from './source-rows.js'
import { AGENT, lines, ROWS } from './rows.js'
import { ROOT } from '../helpers/paths.js'

/** Descriptions of keys are documentation. */
const NOT_MESSAGES = ['schema', 'listeners'].flatMap(folder => readdirSync(join(ROOT, 'src/config', folder))
  .filter(name => /(?:^|-)schema(?:-builder)?\.ts$/.test(name))
  .map(name => `${folder}/${name}`))

const SOURCES = [
  ...readdirSync(join(ROOT, 'src/config'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !NOT_MESSAGES.includes(name))
    .map(name => `src/config/${name}`),
  'src/policy/compile/inline-schemas.ts',
  'src/jsonschema/schema.ts',
  'src/jsonschema/meta-schema.ts',
  'src/jsonschema/lint.ts',
  'src/jsonschema/mistakes.ts',
  'src/jsonschema/regexp.ts',
  'src/identity/signing-key.ts',
  'src/upstream/tls.ts',
  'src/offline/configuration.ts'
]

/** Sentences of these sources that no file provokes, and why. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  '… is deprecated and will be removed in a later release': 'no key is deprecated; test/config/deprecated.test.ts',
  'the policy': 'names a policy of the catalogue, a file of this package',
  'is not valid': 'for keywords of the schema that nobody has used yet',
  'unknown error': 'Ajv always names one',
  '((schema, text) => keywords[…](schema, text))': 'code that the build writes',
  'no package.json named … above …': 'a broken installation',
  'not host:port: …': 'validated before',
  'a secret was not read': 'a fault of this package: each is read before it is asked for',
  'permission denied': 'root, who runs the tests of a container, may read everything',
  'error parsing regexp: ': 'a prefix of RE2\'s words that is cut off',
  'a JSON Schema is an object or a boolean': 'cards only: in the file another type is refused before',
  'the patterns of the card compile to … instructions together, more than …': 'cards only: test/gateway/hostile-cards.test.ts',
  'more than 10^12': 'in the sentence before, and in one that a file provokes with fewer',
  'a property named "__proto__" is not supported': 'cards only: in the file such a key is refused before',
  'the HTTP/2 server of Node.js … has known faults (CVE-2026-21714)': 'for some versions of Node.js: test/config/grpc-messages.test.ts',
  'run the gateway on Node.js 22.22.2, 24.14.1 or later': 'the same',
  'with Node.js …, calls through ext_proc can fail: Node.js closes connections on which Envoy resets many streams': 'the same: test/config/mesh-messages.test.ts',
  'run the gateway on Node.js 24, use ext_authz, or set the runtime flag envoy.reloadable_features.ext_proc_graceful_grpc_close of Envoy': 'the same',
  // Said of agents that a source has found: test/config/source-messages.test.ts and test/agents/catalog-attacks.test.ts.
  'its path belongs to an agent of the file, or to the directory': 'agents of sources',
  'its address lies below the address of another agent, whose paths it would take': 'agents of sources',
  // Said of a request's data, where a schema judges it.
  'is not allowed here': 'data',
  'could not be validated: the schema takes too many steps on data like this': 'data',
  'could not be validated: earlier checks used up the steps; send less data': 'data',
  'could not be validated: the schema recurses without end, or the data is nested too deeply for it': 'data',
  'does not match its schema': 'data',
  'is a name that …': 'data',
  'is not a name the schema allows': 'data',
  'is not a property the schema allows': 'data',
  'must not contain equal items': 'data',
  'false schema': 'data'
}

t.test('every message of the sources is provoked', async t => {
  const directory = t.testdir({
    'g.yaml': AGENT,
    'two.yaml': `${AGENT}  - {name: b, path: /b, upstream: {url: "http://h"}}\n`,
    'latin1.yaml': Buffer.from('version: 1 # \u00e9', 'latin1')
  })
  const read = (file: string | null, overrides: Overrides = {}): string[] =>
    said(readConfiguration({ file: file === null ? null : join(directory, file), env: {}, overrides }))
  const ofFiles = [
    read('none.yaml'),
    read('.'),
    read('latin1.yaml'),
    read('two.yaml', { upstream: 'http://h' }),
    read(null),
    read('x'.repeat(300))
  ].flat()
  t.match(ofFiles, [
    /none\.yaml: cannot read the file: no such file$/,
    /: cannot read the file: it is a directory$/,
    /latin1\.yaml: the file is not valid UTF-8 \(save it as UTF-8\)$/,
    '--upstream: needs a file with exactly one agent, and this one has 2 (set upstream.url of each agent in the file)',
    '--upstream: the URL of the agent is required (or give a file with --config)',
    /: cannot read the file: the name is too long$/
  ])
  const crowd = lines(AGENT + Array.from({ length: 150 }, (_, index) => `k${index}: 1\n`).join(''))

  const edits = t.testdir(EDIT_FILES)
  const ofEdits = EDIT_ROWS.flatMap(([, text]) => editLines(text, edits))
  const identities = t.testdir(IDENTITY_FILES)
  const ofIdentity = [...IDENTITY_ROWS, ...REQUIRE_ROWS, ...OWNERSHIP_ROWS].flatMap(([, text]) => identityLines(text, identities))
  const accesses = t.testdir(ACCESS_FILES)
  const ofAccess = ACCESS_ROWS.flatMap(([, text]) => accessLines(text, accesses))
  const credentials = credentialFiles(t, await identityKeys())
  const ofCredentials = [...CREDENTIALS_ROWS, ...DELEGATION_ROWS].flatMap(([, text]) => credentialLines(text, credentials))
  const cards = cardFiles(t)
  const ofCards = CARD_ROWS.flatMap(([, text]) => cardLines(text, cards))
  const large = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`${index}.json`, JSON.stringify('x'.repeat(1_000_000))]))
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`${index}.json`, '{}']))
  const schemas = t.testdir({ set: { 'a.json': '{"$ref": "b.json"}', 'c.json': '{}' }, none: {}, large, many })
  const ofSchemas = [
    'set, base: "urn:x"',
    'set, base: "https://x.test/s"',
    'set, base: "https://x.test/"',
    'none, base: "https://x.test/n/"',
    'large, base: "https://x.test/l/"',
    'many, base: "https://x.test/m/"'
  ].flatMap(bundle =>
    lines(
      `${AGENT}extensions: {p: {uri: "urn:p", card: {params: {ref: "https://x.test/a.json"}, schema: {ref: nowhere}}}}\nbundles: {b: {dir: ${bundle}}, c: {dir: set, base: "https://x.test/"}}\n`,
      {},
      schemas
    )
  )
  const refers = `${AGENT}extensions: {p: {uri: "urn:p", card: {params: {ref: "https://x.test/a.json"}}}}\n`
  ofSchemas.push(...lines(`${AGENT}extensions: {p: {uri: "urn:p", request: [{id: r, select: {part: {}}, schema: {maximum: .inf}}]}}\n`))
  ofSchemas.push(...lines(refers), ...lines(`${refers}bundles: {c: {dir: set, base: "https://x.test/"}}\n`, {}, schemas))

  const ofDirectories = directoryLines(t)
  const sentences = SOURCES.flatMap(sentencesOf)
  t.ok(sentences.length > 150, 'the sources are read')
  const printed = [
    ...CALLER_ROWS.flatMap(([, text]) => lines(text)),
    ...[ROWS, ANSWER_ROWS]
      .flatMap(rows => Object.values(rows))
      .flat()
      .flatMap(([, text]) => lines(text)),
    ...ofFiles,
    ...crowd,
    ...ofEdits,
    ...ofIdentity,
    ...ofCredentials,
    ...ofCards,
    ...RATE_ROWS.flatMap(([, text]) => lines(text)),
    ...EXTERNAL_ROWS.flatMap(([, text]) => lines(text)),
    ...[...GRPC_ROWS, ...MESH_ROWS, ...SOURCE_ROWS].flatMap(([, text]) => lines(text)),
    ...ofAccess,
    ...ofSchemas,
    ...ofDirectories
  ]
  t.same(unsaid(sentences.filter(({ text }) => !Object.hasOwn(ELSEWHERE, text)), printed), [])
  t.same(Object.keys(ELSEWHERE).filter(text => !sentences.some(one => one.text === text)), [], 'no exception outlives its sentence')
})

/** What is printed about `extensions.from`; test/config/policy-directory.test.ts compares the lines. */
function directoryLines (t: Test): string[] {
  const policy = (more: string): Record<string, string> => ({ 'p.yaml': `uri: urn:p\n${more}` })
  const root = t.testdir({
    none: {},
    x402: { 'x402.yaml': 'uri: urn:x\n' },
    many: Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`p${index}.yaml`, 'uri: urn:p\n'])),
    name: { 'P.yaml': 'uri: urn:p\n' },
    large: policy(`# ${'x'.repeat(1_100_000)}\n`),
    unreadable: { 'p.yaml': {} },
    secret: policy('inject: [{metadata: k, fromSecret: {env: S}}]\n'),
    external: policy('request: [{id: r, select: {part: {}}, external: e}]\n'),
    cycle: policy('activation: {requires: [p]}\n'),
    good: policy('')
  })
  const from = ['gone', 'none', 'x402', 'many', 'name', 'large', 'unreadable', 'secret', 'external', 'cycle', '{directory: x402, replace: [ap2, q]}']
  return [
    ...from.flatMap(one => lines(`${AGENT}extensions: {from: ${one}}\n`, {}, root)),
    ...lines('version: 1\nagents: [{name: a, upstream: {url: "http://h"}, extensions: [zzzzzzzz]}]\nextensions: {from: good}\n', {}, root)
  ]
}

function said (result: LoadResult): string[] {
  return (result.ok ? result.warnings : result.problems).map(formatDiagnostic)
}
