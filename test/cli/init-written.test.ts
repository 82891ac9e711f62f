/** What `init` writes passes `check` and `test`: for each extension of the catalogue, for several agents, and for recorded calls. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import { runCheck } from '#cli/check.js'
import { runInit } from '#cli/init.js'
import type { InitArguments } from '#cli/init.js'
import { planOf } from '#cli/init/plan.js'
import { starterFile } from '#cli/init/starter.js'
import { starterTests } from '#cli/init/starter-tests.js'
import { runTest } from '#cli/test.js'
import { formatDiagnostic, loadCatalogue, parseConfig } from '#config/load.js'
import { packageRoot } from '#config/paths.js'
import { CHECKS } from '#offline/configuration.js'
import { runTests } from '#offline/policy-test/run-tests.js'
import { loadTests, readTests } from '#offline/policy-test/test-file.js'
import { commandLine } from '../helpers/command-line.js'
import { isObject } from '#wire/json/object.js'

const CATALOGUE = loadCatalogue()

t.test('each extension of the catalogue, alone and required', async t => {
  const failed: string[] = []
  let [count, rejected] = [0, 0]
  for (const name of Object.keys(CATALOGUE)) {
    const loaded = loadTests(join(packageRoot(), 'config', 'extensions', `${name}.test.yaml`), {})
    if (!loaded.ok || !isObject(loaded.tests.value.card)) return t.fail(name)
    for (const required of [false, true]) {
      const raw = structuredClone(loaded.tests.value.card) as { url?: string, capabilities: { extensions: { required?: boolean }[] } }
      for (const one of raw.capabilities.extensions) one.required = required
      const card = readCard({ url: 'http://a.test/', ...raw })
      if (!card.ok) return t.fail(`${name}: ${card.problem}`)
      const plan = planOf([{ card: card.card, origin: 'http://a.test/', upstream: 'http://a.test/', cardUrl: null }], null, CATALOGUE)
      const config = parseConfig(starterFile(plan), { file: 'g.yaml', baseDir: '/', env: {}, checks: CHECKS })
      if (!config.ok) {
        failed.push(...config.problems.map(formatDiagnostic))
        continue
      }
      failed.push(...config.warnings.map(formatDiagnostic))
      if (plan.agents[0]?.known.some(one => one.name === name) !== true || plan.proposals.length > 0) failed.push(`${name} is not in force`)
      const made = starterTests(plan, plan.agents[0]!, config.config, 'g.test.yaml')
      if ('problem' in made) {
        failed.push(`${name}: ${made.problem}`)
        continue
      }
      const tests = readTests(made.text, 'g.test.yaml', {})
      const run = tests.ok ? runTests(tests.tests, { base: config.config, checks: CHECKS, only: null }) : tests
      if (!run.ok) {
        failed.push(...run.problems.map(formatDiagnostic))
        continue
      }
      count += run.results.length
      rejected += run.results.filter(one => one.dryRun.rejection !== null).length
      failed.push(...run.results.filter(one => one.mismatches.length > 0).map(one => `${name}: ${one.name} ${JSON.stringify(one.mismatches)}`))
    }
  }
  t.same(failed, [])
  t.ok(count > 500 && rejected > 150, `${count} results, of which ${rejected} are rejections`)
})

/** Runs `init`, then `check` and `test` on what it wrote. */
async function initialised (directory: string, args: Omit<InitArguments, 'output' | 'json'>): Promise<{ text: string, files: string[] }> {
  const output = join(directory, 'gateway.yaml')
  let [out, err] = ['', '']
  const io = { out: (text: string) => { out += `${text}\n` }, err: (text: string) => { err += `${text}\n` } }
  const code = await runInit({ ...args, output, json: true }, io)
  if (code !== 0) throw new Error(out + err)
  const { written } = JSON.parse(out) as { written: string[] }
  if (await runCheck({ config: output, env: {} }, io) !== 0) throw new Error(`${out}${readFileSync(output, 'utf8')}`)
  const tests = written.filter(name => name.endsWith('.test.yaml'))
  if (runTest({ files: tests, config: output, only: null, format: 'pretty', terminal: false, env: {} }, io) !== 0) throw new Error(out)
  return { text: readFileSync(output, 'utf8'), files: written.map(name => name.replace(/.*\//, '')) }
}

const card = (name: string, extensions: readonly object[], url = 'http://a.test/rpc'): string =>
  JSON.stringify({ name, version: '1', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }], capabilities: { extensions } })

t.test('several agents, cards on disk: a policy and a test file for each', async t => {
  const order = { uri: 'https://acme.example/ext/order/v1', required: true }
  const directory = t.testdir({
    'a.json': card('Courier', [order, { uri: 'https://acme.example/ext/window/v1', params: { metadataKeys: ['acme.window'] } }]),
    'b.json': card('Kitchen', [order])
  })
  const { text, files } = await initialised(directory, {
    urls: [],
    upstreams: ['http://127.0.0.1:9998'],
    cards: [join(directory, 'a.json'), join(directory, 'b.json')]
  })
  t.same(files, ['gateway.yaml', 'gateway.courier.test.yaml', 'gateway.kitchen.test.yaml', 'gateway.schema.json', 'policy-test.schema.json'])
  t.match(text, /^# yaml-language-server: \$schema=gateway\.schema\.json\n/)
  t.match(text, '  - name: courier\n    path: /courier\n    upstream:\n      url: "http://127.0.0.1:9998/"\n', '--card and --upstream belong together')
  t.match(text, '  - name: kitchen\n    path: /kitchen\n    upstream:\n      url: "http://a.test/"\n', 'the address in the card')
  t.equal(text.split('\n  order:\n').length, 2, 'one policy for the extension of both')
  const tests = readFileSync(join(directory, 'gateway.courier.test.yaml'), 'utf8')
  t.match(tests, 'rule: order/required')
  t.match(tests, /^# yaml-language-server: \$schema=policy-test\.schema\.json\n/)
  t.match(text, '    card:\n      file: a.json\n', 'the card on disk, relative to the file')
  t.match(text, '# Next: a2a-gateway check --live gateway.yaml, then a2a-gateway serve gateway.yaml.')
  const live = await commandLine(['check', '--live', 'gateway.yaml'], { cwd: directory })
  t.match(live, { code: 0, out: /gateway\.yaml: ok/ }, 'the agents are down, but their cards are on disk')
})

t.test('on standard output: no schema file, and cards relative to the working directory', async t => {
  const directory = t.testdir({ cards: { 'a.json': card('Courier', []) } })
  const { out } = await commandLine(['init', '--card', 'cards/a.json'], { cwd: directory })
  t.notMatch(out, 'yaml-language-server')
  t.match(out, '# For completion in editors: a2a-gateway schema > gateway.schema.json')
  t.match(out, '# Next: save this text as gateway.yaml, then a2a-gateway check --live gateway.yaml.')
  t.match(out, '      file: cards/a.json\n')
})

const WINDOW = 'https://acme.example/ext/delivery-window/v1'
const OLD = 'urn:acme:priority'

function entry (uris: string, method: string, params: object, result: unknown = null): object {
  return {
    request: {
      method: 'POST',
      url: 'http://127.0.0.1:9999/rpc',
      headers: [{ name: 'A2A-Version', value: '1.0' }, { name: 'A2A-Extensions', value: uris }, { name: 'Content-Type', value: 'application/json' }],
      postData: { text: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }
    },
    response: { status: 200, headers: [], content: { mimeType: 'application/json', text: JSON.stringify({ jsonrpc: '2.0', id: 1, result }) } }
  }
}

const message = (more: object): object => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'secret text' }], ...more } })

