import neostandard from 'neostandard'
import arrows from './scripts/lint/arrows.mjs'
import operatorErrors from './scripts/lint/operator-errors.mjs'

// V8 13.6 (Node 24) reads escaped member names wrongly: one module decides which reader a text gets.
const READ_JSON = 'Use parseJson() of wire/json/parse-json.ts, or parseStrict() of wire/json/json.ts: the engine may read escaped member names wrongly.'
/** The files that may call the parser of the engine. */
const ENGINE_READERS = ['src/wire/json/json.ts', 'src/wire/json/parse-json.ts', 'src/wire/json/string-literal.ts', 'src/wire/json/engine-faults.ts']
/** Other ways to the parser of the engine. */
const READINGS = [
  { selector: "CallExpression[callee.property.name='json'][arguments.length=0]", message: `${READ_JSON} Read the bytes of the body first.` },
  { selector: "ImportDeclaration[source.value='node:stream/consumers'] ImportSpecifier[imported.name='json']", message: READ_JSON },
  { selector: "MemberExpression[property.name='JSON']", message: READ_JSON },
  { selector: 'Identifier[name=/^(?:jwtVerify|jwtDecrypt|decodeJwt|decodeProtectedHeader|create(?:Remote|Local)JWKSet)$/]', message: 'jose reads JSON with the engine: use readToken() of identity/jwt.ts, and compactVerify() for the signature only.' }
]
/** A variable has the name of its content. Members may have these names: the standard terms of the field decide there. */
const VARIABLES = {
  selector: ['VariableDeclarator > Identifier.id', ':function > Identifier.params', 'AssignmentPattern > Identifier.left', 'ArrayPattern > Identifier.elements', 'ObjectPattern > Property > Identifier.value']
    .map(place => `${place}[name=/^(?:found|given|kept|known|made|one|seen)$/]`).join(', '),
  message: 'Use a noun that names the content.'
}
// The house rules of docs/contributing/architecture.md: arrows point one way and the core is pure.
/** Nothing that one stream does ends the process: src/guard.ts. */
const LISTENERS = [{
  selector: 'CallExpression[callee.property.name=/^(?:on|once|addListener|prependListener|prependOnceListener)$/]',
  message: 'An error in this listener would end the process: listen() of src/guard.ts adds one that ends its call or its connection.'
}]
const TIMERS = ['CallExpression[callee.name=/^(?:setTimeout|setInterval|setImmediate|queueMicrotask)$/]', "CallExpression[callee.property.name='nextTick']"]
  .map(call => ({
    selector: `${call}:not([arguments.0.callee.name=/^guarded/])`,
    message: 'An error in this callback would end the process: wrap it with guarded() of src/guard.ts.'
  }))
