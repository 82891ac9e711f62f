/** Installations outside of the sources: the npm package in an empty folder, the Debian package, the executable. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import type { Test } from 'tap'
import { debianVersion } from '../../scripts/debian/control.js'
import { filesBelow } from '../../scripts/image/files.js'
import { productionOf } from '../../scripts/image/trim.js'
import type { Lock } from '../../scripts/image/trim.js'
import { freePort, rpc, until } from '../helpers/http.js'
import { ROOT } from '../helpers/paths.js'
import { fakeAgent } from '../helpers/raw.js'
import { start } from '../helpers/started.js'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
const env = { PATH: process.env.PATH, HOME: process.env.HOME }
const run = (program: string, args: readonly string[], cwd = ROOT, more: NodeJS.ProcessEnv = {}): string =>
  execFileSync(program, args, { cwd, env: { ...env, ...more }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 << 20 })

function emptyFolder (t: Test, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`))
  t.teardown(() => { rmSync(folder, { recursive: true, force: true }) })
  return folder
}

/** Starts the gateway in front of an agent, sends a call through it, and stops it. */
async function serves (t: Test, program: string, args: readonly string[], cwd: string, workers = 1): Promise<void> {
  const agent = await fakeAgent(t)
  const listen = `127.0.0.1:${await freePort()}`
  const yaml = `version: 1\nserver: {listen: "${listen}", admin: "127.0.0.1:0", workers: ${workers}}\nagents: [{name: a, upstream: {url: "${agent.url}"}}]\n`
  const file = join(cwd, 'served.yaml')
  writeFileSync(file, yaml)
  const child = start(t, program, [...args, 'serve', file], { cwd, env: { ...env, XDG_CACHE_HOME: join(cwd, 'unpacked') } })
  await child.listening()
  t.equal((await rpc(`http://${listen}/rpc`)).status, 200, child.output())
  child.kill('SIGTERM')
  t.same(await child.exited, [0, null], child.output() + child.errors())
}

/** `npx --no a2a-gateway serve --upstream URL` of docs/how-to/install.md, without a file: a call goes through. */
async function servesUpstream (t: Test, cwd: string): Promise<void> {
  const agent = await fakeAgent(t)
  const [listen, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const args = ['--no', '--offline', 'a2a-gateway', 'serve', '--upstream', agent.url, '--listen', listen, '--admin', admin]
  // npx starts a shell, and the shell starts the gateway: the signal goes to the group of all three.
  const child = spawn('npx', args, { cwd, env, stdio: 'ignore', detached: true })
  const exited = once(child, 'exit')
  const signal = (name: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) process.kill(-child.pid, name)
  }
  t.teardown(() => { signal('SIGKILL') })
  await until(() => fetch(`http://${admin}/readyz`).then(({ ok }) => ok, () => false), 'the gateway to be ready', 60_000)
  t.equal((await rpc(`http://${listen}/rpc`)).status, 200)
  signal('SIGTERM')
  await exited
}

t.test('the npm package, in an empty folder', async t => {
  const folder = emptyFolder(t, 'package')
  const name = run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]).trim().split('\n').at(-1) ?? ''
  const archive = join(folder, name)
  // The versions of package-lock.json: npm finds them in its cache, where `npm ci` has put them.
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock & { readonly packages: Record<string, Record<string, unknown>> }
  const integrity = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
  const { dependencies, bin } = lock.packages[''] as Record<string, unknown>
  const resolved = `file:${name}`
  const own = { 'a2a-extension-gateway': resolved }
  // npm applies the overrides of the root only, and the lock file was made with ours.
  const { overrides } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { overrides: object }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'empty', version: '1.0.0', dependencies: own, overrides }))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({
    name: 'empty',
    version: '1.0.0',
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': { name: 'empty', version: '1.0.0', dependencies: own },
      'node_modules/a2a-extension-gateway': { version, resolved, integrity, dependencies, bin },
      ...Object.fromEntries([...productionOf(lock)].map(path => [path, lock.packages[path]]))
    }
  }))
  const install = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']
  try {
    run('npm', [...install, '--offline'], folder)
  } catch {
    t.comment("npm's cache lacks packages; they are downloaded")
    run('npm', install, folder)
  }
  for (const command of ['a2a-gateway', 'a2a-extension-gateway']) {
    t.equal(run('npx', ['--no', '--offline', command, '--version'], folder), `${version}\n`, `npx ${command}`)
  }
  await serves(t, join(folder, 'node_modules/.bin/a2a-gateway'), [], folder)
  await servesUpstream(t, folder)
  const library = "import('a2a-extension-gateway').then(({ a2aGateway }) => console.log(typeof a2aGateway))"
  t.equal(run(process.execPath, ['--input-type=module', '-e', library], folder), 'function\n')
  const size = bytesOf(join(folder, 'node_modules'))
  t.ok(size < 60e6, `${size} bytes are installed`)
  t.ok(statSync(archive).size < 6e6, `${statSync(archive).size} bytes are downloaded`)
})