const HAR = JSON.stringify({
  log: {
    entries: [
      { request: { method: 'GET', url: 'http://127.0.0.1:9999/favicon.ico', headers: [] }, response: { status: 404, headers: [], content: {} } },
      entry(WINDOW, 'SendMessage', message({ metadata: { [WINDOW]: { from: '2026-06-01T09:00:00Z', to: '2026-06-01T12:00:00Z', note: 'secret note' } } }), {
        message: { messageId: 'a', role: 'ROLE_AGENT', parts: [], metadata: { [WINDOW]: { accepted: true } } }
      }),
      entry(WINDOW, 'SendMessage', message({ metadata: { [WINDOW]: { from: '2026-06-02T09:00:00Z', to: '2026-06-02T12:00:00Z' } } })),
      entry(OLD, 'SendMessage', message({ metadata: { 'acme.priority': 3, locale: 'de' } })),
      entry(OLD, 'acme/boost', { level: 7 }),
      entry('', 'SendMessage', message({ metadata: { locale: 'en' } })),
      entry(OLD, 'SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: { urgent: true }, mediaType: 'application/vnd.acme.priority+json' }] } })
    ]
  }
})

t.test('from recorded calls: rules and schemas, marked as guesses, without a value', async t => {
  const directory = t.testdir({ 'calls.har': HAR })
  const { text, files } = await initialised(directory, { urls: [], recordings: [join(directory, 'calls.har')] })
  t.same(files, ['gateway.yaml', 'gateway.test.yaml', 'gateway.schema.json', 'policy-test.schema.json'])
  const loaded = parseConfig(text, { file: 'g.yaml', baseDir: '/', env: {}, checks: CHECKS })
  if (!loaded.ok) return t.fail(text)
  const { extensions, agents } = loaded.config
  t.match(agents, [{ upstream: { url: 'http://127.0.0.1:9999' }, extensions: ['delivery-window', 'priority'] }])
  t.match(extensions['delivery-window'], {
    owns: { metadata: ['$uri'] },
    request: [{
      select: { metadata: { key: '$uri' } },
      schema: { type: 'object', required: ['from', 'to'], properties: { from: { format: 'date-time' }, note: { type: 'string' } } }
    }],
    response: [{ select: { metadata: { in: ['message'], key: '$uri' } }, schema: { required: ['accepted'] } }]
  })
  t.match(extensions.priority, {
    owns: { metadata: ['acme.priority'], mediaTypes: ['application/vnd.acme.priority+json'] },
    methods: { 'acme/boost': { need: 'none' } }
  }, 'data that only requests with the extension have')
  t.notMatch(JSON.stringify(extensions), 'locale', 'data of other requests too')
  t.match(text, /# Created by "a2a-gateway init" from the recorded calls to "127\.0\.0\.1" in \S*calls\.har, which has no card\.\n/)
  t.notMatch(text, 'from the card of')
  t.match(text, '# guess: params: {type: object, required: [level], properties: {level: {type: integer}}}')
  t.equal((text.match(/# guess: /g) ?? []).length, 8, 'each proposal is marked')
  t.notMatch(text + readFileSync(join(directory, 'gateway.test.yaml'), 'utf8'), 'secret')
})

t.test('from a recording with the card of the agent, and beside a card', async t => {
  const known = { uri: WINDOW, required: true }
  const fetched = {
    request: { method: 'GET', url: 'http://127.0.0.1:9999/team/.well-known/agent-card.json', headers: [] },
    response: { status: 200, headers: [], content: { mimeType: 'application/json', text: card('Courier', [known], 'http://127.0.0.1:9999/team/rpc') } }
  }
  const har = JSON.parse(HAR) as { log: { entries: object[] } }
  har.log.entries.push(fetched)
  const directory = t.testdir({ 'with-card.har': JSON.stringify(har), beside: { 'calls.har': HAR, 'card.json': card('Courier', [known]) } })
  const first = await initialised(directory, { urls: [], recordings: [join(directory, 'with-card.har')] })
  t.match(first.text, '  - name: courier\n    upstream:\n      url: "http://127.0.0.1:9999/team"\n')
  t.match(first.text, `# Recorded requests name extensions that no card declares: "${OLD}".`)
  t.notMatch(first.text, '  priority:')
  const beside = join(directory, 'beside')
  const second = await initialised(beside, { urls: [], cards: [join(beside, 'card.json')], recordings: [join(beside, 'calls.har')] })
  t.match(second.text, 'format: date-time')
  t.match(readFileSync(join(beside, 'gateway.test.yaml'), 'utf8'), 'violations: [delivery-window/value]')
  t.match(readFileSync(join(beside, 'gateway.test.yaml'), 'utf8'), 'rule: delivery-window/required')
})

t.test('recordings that cannot be used', async t => {
  const directory = t.testdir({
    'other.har': JSON.stringify({ log: { entries: [{ request: { method: 'GET', url: 'http://a.test/', headers: [] } }] } }),
    'broken.har': '{',
    'no-host.json': JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: message({}) })
  })
  const problem = async (file: string): Promise<[number, string]> => {
    let text = ''
    const io = { out: () => {}, err: (one: string) => { text += one } }
    const code = await runInit({ urls: [], recordings: [join(directory, file)], output: undefined }, io)
    return [code, text]
  }
  t.match(await problem('other.har'), [1, /other\.har contains no request of A2A/])
  t.match(await problem('broken.har'), [1, /the JSON is not valid/])
  t.match(await problem('none.har'), [2, /there is no such file/])
  t.match(await problem('no-host.json'), [1, /names no host; give the URL of the agent with --upstream/])
  let out = ''
  t.equal(await runInit({ urls: [], recordings: [join(directory, 'other.har')], output: undefined, json: true }, { out: one => { out += one }, err: () => {} }), 1)
  t.match(JSON.parse(out), { format: 1, ok: false, problems: [{ message: /contains no request/ }] })
  writeFileSync(join(directory, 'gateway.test.yaml'), '')
  const card = join(directory, 'card.json')
  writeFileSync(card, '{"name": "a", "url": "http://a.test/"}')
  let text = ''
  t.equal(await runInit({ urls: [], cards: [card], output: join(directory, 'gateway.yaml') }, { out: () => {}, err: one => { text += one } }), 1)
  t.match(text, /gateway\.test\.yaml exists already/, 'no file is overwritten, and none is left half')
})
