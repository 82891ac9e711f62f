import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import {
  defaultConfig,
  formatDiagnostic,
  loadCatalogue,
  loadConfig,
  mergeOverrides,
  overridesFromEnvironment,
  parseConfig
} from '#config/load.js'
import type { LoadResult, Overrides } from '#config/load.js'
import type { Config } from '#config/model/model.js'

const ONE = 'version: 1\nagents:\n  - name: a\n    upstream: {url: "http://127.0.0.1:1/base"}\n'
const TWO = `${ONE}  - {name: b, path: /b, upstream: {url: "http://h"}}\n`

const parse = (text: string, overrides: Overrides = {}, env: NodeJS.ProcessEnv = {}) =>
  parseConfig(text, { file: 'g.yaml', baseDir: '/base', env, overrides })

function config (result: LoadResult): Config {
  if (!result.ok) throw new Error(result.problems.map(formatDiagnostic).join('\n'))
  return result.config
}

function problems (result: LoadResult): string[] {
  return result.ok ? [] : result.problems.map(formatDiagnostic)
}

t.test('a file becomes the model', t => {
  const directory = mkdtempSync(join(tmpdir(), 'config-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  mkdirSync(join(directory, 'pem'))
  for (const file of ['pem/ca.pem', 'pem/cert.pem', 'pem/key.pem', 'card.json']) writeFileSync(join(directory, file), '{}')
  const file = join(directory, 'gateway.yaml')
  writeFileSync(
    file,
    `\ufeff# yaml-language-server: $schema=./gateway.schema.json
version: 1
server:
  listen: :8000
  admin: "[::1]:0"
  publicUrl: https://Agents.example.com/a/
  trustedProxies: [10.0.0.0/8, "fd00::/8", 192.0.2.1]
  drainTimeout: 1500ms
limits: {headers: 16KiB, body: 64KiB, response: 1MiB, event: 2KiB, card: 10KiB, jsonDepth: 8, jsonMembers: 100, extensions: 4, headersTimeout: 5s, requestTimeout: 2m, idleTimeout: 1m, writeTimeout: 0s, memory: 64MiB, connections: 9}
shedding: {eventLoopDelay: 500ms, eventLoopUtilization: 0.9, heapUsed: 1GiB, rss: 2GiB, retryAfter: 1s}
agents:
  - name: first
    path: /agents/first
    host: Agents.Example.COM
    upstream:
      url: https://h.example:9999/base
      timeouts: &t {connect: 1s, headers: 0s, idle: 5m, queue: 1s, total: 1h}
      connections: 7
      tls: {ca: pem/ca.pem, cert: pem/cert.pem, key: pem/key.pem, serverName: agent.internal}
      extensionHeader: {spelling: both, form: joined}
    card: {file: card.json, refresh: 5s, maxStale: 2h, onUnavailable: forward, signature: verbatim}
    concurrency: {requests: 4, streams: 3}
    mode: observe
    enforceOn: all
    unlistedExtensions: strip
    unknownMethods: forward
    responses: enforce
    extensions: [own]
    passthrough: [/static, /docs/v1]
  - name: second
    upstream: {url: "http://h", timeouts: *t}
extensions:
  own:
    uri: https://example.com/ext/v1
    mode: observe
    activation: {required: always, default: inject, expose: true}
    request:
      - id: shape
        select: {part: {data: true, mediaType: [application/json, application/x.y+json;schema=*], take: first}}
        when: {taskId: absent}
        unless: {contextId: present}
        count: {min: 0, max: 2}
        schema: {type: object, required: [fromCard], properties: {fromCard: {pattern: ^a$}}}
        error: {class: conflict, undeclared: forbidden, message: no, reason: NOT_SO}
      - {id: card, select: {part: {}}, required: false, schema: {fromCard: ["/schemas/{schema}"]}}
      - {id: never, select: {part: {}}, required: false, schema: false}
    response:
      - {id: total, select: {metadata: {key: $uri}}, schema: true, verdict: annotate, chunked: false}
state: {store: "rediss://user:secret@redis.internal:6380/2", ttl: 2h, maxTasks: 10, timeout: 1s, prefix: "team:"}
telemetry: {logs: {level: debug, format: pretty}, traces: {enabled: true}, audit: {enabled: false}}
`
  )
  const loaded = loadConfig({ file, env: {} })
  const result = config(loaded)
  t.same(result.server, {
    listen: { host: '0.0.0.0', port: 8000 },
    admin: { host: '::1', port: 0 },
    publicUrl: 'https://agents.example.com/a',
    hosts: [],
    trustedProxies: ['10.0.0.0/8', 'fd00::/8', '192.0.2.1'],
    drainTimeout: 1500,
    workers: 1,
    metrics: null,
    adminHosts: [],
    adminAccess: null,
    console: { enabled: true, tryIt: false, playground: false, requests: 0, decisions: 200, hosts: [], traceUrl: null, public: null },
    catalog: null,
    stateDir: null,
    tls: null,
    grpc: null,
    mesh: null
  })
  t.same(result.limits, {
    headers: 16384,
    body: 65536,
    response: 1048576,
    event: 2048,
    card: 10240,
    jsonDepth: 8,
    jsonMembers: 100,
    extensions: 4,
    headersTimeout: 5000,
    requestTimeout: 120000,
    idleTimeout: 60000,
    writeTimeout: 0,
    memory: 67_108_864,
    connections: 9
  })
  t.same(result.shedding, { eventLoopDelay: 500, eventLoopUtilization: 0.9, heapUsed: 1024 ** 3, rss: 2 * 1024 ** 3, retryAfter: 1000 })
  t.same(result.agents[0], {
    name: 'first',
    origin: null,
    path: '/agents/first',
    host: 'agents.example.com',
    grpc: null,
    upstream: {
      url: 'https://h.example:9999/base',
      timeouts: { connect: 1000, headers: 0, idle: 300000, queue: 1000, total: 3600000 },
      connections: 7,
      tls: {
        ca: join(directory, 'pem/ca.pem'),
        cert: join(directory, 'pem/cert.pem'),
        key: join(directory, 'pem/key.pem'),
        serverName: 'agent.internal'
      },
      credentials: { client: 'strip', send: [], identity: null },
      extensionHeader: { spelling: 'both', form: 'joined' }
    },
    card: {
      url: null,
      file: join(directory, 'card.json'),
      refresh: 5000,
      maxStale: 7200000,
      headers: {},
      extended: null,
      public: null,
      onUnavailable: 'forward',
      signature: 'verbatim',
      security: null,
      securityForm: null,
      interfaces: [],
      advertise: [],
      schemas: {},
      verify: null,
      sign: null,
      views: [],
      publicSkills: [],
      changes: 'apply',
      texts: 'report',
      lock: null
    },
    concurrency: { requests: 4, streams: 3 },
    protocol: { unknownMinor: 'carry', backslashNames: 'reject' },
    cors: { origins: [], maxAge: 600_000 },
    mode: 'observe',
    enforceOn: 'all',
    unlistedExtensions: 'strip',
    unknownMethods: 'forward',
    untaggedData: 'allow',
    access: { require: null, audience: null, mode: 'enforce', allow: null, deny: [], tasks: null, delegation: null },
    push: null,
    jsonSchema: { formats: 'draft' },
    responses: 'enforce',
    extensions: ['own'],
    external: [],
    policies: [
      {
        name: 'own',
        policy: result.extensions.own,
        layers: ['file'],
        from: {
          uri: 'file',
          mode: 'file',
          'activation.required': 'file',
          'activation.default': 'file',
          'activation.expose': 'file',
          request: 'file',
          response: 'file'
        }
      }
    ],
    dependencies: {},
    leftOut: [{ name: 'object-schemas', policy: loadCatalogue()['object-schemas'], layers: ['catalogue'], from: result.agents[0]?.leftOut[0]?.from }],
    passthrough: ['/static', '/docs/v1'],
    reservedPaths: []
  })
  t.same([result.agents[1]?.path, result.agents[1]?.host, result.agents[1]?.upstream.timeouts.idle], ['', null, 300000])
  t.same(result.extensions.own?.activation, { required: 'always', default: 'inject', expose: true })
  t.equal(result.extensions.own?.request?.length, 3)
  t.same(result.extensions.own?.request?.[1]?.schema, { fromCard: ['/schemas/{schema}'] })
  t.same(result.extensions.own?.response, [
    {
      id: 'total',
      select: { metadata: { key: '$uri', in: ['message', 'status', 'artifact', 'task', 'event'] } },
      schema: true,
      verdict: 'annotate',
      chunked: false
    }
  ])
  t.same(result.state, { store: 'rediss://user:secret@redis.internal:6380/2', ttl: 7200000, maxTasks: 10, timeout: 1000, prefix: 'team:' })
  t.same(result.telemetry, { logs: { level: 'debug', format: 'pretty' }, traces: { enabled: true }, metrics: { exemplars: false }, audit: { enabled: false, forwarded: false, observedLines: 20 } })
  t.same(loaded.ok && loaded.warnings, [])
  t.match(result.hash, /^[0-9a-f]{12}$/)
  t.end()
})

t.test('a file that cannot be read is one problem', t => {
  const directory = mkdtempSync(join(tmpdir(), 'config-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(join(directory, name), content)
    return join(directory, name)
  }
  const load = (path: string) => problems(loadConfig({ file: path, env: {} })).map((line) => line.replace(`${directory}/`, ''))
  t.same(load(join(directory, 'no.yaml')), ['no.yaml: cannot read the file: no such file'])
  t.same(load(join(file('a.yaml', ''), 'b.yaml')), ['a.yaml/b.yaml: cannot read the file: no such file'])
  t.same(load(directory), [`${directory}: cannot read the file: it is a directory`])
  t.same(load(join(directory, 'x'.repeat(300))).map((line) => line.replace(/^x+/, '')), [': cannot read the file: the name is too long'])
  t.same(load(file('latin.yaml', Buffer.from([0x61, 0xe9, 0x0a]))), ['latin.yaml: the file is not valid UTF-8 (save it as UTF-8)'])
  t.same(load(file('large.yaml', Buffer.alloc(1024 * 1024 + 1, '#'))), [
    'large.yaml: the file is larger than 1 MiB (is it the configuration?)'
  ])
  t.same(load('/dev/zero'), ['/dev/zero: the file is larger than 1 MiB (is it the configuration?)'])
  t.same(load(file('windows.yaml', 'version: 1\r\nagents: 1\r\n')), ['windows.yaml:2:9: agents must be a list, not the number 1'])
  if (process.getuid?.() !== 0) {
    chmodSync(file('secret.yaml', ''), 0)
    t.same(load(join(directory, 'secret.yaml')), ['secret.yaml: cannot read the file: permission denied'])
  }
  t.end()
})

t.test('lines after a syntax error are still counted', t => {
  t.match(problems(parseConfig('{}},\n":', { file: 'g.yaml', baseDir: '.', env: {} })).at(-1), /^g\.yaml:2:2: /)
  t.end()
})

t.test('flags win over environment, environment over file', t => {
  const env = {
    A2A_GATEWAY_LISTEN: ':1',
    A2A_GATEWAY_ADMIN: ':2',
    A2A_GATEWAY_UPSTREAM: 'http://env',
    A2A_GATEWAY_LOG_LEVEL: 'warn',
    A2A_GATEWAY_CONFIG: 'x'
  }
  const text = `${ONE}server: {listen: ":7", admin: ":8"}\n`
  const fromEnvironment = config(parse(text, overridesFromEnvironment(env)))
  t.same(
    [
      fromEnvironment.server.listen?.port,
      fromEnvironment.server.admin.port,
      fromEnvironment.agents[0]?.upstream.url,
      fromEnvironment.telemetry.logs.level
    ],
    [1, 2, 'http://env/', 'warn']
  )
  const both = config(
    parse(text, mergeOverrides({ listen: ':3', upstream: 'http://flag', admin: undefined }, overridesFromEnvironment(env)))
  )
  t.same([both.server.listen?.port, both.server.admin.port, both.agents[0]?.upstream.url], [3, 2, 'http://flag/'])
  t.same(config(parse(text, overridesFromEnvironment({ A2A_GATEWAY_LISTEN: '' }))).server.listen?.port, 7)
  t.equal(
    config(parse('version: 1\nagents: [{name: a}]\n', { upstream: 'http://flag' })).agents[0]?.upstream.url,
    'http://flag/',
    'an agent without upstream'
  )
  t.equal(parse('version: 1\nserver: 1\nagents: {a: 1}\n', { upstream: 'http://flag', listen: ':1' }).ok, false)
  t.end()
})

t.test('problems in overrides name the flag or the variable', t => {
  const env = { A2A_GATEWAY_LISTEN: 'x', A2A_GATEWAY_LOG_LEVEL: 'verbos' }
  t.same(problems(parse(ONE, mergeOverrides({ admin: 'y' }, overridesFromEnvironment(env)))), [
    'A2A_GATEWAY_LISTEN: server.listen must be host:port (such as "0.0.0.0:8080", ":8080" or "[::1]:8080")',
    '--admin: server.admin must be host:port (such as "0.0.0.0:8080", ":8080" or "[::1]:8080")',
    'A2A_GATEWAY_LOG_LEVEL: telemetry.logs.level must be one of fatal, error, warn, info, debug, trace, silent, not "verbos"'
  ])
  t.same(problems(parse(TWO, { upstream: 'http://x' })), [
    '--upstream: needs a file with exactly one agent, and this one has 2 (set upstream.url of each agent in the file)'
  ])
  t.same(problems(parse(ONE, { listen: ':9901', admin: ':9901' })), [
    '--admin: server.listen and server.admin are the same address (the admin listener needs its own address)'
  ])
  t.end()
})

t.test('without a file there is one agent, at the root', t => {
  const result = config(defaultConfig({ env: {}, overrides: { upstream: 'http://127.0.0.1:9999', listen: '127.0.0.1:0' } }))
  t.equal(result.agents.length, 1)
  t.match(result.agents[0], {
    name: 'agent',
    path: '',
    host: null,
    upstream: { url: 'http://127.0.0.1:9999/' },
    extensions: ['object-schemas'],
    mode: 'enforce'
  })
  t.same(result.server.listen, { host: '127.0.0.1', port: 0 })
  t.same(problems(defaultConfig({ env: {}, overrides: {} })), [
    '--upstream: the URL of the agent is required (or give a file with --config)'
  ])
  t.same(problems(defaultConfig({ env: {}, overrides: { upstream: 'localhost:1' } })), [
    '--upstream: agents[0].upstream.url must be an absolute http or https URL (did you mean "http://localhost:1"?)'
  ])
  t.same(problems(defaultConfig({ env: {}, overrides: { upstream: 'http://h', listen: '127.0.0.1:9901' } })), [
    'defaults: server.listen and server.admin are the same address (the admin listener needs its own address)'
  ])
  t.end()
})

t.test('the hash depends on the meaning of the configuration, not on its spelling', t => {
  const hash = (text: string) => config(parse(text)).hash
  t.equal(hash(ONE), hash(`# a comment\n${ONE.replace('version: 1\n', '')}version: 1\nlimits: {body: 20480KiB}\n`))
  t.not(hash(ONE), hash(`${ONE}limits: {body: 5MiB}\n`))
  t.not(hash(ONE), hash(`${ONE}limits: {event: 2MiB}\n`))
  t.not(hash(ONE), hash(`${ONE}state: {ttl: 1h}\n`), 'what is remembered of tasks is part of it')
  t.end()
})

t.test('a configuration cannot be changed', t => {
  const result = config(parse(ONE))
  t.throws(() => { (result.limits as { body: number }).body = 1 }, { name: 'TypeError' })
  t.throws(() => { (result.agents as unknown[]).push(1) }, { name: 'TypeError' })
  t.end()
})

t.test('the catalogue', t => {
  const catalogue = loadCatalogue()
  t.match(catalogue['object-schemas'], { uri: /object-schemas/ })
  t.equal(loadCatalogue(), catalogue, 'is read once')
  const own = config(parse(`${ONE}    extensions: [object-schemas]\nextensions: {object-schemas: {uri: "urn:mine"}}\n`))
  t.equal(own.extensions['object-schemas']?.uri, 'urn:mine', 'a policy of the file takes precedence')
  t.end()
})
