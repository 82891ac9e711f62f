/** The suite and its reports: cases, outcomes, exit codes, files of proxies, and this gateway. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { runConformCommand } from '#cli/conform.js'
import type { ConformArguments } from '#cli/conform.js'
import { startAgent } from '#conform/agent/agent.js'
import { REQUIRED } from '#conform/cases/enforcing.js'
import { CASES, casesDigest } from '#conform/cases/index.js'
import { sendHttp } from '#conform/client/http-client.js'
import { GROUPS } from '#conform/model.js'
import { reportJson } from '#conform/report/report.js'
import { runConform } from '#conform/run/conform.js'
import { readDeclaration, UNDECLARED } from '#conform/run/declaration.js'
import { parseJson } from '#wire/json/parse-json.js'
import { gatewayFor, oneAgent } from '../helpers/gateway.js'
import { echo, startAgent as startSdkAgent } from '../helpers/agents.js'
import { freePort } from '../helpers/http.js'
import { declared } from './kit.js'
import { startProxy } from './proxy/proxy.js'

const NONE: ConformArguments = {
  words: [],
  direct: undefined,
  through: undefined,
  throughGrpc: undefined,
  declare: undefined,
  profile: undefined,
  binding: undefined,
  protocol: undefined,
  only: undefined,
  html: undefined,
  listen: undefined,
  json: false,
  junit: false,
  required: false,
  env: {}
}

async function command (args: Partial<ConformArguments>): Promise<{ code: number, out: string, err: string }> {
  const out: string[] = []
  const err: string[] = []
  const code = await runConformCommand({ ...NONE, ...args }, { out: text => out.push(text), err: text => err.push(text) })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

t.test('the cases: at least 150, in every group, each with an id and a clause', async t => {
  t.ok(CASES.length >= 150, `${CASES.length} cases`)
  const ids = CASES.map(({ id }) => id)
  t.same(ids.filter((id, i) => ids.indexOf(id) !== i), [], 'no id occurs twice')
  t.same(GROUPS.filter(group => !CASES.some(one => one.group === group)), [], 'every group has cases')
  t.same(CASES.filter(({ spec_ref: clause, name, expect }) => clause === '' || name === '' || expect.length === 0), [])
  const register = readFileSync('scripts/conformance/statements.yaml', 'utf8')
  t.same(CASES.filter(({ register: number }) => number !== undefined && !register.includes(`- id: ${number}\n`)).map(({ id }) => id), [], 'the register has each number')
  const profile = readFileSync('docs/reference/proxy-profile.md', 'utf8')
  const statements = new Set(CASES.flatMap(({ spec_ref: clause }) => [...clause.matchAll(/profile ([A-Z]\d)/g)].map(([, number]) => number ?? '')))
  t.same([...statements].filter(number => number !== 'T1' && !profile.includes(`**${number}**`)), [], 'the profile has each statement')
  t.equal(casesDigest(), casesDigest([...CASES]), 'the digest follows from the cases')
  t.not(casesDigest(), casesDigest(CASES.slice(1)))
})

t.test('proxy.yaml: each problem with its place and a fix', async t => {
  const problems = (text: string): unknown => {
    const result = readDeclaration(text)
    return result.ok ? [] : result.problems
  }
  t.same(problems('name: x\ncards: unchanged\nmaxBody: 1MiB\nbindings: [rest]\n'), [])
  t.same(problems(''), [{ line: 1, column: 1, message: 'must be a map with the keys name, version, bindings, versions, cards, errors, versionHeader, encodings, tracing, extensions, maxBody' }])
  t.same(problems('name: x\ncard: unchanged\n'), [{ line: 2, column: 1, message: 'unknown key "card"; did you mean "cards"?' }])
  t.same(problems('cards: sometimes\n'), [{ line: 1, column: 8, message: '"cards" cannot be "sometimes"; use rewritten or unchanged' }])
  t.same(problems('bindings: rest\nmaxBody: big\n'), [
    { line: 1, column: 11, message: '"bindings" must be a list of jsonrpc, rest, grpc' },
    { line: 2, column: 10, message: '"maxBody" must be a size such as 100KiB or 1MiB, or none' }
  ])
  t.match(problems('a: [1\n'), [{ line: Number }])
  t.same([...declared('maxBody: 100KiB\n').claims].includes('bodyOf1MiB'), false)
})

t.test('the same proxy has the same report; a file says what it does not claim; exit codes', { timeout: 120_000 }, async t => {
  const agent = await startAgent({ host: '127.0.0.1', port: 0 })
  t.teardown(() => agent.close())
  const proxy = await startProxy(agent.url, ['drops-unknown-headers'])
  t.teardown(() => proxy.close())
  const ways = { direct: agent.url, through: proxy.url }
  const directory = t.testdir({ 'proxy.yaml': 'name: broken\nversion: 1.2\nbindings: [jsonrpc, rest]\n', 'bad.yaml': 'bindngs: []\n' })
  const run = async (): Promise<string> => reportJson(await runConform({ ...ways, declaration: UNDECLARED, only: 'HEADER-' }))
  const first = await run()
  t.equal(first, await run(), 'byte for byte')
  const html = join(directory, 'report.html')
  const failed = await command({ ...ways, only: 'HEADER-UNKNOWN', html })
  t.equal(failed.code, 1)
  t.match(failed.out, /failed MUST T-REQUEST-HEADER-UNKNOWN-jsonrpc-1\.0: .*\n.*X-Conform-One differs\n +expected: "first value/, 'both values are printed')
  t.match(readFileSync(html, 'utf8'), /<td><code>T-REQUEST-HEADER-UNKNOWN-jsonrpc-1\.0<\/code>/)
  t.match((await command({ ...ways, only: 'HEADER-UNKNOWN', junit: true })).out, /<testsuite name="transparent" tests="\d+" failures="[1-9]/)
  t.equal((await command({ ...ways, only: 'T-STATUS-' })).code, 0)
  const json = await command({ ...ways, only: 'T-GRPC-STATUS', json: true, declare: join(directory, 'proxy.yaml') })
  t.match(parseJson(json.out), { proxy: { name: 'broken', version: '1.2' }, totals: { 'not claimed': 9, passed: 0 }, conformant: true })
  for (const [args, message] of [
    [{}, /name both ways/],
    [{ ...ways, profile: 'all' }, /--profile cannot be "all"; use a list of transparent/],
    [{ ...ways, only: 'nothing-has-this' }, /no case has been chosen/],
    [{ ...ways, declare: join(directory, 'none.yaml') }, /cannot be read \(ENOENT\)/],
    [{ ...ways, declare: join(directory, 'bad.yaml') }, /bad\.yaml:1:1: unknown key "bindngs"; did you mean "bindings"\?/],
    [{ ...ways, direct: 'here' }, /--direct here: use a URL such as/],
    [{ ...ways, direct: `http://127.0.0.1:${await freePort()}` }, /no response: ECONNREFUSED/],
    [{ words: ['compare'] }, /there is no "conform compare"; use agent, diff, cases or schema/],
    [{ words: ['diff', 'a.json'] }, /name two reports/],
    [{ words: ['agent'], listen: 'here' }, /use HOST:PORT/]
  ] as const) {
    const { code, err } = await command(args)
    t.equal(code, 2)
    t.match(err, message)
  }
})

t.test('diff: a case that is worse is exit code 1', { timeout: 60_000 }, async t => {
  const agent = await startAgent({ host: '127.0.0.1', port: 0 })
  t.teardown(() => agent.close())
  const good = await startProxy(agent.url)
  t.teardown(() => good.close())
  const bad = await startProxy(agent.url, ['drops-credentials'])
  t.teardown(() => bad.close())
  const directory = mkdtempSync(join(tmpdir(), 'conform-'))
  const file = async (name: string, through: string): Promise<string> => {
    const path = join(directory, name)
    writeFileSync(path, reportJson(await runConform({ direct: agent.url, through, declaration: UNDECLARED, only: 'AUTHORIZATION' })))
    return path
  }
  const [before, after] = [await file('before.json', good.url), await file('after.json', bad.url)]
  const worse = await command({ words: ['diff', before, after] })
  t.equal(worse.code, 1)
  t.match(worse.out, /worse {4}T-REQUEST-AUTHORIZATION-jsonrpc-1\.0: passed → failed/)
  t.equal((await command({ words: ['diff', after, before] })).code, 0, 'better')
  t.match(await command({ words: ['diff', before, before] }), { code: 0, out: 'the outcomes are the same' })
})

t.test('another agent: cases that need a script are left out', { timeout: 60_000 }, async t => {
  const agent = await startSdkAgent({ kind: 'v1', behaviour: echo })
  t.teardown(() => agent.close())
  const proxy = await startProxy(agent.url)
  t.teardown(() => proxy.close())
  const { cases, agent: kind } = await runConform({ direct: agent.url, through: proxy.url, declaration: declared('cards: unchanged\n'), transports: ['jsonrpc'], versions: ['1.0'] })
  t.equal(kind, 'other')
  t.ok(cases.some(({ outcome }) => outcome === 'passed'), 'some cases run')
  t.match(cases.find(({ id }) => id === 'T-NO-RETRY-jsonrpc-1.0'), { outcome: 'not applicable', lines: ['needs "conform agent"'] })
})

t.test('the agent answers every operation without a script, and keeps ids and bodies to itself', async t => {
  const agent = await startAgent({ host: '127.0.0.1', port: 0 })
  t.teardown(() => agent.close())
  const request = { kind: 'http', method: 'POST', target: '/jsonrpc', headers: [['A2A-Version', '1.0']], body: '{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"x"}}' } as const
  const { status, body } = await sendHttp(request, { base: agent.url, name: 'conform-call-00000001' })
  t.equal(status, 200)
  t.match(parseJson(body), { id: 7, result: { status: { state: 'TASK_STATE_COMPLETED' } } })
  const broken = await sendHttp({ ...request, raw: 'no HTTP\r\n\r\n' }, { base: agent.url, name: 'conform-call-00000001' })
  t.equal(broken.status, 400)
})

t.test('this gateway conforms, over HTTP and gRPC', { timeout: 240_000 }, async t => {
  for (const required of [[], REQUIRED]) {
    const agent = await startAgent({ host: '127.0.0.1', port: 0, required })
    t.teardown(() => agent.close())
    const grpc = await freePort()
    const gateway = await gatewayFor(t, {
      yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, grpc: {listen: "127.0.0.1:${grpc}", publicAddress: "127.0.0.1:${grpc}"}}\n${oneAgent(agent.url)}`
    })
    const report = await runConform({
      direct: agent.url,
      through: gateway.url,
      declaration: declared('name: ours\nextensions: enforced\nversionHeader: enforced\n'),
      groups: GROUPS.filter(group => (group === 'enforcing') === (required.length > 0))
    })
    const failed = report.cases.filter(({ outcome }) => outcome === 'failed' || outcome === 'error')
    t.same(failed.map(({ id, lines }) => [id, ...lines]), [])
    t.ok(report.conformant)
  }
})
