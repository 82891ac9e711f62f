import neostandard from 'neostandard'

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
const GUARDED = { front: [...LISTENERS, ...TIMERS], admin: [...LISTENERS, ...TIMERS], upstream: [...LISTENERS, ...TIMERS], console: LISTENERS }
const only = (files, patterns, guarded = []) => ({
  files,
  rules: {
    'no-restricted-imports': ['error', { patterns }],
    'no-restricted-syntax': ['error', ...READINGS, ...guarded, ...patterns.flatMap(({ group, message }) => required(group).map(selector => ({ selector, message })))]
  }
})
// Packages that are slow to import are required (src/upstream/pool.ts): the same rules for them. Paths of ours are always imported.
const required = group => {
  const names = group.filter(one => !/^[.!]|^node:/.test(one)).map(one => one.replaceAll('/', '\\u002f').replaceAll('*', '.*'))
  const argument = `[arguments.0.value=/^(?:${names.join('|')})$/]`
  return names.length === 0 ? [] : [`CallExpression[callee.name='require']${argument}`, `CallExpression[callee.callee.name='createRequire']${argument}`]
}
const EDGES = ['fastify', 'fastify-plugin', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', 'pino', '@redis/*', 'node:fs', 'node:http', 'node:net']
const FOLDERS = ['wire', 'conform', 'a2a', 'jsonschema', 'config', 'policy', 'pipeline', 'identity', 'offline', 'state', 'upstream', 'telemetry', 'console', 'sandbox', 'call', 'front', 'gateway', 'admin', 'cluster', 'plugin', 'cli']
/** Files of a folder, and of folders in it, import these folders and no others. `config/model`: the types of the configuration. */
const arrows = (folder, may, packages, message) => {
  const others = FOLDERS.filter(one => one !== folder && !may.includes(one))
  const model = may.includes('config/model') ? [{ group: ['**/config/*', '!**/config/model'], message: `${folder}/ knows the types of the configuration, not how a file is loaded.` }] : []
  return only([`src/${folder}/**`], [{ group: [...packages, ...others.filter(one => one !== 'config' || model.length === 0).map(one => `**/${one}/**`)], message }, ...model], GUARDED[folder])
}
const EDGES_OF_OTHERS = ['undici', 'prom-client', '@opentelemetry/*', '@redis/*']
const ONLY = 'Only upstream/ imports undici, only telemetry/ imports prom-client and OpenTelemetry, only state/ imports the client of Redis.'
const ALL_BUT = (...names) => FOLDERS.filter(one => !names.includes(one))
const CAN_PARSE = { object: 'URL', property: 'canParse', message: 'Use parseUrl() of wire/url.ts, which has the same result with every version of Node.' }

export default [
  ...neostandard({ ts: true, ignores: ['dist', 'node_modules', '.tap'] }),
  arrows('wire', [], EDGES, 'wire/ imports nothing of ours and does no I/O.'),
  arrows('conform', ['wire'], ['fastify', 'fastify-plugin', '@fastify/*', ...EDGES_OF_OTHERS, 'pino', 'ajv', 'jose'], 'conform/ tests any proxy: it imports wire/ only, so that it can become a package of its own.'),
  arrows('a2a', ['wire'], EDGES, 'a2a/ is pure protocol knowledge: it imports wire/ only.'),
  arrows('jsonschema', ['wire', 'a2a', 'config/model'], EDGES, 'jsonschema/ is pure, and knows no policy.'),
  arrows('policy', ['wire', 'a2a', 'jsonschema', 'identity', 'config/model'], EDGES, 'policy/ is pure: it imports wire/, a2a/, jsonschema/, identity/ and the types of config/ only.'),
  arrows('pipeline', ['wire', 'a2a', 'jsonschema', 'identity', 'policy', 'config/model'], EDGES, 'pipeline/ is pure: it imports wire/, a2a/, jsonschema/, identity/, policy/ and the types of config/ only.'),
  arrows('identity', ['wire', 'a2a', 'config/model'], EDGES, 'identity/ verifies credentials that it is given: it imports wire/, a2a/ and the types of config/ only.'),
  arrows('state', ['wire', 'a2a', 'identity', 'policy', 'config/model'], EDGES.filter(one => one !== '@redis/*'), 'state/ stores records: it imports wire/, a2a/, identity/, policy/ and the types of config/ only.'),
  arrows('config', ['wire', 'a2a'], ['fastify', '@redis/*', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*'], 'config/ loads files; it knows nothing of the running gateway.'),
  arrows('offline', ['wire', 'a2a', 'jsonschema', 'config', 'identity', 'policy', 'pipeline', 'upstream'], ['fastify', '@redis/*', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', 'pino', 'node:http', 'node:net'], 'offline/ evaluates without a running gateway: it reads files and prints nothing.'),
  arrows('upstream', ['wire', 'a2a', 'config'], ['fastify', '@redis/*', '@fastify/*', 'prom-client', '@opentelemetry/*'], 'upstream/ dials agents; it does not decide.'),
  arrows('telemetry', ['wire', 'a2a', 'config'], ['fastify', '@redis/*', '@fastify/*', 'undici'], 'telemetry/ records events; it does not look for them.'),
  arrows('console', ['wire', 'a2a', 'jsonschema', 'identity', 'config', 'policy', 'pipeline', 'telemetry'], ['fastify', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', 'pino', '@redis/*'], 'console/ shows data that it gets: it imports wire/, a2a/, policy/, pipeline/, config/ and the types of identity/ and telemetry/ only.'),
  arrows('sandbox', ALL_BUT('front', 'admin', 'cluster', 'plugin', 'cli'), ['fastify', '@fastify/*', 'node:http', 'node:net', ...EDGES_OF_OTHERS], 'sandbox/ is a thread of its own: it evaluates requests, and reaches no agent.'),
  arrows('front', ALL_BUT('offline', 'sandbox', 'cluster', 'plugin', 'cli'), [...EDGES_OF_OTHERS, 'node:cluster'], 'A front does not know whether its gateway is one process of several.'),
  // The rules of `front` again, because the last configuration of a file wins.
  only(['src/call/**'], [
    { group: [...EDGES_OF_OTHERS, 'node:cluster', ...['offline', 'sandbox', 'front', 'cluster', 'plugin', 'cli'].map(one => `**/${one}/**`)], message: 'A front does not know whether its gateway is one process of several.' },
    { group: ['**/http/*', '**/grpc/*', '**/mesh/*', '!**/a2a/**', '!**/wire/**', '!**/upstream/**', '!**/pipeline/**'], message: 'call/ is the same for every front: it imports none of them.' }
  ], GUARDED.call),
  arrows('gateway', ALL_BUT('offline', 'sandbox', 'cluster', 'plugin', 'cli'), [...EDGES_OF_OTHERS, 'node:cluster'], 'A gateway does not know whether it is one process of several.'),
  arrows('admin', ALL_BUT('offline', 'sandbox', 'cluster', 'plugin', 'cli'), [...EDGES_OF_OTHERS, 'node:cluster'], 'A gateway does not know whether it is one process of several.'),
  arrows('plugin', ALL_BUT('offline', 'sandbox', 'cluster', 'plugin', 'cli'), ['@fastify/*', 'node:cluster', ...EDGES_OF_OTHERS], 'plugin/ puts a gateway into the Fastify application of another team; the application has one process.'),
  arrows('cluster', ALL_BUT('sandbox', 'plugin', 'cli'), ['fastify-plugin', '@fastify/*', ...EDGES_OF_OTHERS], 'cluster/ makes several processes one gateway; what each of them does is elsewhere.'),
  arrows('cli', FOLDERS, ['node:cluster', ...EDGES_OF_OTHERS], ONLY),
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
    rules: { 'no-restricted-properties': ['error', CAN_PARSE] }
  },
  {
    files: ['src/**'],
    // The page of the console runs in browsers.
    ignores: ['src/console/page/**', 'src/console/editor/**', ...ENGINE_READERS],
    rules: { 'no-restricted-properties': ['error', { object: 'JSON', property: 'parse', message: READ_JSON }, CAN_PARSE] }
  },
  {
    files: ['src/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...READINGS] }
  }
]
