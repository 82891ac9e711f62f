import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

const lines = readFileSync('Dockerfile', 'utf8').split('\n')
const instruction = (name: string): string[] => lines.filter(line => line.startsWith(`${name} `)).map(line => line.slice(name.length + 1))

t.test('everything that is copied into the build exists, and is not ignored', async t => {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n')
  for (const copy of instruction('COPY').filter(one => !one.startsWith('--from'))) {
    for (const source of copy.split(' ').slice(0, -1)) {
      t.ok(existsSync(source), source)
      t.notOk(ignored.includes(source), `${source} is not in .dockerignore`)
    }
  }
})

t.test('the image runs an LTS of Node, not as root, and its health check needs no shell', async t => {
  const [base = ''] = instruction('ARG')
  t.match(base, /^NODE_IMAGE=node:24\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/, 'pinned by digest')
  t.ok(readFileSync('deploy/agents.Dockerfile', 'utf8').includes(`ARG ${base}\n`), 'the agents of compose.yaml have the same base')
  t.equal(instruction('USER').at(-1), '1000:1000')
  t.match(lines.find(line => line.startsWith('HEALTHCHECK')), /CMD \["\/usr\/local\/bin\/node", "\/app\/dist\/src\/main\.js", "health"\]$/)
  t.same(JSON.parse(instruction('ENTRYPOINT')[0] ?? ''), ['/usr/local/bin/node', '/app/dist/src/main.js'])
  t.equal(instruction('STOPSIGNAL')[0], 'SIGTERM')
  t.equal(instruction('FROM').at(-1), 'scratch')
})

t.test('its version matches the package', async t => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  t.ok(instruction('ARG').includes(`VERSION=${version}`))
})
