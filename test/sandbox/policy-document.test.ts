/** Documents of the playground: the part of a configuration that they may change, and everything that they must not read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { AgentConfig, Config } from '#config/model/model.js'
import { loadConfig } from '#config/load.js'
import { startDocument } from '#sandbox/start-document.js'
import type { ReadPolicy } from '#sandbox/policy-document.js'
import { readPolicyDocument } from '#sandbox/policy-document.js'
import { configOf } from '../helpers/gateway.js'

const OWN = `
agents:
  - name: agent
    mode: observe
    upstream: {url: "http://agent.test"}
    extensions: [{timestamp: {echo: verify}}, own]
  - {name: other, path: /other, upstream: {url: "http://other.test"}}
extensions:
  own: {uri: "https://example.com/own", request: [{id: one, select: {metadata: {in: [message], key: x}}, schema: {type: string}}]}`

function read (text: string, config: Config = configOf({ yaml: OWN })): ReadPolicy {
  return readPolicyDocument(text, config, config.agents[0] as AgentConfig)
}

function policy (found: ReadPolicy, name: string): object | undefined {
  return found.agent?.policies.find(one => one.name === name)?.policy
}

t.test('an empty document changes nothing', t => {
  const config = configOf({ yaml: OWN })
  for (const text of ['', '# nothing\n', 'extensions: {}', 'agents: []', 'agents: [{name: agent}]']) {
    const { agent, problems } = read(text, config)
    t.same(problems, [], text)
    t.same(agent, config.agents[0], text)
  }
  t.end()
})

t.test('policies of the document lie over those in force', t => {
  const found = read('extensions:\n  timestamp: {mode: enforce}\n  added: {uri: "https://example.com/added", mode: enforce}\n')
  t.same(found.problems, [])
  t.same(found.agent?.extensions, ['timestamp', 'own', 'added'])
  t.match(policy(found, 'timestamp'), { mode: 'enforce', echo: 'verify', uri: /timestamp/ }, 'with the keys of the agent')
  t.match(policy(found, 'own'), { uri: 'https://example.com/own' }, 'a policy that is not mentioned stays')
  t.equal(found.agent?.mode, 'observe')
  const replaced = read('extensions: {own: {mode: enforce, request: []}}')
  t.match(policy(replaced, 'own'), { uri: 'https://example.com/own', mode: 'enforce', request: [] }, 'without uri, the policy in force is changed')
  t.end()
})

t.test('keys and the list of the agent', t => {
  const found = read('agents:\n  - name: agent\n    mode: enforce\n    untaggedData: reject\n    extensions: [own]\n')
  t.same(found.problems, [])
  t.match(found.agent, { mode: 'enforce', untaggedData: 'reject', extensions: ['own'], path: '', upstream: { url: 'http://agent.test/' } })
  t.equal(found.agent?.policies.length, 1)
  t.end()
})

t.test('problems have their places in the document', t => {
  const found = read('extensions:\n  own:\n    mod: enforce\n')
  t.equal(found.agent, null)
  t.match(found.problems, [{ file: 'policy', line: 3, col: 5, message: /unknown key "mod"/, hint: 'did you mean "mode"?' }])
  t.match(read('agents:\n  - name: agent\n    mode: strict\n').problems, [{ line: 3, col: 11, message: /must be one of/ }])
  t.match(read('extensions: [').problems, [{ line: 1 }])
  t.match(read('- a').problems, [{ line: 1, message: /must be a mapping/ }])
  t.match(read('agents: 5').problems, [{ line: 1, message: /must be a list/ }])
  t.match(read('agents: [{name: agent, extensions: [unknown-policy]}]').problems, [{ line: 1, message: /unknown-policy/ }])
  t.match(read('extensions:\n  own:\n    request:\n      - {id: a, select: {metadata: {in: [message], key: x}}, schema: {type: strin}}\n').problems, [{ line: 4, message: /cannot be used/ }])
  t.end()
})

t.test('keys that the playground does not use are warnings', t => {
  const found = read('version: 1\nserver: {listen: ":1"}\nagents:\n  - name: agent\n    upstream: {url: "http://other.test"}\n')
  t.same(found.problems, [])
  t.match(found.warnings, [{ line: 2, message: '"server" is not used here' }, { line: 5, col: 5, message: '"upstream" is not used here' }])
  t.equal(found.agent?.upstream.url, 'http://agent.test/')
  t.match(read('agents: [{name: other, mode: off}]').warnings, [{ message: 'the document does not name the agent agent' }])
  t.end()
})

t.test('sources of callers in force can be named', t => {
  const config = configOf({
    yaml: `identity: {sources: {staff: {jwt: {issuer: "https://idp.test", audience: [a], keys: discover}}}}\n${OWN}`
  })
  t.same(read('extensions: {own: {activation: {callers: {source: [staff]}}}}', config).problems, [])
  t.match(read('extensions: {own: {activation: {callers: {source: [stuff]}}}}', config).problems, [{ message: /no source "stuff"/, hint: 'did you mean "staff"?' }])
  t.end()
})

t.test('no variable and no file of the gateway is read', t => {
  process.env.PLAYGROUND_TEST = 'enforce'
  t.teardown(() => { delete process.env.PLAYGROUND_TEST })
  // eslint-disable-next-line no-template-curly-in-string
  t.match(read('agents: [{name: agent, mode: "${PLAYGROUND_TEST}"}]').problems, [{ message: /PLAYGROUND_TEST is not set/, hint: /does not read the environment/ }])
  // eslint-disable-next-line no-template-curly-in-string
  t.equal(read('agents: [{name: agent, mode: "${PLAYGROUND_TEST:-off}"}]').agent?.mode, 'off')
  const directory = mkdtempSync(join(tmpdir(), 'playground-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  writeFileSync(join(directory, 'known.json'), '{"type": "number"}')
  writeFileSync(join(directory, 'secret.json'), '{"type": "number"}')
  for (const from of [directory, '/etc', '../x', '{directory: /etc, replace: [timestamp]}', '1']) {
    const { agent, problems, warnings } = read(`extensions: {from: ${from}}`)
    t.same(problems, [], from)
    t.match(warnings, [{ message: '"from" is not used here' }], from)
    t.same(agent?.policies.map(({ name }) => name), read('').agent?.policies.map(({ name }) => name), from)
  }
  const rule = (file: string): string => `{uri: "https://example.com/own", request: [{id: one, select: {metadata: {in: [message], key: x}}, schema: {file: "${file}"}}]}`
  for (const file of ['/etc/passwd', '/dev/zero', join(directory, 'secret.json'), '../secret.json', 'secret.json']) {
    t.match(read(`extensions: {own: ${rule(file)}}`).problems, [{ message: /the playground reads no files/, hint: 'write the schema here' }], file)
  }
  t.match(read('bundles: {b: {base: "https://x.test/", dir: "/etc"}}').warnings, [{ message: '"bundles" is not used here' }])
  const config = configOf({
    baseDir: directory,
    yaml: OWN.replace('schema: {type: string}', 'schema: {file: known.json}')
  })
  const found = read(`extensions: {own: ${rule('known.json')}}`, config)
  t.same(found.problems, [], 'a file of the policies in force is known')
  t.end()
})

t.test('the document that the playground begins with', t => {
  const directory = mkdtempSync(join(tmpdir(), 'playground-'))
  t.teardown(() => { rmSync(directory, { recursive: true }) })
  const file = join(directory, 'gateway.yaml')
  const text = `version: 1
agents:
  - name: agent
    upstream: {url: "http://agent.test"}
    # Why it is strict.
    mode: \${PLAYGROUND_MODE:-enforce}
    extensions: [own]
extensions:
  own:   # ours
    uri: https://example.com/own
    inject:
      - {metadata: x, value: "\${PLAYGROUND_SECRET}"}
  other: {uri: "https://example.com/other"}
`
  writeFileSync(file, text)
  const loaded = loadConfig({ file, env: { PLAYGROUND_SECRET: 's3cret' } })
  if (!loaded.ok) return t.fail(JSON.stringify(loaded.problems))
  const { config } = loaded
  const given = { name: 'agent', config, cards: null }
  const started = startDocument(given, file)
  t.match(started, /# Why it is strict\.\n {4}mode: \$\{PLAYGROUND_MODE:-enforce\}/)
  t.match(started, /own:\s+# ours/)
  t.match(started, /\n {4}responses: observe/, 'defaults that people change are shown')
  t.notMatch(started, /other|upstream|s3cret/)
  t.same(readPolicyDocument(startDocument(given, null), config, config.agents[0] as AgentConfig).problems, [])
  writeFileSync(file, text.replace('version: 1', 'version: 1\nlist: &list [own]\nmode: &mode enforce').replace('[own]\nex', '*list\nex').replace(/mode: \$.*/, 'mode: *mode'))
  t.match(startDocument(given, file), /mode: enforce\n {4}extensions: \[own\]/, 'aliases of other parts of the file')
  writeFileSync(file, text.replace('[own]', '*none'))
  t.match(startDocument(given, file), /- name: agent\n/, 'a file that has changed into something else')
  t.end()
})
