/** Prints the messages of {@link SOURCE_ROWS}, and what the agents of sources do to a configuration. */
import t from 'tap'
import type { DiscoveredAgent } from '#config/discovered.js'
import { parseConfig } from '#config/load.js'
import { CHECKS } from '#offline/configuration.js'
import { lines } from './rows.js'
import { SOURCE_ROWS } from './source-rows.js'

t.test('every message stands where its row says', async t => {
  for (const [name, text, ...expected] of SOURCE_ROWS) t.same(lines(text), expected, name)
})

const agent = (name: string, more: Partial<DiscoveredAgent> = {}): DiscoveredAgent =>
  ({ name, identifier: `urn:${name}`, published: null, upstream: `https://${name}.test/`, card: `https://${name}.test/card.json`, cardFile: null, extensions: [], ...more })

t.test('agents of sources are checked as those of the file; what fails is left out', async t => {
  const text = [
    'version: 1',
    'agents: [{name: own, path: /own, upstream: {url: "https://own.test/base"}}]',
    'agentSources:',
    '  - {name: one, catalog: c.json, allowPrivate: [10.0.0.0/8], agent: {path: "/a/{name}", extensions: [traceability], upstream: {timeouts: {connect: 1s}}}}',
    '  - {name: two, catalog: c.json, agent: {path: "/b/{name}", name: "two-{name}"}}'
  ].join('\n')
  const discovered = new Map([
    ['one', [agent('x', { extensions: ['usage', 'traceability'] }), agent('own'), agent('bad', { extensions: ['no-such'] }), agent('deep', { upstream: 'https://own.test/base/rpc' })]],
    ['two', [agent('x'), agent('nested', { upstream: 'https://x.test/inner' })]]
  ])
  const loaded = parseConfig(text, { file: 'g.yaml', baseDir: '/', env: {}, checks: CHECKS, discovered })
  if (!loaded.ok) return t.fail(JSON.stringify(loaded.problems))
  const { agents } = loaded.config
  t.same(agents.map(({ name, path }) => `${name} ${path}`), ['own /own', 'x /a/x', 'two-x /b/x'])
  t.match(agents[1], {
    extensions: ['traceability', 'usage'],
    upstream: { url: 'https://x.test/', timeouts: { connect: 1_000 } },
    card: { url: 'https://x.test/card.json' },
    origin: { source: 'one', kind: 'catalog', identifier: 'urn:x', allowPrivate: ['10.0.0.0/8'] }
  })
  t.equal(agents[0]?.origin, null)
  t.match(loaded.leftOut, [
    { source: 'one', identifier: 'urn:own', problem: /have the same name/ },
    { source: 'one', identifier: 'urn:bad', problem: /no-such/ },
    { source: 'one', identifier: 'urn:deep', problem: /below the address of another agent/ },
    { source: 'two', identifier: 'urn:nested', problem: /below the address of another agent/ }
  ])
  t.match(loaded.warnings, [])
})
