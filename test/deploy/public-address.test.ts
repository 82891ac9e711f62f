/** package.json defines the public address. Every other file that contains the address has the same one. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import { ADDRESSED, addressed, publicAddress, publicPage } from '../../scripts/public-address.js'

const root = packageRoot()
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const OTHER = 'https://git.example.com/team/gateway'

t.test('package.json names it in npm\'s form', async t => {
  const { repository } = JSON.parse(read('package.json')) as { repository: { type: string, url: string } }
  t.same(repository, { type: 'git', url: `git+${publicAddress()}.git` })
  t.match(publicAddress(), /^https:\/\/github\.com\/[\w-]+\/a2a-extension-gateway$/)
  t.equal(publicPage('docs/reference/alerts.md', OTHER), `${OTHER}/blob/main/docs/reference/alerts.md`)
})

t.test('each file uses it', async t => {
  for (const [file, edit] of Object.entries(ADDRESSED)) {
    t.equal(addressed(file), read(file), `${file} is current`)
    const moved = edit(read(file), OTHER)
    t.ok(moved.includes(OTHER), `${file} takes another address`)
    t.equal(edit(moved, publicAddress()), read(file), `${file}: and takes it back, with nothing else changed`)
    const left = moved.split(publicAddress()).length - 1
    t.equal(left, file === 'package.json' ? 1 : 0, `${file} keeps none of the old one`)
    t.throws(() => edit('nothing', OTHER), /finds nothing/, `${file}: a field that has gone is not left out silently`)
  }
})

t.test('no other file contains it', async t => {
  const folders = ['.github', 'config', 'deploy', 'docs', 'examples', 'scripts', 'src']
  const files = folders
    .flatMap(folder => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile() && /\.(?:md|ya?ml|json|ts|js|mjs)$/.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name).slice(root.length + 1))
  const made = [
    'deploy/grafana/dashboards/a2a-gateway.json',
    'deploy/helm/a2a-extension-gateway/files/alerts.yaml',
    'deploy/kubernetes/components/monitoring/prometheus-rule.yaml'
  ]
  t.same(
    files.filter(file => read(file).includes(publicAddress()) && !(file in ADDRESSED) && !made.includes(file)),
    ['scripts/public-address.ts'],
    'a comment gives an example'
  )
})
