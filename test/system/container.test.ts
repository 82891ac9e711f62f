/**
 * The image of the Dockerfile, built and run by a real engine. The base is an image of Node 24 that the test makes
 * (test/helpers/node-image.ts), so that the test needs no registry of images.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { readProc } from '../../bench/processes.js'
import { startDocker } from '../helpers/docker.js'
import type { Docker } from '../helpers/docker.js'
import { freePort, rpc, until } from '../helpers/http.js'
import { makeNodeImage } from '../helpers/node-image.js'
import { fakeAgent } from '../helpers/raw.js'
import { NIGHTLY_ONLY } from '../helpers/seed.js'

const BASE = 'a2a-test/node:24'

/** Files that the engine puts into every container. */
const ENGINES = new Set(['.dockerenv', 'dev/console', 'etc/hostname', 'etc/hosts', 'etc/resolv.conf'])

interface Inspected {
  readonly Config: {
    readonly User: string
    readonly Labels: Record<string, string>
    readonly Healthcheck: { readonly Test: string[] }
    readonly Volumes?: unknown
  }
  readonly RootFS: { readonly Layers: string[] }
  readonly Size: number
}

interface Container { readonly id: string, readonly pid: number, readonly url: string, readonly admin: string }

t.setTimeout(900_000)
const docker = await startDocker(t)
if (typeof docker === 'string') {
  console.error(`The image is not built and run: ${docker}`)
  t.test('the image, built and run', { skip: docker }, async () => {})
} else {
  makeNodeImage(tree => {
    execFileSync('sh', ['-c', `tar -C '${tree}' -cf - . | docker --host unix://${docker.socket} import - ${BASE}`], { stdio: 'pipe' })
  })
  await build(docker, '.', 'one')
  await theImage(docker)
}

/** @param context folder of the sources */
async function build (docker: Docker, context: string, tag: string): Promise<void> {
  await docker.run(
    'build',
    '--quiet',
    '--network',
    'host',
    '--build-arg',
    `NODE_IMAGE=${BASE}`,
    '--build-arg',
    'VERSION=9.8.7',
    '--build-arg',
    'REVISION=abc123',
    '--tag',
    `a2a-test/gateway:${tag}`,
    context
  )
}

