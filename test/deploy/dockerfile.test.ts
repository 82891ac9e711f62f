import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

const lines = readFileSync('Dockerfile', 'utf8').split('\n')
const instruction = (name: string): string[] => lines.filter(line => line.startsWith(`${name} `)).map(line => line.slice(name.length + 1))

t.test('everything that is copied into the build exists', async t => {
  for (const copy of instruction('COPY').filter(one => !one.startsWith('--from'))) {
    for (const source of copy.split(' ').slice(0, -1)) t.ok(existsSync(source), source)
  }
})

t.test('the image runs an LTS of Node, not as root, and its health check needs no shell', async t => {
  t.match(instruction('ARG')[0], /^NODE_IMAGE=node:24-/)
  t.equal(instruction('USER').at(-1), '1000:1000')
  t.match(lines.find(line => line.startsWith('HEALTHCHECK')), /CMD \["node", "\/app\/dist\/src\/main\.js", "health"\]$/)
  t.same(JSON.parse(instruction('ENTRYPOINT')[0] ?? ''), ['node', '/app/dist/src/main.js'])
  t.equal(instruction('STOPSIGNAL')[0], 'SIGTERM')
})
