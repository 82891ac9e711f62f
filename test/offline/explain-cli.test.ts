import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { ExplainArguments } from '#cli/explain.js'
import { packageRoot } from '#config/paths.js'
import type { Explanation } from '#offline/explain/explanation.js'
import { commandLine } from '../helpers/command-line.js'
import type { Ran } from '../helpers/command-line.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import { runExplainWith as run } from './explain-run.js'

async function explained (args: Partial<ExplainArguments>): Promise<{ code: number, requests: Explanation[] }> {
  const { code, out, err } = await run({ ...args, json: true })
  if (err !== '') throw new Error(err)
  return { code, requests: (JSON.parse(out) as { requests: Explanation[] }).requests }
}

const ENVELOPE =
  '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}'
const V1 = ['A2A-Version: 1.0']

t.test('the sessions in docs/how-to/explain-a-call.md match the output', async t => {
  const file = join(packageRoot(), 'docs', 'how-to/explain-a-call.md')
  const page = readFileSync(file, 'utf8')
  const sessions = [...page.matchAll(/```console\n\$ a2a-gateway (.*)\n[^]*?```/g)]
  let printed = page
  for (const [session, command = ''] of sessions) {
    const { out, err } = await commandLine(command.split(' '), { cwd: join(packageRoot(), 'examples', 'explain') })
    printed = printed.replace(session, () => `\`\`\`console\n$ a2a-gateway ${command}\n${out}${err}\`\`\``)
  }
  t.equal(sessions.length, 3)
  if (process.env.UPDATE_DOCS === '1') writeFileSync(file, printed)
  t.equal(page, printed, 'run this test with UPDATE_DOCS=1 after "npm run build"')
})

t.test('docs/how-to/explain-a-call.md names every member of --json', async t => {
  const page = readFileSync(join(packageRoot(), 'docs', 'how-to/explain-a-call.md'), 'utf8')
  const table = page.slice(page.indexOf('## For machines'))
  const example = (name: string): string => join(packageRoot(), 'examples', 'explain', name)
  const { requests } = await explained({ recordings: [example('calls.http')], config: example('gateway.yaml'), card: example('card.json') })
  const names = new Set<string>()
  const collect = (value: unknown, key: string): void => {
    if (key === 'from') return
    if (Array.isArray(value)) for (const one of value) collect(one, key)
    else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) {
        names.add(name)
        collect(one, name)
      }
    }
  }
  collect(requests, '')
  t.ok(names.size > 40, `${names.size} members`)
  for (const name of names) t.match(table, `\`${name}\``)
})

t.test('through the command line: standard input, flags, exit codes', async t => {
  const command = (args: readonly string[], input: string): Promise<Ran> =>
    commandLine(['explain', ...args], { cwd: join(packageRoot(), 'examples', 'explain'), input })
  const rejected = await command(['--card', 'card.json', '--header', 'A2A-Version: 1.0', '-'], ENVELOPE)
  t.equal(rejected.code, 1)
  t.match(rejected.out, /^request {4}POST \/rpc\nfrom {7}stdin:1, number 1, \d+ bytes of body\nnote/)
  t.match(rejected.out, 'decision   reject, by the rule object-schemas/required (EXTENSION_SUPPORT_REQUIRED)')
  const uri = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'
  const forwarded = await command(
    ['--card', 'card.json', '--header', 'A2A-Version: 1.0', '--header', `A2A-Extensions: ${uri}`, '--json', '-'],
    ENVELOPE
  )
  t.equal(forwarded.code, 0)
  t.equal(
    (JSON.parse(forwarded.out) as { requests: Explanation[] }).requests[0]?.forwarded?.url,
    'http://shop.internal:9000/rpc',
    "the address is the card's"
  )
  t.same(await command(['--card', 'card.json'], ''), {
    code: 2,
    out: '',
    err: 'a2a-gateway explain: give one recording: an .http file, a captured JSON, a HAR file, a curl command, or - for standard input [A2AGW_ERR_USAGE]\n'
  })
  t.match(await command(['--nothing', '-'], ''), {
    code: 2,
    err: /its flags are --config, --card, --upstream, --agent, --caller, --header, --request, --answer, --external, --steps, --json/
  })
  t.match(await commandLine(['schema', 'x']), { code: 2, err: /unexpected argument "x"; the command takes only flags/ }, 'other commands take none')
})

