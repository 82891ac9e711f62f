/* eslint no-template-curly-in-string: off -- ${VAR} is the configuration's own syntax */
/** `init`: for every card, `check` accepts the configuration, `test` passes, and both describe the agent as the card does. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { Test } from 'tap'
import { readCard } from '#a2a/card/card.js'
import { runCheck } from '#cli/check.js'
import { CHECKS } from '#offline/configuration.js'
import { runInit } from '#cli/init.js'
import { extensionName } from '#cli/init/extension-name.js'
import { inferSchema } from '#cli/init/infer-schema.js'
import { planOf } from '#cli/init/plan.js'
import { starterFile } from '#cli/init/starter.js'
import { runTest } from '#cli/test.js'
import { formatDiagnostic, loadCatalogue, parseConfig } from '#config/load.js'
import type { Config, PolicyConfig } from '#config/model/model.js'
import { anyText } from '../helpers/any-text.js'
import { startAgent } from '../helpers/agents.js'
import { check } from '../helpers/seed.js'
import { sentencesOf, unsaid } from '../helpers/sentences.js'

const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
const printed: string[] = []

async function init (url: string | undefined, output?: string): Promise<{ code: number, out: string, err: string }> {
  let [out, err] = ['', '']
  const code = await runInit({ urls: url === undefined ? [] : [url], output }, { out: text => { out += text }, err: text => { err += `${text}\n` } })
  printed.push(...out.split('\n'), err)
  return { code, out, err }
}

/** Loads it without a problem or warning. */
function accepted (text: string): Config {
  const loaded = parseConfig(text, { file: 'starter.yaml', baseDir: process.cwd(), env: {}, checks: CHECKS })
  if (!loaded.ok) throw new Error(`${loaded.problems.map(formatDiagnostic).join('\n')}\n${text}`)
  if (loaded.warnings.length > 0) throw new Error(loaded.warnings.map(formatDiagnostic).join('\n'))
  return loaded.config
}

