import neostandard from 'neostandard'

// The house rules of docs/architecture.md: arrows point one way and the core is pure.
const only = (files, patterns) => ({
  files,
  rules: {
    'no-restricted-imports': ['error', { patterns }],
    'no-restricted-syntax': ['error', ...patterns.flatMap(({ group, message }) => required(group).map(selector => ({ selector, message })))]
  }
})
// Packages that are slow to import are required (src/framework.ts): the same rules for them. Paths of ours are always imported.
const required = group => {
  const names = group.filter(one => !/^[.!]|^node:/.test(one)).map(one => one.replaceAll('/', '\\u002f').replaceAll('*', '.*'))
  const argument = `[arguments.0.value=/^(?:${names.join('|')})$/]`
  return names.length === 0 ? [] : [`CallExpression[callee.name='require']${argument}`, `CallExpression[callee.callee.name='createRequire']${argument}`]
}
const edges = ['fastify', 'fastify-plugin', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', 'pino', '@redis/*', 'node:fs', 'node:http', 'node:net']

export default [
  ...neostandard({ ts: true, ignores: ['dist', 'node_modules', '.tap'] }),
  only(['src/wire/**'], [{ group: [...edges, '../*'], message: 'wire/ imports nothing of ours and does no I/O.' }]),
  only(['src/a2a/**'], [{ group: [...edges, '../state/*', '../policy/*', '../config/*', '../agent/*', '../gateway/*', '../upstream/*', '../telemetry/*', '../admin/*', '../console/*', '../offline/*', '../cluster/*', '../cli/*'], message: 'a2a/ is pure protocol knowledge: it may import wire/ only.' }]),
  only(['src/policy/**'], [{ group: [...edges, '../state/*', '../agent/*', '../gateway/*', '../upstream/*', '../telemetry/*', '../admin/*', '../console/*', '../offline/*', '../cluster/*', '../cli/*'], message: 'policy/ is pure: it may import wire/, a2a/ and the config model only.' }]),
  only(['src/agent/**'], [{ group: [...edges, '../state/*', '../gateway/*', '../upstream/*', '../telemetry/*', '../admin/*', '../console/*', '../offline/*', '../cluster/*', '../cli/*'], message: 'agent/ is pure: it may import wire/, a2a/, policy/ and the config model only.' }, { group: ['../config/*', '!../config/model.js'], message: 'agent/ knows the model of the configuration, not how it is loaded.' }]),
  only(['src/state/**'], [{ group: [...edges.filter(one => one !== '@redis/*'), '../agent/*', '../gateway/*', '../upstream/*', '../telemetry/*', '../admin/*', '../console/*', '../offline/*', '../cluster/*', '../cli/*'], message: 'state/ keeps what it is given: it may import wire/, a2a/, policy/ and the config model only.' }, { group: ['../config/*', '!../config/model.js'], message: 'state/ knows the model of the configuration, not how it is loaded.' }]),
  only(['src/config/**'], [{ group: ['fastify', '@redis/*', '../state/*', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', '../policy/*', '../agent/*', '../gateway/*', '../upstream/*', '../telemetry/*', '../admin/*', '../console/*', '../offline/*', '../cluster/*', '../cli/*'], message: 'config/ loads files; it knows nothing of the running gateway.' }]),
  only(['src/offline/**'], [{ group: ['fastify', '@redis/*', '../state/*', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', 'pino', 'node:http', 'node:net', '../gateway/*', '../telemetry/*', '../admin/*', '../console/*', '../cluster/*', '../cli/*'], message: 'offline/ judges without a running gateway: it reads files and prints nothing.' }]),
  only(['src/upstream/**'], [{ group: ['fastify', '@redis/*', '../state/*', '@fastify/*', 'prom-client', '@opentelemetry/*', '../policy/*', '../agent/*', '../gateway/*', '../telemetry/*', '../admin/*', '../console/*', '../offline/*', '../cluster/*', '../cli/*'], message: 'upstream/ dials agents; it does not decide.' }]),
  only(['src/telemetry/**'], [{ group: ['fastify', '@redis/*', '../state/*', '@fastify/*', 'undici', '../policy/*', '../agent/*', '../gateway/*', '../upstream/*', '../admin/*', '../console/*', '../offline/*', '../cluster/*', '../cli/*'], message: 'telemetry/ is told what happened; it does not look.' }]),
  only(['src/console/**'], [{ group: ['fastify', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', 'pino', '@redis/*', '../state/*', '../gateway/*', '../upstream/*', '../admin/*', '../offline/*', '../cluster/*', '../cli/*'], message: 'console/ shows what it is told: it may import wire/, a2a/, policy/, agent/, config/ and the types of telemetry/ only.' }]),
  only(['src/gateway/**', 'src/admin/**'], [{ group: ['undici', 'prom-client', '@opentelemetry/*', '@redis/*'], message: 'Only upstream/ imports undici, only telemetry/ imports prom-client and OpenTelemetry, only state/ the client of Redis.' }, { group: ['../cluster/*', '../cli/*', 'node:cluster'], message: 'A gateway does not know whether it is one process of several.' }]),
  only(['src/cluster/**'], [{ group: ['fastify-plugin', '@fastify/*', 'undici', 'prom-client', '@opentelemetry/*', '@redis/*', '../cli/*'], message: 'cluster/ makes several processes one gateway; what each of them does is elsewhere.' }]),
  only(['src/cli/**'], [{ group: ['node:cluster', 'undici', 'prom-client', '@opentelemetry/*', '@redis/*'], message: 'Only upstream/ imports undici, only telemetry/ imports prom-client and OpenTelemetry, only state/ the client of Redis.' }]),
  {
    files: ['src/console/page/**/*.js'],
    languageOptions: { globals: Object.fromEntries(['addEventListener', 'clearTimeout', 'document', 'EventSource', 'fetch', 'localStorage', 'location', 'Node', 'scrollTo', 'setTimeout', 'URL', 'URLSearchParams'].map(name => [name, 'readonly'])) },
    rules: {
      // The page shows what agents say: as text only, and it goes nowhere on its own.
      'no-restricted-properties': ['error', ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'srcdoc'].map(property => ({ property, message: 'Data is shown as text: h() of dom.js.' }))],
      'no-restricted-imports': ['error', { patterns: [{ regex: '^(?!\\./[a-z-]+\\.js$)', message: 'The page is its own files and nothing else.' }] }]
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
    files: ['**/*.ts'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error'
    }
  }
]
