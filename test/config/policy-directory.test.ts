/** Policies of `extensions.from`: read beside the catalogue, checked like the configuration, and named with their file in every problem. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { formatDiagnostic, loadCatalogue, parseConfig } from '#config/load.js'
import { policyLinesOf } from '#console/rules/policy-lines.js'
import { runCheck } from '#cli/check.js'
import { requirementMode } from '#policy/compile/identity.js'
import { CHECKS } from '#offline/configuration.js'
import { runExplainWith } from '../offline/explain-run.js'

const URI = 'https://acme.example/ext/window/v1'
const WINDOW = `uri: ${URI}\nmode: observe\nrequest:\n  - id: window\n    select: {metadata: {key: $uri}}\n    schema: {type: object, required: [from]}\n`

/** @param files content of the directory `policies`, by name */
function load (t: Test, files: Readonly<Record<string, string>>, { from = 'policies', list = '[window]', more = '' } = {}) {
  const baseDir = mkdtempSync(join(tmpdir(), 'policies-'))
  t.teardown(() => { rmSync(baseDir, { recursive: true }) })
  mkdirSync(join(baseDir, 'policies'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(baseDir, 'policies', name), text)
  const text = `version: 1\nextensions:\n  from: ${from}\n${more}agents:\n  - {name: a, upstream: {url: "http://a"}, extensions: ${list}}\n`
  const result = parseConfig(text, { file: 'g.yaml', env: {}, baseDir, checks: CHECKS })
  const problems = result.ok ? [] : result.problems.map(one => formatDiagnostic(one).replaceAll(`${baseDir}/`, ''))
  return { result, problems, baseDir, config: result.ok ? result.config : null }
}

t.test('a policy of the directory stands beside the catalogue', async t => {
  const { result, config, baseDir, problems } = load(t, { 'window.yaml': WINDOW, 'window.test.yaml': 'not: a policy', 'README.md': '#' })
  t.same(problems, [])
  const [policy] = config?.agents[0]?.policies ?? []
  t.match(policy, { name: 'window', policy: { uri: URI, mode: 'observe' }, layers: ['directory'], from: { uri: 'directory', request: 'directory' } })
  t.equal(config?.policyDirectory, join(baseDir, 'policies'))
  t.same(Object.keys(config?.extensions ?? {}), ['window'], 'for policy tests, init and the playground')
  t.same(result.files.map(file => file.slice(baseDir.length)).sort(), ['/policies', '/policies/window.yaml'], 'the files to watch')
  t.equal(policy === undefined ? null : requirementMode('enforce', policy), 'enforce', 'its mode does not lower what the card requires')
  const lines = config === null ? [] : policyLinesOf(config, 'a')?.policies[0]?.lines ?? []
  t.match(lines.find(({ key }) => key === 'request.window'), { from: 'directory', at: join(baseDir, 'policies/window.yaml:4') }, 'the console names the line')
})

t.test('the configuration changes a policy of the directory as one of the catalogue', async t => {
  const { config, problems } = load(t, { 'window.yaml': WINDOW }, { list: '[{window: {mode: enforce}}]', more: '  window: {activation: {required: always}}\n' })
  t.same(problems, [])
  t.match(config?.agents[0]?.policies[0], {
    policy: { uri: URI, mode: 'enforce', activation: { required: 'always' } },
    layers: ['directory', 'file', 'agent'],
    from: { mode: 'agent', 'activation.required': 'file', request: 'directory' }
  })
  t.match(load(t, { 'window.yaml': WINDOW }, { more: '  window: {uri: urn:other}\n' }).config?.agents[0]?.policies[0], {
    policy: { uri: 'urn:other' },
    layers: ['file']
  }, 'a uri replaces it')
})

t.test('the name of a built-in policy needs the word of the configuration', async t => {
  const x402 = { 'x402.yaml': 'uri: urn:x402\n' }
  t.same(load(t, x402, { list: '[x402]' }).problems, [
    'g.yaml:3:9: extensions.from: "policies/x402.yaml" has the name of a policy of the built-in catalogue (write from: {directory: policies, replace: [x402]} to use it instead of the built-in one, or rename the file)'
  ])
  const replaced = load(t, x402, { list: '[x402]', from: '{directory: policies, replace: [x402]}' })
  t.match(replaced.config?.agents[0]?.policies[0], { policy: { uri: 'urn:x402' }, layers: ['directory'] })
  t.notOk('request' in (replaced.config?.agents[0]?.policies[0]?.policy ?? {}), 'nothing of the built-in policy remains')
  t.ok(loadCatalogue().x402?.request, 'the built-in catalogue is as before')
  t.same(load(t, x402, { list: '[x402]', from: '{directory: policies, replace: [x402, ap2, none]}' }).problems, [
    'g.yaml:3:47: extensions.from.replace[1]: "policies" has no policy "ap2"',
    'g.yaml:3:52: extensions.from.replace[2]: the built-in catalogue has no policy "none" (only policies that replace a built-in one are listed here)'
  ])
})

t.test('every problem names the file, the position and the key', async t => {
  const one = (files: Readonly<Record<string, string>>, options = {}): string[] => load(t, files, options).problems
  t.same(one({ 'window.yaml': `${WINDOW}nothing: 1\n` })[0]?.replace(/ \(.*/, ''), 'policies/window.yaml:7:1: unknown key "nothing"')
  t.same(one({ 'window.yaml': '[' }), ['policies/window.yaml:1:2: the "[" is not closed, or a line before its "]" is not indented'])
  t.match(one({ 'window.yaml': WINDOW.replace('[from]', '1') }), [/^policies\/window\.yaml:6:\d+: .*required/], 'a schema that does not compile')
  t.match(one({ 'window.yaml': `${WINDOW}inject:\n  - {metadata: k, fromSecret: {env: SECRET}}\n` }), [/^policies\/window\.yaml:8:19: inject\[0\]\.fromSecret cannot stand in a policy of a directory/])
  t.match(one({ 'window.yaml': WINDOW.replace('schema: {type: object, required: [from]}', 'external: pdp') }), [/^policies\/window\.yaml:6:5: request\[0\]\.external cannot stand in a policy of a directory/])
  t.match(one({ 'window.yaml': `${WINDOW}activation: {requires: [windw]}\n` }), [/^policies\/window\.yaml:7:25: no policy is named "windw" \(did you mean "window"\?\)/])
  t.same(one({ 'window.yaml': `${WINDOW}activation: {requires: [b]}\n`, 'b.yaml': 'uri: urn:b\nactivation: {requires: [window]}\n' }), [
    'policies/b.yaml:2:24: policy "b" requires itself, also through others (remove it)',
    'policies/window.yaml:7:24: policy "window" requires itself, also through others (remove it)'
  ])
  t.match(one({ 'window.yaml': WINDOW, 'Big Window.yaml': WINDOW }), [/^g\.yaml:3:9: extensions\.from: the file "Big Window\.yaml" must have the name of its policy/])
  t.match(one({}), [/^g\.yaml:3:9: extensions\.from: "policies" contains no \*\.yaml/, /no policy is named "window"/])
  t.match(one({}, { from: 'elsewhere', list: '[]' }), [/^g\.yaml:3:9: extensions\.from: cannot read "elsewhere": no such file \(paths are relative/])
  t.match(one({}, { from: '{replace: [x402]}', list: '[]' }), [/^g\.yaml:3:9: .*directory is required/])
  t.match(one({ 'window.yaml': WINDOW }, { list: '[windw]' }), [/no policy is named "windw" \(did you mean "window"\?\)/])
})

t.test('check and explain name the directory', async t => {
  const { baseDir } = load(t, { 'window.yaml': WINDOW })
  const at = (name: string): string => join(baseDir, name)
  writeFileSync(at('g.yaml'), 'version: 1\nextensions: {from: policies}\nagents:\n  - {name: a, upstream: {url: "http://a"}, extensions: [{window: {mode: enforce}}]}\n')
  writeFileSync(at('card.json'), JSON.stringify({
    name: 'A',
    supportedInterfaces: [{ url: 'http://a/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { extensions: [{ uri: URI }] }
  }))
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }], metadata: { [URI]: {} } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  writeFileSync(at('call.http'), `POST http://localhost:8080/rpc\ncontent-type: application/json\na2a-version: 1.0\na2a-extensions: ${URI}\n\n${body}\n`)
  const { out, code } = await runExplainWith({ recordings: [at('call.http')], config: at('g.yaml'), card: at('card.json') })
  t.equal(code, 1, out)
  t.match(out, 'window (mode enforce, given by the directory of extensions.from; mode by the agent)')
  t.match(out, /window\/window/)
  const lines: string[] = []
  t.equal(await runCheck({ config: at('g.yaml'), env: {} }, { out: text => { lines.push(text) }, err: text => { lines.push(text) } }), 0)
  t.match(lines.join(''), `note: policies from ${at('policies')}: window`)
})