async function serve (t: Test, handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('agents of every SDK, by the address of the agent or of its card', async t => {
  for (const kind of ['v1', 'dual', 'v03'] as const) {
    const agent = await startAgent({
      kind,
      card: {
        name: 'Order Desk',
        extensions: [
          { uri: OBJECT_SCHEMAS, required: true, description: 'Typed input.', params: { schemas: { order: {} } } },
          { uri: 'https://example.com/ext/loyalty/v1.2', params: { tiers: 3 } }
        ]
      }
    })
    t.teardown(() => agent.close())
    const { code, out, err } = await init(agent.url)
    t.same([code, err], [0, ''], kind)
    const config = accepted(out)
    t.match(config.agents, [
      { name: 'order-desk', upstream: { url: `${agent.url}/` }, mode: 'enforce', card: { url: null }, extensions: ['object-schemas', 'loyalty'] }
    ])
    t.match(
      out,
      `      # "${OBJECT_SCHEMAS}", required: Typed input.\n      #   its params: "schemas"\n      #   schemas that the card declares: "order"\n      # Response rules: 2. They only record violations while "responses" above is observe.\n      - object-schemas\n`
    )
    t.match(
      out,
      '      # "https://example.com/ext/loyalty/v1.2", not required\n      #   its params: "tiers"\n      # The catalogue has no policy for it: the proposed policy is below.\n      - loyalty\n'
    )
    t.match(out, '# The agent takes "text/plain", "application/json".')
    t.match(config.extensions.loyalty, {
      uri: 'https://example.com/ext/loyalty/v1.2',
      owns: { metadata: ['$uri', '$uri/*'] },
      activation: { signals: ['header'] },
      request: [{ select: { metadata: { in: ['message', 'params'], key: '$uri' } } }, { select: { metadata: { in: ['message', 'params'], key: '$uri/*' } } }]
    }, 'both forms of metadata, in message and request')
    t.same(accepted((await init(agent.cardUrl)).out).agents, config.agents, 'the address of the card is as good')

    const directory = t.testdir()
    const file = join(directory, 'starter.yaml')
    const written = await init(agent.url, file)
    t.match(written, { code: 0, out: '', err: /^written: .*starter\.yaml, .*starter\.test\.yaml, .*gateway\.schema\.json, .*policy-test\.schema\.json\nnext: a2a-gateway check .* --live\n +a2a-gateway test --config .*starter\.yaml .*starter\.test\.yaml\n$/ })
    const withoutHead = (text: string): string => text.replace(/^(?:# (?:yaml-language|Next|For completion).*\n|# Created.*\n)+/, '')
    t.equal(withoutHead(readFileSync(file, 'utf8')), withoutHead(out))
    t.match(await init(agent.url, file), {
      code: 1,
      err: `a2a-gateway init: ${file} exists already; name another file with --output, or remove it`
    })
    t.same(passing(file, join(directory, 'starter.test.yaml')), [])
    const lines: string[] = []
    t.equal(
      await runCheck(
        { config: file, live: true, env: {} },
        {
          out: text => {
            lines.push(text)
          },
          err: text => {
            lines.push(text)
          }
        }
      ),
      0,
      lines.join('')
    )
    t.match(await init(agent.url, join(file, 'x')), { code: 1, err: /cannot be written: / })
  }
})

/** @returns the tests of a file that do not pass, or the problems of the file */
function passing (config: string, file: string): string[] {
  let [out, err] = ['', '']
  const code = runTest(
    { files: [file], config, only: null, format: 'json', terminal: false, env: {} },
    { out: text => { out += text }, err: text => { err += text } }
  )
  if (code === 0) return (JSON.parse(out) as { passed: number }).passed > 0 ? [] : ['no tests']
  return [err, out]
}

t.test('a policy of the catalogue is found by an alias', async t => {
  const alias = 'https://github.com/google-a2a/a2a-x402/v0.1'
  const url = await serve(t, (_req, res) => {
    res.end(JSON.stringify({ name: 'shop', url: 'http://127.0.0.1:1/', capabilities: { extensions: [{ uri: alias, required: true }] } }))
  })
  const { code, out } = await init(url)
  t.equal(code, 0)
  t.same(accepted(out).agents[0]?.extensions, ['x402'])
  t.match(
    out,
    `# The policy is for "https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2"; the card declares an alias of it:\n      # "${alias}", required\n`
  )
})

t.test('a card at another address, and an agent below a path', async t => {
  const card = JSON.stringify({ name: '7', url: 'https://agents.example:8443/a2a/v1' })
  const url = await serve(t, (req, res) => {
    if (req.url === '/registry/seven.json?v=1' || req.url === '/team/a/.well-known/agent.json') res.end(card)
    else res.writeHead(404).end()
  })
  t.match(accepted((await init(`${url}/registry/seven.json?v=1#x`)).out).agents, [
    { name: 'agent-7', upstream: { url: 'https://agents.example:8443/' }, card: { url: `${url}/registry/seven.json?v=1` } }
  ])
  t.match(accepted((await init(`${url}/team/a`)).out).agents, [{ upstream: { url: `${url}/team/a` }, card: { url: null }, extensions: [] }])
  t.match((await init(`${url}/team/a/`)).out, '# The card declares no extension.')
})

t.test('cards that leave something out, as those of agno and fasta2a do: init proposes card.file, and asks the agent nothing', async t => {
  const asked: string[] = []
  const serveCard = (more: object): Promise<string> => serve(t, (req, res) => {
    asked.push(req.url ?? '')
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ name: 'a', description: 'a', version: '1', capabilities: {}, defaultInputModes: [], defaultOutputModes: [], skills: [], ...more }))
  })
  const url = 'http://127.0.0.1/v1/message:stream'
  const agno = await init(await serveCard({ protocolVersion: '0.3.0', preferredTransport: 'JSONRPC', url }))
  const fasta2a = await init(await serveCard({ supportedInterfaces: [{ url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }))
  const fine = await init(await serveCard({ protocolVersion: '0.3.0', url: 'http://127.0.0.1/' }))
  t.match(agno.out, `The JSONRPC interface "${url}" has the address of one method.`)
  t.match(fasta2a.out, 'The card offers A2A 1.0 only.')
  for (const { out } of [agno, fasta2a]) t.match(out, '"a2a-gateway help troubleshooting" shows how.')
  t.notMatch(fine.out, 'corrected copy')
  for (const { out } of [agno, fasta2a, fine]) accepted(out)
  t.same(new Set(asked), new Set(['/.well-known/agent-card.json']))
})

t.test('no card: the messages', async t => {
  const url = await serve(t, (_req, res) => { res.end('<html>') })
  t.match(await init(url), {
    code: 1,
    out: '',
    err: `a2a-gateway init: no card there: ${url}/.well-known/agent-card.json does not contain a card: `
  })
  t.match(await init('http://127.0.0.1:1'), {
    code: 1,
    out: '',
    err: /^a2a-gateway init: no card there: .* cannot be reached: connection refused/
  })
  t.same(await init(undefined), {
    code: 2,
    out: '',
    err: 'a2a-gateway init: the URL of an agent is required, such as http://127.0.0.1:9999, or --card FILE, or --from RECORDING [A2AGW_ERR_USAGE]\n'
  })
  t.same(await init('localhost:9999'), {
    code: 2,
    out: '',
    err: 'a2a-gateway init: URL: must be an absolute http or https URL (did you mean "http://localhost:9999"?) [A2AGW_ERR_USAGE]\n'
  })
  t.match(await init('card.json'), { code: 2, err: /must be an absolute http or https URL/ })
  t.match(await init('http://u:p@h/'), { code: 2, err: /must not carry credentials/ })
})

const starter = (
  value: unknown,
  catalogue: Readonly<Record<string, PolicyConfig>> = loadCatalogue(),
  cardUrl: string | null = null
): string => {
  const read = readCard(value)
  if (!read.ok) throw new Error(read.problem)
  const text = starterFile(planOf([{ card: read.card, origin: 'http://a.test/', upstream: 'http://a.test/', cardUrl }], null, catalogue))
  printed.push(...text.split('\n'))
  return text
}

const HOSTILE = [
  'x\n    mode: off',
  '\u2028mode: off',
  '\u0085mode: off',
  '"}\n# x',
  '${HOME}',
  '$${HOME}',
  '${',
  '\u0000\u001b[31m',
  '\ufeff',
  '\ud800',
  'null',
  'true',
  '1e5',
  '-',
  '...',
  '---\n',
  '%YAML 1.1',
  '&a *a !!str',
  '[[[[[',
  '\u202e',
  'a: b # c',
  "it's",
  '\\',
  '\r'
]

t.test('hostile cards', async t => {
  for (const [index, text] of HOSTILE.entries()) {
    const value = {
      name: text,
      url: 'http://a.test/',
      defaultInputModes: [text],
      defaultOutputModes: [text, 7],
      schemas: { [text]: {} },
      capabilities: {
        extensions: [
          { uri: OBJECT_SCHEMAS, description: text },
          { uri: `urn:${text}`, description: text, params: { [text]: text } },
          { uri: text },
          { uri: 'urn:plain:${HOME}', required: text }
        ]
      }
    }
    const out = starter(value)
    const config = accepted(out)
    t.same([config.agents.length, config.agents[0]?.mode, config.agents[0]?.extensions[0]], [1, 'enforce', 'object-schemas'], String(index))
    const own = Object.values(config.extensions).map(policy => policy.uri)
    t.ok(own.includes('urn:plain:${HOME}'), 'the URI is the card\'s, character by character')
    // eslint-disable-next-line no-control-regex
    t.notMatch(out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e\ufeff]/)
  }
})

t.test('any card', async t => {
  const text = fc.oneof(anyText(), fc.constantFrom(...HOSTILE), fc.webUrl())
  const extension = fc.record({ uri: text, required: fc.boolean(), description: text, params: fc.dictionary(text, text) })
  t.ok(check(
    'cli/init/any-card',
    fc.property(text, fc.array(extension, { maxLength: 5 }), fc.array(text, { maxLength: 3 }), (name, extensions, modes) => {
      const value = { name, url: 'http://a.test/', defaultInputModes: modes, capabilities: { extensions } }
      const out = starter(value)
      const read = readCard(value)
      const uris = read.ok ? read.card.extensions.map(one => one.uri) : []
      const own = Object.values(accepted(out).extensions).map(policy => policy.uri)
      if (own.toSorted().join() !== uris.toSorted().join()) throw new Error(`${own.join()} is not ${uris.join()}`)
    }),
    { numRuns: 100 }
  ) > 0, 'inputs')
})

t.test('policies of the catalogue, which only observe', async t => {
  const out = starter(
    {
      url: 'http://a.test/',
      extensions: [{ uri: 'urn:watched' }],
      defaultInputModes: Array.from({ length: 12 }, (_, index) => `a/${index}`)
    },
    { watched: { uri: 'urn:watched', mode: 'observe' } },
    'http://cards.test/${x}.json'
  )
  t.match(out, '      # Only records violations; to reject them, write "- watched: {mode: enforce}" instead.\n      - watched\n')
  t.match(out, '"a/9" and 2 more.')
  t.match(out, '\n    responses: observe\n')
  t.match(out, '# The card: extensions are declared at the root of the card')
  t.match(out, 'url: "http://cards.test/$${x}.json"')
})

t.test('policies with rules for responses', async t => {
  const rule = { id: 'r', select: { part: {} }, count: { min: 1 } }
  const out = starter(
    { url: 'http://a.test/', extensions: [{ uri: 'urn:two' }] },
    { two: { uri: 'urn:two', response: [rule, { ...rule, id: 's' }] } }
  )
  t.match(out, '      # Response rules: 2. They only record violations while "responses" above is observe.\n      - two\n')
})

t.test('object-schemas is listed where nothing else is, and a policy for a pattern once', async t => {
  t.same(accepted(starter({ url: 'http://a.test/' })).agents[0]?.extensions, ['object-schemas'])
  const requiring = { needed: { uri: 'urn:needed' }, whole: { uri: 'urn:whole', activation: { requires: ['needed'] } } }
  t.match(starter({ url: 'http://a.test/', extensions: [{ uri: 'urn:whole' }] }, requiring), '      # The policy whole requires it.\n      - needed\n')
  const uris = ['https://ucp.dev/2026-01-11/specification/reference', 'https://ucp.dev/2026-04-08/specification/reference']
  const out = starter({ url: 'http://a.test/', capabilities: { extensions: uris.map(uri => ({ uri })) } })
  t.same(accepted(out).agents[0]?.extensions, ['ucp'])
  for (const uri of uris) t.match(out, uri)
})

/** The proposed sources, as the comment says to use them. Their key files are replaced by one that exists. */
function proposed (t: Test, text: string): Config {
  const lines = Number(/remove the "# " of the next (\d+) lines\./.exec(text)?.[1])
  const at = text.indexOf('\n# identity:\n')
  const [before, block] = [text.slice(0, at), text.slice(at + 1).split('\n')]
  const own = block.slice(0, lines).map(line => line.replace(/^# /, '')).join('\n').replaceAll(/secrets\/[\w-]+\.yaml/g, 'keys.yaml')
  const loaded = parseConfig(`${before}\n${own}\n${block.slice(lines).join('\n')}`, { file: 'starter.yaml', baseDir: keyDirectory(t), env: {}, checks: CHECKS })
  if (!loaded.ok) throw new Error(`${loaded.problems.map(formatDiagnostic).join('\n')}\n${own}`)
  t.same(loaded.warnings, [])
  return loaded.config
}

function keyDirectory (t: Test): string {
  return t.testdir({ 'keys.yaml': `- {id: a, sha256: ${'a'.repeat(64)}}` })
}

t.test('a card with gRPC: the address is for the operator to name', async t => {
  const interfaces = [
    { url: 'agent.test:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' },
    { url: 'http://agent.test/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
  ]
  const url = await serve(t, (_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ name: 'a', supportedInterfaces: interfaces }))
  })
  const { code, out } = await init(url)
  t.equal(code, 0)
  t.equal(accepted(out).server.grpc, null)
  const edited = parseConfig(out.replace(/^( *)# (?=grpc: )/m, '$1'), { file: 'starter.yaml', baseDir: '/', env: {}, checks: CHECKS })
  if (!edited.ok) return t.fail(edited.problems.map(formatDiagnostic).join('\n'))
  t.equal(edited.config.agents[0]?.grpc?.publicAddress, 'agents.example.com:443')
})

t.test('security schemes become proposed sources', async t => {
  const google = 'https://accounts.google.com/.well-known/openid-configuration'
  const out = starter({
    url: 'http://a.test/',
    capabilities: { extensions: [{ uri: 'urn:unknown' }] },
    securitySchemes: {
      'API key': { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
      query: { type: 'apiKey', in: 'query', name: 'key' },
      again: { type: 'apiKey', in: 'query', name: 'key' },
      login: { type: 'http', scheme: 'basic' },
      bearer: { type: 'http', scheme: 'bearer' },
      google: { openIdConnectSecurityScheme: { openIdConnectUrl: google } },
      oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://idp.test/x/token' } } },
      metadata: { oauth2SecurityScheme: { oauth2MetadataUrl: 'https://other.test/.well-known/oauth-authorization-server/tenant' } },
      anonymous: { type: 'oauth2', flows: {} },
      digest: { type: 'http', scheme: 'digest' },
      header: { type: 'apiKey', in: 'header', name: 'Authorization' },
      odd: { type: 'magic' }
    }
  })
  const jwt = (issuer: string): string => `{jwt: {issuer: "${issuer}", audience: ["https://agents.example.com/"], keys: discover}}`
  t.match(out, [
    '# identity:',
    '#   sources:',
    '#     api-key: {apiKey: {header: X-API-Key, keys: {file: secrets/api-key.yaml}}}',
    '#     cookie: {apiKey: {cookie: session, keys: {file: secrets/cookie.yaml}}}',
    '#     query: {apiKey: {query: key, allowQuery: true, keys: {file: secrets/query.yaml}}}',
    '#     login: {basic: {keys: {file: secrets/login.yaml}}}',
    `#     google: ${jwt('https://accounts.google.com')}`,
    `#     oauth: ${jwt('https://idp.test/')}`,
    `#     metadata: ${jwt('https://other.test/tenant')}`,
    `#     callers: ${jwt('https://idp.example.com/')}`,
    '',
    '# Proposed policies'
  ].join('\n'))
  t.same(Object.keys(proposed(t, out).identity?.sources ?? {}), ['api-key', 'cookie', 'query', 'login', 'google', 'oauth', 'metadata', 'callers'])
  t.match(accepted(out).identity, null)
  const mutual = starter({ url: 'http://a.test/', securitySchemes: { mesh: { type: 'mutualTLS' } } })
  t.match(mutual, '#     mesh: {certificate: {from: tls}}\n')
  t.match(starter({ url: 'http://a.test/', securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }), `#     bearer: ${jwt('https://idp.example.com/')}\n`)
})

t.test('hostile security schemes', async t => {
  for (const [index, text] of HOSTILE.entries()) {
    const out = starter({
      url: 'http://a.test/',
      securitySchemes: {
        [text]: { type: 'http', scheme: 'basic' },
        [`${text}2`]: { type: 'apiKey', in: 'header', name: text },
        a: { type: 'apiKey', in: 'header', name: 'x$`~1' },
        b: { type: 'openIdConnect', openIdConnectUrl: `https://${text}/` },
        c: { type: 'openIdConnect', openIdConnectUrl: `https://h.test/${text}` },
        d: { type: 'openIdConnect', openIdConnectUrl: 'file:///etc/passwd' },
        e: { type: 'oauth2', flows: { password: { tokenUrl: text } } }
      }
    })
    const { identity } = proposed(t, out)
    t.ok(Object.values(identity?.sources ?? {}).some(({ apiKey }) => apiKey?.header === 'x$`~1'), String(index))
    // eslint-disable-next-line no-control-regex
    t.notMatch(out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e\ufeff]/)
  }
})

t.test('names say what the extension is about', async t => {
  const rows: Readonly<Record<string, string>> = {
    'https://example.com/ext/order/v1': 'order',
    'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2': 'x402',
    [OBJECT_SCHEMAS]: 'object-schemas',
    'https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md': 'developer-profile',
    'https://github.com/a2aproject/experimental-ext-oid4vp-auth/tree/main/v1': 'oid4vp-auth',
    'https://github.com/twilio-labs/a2a-latency-extension': 'latency',
    'https://parafe.ai/extensions/a2a/v2': 'parafe',
    'https://ucp.dev/2026-01-11/specification/reference': 'ucp',
    'https://proto-labs.ai/a2a/ext/confidence-v1': 'confidence',
    'https://projects.tmforum.org/a2aproject/telecommunication/extensions/Task-T/NL/v1': 'task-t',
    'urn:codex-a2a:extension:exec-control:v1': 'exec-control',
    'https://example.com/a2a?kind=loyalty#v2': 'loyalty',
    'urn:7': 'extension',
    '': 'extension'
  }
  for (const [uri, name] of Object.entries(rows)) t.equal(extensionName(uri, new Set()), name, uri)
  t.equal(extensionName('https://example.com/ext/order/v2', new Set(['order'])), 'order-2')
})

t.test('selectors follow what the card says', async t => {
  const schema = { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } }
  const extensions = [
    { uri: 'urn:acme:order', params: { mediaType: 'application/vnd.acme.order+json', dataSchema: schema } },
    { uri: 'urn:acme:basket', params: { dataKeys: ['basket', 7, '*'] } },
    { uri: 'urn:acme:trace-id', params: { metadataKey: 'acme.trace', methods: ['acme/trace', 'message/send'] } },
    { uri: 'urn:acme:invoice' },
    { uri: 'urn:acme:undo', description: 'Adds the method `tasks/undo` and `tasks/get`.' },
    { uri: 'https://a2ui.org/a2a-extension/a2ui/v7' },
    { uri: 'urn:acme:plain', params: { schema } }
  ]
  const out = starter({ url: 'http://a.test/', defaultInputModes: ['text/plain', 'application/vnd.acme.invoice+json'], capabilities: { extensions } })
  const { order, basket, 'trace-id': trace, invoice, undo, a2ui, plain } = accepted(out).extensions
  t.match(order, { owns: { mediaTypes: ['application/vnd.acme.order+json'] }, request: [{ select: { part: { mediaType: 'application/vnd.acme.order+json' } }, schema: { fromCard: ['/capabilities/extensions/{self}/params/dataSchema'] } }] })
  t.match(basket, { owns: { dataKeys: ['basket'] }, request: [{ id: 'basket', select: { part: { dataKey: 'basket' } } }] })
  t.same(basket?.owns, { dataKeys: ['basket'] })
  t.match(trace, { owns: { metadata: ['acme.trace'] }, methods: { 'acme/trace': {} } })
  t.same(Object.keys(trace?.methods ?? {}), ['acme/trace'], 'an operation of A2A is no method of an extension')
  t.match(invoice, { owns: { mediaTypes: ['application/vnd.acme.invoice+json'] } })
  t.same(Object.keys(undo?.methods ?? {}), ['tasks/undo'])
  t.match(a2ui, { owns: { mediaTypes: ['application/json+a2ui', 'application/a2ui+json'] } }, 'as for another version')
  t.match(plain?.request?.[0], { schema: { fromCard: ['/capabilities/extensions/{self}/params/schema'] } })
  t.match(out, '# guess: params.mediaType of the card')
  t.match(out, '# guess: defaultInputModes[1] of the card')
  t.match(out, '# guess: as in the policy "a2ui-')
})

t.test('an inferred schema holds for its values, and says what they have in common', async t => {
  t.strictSame(inferSchema([{ a: 1, b: 'x' }, { a: 2.5 }]), {
    type: 'object', required: ['a'], properties: { a: { type: 'number' }, b: { type: 'string' } }
  })
  t.strictSame(inferSchema(['2026-01-01T00:00:00Z']), { type: 'string', format: 'date-time' })
  t.strictSame(inferSchema([['a'], []]), { type: 'array', items: { type: 'string' } })
  t.strictSame(inferSchema(Array.from({ length: 9 }, (_, i) => i % 2 === 0 ? 'on' : 'off')), { type: 'string', enum: ['off', 'on'] })
  t.strictSame(inferSchema([null, true]), { type: ['boolean', 'null'] })
  t.strictSame(inferSchema([Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`k${i}`, i]))]), { type: 'object' }, 'a map')
  const deep = (depth: number): unknown => depth === 0 ? 1 : { a: deep(depth - 1) }
  t.ok(JSON.stringify(inferSchema([deep(50)])).length < 1_000)
})

