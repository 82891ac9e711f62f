/** docs/how-to/cookbook.md: each recipe is valid without a warning, its tests pass, and without the policy at least one of them fails. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '#config/paths.js'
import { commandLine } from '../helpers/command-line.js'
import { blocksOf } from './page-commands.js'

const PAGE = readFileSync(join(packageRoot(), 'docs/how-to/cookbook.md'), 'utf8')
const RECIPES = PAGE.split(/^## /m).slice(1).map(section => ({ title: section.split('\n', 1)[0] ?? '', blocks: blocksOf(section, 'yaml') }))
  .filter(({ blocks }) => blocks.length > 0)

t.test('ten recipes, each with a policy and tests', async t => {
  t.equal(RECIPES.length, 10)
  t.same(RECIPES.filter(({ blocks }) => blocks.length !== 2).map(({ title }) => title), [])
})

for (const { title, blocks: [policy = '', tests = ''] } of RECIPES) {
  t.test(title, async t => {
    const folder = t.testdir({})
    const [, name = '', uri = ''] = /^ {2}([\w-]+):\n {4}uri: (\S+)/m.exec(policy) ?? []
    const identity = policy.includes('callers:') ? 'identity: {sources: {corp: {apiKey: {header: x-api-key, keys: {file: keys.yaml}}}}}\n' : ''
    const agents = (list: string): string =>
      `version: 1\n${identity}agents:\n  - name: shop\n    upstream: {url: "http://127.0.0.1:9999"}\n    responses: enforce\n    extensions: [${list}]\n`
    const config = join(folder, 'gateway.yaml')
    const test = join(folder, 'recipe.test.yaml')
    writeFileSync(join(folder, 'keys.yaml'), '[]\n')
    writeFileSync(test, `card: {name: Shop, capabilities: {extensions: [{uri: "${uri}"}]}}\nagent: shop\ntests:\n${tests.replaceAll(/^(?=.)/gm, '  ')}`)
    const env = { MODEL_TOKEN: 's3cret' }

    writeFileSync(config, `${agents(`object-schemas, ${name}`)}${policy}`)
    const checked = await commandLine(['check', config], { env })
    t.match(checked.out, /: ok: 1 agent, 2 policies/, checked.err)
    t.equal(checked.err, '', 'no warning')
    const ran = await commandLine(['test', '--config', config, '--format', 'pretty', test], { env })
    t.equal(ran.code ?? 0, 0, ran.out + ran.err)
    t.match(ran.out, /^\d+ passed$/m)

    writeFileSync(config, `${agents('object-schemas')}${policy}`)
    const without = await commandLine(['test', '--config', config, '--format', 'pretty', test], { env })
    t.equal(without.code, 1, 'the tests depend on the policy')
  })
}