async function theImage (docker: Docker): Promise<void> {
  const inspect = async <T>(what: string): Promise<T> => (JSON.parse(await docker.run('inspect', what)) as [T])[0]
  const started = async (t: Test, env: Record<string, string>, ...args: string[]): Promise<Container> => {
    const [port, adminPort] = [await freePort(), await freePort()]
    const variables = Object.entries({
      A2A_GATEWAY_LISTEN: `127.0.0.1:${port}`,
      A2A_GATEWAY_ADMIN: `127.0.0.1:${adminPort}`,
      ...env
    }).flatMap(([name, value]) => ['--env', `${name}=${value}`])
    const id = await docker.run(
      'run',
      '--detach',
      '--read-only',
      '--cap-drop',
      'ALL',
      '--security-opt',
      'no-new-privileges',
      '--network',
      'host',
      ...variables,
      ...args,
      'a2a-test/gateway:one'
    )
    t.teardown(() => docker.run('rm', '--force', id))
    const admin = `http://127.0.0.1:${adminPort}`
    await until(async () => (await fetch(`${admin}/readyz`).catch(() => null))?.ok === true, 'the container to be ready', 60_000).catch(
      async (error: Error) => {
        throw new Error(`${error.message}: ${await docker.run('logs', id)}`)
      }
    )
    return { id, pid: (await inspect<{ State: { Pid: number } }>(id)).State.Pid, url: `http://127.0.0.1:${port}`, admin }
  }
  /** Processes of a container as the machine sees them: `/proc/PID/status`, by its fields, without processes that have just ended. */
  const processes = async (id: string): Promise<Record<string, string>[]> => {
    const table = (await docker.run('top', id, '-eo', 'pid')).split('\n').slice(1)
    return table.flatMap(pid => {
      const status = readProc(`/proc/${pid.trim()}/status`)
      const fields = status?.split('\n').map(line => line.split(':\t')).map(([name, value = '']) => [name as string, value.trim()])
      return fields === undefined ? [] : [Object.fromEntries(fields)]
    })
  }

  t.test('it is labelled, and contains only Node, its libraries and the gateway', async t => {
    const { Config: config, Size: size } = await inspect<Inspected>('a2a-test/gateway:one')
    t.equal(config.User, '1000:1000')
    t.match(config.Labels, {
      'org.opencontainers.image.title': 'a2a-extension-gateway',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': '9.8.7',
      'org.opencontainers.image.revision': 'abc123'
    })
    t.equal(config.Healthcheck.Test[0], 'CMD', 'without a shell')
    const folder = mkdtempSync(join(tmpdir(), 'image-'))
    t.teardown(() => { rmSync(folder, { recursive: true }) })
    const id = await docker.run('create', 'a2a-test/gateway:one')
    await docker.run('export', '--output', join(folder, 'image.tar'), id)
    await docker.run('rm', id)
    const listing = execFileSync('tar', ['-tvf', join(folder, 'image.tar')], { encoding: 'utf8', maxBuffer: 64 << 20 }).trim().split('\n')
    const files = listing
      .map(line => line.split(/\s+/))
      .filter(([mode]) => mode?.startsWith('-'))
      .map(([mode = '', owner = '', , , , path = '']) => ({ mode, owner, path }))
    t.same(
      files
        .filter(({ mode, path }) => mode.includes('x') && !ENGINES.has(path))
        .map(({ path }) => path.replace(/ld-linux[^/]*$/, 'ld'))
        .sort(),
      ['lib64/ld', 'usr/local/bin/node'],
      'no other program: no shell, no package manager'
    )
    t.same(files.filter(({ mode }) => /[sS]/.test(mode) || mode[8] === 'w'), [], 'nothing that gives rights, nothing that all may write')
    t.same(files.filter(({ owner }) => owner !== '0/0' && owner !== 'root/root'), [])
    t.same(files.filter(({ path }) => /\.(?:map|d\.[cm]?ts)$|node_modules\/typescript\//.test(path)), [])

    execFileSync('tar', ['-xf', join(folder, 'image.tar'), '-C', folder, 'app', 'var/lib/dpkg'])
    const bom = JSON.parse(readFileSync(join(folder, 'app/sbom.cdx.json'), 'utf8')) as {
      components: { name: string; version: string; purl: string }[]
    }
    const named = new Set(bom.components.map(({ name, version }) => `${name}@${version}`))
    const manifests = files
      .map(({ path }) => path)
      .filter(path => /^app\/node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
    // Packages that the build has joined into scripts have no folder.
    const joined = JSON.parse(readFileSync(join(folder, 'app/dist/src/vendor/packages.json'), 'utf8')) as { name: string; version: string }[]
    const installed = [...joined, ...manifests.map(path => JSON.parse(readFileSync(join(folder, path), 'utf8')) as { name: string; version: string })]
      .map(({ name, version }) => `${name}@${version}`)
    t.ok(installed.length > 50)
    t.same(installed.filter(one => !named.has(one)), [], 'the SBOM lists every package that is in the image')
    t.same(
      [...named].filter(
        one =>
          bom.components.find(({ name, version }) => `${name}@${version}` === one)?.purl.startsWith('pkg:npm/') === true &&
          !installed.includes(one)
      ),
      [],
      'and none that is not'
    )
    t.ok(bom.components.some(({ purl }) => /^pkg:generic\/node@24\./.test(purl)))
    t.match(readFileSync(join(folder, 'var/lib/dpkg/status.d/libc6'), 'utf8'), /^Package: libc6$/m, 'scanners find the packages of Debian')
    console.error(`size of the image: ${(size / 1e6).toFixed(1)} MB`)
  })

  t.test('all its modules can be loaded', async t => {
    const program = `
      const { readdirSync } = require('node:fs')
      const own = readdirSync('/app/dist/src', { recursive: true }).filter(path => path.endsWith('.js') && !path.endsWith('main.js') && !path.startsWith('console/page/')).map(path => '/app/dist/src/' + path)
      const { createRequire } = require('node:module')
      const packages = Object.keys(require('/app/package.json').dependencies)
      Promise.all(own.map(path => import(path))).then(async all => {
        for (const name of packages) createRequire('/app/package.json')(name)
        console.log(all.length > 100 && packages.length > 10 ? 'all of it' : 'too little')
        process.exit(0)
      })`
    t.equal(
      await docker.run(
        'run',
        '--rm',
        '--read-only',
        '--network',
        'none',
        '--entrypoint',
        '/usr/local/bin/node',
        'a2a-test/gateway:one',
        '-e',
        program
      ),
      'all of it'
    )
    t.match(
      await docker.run('run', '--rm', '--read-only', '--network', 'none', 'a2a-test/gateway:one', 'schema'),
      /json-schema\.org/,
      'its other commands run too'
    )
  })

  t.test('the bodies that the manifests allow at once fit into the heap of V8', async t => {
    const limit = 'console.log(require("node:v8").getHeapStatistics().heap_size_limit)'
    for (const [folder, memory] of [['base', '512m'], ['overlays/sidecar', '384m']] as const) {
      const bodies = Number(/^ {2}memory: (\d+)MiB/m.exec(readFileSync(`deploy/kubernetes/${folder}/gateway.yaml`, 'utf8'))?.[1]) << 20
      const heap = Number(
        await docker.run(
          'run',
          '--rm',
          '--memory',
          memory,
          '--network',
          'none',
          '--entrypoint',
          '/usr/local/bin/node',
          'a2a-test/gateway:one',
          '-e',
          limit
        )
      )
      console.error(`heap of a container of ${memory}: ${heap >> 20} MiB`)
      t.ok(bodies * 5 <= heap, `${folder}: ${bodies >> 20} MiB of bodies, ${heap >> 20} MiB of heap`)
    }
  })

  // A second build takes a minute.
  t.test('the same sources produce the same layers', { skip: NIGHTLY_ONLY }, async t => {
    const folder = mkdtempSync(join(tmpdir(), 'sources-'))
    t.teardown(() => { rmSync(folder, { recursive: true }) })
    const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
      encoding: 'utf8',
      maxBuffer: 64 << 20
    })
      .split('\0')
      .filter(path => existsSync(path) && !path.startsWith('test/'))
    for (const path of tracked) cpSync(path, join(folder, path))
    // Not in the image, but before the build: nothing of it is taken from the cache.
    writeFileSync(join(folder, 'examples/.again'), '')
    await build(docker, folder, 'two')
    const [one, two] = [await inspect<Inspected>('a2a-test/gateway:one'), await inspect<Inspected>('a2a-test/gateway:two')]
    t.ok(one.RootFS.Layers.length >= 2)
    t.same(two.RootFS.Layers, one.RootFS.Layers)
  })

  t.test(
    'it runs without privileges on a read-only file system, becomes healthy, and stops as process 1 after the calls in flight',
    async t => {
      const agent = await fakeAgent(t, {
        answer: (_request, response) => {
          setTimeout(() => {
            response
              .writeHead(200, { 'content-type': 'application/json' })
              .end('{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}}')
          }, 1_000)
        }
      })
      const begin = Date.now()
      const { id, url } = await started(t, { A2A_GATEWAY_UPSTREAM: agent.url })
      console.error(`from docker run to ready: ${Date.now() - begin} ms`)
      const [gateway, ...others] = await processes(id)
      t.same(others, [], 'one process')
      t.match(gateway?.Uid, /^1000\t1000\t1000\t1000$/)
      t.match(gateway?.Gid, /^1000\t/)
      t.equal(gateway?.CapEff, '0000000000000000')
      t.equal(gateway?.NoNewPrivs, '1')
      t.equal(gateway?.NSpid?.split('\t').at(-1), '1', 'it is process 1')
      t.equal((await rpc(`${url}/rpc`)).status, 200)
      await t.rejects(docker.run('exec', id, 'sh', '-c', 'true'), /not found/, 'there is no shell to run')
      await t.rejects(
        docker.run('exec', '--user', '0', id, '/usr/local/bin/node', '-e', 'require("fs").writeFileSync("/app/x", "")'),
        /EROFS/,
        'not even root can write'
      )
      await until(
        async () => (await inspect<{ State: { Health: { Status: string } } }>(id)).State.Health.Status === 'healthy',
        'the health check',
        60_000
      )
      t.equal(await docker.run('diff', id), '', 'nothing was written')
      t.same(
        (await processes(id)).filter(one => one.State?.startsWith('Z')),
        [],
        'health checks leave no zombies'
      )

      const before = agent.received.length
      const underWay = rpc(`${url}/rpc`)
      await until(() => agent.received.length > before, 'the call to reach the agent', 10_000)
      const stopping = Date.now()
      await docker.run('stop', '--time', '60', id)
      const took = Date.now() - stopping
      t.equal((await underWay).status, 200, 'the call under way is answered')
      t.equal((await inspect<{ State: { ExitCode: number } }>(id)).State.ExitCode, 0, 'it ended by itself')
      t.ok(took < 30_000, `within its time, not by being killed: ${took} ms`)
    }
  )

  t.test('as process 1 it reaps and replaces its workers', async t => {
    const agent = await fakeAgent(t)
    const { id, pid } = await started(t, { A2A_GATEWAY_UPSTREAM: agent.url, A2A_GATEWAY_WORKERS: '2' })
    const children = async (): Promise<string[]> => (await processes(id)).map(one => one.Pid as string).filter(one => one !== String(pid))
    const before = await children()
    t.equal(before.length, 2)
    process.kill(Number(before[0]), 'SIGKILL')
    await until(
      async () => {
        const now = await children()
        return now.length === 2 && !now.includes(before[0] as string)
      },
      'another worker',
      60_000
    )
    await sleep(100)
    t.same((await processes(id)).filter(one => one.State?.startsWith('Z')), [], 'no zombies')
    await docker.run('stop', '--time', '60', id)
    t.equal((await inspect<{ State: { ExitCode: number } }>(id)).State.ExitCode, 0)
  })
}