t.test('a card on disk, and recorded calls without a card', async t => {
  const text = (card: object, more: object): string => {
    const read = readCard(card)
    if (!read.ok) throw new Error(read.problem)
    const plan = planOf([{ card: read.card, origin: 'x', upstream: 'http://a.test/', cardUrl: null, ...more }], null, loadCatalogue())
    const written = starterFile(plan, { file: 'g.yaml', directory: '/etc/a2a' })
    printed.push(...written.split('\n'))
    return written
  }
  const plain = { name: 'A', url: 'http://a.test/' }
  const disk = text(plain, { cardFile: '/etc/cards/a card.json' })
  t.match(disk, '      file: "../cards/a card.json"\n')
  t.match(text(plain, { recorded: true }), /^# yaml-language.*\n# Created by "a2a-gateway init" from the recorded calls to "A" in x, which has no card\.\n/)
  t.match(text(plain, { recorded: true }), '# Recorded requests name no extension.')
  t.match(text({ ...plain, capabilities: { extensions: [{ uri: 'urn:a' }] } }, { recorded: true }), '# Policies for the extensions that recorded requests name.')
})

t.test('every message has been printed', async t => {
  // From recordings: test/cli/init-written.test.ts.
  printed.push('Recorded requests name extensions that no card declares: "urn:x".')
  t.same(unsaid(['src/cli/init/starter.ts', 'src/cli/init/card-guesses.ts'].flatMap(sentencesOf), printed), [])
})