t.test('the Debian package', async t => {
  const folder = emptyFolder(t, 'debian')
  run(process.execPath, [join(ROOT, 'dist/scripts/debian/main.js'), folder, 'none'])
  const [file = ''] = readdirSync(folder)
  t.match(file, /^a2a-extension-gateway_.*_(?:amd64|arm64)\.deb$/)
  const archive = join(folder, file)
  t.match(run('dpkg-deb', ['--info', archive]), new RegExp(`Version: ${debianVersion(version)}\\n[^]*Depends: libc6`))
  const contents = run('dpkg-deb', ['--contents', archive]).split('\n')
  const modes = (path: string): string => contents.find(line => line.endsWith(` ./${path}`))?.slice(0, 30).replace(/ +\d*$/, '') ?? 'missing'
  t.match(modes('usr/bin/a2a-gateway'), '-rwxr-xr-x root/root')
  t.match(modes('usr/lib/a2a-extension-gateway/node'), '-rwxr-xr-x root/root')
  t.match(modes('etc/a2a-gateway/gateway.yaml'), '-rw-r--r-- root/root')
  t.same(contents.filter(line => /\.(?:map|d\.ts|test\.yaml)$/.test(line)), [])

  const root = join(folder, 'root')
  run('dpkg-deb', ['--extract', archive, root])
  const share = (path: string): Buffer => readFileSync(join(root, 'usr/share', path))
  t.match(`${share('bash-completion/completions/a2a-gateway')}`, 'complete -F _a2a_gateway a2a-gateway')
  t.match(`${share('zsh/vendor-completions/_a2a-gateway')}`, /^#compdef a2a-gateway\n/)
  t.match(`${share('fish/vendor_completions.d/a2a-gateway.fish')}`, '__fish_seen_subcommand_from')
  const manual = gunzipSync(share('man/man1/a2a-gateway.1.gz')).toString()
  t.match(manual, /^\.TH A2A-GATEWAY 1 [^]*\n\.SS serve\n\.nf\n[^]*\\-\\-listen HOST:PORT/)
  if (existsSync('/usr/bin/groff')) {
    writeFileSync(join(folder, 'a2a-gateway.1'), manual)
    t.equal(spawnSync('groff', ['-man', '-Tutf8', '-ww', '-z', join(folder, 'a2a-gateway.1')], { encoding: 'utf8' }).stderr, '')
  }
  const library = join(root, 'usr/lib/a2a-extension-gateway')
  const main = [join(library, 'dist/src/main.js')]
  t.equal(run(join(library, 'node'), [...main, '--version'], folder), `${version}\n`)
  run(join(library, 'node'), [...main, 'check', join(root, 'etc/a2a-gateway/gateway.yaml')], folder)
  await serves(t, join(library, 'node'), main, folder)
  t.match(readFileSync(join(root, 'usr/bin/a2a-gateway'), 'utf8'), '/usr/lib/a2a-extension-gateway/dist/src/main.js')
  if (!existsSync('/usr/bin/systemd-analyze')) return t.comment('systemd-analyze is missing: apt-get install systemd. The unit is not verified.')
  const unit = join(folder, 'a2a-gateway.service')
  const text = readFileSync(join(root, 'usr/lib/systemd/system/a2a-gateway.service'), 'utf8')
  writeFileSync(unit, text.replaceAll('/usr/bin/a2a-gateway', join(library, 'node')))
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
  t.same([verified.status, verified.stderr], [0, ''])
  // Exposure in tenths; a service without restrictions has 96.
  run('systemd-analyze', ['security', '--offline=true', '--no-pager', '--threshold=20', unit])
})

/** Making it takes 10 s of CPU. `npm run test:nightly` sets the variable. */
const notNow = process.env.A2A_TEST_RUNS === undefined ? 'is made in npm run test:nightly' : false

t.test('the executable', { skip: notNow }, async t => {
  const folder = emptyFolder(t, 'executable')
  const file = join(folder, 'a2a-gateway')
  run(process.execPath, [join(ROOT, 'dist/scripts/executable/main.js'), file], ROOT, { BROTLI_QUALITY: '1' })
  const more = { XDG_CACHE_HOME: join(folder, 'unpacked') }
  t.equal(run(file, ['--version'], folder, more), `${version}\n`)
  await serves(t, file, [], folder, 2)
  t.equal(readdirSync(join(folder, 'unpacked/a2a-gateway')).length, 1, 'unpacked once')
  const open = join(folder, 'open')
  mkdirSync(join(open, 'a2a-gateway'), { recursive: true })
  chmodSync(join(open, 'a2a-gateway'), 0o777)
  const { status, stderr } = spawnSync(file, ['--version'], { env: { ...env, A2A_GATEWAY_UNPACK: open }, encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, /^a2a-gateway: there is no folder to unpack the gateway into: other users can write .*\(set A2A_GATEWAY_UNPACK/)
})

function bytesOf (folder: string): number {
  return filesBelow(folder).reduce((sum, path) => sum + statSync(join(folder, path)).size, 0)
}