t.test('source of the decision: a live agent, a card, a file', async t => {
  const agent = await fakeAgent(t)
  const directory = t.testdir({
    'card.json': JSON.stringify(plainCard('http://on-disk.example:81/base')),
    'envelope.json': ENVELOPE,
    'two.yaml': `version: 1\nagents:\n  - {name: a, path: /a, upstream: {url: "${agent.url}"}}\n  - {name: b, path: /b, upstream: {url: "http://127.0.0.1:1"}}\n`,
    'at-agent.http': `POST ${agent.url}/rpc\nContent-Type: application/json\nA2A-Version: 1.0\nContent-Length: 3\n\n${ENVELOPE}\n###\nGET /a/.well-known/agent-card.json\n###\nGET /nowhere`
  })
  const at = (name: string): string => join(directory, name)
  const recordings = [at('envelope.json')]

  const live = await explained({ recordings, upstream: agent.url, headers: V1 })
  t.match(live, {
    code: 0,
    requests: [
      {
        agent: { name: 'agent', foundBy: 'only' },
        card: `${agent.url}/.well-known/agent-card.json`,
        forwarded: { url: `${agent.url}/rpc` }
      }
    ]
  })
  const card = await explained({ recordings, card: at('card.json'), headers: V1 })
  t.match(card, {
    code: 0,
    requests: [{ card: at('card.json'), request: { target: '/base/rpc' }, forwarded: { url: 'http://on-disk.example:81/base/rpc' } }]
  })
  const both = await explained({ recordings, card: at('card.json'), upstream: 'http://real.example/base', headers: V1 })
  t.match(both, { requests: [{ request: { target: '/rpc' }, forwarded: { url: 'http://real.example/base/rpc' } }] })
  t.match(await explained({ recordings, config: at('two.yaml'), agent: 'a', headers: V1 }), {
    code: 0,
    requests: [{ agent: { name: 'a', foundBy: 'flag' }, request: { target: '/a/rpc' } }]
  })
  t.match(await explained({ recordings, env: { A2A_GATEWAY_CONFIG: at('two.yaml') }, agent: 'a', headers: V1 }), { code: 0 })
  t.match(
    await explained({ recordings, upstream: agent.url }),
    { code: 1, requests: [{ version: '0.3', rule: 'gateway/version' }] },
    'an envelope says no version'
  )

  const several = await explained({ recordings: [at('at-agent.http')], config: at('two.yaml'), agent: 'a' })
  t.match(several, {
    code: 1,
    requests: [
      {
        request: { line: 1, number: 1, target: '/rpc' },
        decision: 'forward',
        notes: ['the recorded Content-Length differs from the length of the body; the length of the body is sent']
      },
      { request: { line: 8, number: 2 }, kind: 'card', decision: 'answer', forwarded: null }
    ]
  })
  t.match(await explained({ recordings: [at('at-agent.http')], config: at('two.yaml'), request: '3' }), {
    code: 1,
    requests: [{ request: { number: 3 }, agent: null, rule: 'gateway/no-agent', refusal: { status: 404 } }]
  })
})

