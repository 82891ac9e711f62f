import t from 'tap'
import { formatDiagnostic, loadCatalogue, parseConfig } from '#config/load.js'
import type { Config, ResolvedPolicy } from '#config/model/model.js'

// Which policy speaks: catalogue, then the file's `extensions`, then the agent's own overlay.

const CATALOGUE = loadCatalogue()['object-schemas']

function load (lists: readonly string[], extensions = ''): Config {
  const agents = lists
    .map((list, index) => `  - {name: a${index}, path: /${index}, upstream: {url: "http://h"}, extensions: ${list}}\n`)
    .join('')
  const result = parseConfig(`version: 1\nagents:\n${agents}${extensions}`, { file: 'g.yaml', baseDir: '/', env: {} })
  if (!result.ok) throw new Error(result.problems.map(formatDiagnostic).join('\n'))
  return result.config
}

function first (list: string, extensions = ''): ResolvedPolicy {
  const [policy] = load([list], extensions).agents[0]?.policies ?? []
  if (policy === undefined) throw new Error('no policy')
  return policy
}

t.test('a name alone is the catalogue\'s policy', async t => {
  const { policy, layers, from } = first('[object-schemas]')
  t.same(policy, CATALOGUE)
  t.same(layers, ['catalogue'])
  t.match(from, { uri: 'catalogue', request: 'catalogue' })
})

t.test('an entry of the file without URI overrides parts of the catalogue\'s, one with a URI replaces it', async t => {
  const over = first('[object-schemas]', 'extensions: {object-schemas: {mode: observe}}\n')
  t.same(over.policy, { ...CATALOGUE, mode: 'observe' })
  t.same(over.layers, ['catalogue', 'file'])
  t.match(over.from, { uri: 'catalogue', request: 'catalogue', mode: 'file' })
  for (const own of ['uri: "urn:x"', 'uriPattern: "urn:*"']) {
    const alone = first('[object-schemas]', `extensions: {object-schemas: {${own}}}\n`)
    t.same(Object.keys(alone.policy), [own.slice(0, own.indexOf(':'))])
    t.same(alone.layers, ['file'])
  }
})

t.test('an agent\'s overlay wins over both, for that agent only', async t => {
  const config = load(
    ['[{object-schemas: {mode: enforce}}]', '[object-schemas]', '[{object-schemas: {}}]'],
    'extensions: {object-schemas: {mode: observe, inactive: {request: forward}}}\n'
  )
  t.same(config.agents.map(agent => agent.policies.map(({ policy, layers }) => [policy.mode, policy.inactive, layers])), [
    [['enforce', { request: 'forward' }, ['catalogue', 'file', 'agent']]],
    [['observe', { request: 'forward' }, ['catalogue', 'file']]],
    [['observe', { request: 'forward' }, ['catalogue', 'file', 'agent']]]
  ])
  t.same(config.agents.map(agent => agent.extensions), Array(3).fill(['object-schemas']))
  t.same(config.extensions['object-schemas']?.mode, 'observe')
})

t.test('members of some keys are replaced one by one, without defaults; lists and other keys as a whole', async t => {
  const own = `extensions:
  x:
    uri: urn:x
    about: {title: X, summary: S}
    owns: {headers: [a, b], metadata: [m]}
    inactive: {request: forward}
    activation: {required: always, default: inject, expose: true, signals: [header]}
    methods: {one: {need: none, params: true}, two: {need: none}}
    aliases: [{uri: "urn:y", relation: same}]
    request: [{id: r, select: {header: h}, count: {max: 1}}]
`
  const { policy, from } = first(
    '[{x: {about: {title: Y}, owns: {headers: [c]}, inactive: {request: reject}, activation: {scope: all, expose: false}, methods: {one: {need: declared}}, request: [], aliases: []}}]',
    own
  )
  t.same(policy, {
    uri: 'urn:x',
    about: { title: 'Y', summary: 'S' },
    owns: { headers: ['c'], metadata: ['m'] },
    inactive: { request: 'reject' },
    activation: { required: 'always', default: 'inject', expose: false, signals: ['header'], scope: 'all' },
    methods: { one: { need: 'declared' }, two: { need: 'none' } },
    aliases: [],
    request: []
  })
  t.match(from, {
    uri: 'file',
    'activation.required': 'file',
    'activation.scope': 'agent',
    'activation.expose': 'agent',
    'methods.one': 'agent',
    'methods.two': 'file',
    request: 'agent'
  })
})

t.test('keys for responses are overridden like all others', async t => {
  const own = `extensions:
  x:
    uri: urn:x
    owns: {metadata: [m]}
    inactive: {request: strip}
    response: [{id: r, select: {metadata: {key: m}}, schema: true}, {id: s, select: {event: last}, schema: true}]
    state: {from: {metadata: {key: m}}, maxVisits: {a: 1}, onViolation: reject}
    correlate: [{id: c, remember: {on: response, select: {part: {}}}, check: {on: request, select: {part: {}}, relation: subset}}]
    observe: {spanAttributes: {a: {part: {}}}, metrics: [{name: n, type: gauge, from: {part: {}}}]}
    echo: verify
`
  const { policy, from } = first(
    '[{x: {inactive: {response: strip}, response: [{id: t, select: {event: first}, schema: true}], state: {from: {metadata: {in: [status], key: n}}, transitions: {a: []}}, observe: {spanAttributes: {b: {metadata: {in: [task], key: k}}}}, echo: passthrough}}]',
    own
  )
  t.same(policy.inactive, { request: 'strip', response: 'strip' }, 'member by member')
  t.match(from, {
    'inactive.request': 'file',
    'inactive.response': 'agent',
    response: 'agent',
    state: 'agent',
    correlate: 'file',
    observe: 'agent',
    echo: 'agent'
  })
  t.same(policy.response?.map(({ id }) => id), ['t'])
  t.same(policy.state, { from: { metadata: { in: ['status'], key: 'n' } }, transitions: { a: [] } }, 'whole')
  t.same(policy.observe, { spanAttributes: { b: { metadata: { in: ['task'], key: 'k' } } } }, 'whole')
  t.equal(policy.correlate?.length, 1)
  t.equal(policy.echo, 'passthrough')
  const catalogue = first('[{x402: {inactive: {response: strip}}}]')
  t.same([catalogue.policy.inactive?.response, catalogue.from['inactive.response']], ['strip', 'agent'])
})

t.test('a required policy is looked up in the agent\'s list, then in file and catalogue', async t => {
  const own = 'extensions: {x: {uri: "urn:x", activation: {requires: [y, object-schemas]}}, y: {uri: "urn:y"}}\n'
  const [all, some] = load(['[x, {y: {uri: "urn:z"}}, object-schemas]', '[x]'], own).agents
  t.same(all?.dependencies, {})
  t.same(all?.policies[1]?.policy.uri, 'urn:z')
  t.same(some?.dependencies, { y: { uri: 'urn:y' }, 'object-schemas': CATALOGUE })
})