/** Which folders of `src` a folder may import, the lowest first: docs/contributing/architecture.md. `config/model`: the types of the configuration. */
const RUNNING = ['wire', 'a2a', 'jsonschema', 'config', 'identity', 'policy', 'pipeline', 'state', 'telemetry', 'upstream', 'console', 'agents']
export const MAY_IMPORT = {
  vendor: [],
  wire: [],
  conform: ['wire'],
  a2a: ['wire'],
  jsonschema: ['wire', 'a2a', 'config/model'],
  config: ['wire', 'a2a'],
  identity: ['wire', 'a2a', 'config/model'],
  policy: ['wire', 'a2a', 'jsonschema', 'identity', 'config/model'],
  pipeline: ['wire', 'a2a', 'jsonschema', 'identity', 'policy', 'config/model'],
  state: ['vendor', 'wire', 'a2a', 'identity', 'policy', 'config/model'],
  telemetry: ['vendor', 'wire', 'a2a', 'config'],
  upstream: ['wire', 'a2a', 'config'],
  console: ['wire', 'a2a', 'jsonschema', 'config', 'identity', 'policy', 'pipeline', 'telemetry'],
  agents: RUNNING.filter(one => one !== 'agents' && one !== 'console'),
  offline: ['wire', 'a2a', 'jsonschema', 'config', 'identity', 'policy', 'pipeline', 'upstream', 'agents'],
  sandbox: [...RUNNING, 'offline'],
  call: RUNNING,
  front: [...RUNNING, 'call'],
  server: [...RUNNING, 'call', 'front', 'offline'],
  cli: ['vendor', ...RUNNING, 'call', 'front', 'offline', 'sandbox', 'server', 'conform']
}
/** Arguments of plain errors in folders whose errors operators see: faults of the package or of the code, which no operator can fix. */
const INVARIANTS = [
  "'a caller without a token'",
  "'a secret was not read'",
  "'this is started by the gateway itself'",
  '`no package.json named ${NAME} above ${start}`', // eslint-disable-line no-template-curly-in-string
  "sortDiagnostics(problems).map(formatDiagnostic).join('\\n')", // a policy of the catalogue
  'document' // a card that the primary has read before
]
/** V8 keeps the values of such a getter through young collections: docs/contributing/benchmarks.md, "Getters". */
const GETTERS = { selector: "ObjectExpression > Property[kind='get']", message: 'Use a function or a class: the getter of an object literal keeps what it closes over until a full collection.' }
/** Packages and parts of Node that a folder must not import. */
const EDGES = ['fastify', 'fastify-plugin', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', 'pino', '@redis/*', 'node:fs', 'node:http', 'node:net']
const EDGES_OF_OTHERS = ['undici', 'prom-client', '@opentelemetry/*', '@redis/*']
const SERVERS = ['fastify', '@fastify/*']
const PURE = 'This folder is pure: it does no I/O.'
const NOT_HERE = {
  ...Object.fromEntries(['wire', 'a2a', 'jsonschema', 'identity', 'policy', 'pipeline'].map(folder => [folder, [EDGES, PURE]])),
  conform: [['fastify-plugin', ...SERVERS, ...EDGES_OF_OTHERS, 'pino', 'ajv', 'jose'], 'conform/ tests any proxy, so that it can become a package.'],
  config: [[...SERVERS, ...EDGES_OF_OTHERS], 'config/ loads files; it knows nothing of the running gateway.'],
  state: [EDGES.filter(one => one !== '@redis/*'), 'state/ stores records; Redis is its only package.'],
  telemetry: [[...SERVERS, '@redis/*', 'undici'], 'telemetry/ records events; it does not look for them.'],
  upstream: [[...SERVERS, '@redis/*', 'prom-client', '@opentelemetry/*'], 'upstream/ dials agents; it does not decide.'],
  console: [[...SERVERS, ...EDGES_OF_OTHERS, 'pino'], 'console/ shows data that it gets.'],
  offline: [[...SERVERS, ...EDGES_OF_OTHERS, 'pino', 'node:http', 'node:net'], 'offline/ evaluates without a running gateway: it reads files and prints nothing.'],
  sandbox: [[...SERVERS, ...EDGES_OF_OTHERS, 'node:http', 'node:net'], 'sandbox/ is a thread of its own: it evaluates requests, and reaches no agent.'],
  agents: [['prom-client', '@opentelemetry/*', '@redis/*', 'node:cluster'], 'agents/ knows the agents, their cards and their credentials.'],
  ...Object.fromEntries(['call', 'front'].map(folder => [folder, [[...EDGES_OF_OTHERS, 'node:cluster'], 'A front does not know whether its gateway is one process of several.']])),
  server: [EDGES_OF_OTHERS, 'Only upstream/ imports undici, only telemetry/ imports prom-client and OpenTelemetry, only state/ imports the client of Redis.'],
  cli: [['node:cluster', ...EDGES_OF_OTHERS], 'Only upstream/ imports undici, only telemetry/ imports prom-client and OpenTelemetry, only state/ imports the client of Redis.']
}
const GUARDED = {
  front: [...LISTENERS, ...TIMERS], agents: LISTENERS, upstream: [...LISTENERS, ...TIMERS], console: LISTENERS
}
// Packages that are slow to import are required (src/upstream/pool.ts): the same rules for them.
const required = group => {
  const argument = `[arguments.0.value=/^(?:${group.filter(one => !one.startsWith('node:')).map(one => one.replaceAll('/', '\\u002f').replaceAll('*', '.*')).join('|')})$/]`
  return [`CallExpression[callee.name='require']${argument}`, `CallExpression[callee.callee.name='createRequire']${argument}`]
}
const packages = (files, [group, message], guarded) => ({
  files,
  rules: {
    'no-restricted-imports': ['error', { patterns: [{ group, message }] }],
    'no-restricted-syntax': ['error', VARIABLES, GETTERS, ...READINGS, ...guarded, ...required(group).map(selector => ({ selector, message }))]
  }
})
/** Names that say neither subject nor unit, tenses in place of nouns, and terms with a better word: response, reject, decision, validate. */
const DENIED_NAMES = [
  'Arrived', 'Arriving', 'Asked', 'Building', 'Found', 'Going', 'Passing', 'Read', 'Seen', 'Sent', 'Shown', 'Surroundings', 'Told', 'Unread', 'Unseen',
  'EMPTY', 'ENOUGH', 'LONGEST', 'MANY', 'NOTHING', 'NO_NAMES', 'RELAYED', 'SHORTEST', 'SHOWN',
  'Brake', 'Judge', 'Verdict', 'brake', 'braked', 'judge', 'judged', 'verdicts',
  'askedVersion', 'breakOff', 'holdsHead', 'passOn', 'passService', 'passThrough', 'passes', 'ruleOn', 'tellAgent', 'twin', 'twinOf', 'twins', 'wantCard'
]
const CAN_PARSE = { object: 'URL', property: 'canParse', message: 'Use parseUrl() of wire/url.ts, which has the same result with every version of Node.' }

export default [
  ...neostandard({ ts: true, ignores: ['dist', 'node_modules', '.tap'] }),
  {
    files: ['src/**/*.ts'],
    plugins: { house: { rules: { arrows, 'operator-errors': operatorErrors } } },
    rules: { 'house/arrows': ['error', MAY_IMPORT] }
  },
  {
    files: ['src/*.ts', ...['agents', 'cli', 'config', 'offline', 'server', 'telemetry'].map(folder => `src/${folder}/**/*.ts`)],
    ignores: ['src/framework.ts'],
    rules: { 'house/operator-errors': ['error', INVARIANTS] }
  },
  ...Object.entries(NOT_HERE).map(([folder, group]) => packages([`src/${folder}/**`], group, GUARDED[folder] ?? [])),
  {
    // A thread of its own: an error ends the thread, and compiler.ts starts another.
    files: ['src/agents/card/compile-thread.ts'],
    rules: { 'no-restricted-syntax': ['error', VARIABLES, GETTERS, ...READINGS] }
  },
  packages(['src/server/admin/**'], NOT_HERE.server, [...LISTENERS, ...TIMERS]),
  packages(['src/server/plugin/**'], [['@fastify/*', 'node:cluster', ...EDGES_OF_OTHERS], 'plugin/ puts a gateway into the Fastify application of another team; the application has one process.'], []),
  {
    files: ['src/console/page/**/*.js', 'src/console/editor/*.js'],
    rules: { 'no-restricted-syntax': 'off' }
  },
  {
    files: ['src/console/page/**/*.js'],
    languageOptions: { globals: Object.fromEntries(['AbortController', 'AbortSignal', 'addEventListener', 'clearTimeout', 'document', 'EventSource', 'fetch', 'history', 'localStorage', 'location', 'navigator', 'Node', 'scrollTo', 'setTimeout', 'TextDecoderStream', 'URL', 'URLSearchParams'].map(name => [name, 'readonly'])) },
    rules: {
      // The page shows what agents say: as text only, and it goes nowhere on its own.
      'no-restricted-properties': ['error', ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'srcdoc'].map(property => ({ property, message: 'Data is shown as text: h() of dom.js.' }))],
      'no-restricted-imports': ['error', { patterns: [{ regex: '^(?!\\./([a-z-]+/)?[a-z-]+\\.js$)', message: 'The page is its own files and nothing else.' }] }]
    }
  },
  {
    files: ['src/console/editor/*.js'],
    languageOptions: { globals: { document: 'readonly' } }
  },
  {
    files: ['src/console/page/*/*.js'],
    rules: {
      'no-restricted-imports': ['error', { patterns: [{ regex: '^(?!\\.\\.?/[a-z-]+\\.js$)', message: 'The page is its own files and nothing else.' }] }]
    }
  },
  {
    // Random input follows from one seed: a test that fails can be repeated.
    files: ['test/**/*.ts'],
    ignores: ['test/helpers/seed.ts'],
    rules: {
      'no-restricted-properties': ['error', ...[
        ['fc', 'assert', 'check() and checkAsync() of test/helpers/seed.ts pass the seed and say how to repeat a failure.'],
        ['fc', 'check', 'check() and checkAsync() of test/helpers/seed.ts pass the seed and say how to repeat a failure.'],
        ['fc', 'sample', 'Use check() of test/helpers/seed.ts, which passes the seed.'],
        ['Math', 'random', 'Use random() of test/helpers/seed.ts, which follows from the seed.']
      ].map(([object, property, message]) => ({ object, property, message }))],
      'no-restricted-imports': ['error', {
        paths: [
          { name: 'node:crypto', importNames: ['randomInt', 'randomBytes', 'randomFillSync', 'getRandomValues'], message: 'Use random() of test/helpers/seed.ts, which follows from the seed.' },
          { name: 'fast-check', importNames: ['assert', 'check', 'sample'], message: 'Use check() of test/helpers/seed.ts, which passes the seed.' }
        ]
      }],
      'no-restricted-syntax': ['error', ...[
        "VariableDeclarator[id.name=/seed/i] MemberExpression[object.name='Date'][property.name='now']",
        "Property[key.name=/seed/i] MemberExpression[object.name='Date'][property.name='now']",
        "NewExpression[callee.name='Random'] MemberExpression[object.name='Date'][property.name='now']",
        "MemberExpression[object.name='crypto'][property.name=/^random|^getRandom/]"
      ].map(selector => ({ selector, message: 'Use SEED or random() of test/helpers/seed.ts, which follow from one seed.' })),
      // Assertions that hold whatever the code does.
      ...Object.entries({
        "CallExpression[callee.object.name='t'][callee.property.name='pass']": 'Assert what the comment says: t.pass() asserts nothing.',
        "CallExpression[callee.object.name='t'][callee.property.name=/^(?:ok|notOk)$/][arguments.0.type=/^(?:Literal|TemplateLiteral|ArrayExpression|ObjectExpression|ArrowFunctionExpression)$/]": 'A constant is no assertion.',
        "CallExpression[callee.object.name='t'][callee.property.name='ok'] > BinaryExpression[operator='>='][right.value=0]": 'A count is never below 0, and an absent sample is 0: assert the number, or that the sample is present.',
        "CallExpression[callee.property.name='notMatch'] Literal[regex.pattern=/a2a_gateway_/]": 'Read the metric: metric() rejects a name that does not exist.',
        "CallExpression[callee.name='until'] > ArrowFunctionExpression > BinaryExpression[operator=/^<=?$/]": 'The number may be small before the event: use untilSame() or untilAtMost() of test/helpers/http.ts.',
        "WhileStatement > ExpressionStatement > AwaitExpression > :matches(CallExpression[callee.name='sleep'], NewExpression[callee.name='Promise'])": 'Use until() of test/helpers/http.ts, which says what it waits for.',
        "CallExpression[callee.object.name='t'][callee.property.name!=/^(?:test|teardown)$/] CallExpression[callee.property.name='said']": 'A log line arrives later than the response of its request: use await heard(pattern, count).',
        "Program > ExpressionStatement > CallExpression[callee.property.name='setTimeout'][arguments.0.value<600000]": 'The limit counts for all files of the process, which may run beside others: give a test a timeout.',
        "ForOfStatement > CallExpression[callee.property.name='said']": 'A log line arrives later than the response of its request: use await heard(pattern, count).'
      }).map(([selector, message]) => ({ selector, message }))]
    }
  },
  {
    files: ['**/*.ts', '**/*.mjs'],
    // The standalone validators are generated code.
    ignores: ['src/*/built/**'],
    rules: {
      // A text of a message, a pattern and a template stay in one piece, so that a search finds them.
      '@stylistic/max-len': ['error', { code: 140, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true, ignoreUrls: true }]
    }
  },
  {
    files: ['**/*.ts'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error'
    }
  },
  {
    files: ['src/**'],
    rules: { 'max-params': ['error', 5] }
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/*/built/**'],
    rules: { 'no-restricted-properties': ['error', CAN_PARSE], 'id-denylist': ['error', ...DENIED_NAMES] }
  },
  {
    files: ['src/**'],
    // The page of the console runs in browsers.
    ignores: ['src/console/page/**', 'src/console/editor/**', ...ENGINE_READERS],
    rules: { 'no-restricted-properties': ['error', { object: 'JSON', property: 'parse', message: READ_JSON }, CAN_PARSE] }
  },
  {
    files: ['src/*.ts'],
    rules: { 'no-restricted-syntax': ['error', VARIABLES, GETTERS, ...READINGS] }
  }
]
