import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
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

t.test('the build imports only files that are copied', async t => {
  const folders = instruction('COPY').filter(one => !one.startsWith('--from')).flatMap(one => one.split(' ').slice(0, -1))
  const { include } = JSON.parse(readFileSync('tsconfig.build.json', 'utf8')) as { include: string[] }
  const files = new Set(include.flatMap(folder => readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts')).map(name => join(folder, name))))
  // A Set visits the files that its loop adds.
  for (const file of files) {
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import) '(\.[^']+)\.js'/g)) {
      const imported = `${join(dirname(file), path)}.ts`
      if (existsSync(imported)) files.add(imported)
    }
  }
  t.ok(files.has('bench/render.ts'), 'the walk leaves the included folders')
  t.same([...files].filter(file => !folders.includes(file.slice(0, file.indexOf('/')))), [])
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
