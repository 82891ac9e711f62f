import neostandard from 'neostandard'

// The house rules of docs/contributing/architecture.md: arrows point one way and the core is pure.
const only = (files, patterns) => ({
  files,
  rules: {
    'no-restricted-imports': ['error', { patterns }],
    'no-restricted-syntax': ['error', ...patterns.flatMap(({ group, message }) => required(group).map(selector => ({ selector, message })))]
  }
})
// Packages that are slow to import are required (src/upstream/pool.ts): the same rules for them. Paths of ours are always imported.
const required = group => {
  const names = group.filter(one => !/^[.!]|^node:/.test(one)).map(one => one.replaceAll('/', '\\u002f').replaceAll('*', '.*'))
  const argument = `[arguments.0.value=/^(?:${names.join('|')})$/]`
  return names.length === 0 ? [] : [`CallExpression[callee.name='require']${argument}`, `CallExpression[callee.callee.name='createRequire']${argument}`]
}
const EDGES = ['fastify', 'fastify-plugin', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', 'pino', '@redis/*', 'node:fs', 'node:http', 'node:net']
const FOLDERS = ['wire', 'a2a', 'jsonschema', 'config', 'policy', 'pipeline', 'identity', 'offline', 'state', 'upstream', 'telemetry', 'console', 'sandbox', 'front', 'gateway', 'admin', 'cluster', 'plugin', 'cli']
/** Files of a folder, and of folders in it, import these folders and no others. `config/model`: the types of the configuration. */
const arrows = (folder, may, packages, message) => {
  const others = FOLDERS.filter(one => one !== folder && !may.includes(one))
  const model = may.includes('config/model') ? [{ group: ['**/config/*', '!**/config/model'], message: `${folder}/ knows the types of the configuration, not how a file is loaded.` }] : []
  return only([`src/${folder}/**`], [{ group: [...packages, ...others.filter(one => one !== 'config' || model.length === 0).map(one => `**/${one}/**`)], message }, ...model])
}
const EDGES_OF_OTHERS = ['undici', 'prom-client', '@opentelemetry/*', '@redis/*']
const ONLY = 'Only upstream/ imports undici, only telemetry/ imports prom-client and OpenTelemetry, only state/ imports the client of Redis.'
const ALL_BUT = (...names) => FOLDERS.filter(one => !names.includes(one))

export default [
  ...neostandard({ ts: true, ignores: ['dist', 'node_modules', '.tap'] }),
  arrows('wire', [], EDGES, 'wire/ imports nothing of ours and does no I/O.'),
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
  only(['src/front/call/**'], [
    { group: [...EDGES_OF_OTHERS, 'node:cluster', ...['offline', 'sandbox', 'cluster', 'plugin', 'cli'].map(one => `**/${one}/**`)], message: 'A front does not know whether its gateway is one process of several.' },
    { group: ['**/http/*', '**/grpc/*', '**/mesh/*', '!**/a2a/**', '!**/wire/**', '!**/upstream/**', '!**/pipeline/**'], message: 'front/call/ is the same for every front: it imports none of them.' }
  ]),
  arrows('gateway', ALL_BUT('offline', 'sandbox', 'cluster', 'plugin', 'cli'), [...EDGES_OF_OTHERS, 'node:cluster'], 'A gateway does not know whether it is one process of several.'),
  arrows('admin', ALL_BUT('offline', 'sandbox', 'cluster', 'plugin', 'cli'), [...EDGES_OF_OTHERS, 'node:cluster'], 'A gateway does not know whether it is one process of several.'),
  arrows('plugin', ALL_BUT('offline', 'sandbox', 'cluster', 'plugin', 'cli'), ['@fastify/*', 'node:cluster', ...EDGES_OF_OTHERS], 'plugin/ puts a gateway into the Fastify application of another team; the application has one process.'),
  arrows('cluster', ALL_BUT('sandbox', 'plugin', 'cli'), ['fastify-plugin', '@fastify/*', ...EDGES_OF_OTHERS], 'cluster/ makes several processes one gateway; what each of them does is elsewhere.'),
  arrows('cli', FOLDERS, ['node:cluster', ...EDGES_OF_OTHERS], ONLY),
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
      ].map(selector => ({ selector, message: 'Use SEED or random() of test/helpers/seed.ts, which follow from one seed.' }))]
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
  }
]
