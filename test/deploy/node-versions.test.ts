/**
 * The versions of Node have three sources: `engines` of package.json names the oldest supported version, the Dockerfile the one that ships,
 * and scripts/runtimes/package.json the exact programs that the suites run on. Everything else that names a version agrees with them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { ROOT } from '../helpers/paths.js'
import { nodeOfDockerfile } from '../helpers/node-image.js'
import { hasSafeHttp2Server } from '#config/listeners/grpc-checks.js'

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const { engines, scripts } = JSON.parse(read('package.json')) as { engines: { node: string }, scripts: Record<string, string> }
const { optionalDependencies, ...runtimes } = JSON.parse(read('scripts/runtimes/package.json')) as { optionalDependencies: Record<string, string> }
const lock = JSON.parse(read('scripts/runtimes/package-lock.json')) as { packages: Record<string, { version?: string, integrity?: string, os?: string, cpu?: string }> }

/** 20.20 and 24.21.0, for example. */
const oldest = engines.node.replace('>=', '')
const shipped = nodeOfDockerfile()
const major = (version: string): string => version.split('.')[0] ?? ''
const versions = new Map(Object.entries(optionalDependencies).map(([name, spec]) => [name, spec.split('@').at(-1) ?? '']))

t.test('the suites run on the oldest supported version, the one that ships, and every even major version between and after', async t => {
  const majors = [...new Set([...versions.values()].map(major))].toSorted()
  t.same(majors, ['20', '22', '24', '26'])
  t.equal(majors[0], major(oldest))
  t.ok([...versions.values()].includes(shipped), `scripts/runtimes/package.json has a program of Node ${shipped}, which the Dockerfile names`)
  for (const [name, version] of versions) {
    t.match(name, new RegExp(`^node-${major(version)}-linux-(?:x64|arm64)$`), name)
    if (major(version) === major(oldest)) t.ok(version.startsWith(`${oldest}.`), `${name} is a release of ${oldest}`)
    const locked = lock.packages[`node_modules/${name}`]
    t.equal(locked?.version, version, `${name}: the lock file has the version; run npm install --package-lock-only in scripts/runtimes`)
    t.match(locked?.integrity, /^sha512-/, `${name} is pinned by its content`)
  }
  t.notHas(runtimes, { dependencies: {} }, 'a platform installs only its own programs')
})

t.test('the version that ships is a long-term release without known faults of its HTTP/2 server', async t => {
  t.equal(Number(major(shipped)) % 2, 0)
  t.ok(hasSafeHttp2Server(shipped))
})

t.test('code is compiled for the oldest supported version', async t => {
  for (const file of ['scripts/bundle/bundle.ts', 'scripts/executable/main.ts']) t.ok(read(file).includes(`target: 'node${oldest}'`), file)
  for (const file of ['scripts/build-tests.mjs', 'scripts/mutations/run.mjs']) t.ok(read(file).includes(`target: 'node${major(oldest)}'`), file)
  t.match(JSON.parse(read('scripts/site/package.json')), { engines })
})

t.test('workflows check both versions, and executables contain the one that ships', async t => {
  const { jobs } = parse(read('.github/workflows/ci.yml')) as { jobs: { ci: { strategy: { matrix: { node: string[] } } } } }
  t.same(jobs.ci.strategy.matrix.node, [major(oldest), major(shipped)])
  for (const file of ['release', 'site']) {
    const named = [...read(`.github/workflows/${file}.yml`).matchAll(/node-version: (.*)/g)].map(([, version]) => version)
    t.ok(named.length > 0 && named.every(version => version === `'${shipped}'`), `${file}.yml: ${named.join(', ')}`)
  }
})

t.test('pages name the same versions', async t => {
  const places: readonly (readonly [file: string, text: string])[] = [
    ['README.md', `${major(shipped)} (${oldest} or later works)`],
    ['docs/how-to/install.md', `Node ${oldest} is the oldest that works`],
    ['docs/how-to/install.md', `Node ${major(shipped)}, the newest long-term release`],
    ['docs/start/quick-start.md', `${major(shipped)} (${oldest} or later works)`],
    ['docs/how-to/deploy.md', `| contents | Node ${major(shipped)} `],
    ['docs/contributing/releasing.md', `node:${major(shipped)}-bookworm-slim`],
    ['CONTRIBUTING.md', `Node ${major(oldest)} is the oldest supported version`],
    ['.ci/run', `with Node ${oldest} or later`],
    ['deploy/agents.Dockerfile', `node:${shipped}-`]
  ]
  for (const [file, text] of places) t.ok(read(file).includes(text), `${file} contains "${text}"`)
  t.ok(scripts['test:runtimes'] !== undefined && read('CONTRIBUTING.md').includes('| `npm run test:runtimes` |'))
})
