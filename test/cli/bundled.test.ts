/** The bundled script of `serve`, as the build makes it, and V8's code cache for it. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { cacheOf, writeCache } from '#bundled.js'
import { packageRoot } from '#config/paths.js'
import { freePort, rpc, until } from '../helpers/http.js'
import { fakeAgent } from '../helpers/raw.js'
import { start } from '../helpers/started.js'

const root = packageRoot()
if (!existsSync(join(root, 'dist/src/bundle'))) throw new Error('dist/ is not built: run "npm run build"')

/** A package of its own, whose files a test may spoil. */
const copy = mkdtempSync(join(tmpdir(), 'bundled-'))
t.teardown(() => { rmSync(copy, { recursive: true }) })
for (const name of ['dist/src', 'config', 'package.json']) cpSync(join(root, name), join(copy, name), { recursive: true })
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
const folder = join(copy, 'dist/src/bundle')
const script = join(folder, readdirSync(folder).find(name => name.endsWith('.cjs')) ?? '')
const cache = cacheOf(script)
const kept = readFileSync(cache)
const env = { PATH: process.env.PATH, OTEL_TRACES_SAMPLER: 'always_off' }

/** @returns for each script whether V8 takes its cache: `null` when there is nothing that V8 could take */
function taken (scripts: readonly string[], flags: readonly string[] = []): (boolean | null)[] {
  const code = `import { readScript } from ${JSON.stringify(join(copy, 'dist/src/bundled.js'))}
    const rejected = ${JSON.stringify(scripts)}.map(script => readScript(script).cachedDataRejected)
    console.log(JSON.stringify(rejected.map(one => one === undefined ? null : !one)))`
  return JSON.parse(execFileSync(process.execPath, [...flags, '--input-type=module', '-e', code], { encoding: 'utf8', env })) as (boolean | null)[]
}

/** Starts it, sends a call through it, stops it. */
async function works (t: Test, flags: readonly string[] = [], settings = '', ofAgent = ''): Promise<string> {
  const agent = await fakeAgent(t)
  const file = join(copy, 'gateway.yaml')
  writeFileSync(
    file,
    `version: 1\nserver: {listen: "127.0.0.1:0", admin: "127.0.0.1:0"}\nagents: [{name: agent, ${ofAgent}upstream: {url: "${agent.url}"}}]\n${settings}`
  )
  const args = [...flags, join(copy, 'dist/src/main.js'), 'serve', '--config', file]
  const child = start(t, process.execPath, args, { env })
  const { url, admin } = await child.listening()
  await until(async () => (await fetch(`${admin}/readyz`)).ok, 'the gateway to be ready', 60_000)
  t.equal((await rpc(`${url}/rpc`)).status, 200)
  if (ofAgent !== '') t.equal((await fetch(`${url}/docs/x`)).status, 200)
  t.equal((await fetch(`${admin}/console/`)).status, 200, 'what is loaded later is in it, and finds its files')
  child.kill('SIGTERM')
  const exited = await child.exited
  const output = child.output() + child.errors()
  t.same(exited, [0, null], output)
  return output
}

t.test('the code cache is used', async t => {
  t.same(taken([script]), [true])
  await works(t)
})

t.test('a cache made with other flags is not used, and the gateway starts', async t => {
  t.same(taken([script], ['--max-old-space-size=300']), [false])
  await works(t, ['--max-old-space-size=300'])
})

t.test('rarely needed packages are found next to the script: of traces, of Redis, and of passthrough, which the script leaves out', async t => {
  const settings = `telemetry: {traces: {enabled: true}}\nstate: {store: "redis://127.0.0.1:${await freePort()}"}\n`
  const output = await works(t, [], settings, 'passthrough: [/docs], ')
  t.match(output, /no connection to the store/)
  t.match(output, /ECONNREFUSED/, 'what the client of Redis says')
  t.notMatch(output, /tracing is off/)
})

t.test('the script holds what starts need: not all of undici, nor code that runs once or never', async t => {
  const modules = readFileSync(script, 'latin1').split('\n').filter(line => /^ *\/\/ \S*(?:node_modules|dist)\//.test(line))
  t.ok(modules.some(line => line.includes('/undici/lib/dispatcher/')))
  const unneeded =
    /\/undici\/(?:index\.js|lib\/(?:web|cache|mock)\/)|\/(?:http-proxy|reply-from|re2js|light-my-request|ajv-compiler)\/|\/built\/\S+\.cjs/
  t.strictSame(modules.filter(line => unneeded.test(line)), [])
})

t.test('a missing, truncated, damaged or foreign cache is not used either', async t => {
  const damaged = Buffer.from(kept)
  damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] ?? 0) ^ 1
  // Whole, as far as its checksum says.
  const version = Buffer.from(kept.subarray(4))
  version[4] = (version[4] ?? 0) ^ 1
  const rows: readonly (readonly [string, Buffer | null, boolean | null])[] = [
    ['missing', null, null],
    ['empty', Buffer.alloc(0), null],
    ['a few bytes', Buffer.alloc(3), null],
    ['half of it', kept.subarray(0, kept.length >> 1), null],
    ['one bit', damaged, null],
    ['nothing of V8\'s', writeCache(Buffer.from('something else')), false],
    ['another release of V8', writeCache(version), false]
  ]
  const copies = rows.map(([, bytes], i) => {
    const file = join(folder, `copy-${i}.cjs`)
    cpSync(script, file)
    if (bytes !== null) writeFileSync(cacheOf(file), bytes)
    return file
  })
  const results = taken(copies)
  t.same(rows.map(([name], i) => [name, results[i]]), rows.map(([name, , expected]) => [name, expected]))
  // A start without a cache is the same for all of them, and so is one whose cache V8 rejects, which the test above has.
  rmSync(cache)
  t.teardown(() => { writeFileSync(cache, kept) })
  await works(t)
})

t.test('it replaces modules that the compiler writes: compiling alone disables it', async t => {
  const modules = readdirSync(join(root, 'dist/src'), { recursive: true, encoding: 'utf8' }).filter(
    path => path.endsWith('.js') && /^import \{ bundled \}/.test(readFileSync(join(root, 'dist/src', path), 'utf8'))
  )
  t.strictSame(modules.sort(), ['cli/serve.js', 'server/cluster/main.js'])
  for (const path of modules) t.ok(existsSync(join(root, 'src', path.replace(/js$/, 'ts'))), path)
})

t.test('no bundled package reads files next to its modules, except pino for transports, which the gateway does not use', async t => {
  const packages = new Set<string>()
  let at = ''
  for (const line of readFileSync(script, 'latin1').split('\n').slice(1)) {
    at = /^ *\/\/ \.?.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(line)?.[1] ?? (/^ *\/\/ .*dist\/src\//.test(line) ? '' : at)
    if (at !== '' && /(?<!typeof )\b__dirname\b/.test(line)) packages.add(at)
  }
  t.strictSame([...packages].sort(), ['pino', 'thread-stream'])
})
