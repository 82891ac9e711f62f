/**
 * The files that the Dockerfile puts into the image are enough to run, with this machine's Node and without an engine: as an unprivileged
 * user, without writes.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { fakeAgent } from '../helpers/raw.js'
import { freePort } from '../helpers/http.js'

t.test('the production layout serves, reports its health and stops, as an unprivileged user without writing a file', async t => {
  if (spawnSync('setpriv', ['--version']).status !== 0) throw new Error('setpriv is missing; it is part of the Debian package util-linux')
  const root = mkdtempSync(join(tmpdir(), 'image-'))
  t.teardown(() => { rmSync(root, { recursive: true, force: true }) })
  chmodSync(root, 0o755)
  execFileSync(process.execPath, ['dist/scripts/image/main.js', root], { env: { ...process.env, NODE_OPTIONS: '' }, stdio: 'pipe' })
  execFileSync('chmod', ['-R', 'a-w', root])
  const before = tree(root)

  const agent = await fakeAgent(t)
  const main = join(root, 'app/app/dist/src/main.js')
  // `env -i`: the test runner instruments child processes through NODE_OPTIONS and would have them write files.
  const env = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    A2A_GATEWAY_UPSTREAM: agent.url,
    A2A_GATEWAY_LISTEN: '127.0.0.1:0',
    A2A_GATEWAY_ADMIN: `127.0.0.1:${await freePort()}`
  }
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value ?? ''}`)
  const unprivileged = [
    '--reuid',
    '1000',
    '--regid',
    '1000',
    '--clear-groups',
    'env',
    '-i',
    ...variables,
    join(root, 'runtime/usr/local/bin/node'),
    main
  ]
  const gateway = spawn('setpriv', [...unprivileged, 'serve'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  gateway.stdout.on('data', chunk => { output += String(chunk) })
  gateway.stderr.on('data', chunk => { output += String(chunk) })
  t.teardown(() => { gateway.kill('SIGKILL') })
  for (const end = Date.now() + 15_000; !output.includes('"listening"') && Date.now() < end && gateway.exitCode === null;) {
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  t.match(output, /"listening"/)

  const health = spawnSync('setpriv', [...unprivileged, 'health'], { cwd: root })
  t.equal(String(health.stdout), 'live\n')
  t.equal(health.status, 0)

  const exited = once(gateway, 'exit')
  gateway.kill('SIGTERM')
  const [code] = await exited as [number | null]
  t.equal(code, 0, output)
  t.same(tree(root), before, 'nothing was written')
  t.equal(spawnSync('setpriv', [...unprivileged, 'health'], { cwd: root }).status, 1, 'a stopped gateway is not healthy')
})

function tree (root: string): string[] {
  return readdirSync(root, { recursive: true }).map(String).sort()
}