t.test('an unexplainable request is reported, with exit code 2', async t => {
  const agent = await fakeAgent(t, { card: () => ({ name: 'nothing' }) })
  const directory = t.testdir({
    'envelope.json': ENVELOPE,
    'rest.json': JSON.stringify({
      ...plainCard('http://h'),
      supportedInterfaces: [{ url: 'http://h/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }]
    }),
    'two.yaml':
      'version: 1\nagents:\n  - {name: a, path: /a, upstream: {url: "http://127.0.0.1:1"}}\n  - {name: b, path: /b, upstream: {url: "http://127.0.0.1:1"}}\n',
    'bad.yaml': 'version: 1\nagnets: []\n',
    'scripted.http': 'GET /x\n\n> {% x %}'
  })
  const recordings = [join(directory, 'envelope.json')]
  const why = async (args: Partial<ExplainArguments>): Promise<string> => {
    const { code, out, err } = await run({ recordings, ...args })
    t.equal(code, 2)
    t.equal(out, '')
    return err.replaceAll(`${directory}/`, '')
  }
  const config = join(directory, 'two.yaml')
  t.equal(
    await why({}),
    'a2a-gateway explain: which agent is it for? Give a configuration (--config FILE), a card (--card FILE) or an agent (--upstream URL) [A2AGW_ERR_NOT_EXPLAINED]'
  )
  t.equal(await why({ config }), 'a2a-gateway explain: a JSON-RPC envelope alone names no address; choose the agent with --agent: a, b [A2AGW_ERR_NOT_EXPLAINED]')
  t.equal(await why({ config, agent: 'c' }), 'a2a-gateway explain: there is no agent "c" (the configuration has a, b) [A2AGW_ERR_NOT_EXPLAINED]')
  t.match(
    await why({ config, agent: 'a' }),
    /^a2a-gateway explain: no card of agent a: http:\/\/127\.0\.0\.1:1\/.*\(give one from disk with --card\) \[A2AGW_ERR_CARD\]$/
  )
  t.match(await why({ upstream: agent.url }), /^a2a-gateway explain: .*card/)
  t.match(
    await why({ config: join(directory, 'bad.yaml') }),
    /^a2a-gateway explain: the configuration cannot be used:\nbad\.yaml:1:1: agents is required \[A2AGW_ERR_CONFIG_MISSING_KEY\]\n/
  )
  t.match(await why({ card: join(directory, 'none.json') }), /^a2a-gateway explain: no card of agent agent: none\.json/)
  t.equal(
    await why({ card: join(directory, 'rest.json') }),
    'a2a-gateway explain: this is a JSON-RPC envelope alone, and the card lists no JSON-RPC interface; record the whole request [A2AGW_ERR_NOT_EXPLAINED]'
  )
  t.equal(
    await why({ config, headers: ['no header'] }),
    "a2a-gateway explain: --header: this is not a header (write --header 'Name: value') [A2AGW_ERR_USAGE]"
  )
  t.equal(
    await why({ config, recordings: [join(directory, 'none.http')] }),
    'a2a-gateway explain: none.http: there is no such file (name an .http file, captured JSON or a HAR file, give a curl command, or - for standard input) [A2AGW_ERR_RECORDING]'
  )
  t.equal(await why({ config, request: 'x' }), 'a2a-gateway explain: envelope.json: it contains no request "x" (they are numbered 1 to 1) [A2AGW_ERR_RECORDING]')
  const scripted = await run({ recordings: [join(directory, 'scripted.http')], card: join(directory, 'rest.json') })
  t.match(scripted, { code: 1, err: /warning: .*scripted\.http:3: scripts do not run/ })
})

t.test('secrets that the gateway would add do not have to exist', async t => {
  const uri = 'https://access.example/v1'
  const directory = t.testdir({
    'card.json': JSON.stringify(plainCard('http://on-disk.example', { capabilities: { extensions: [{ uri }] } })),
    'envelope.json': ENVELOPE,
    'gateway.yaml': `version: 1\nagents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [access]}]\nextensions: {access: {uri: "${uri}", inject: [{metadata: a, fromSecret: {file: not-here}}, {metadata: b, fromSecret: {env: NOT_THERE}}]}}\n`
  })
  const at = (name: string): string => join(directory, name)
  const found = await explained({
    recordings: [at('envelope.json')],
    config: at('gateway.yaml'),
    card: at('card.json'),
    headers: [...V1, `A2A-Extensions: ${uri}`]
  })
  t.match(found, {
    code: 0,
    requests: [
      {
        edited: ['access/inject'],
        forwarded: { body: { bytes: ENVELOPE.length + ',"metadata":{"a":,"b":}'.length, secret: true, unchanged: false } }
      }
    ]
  })
})
