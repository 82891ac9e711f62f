/** What a configuration lowers although the card declares it, and the keys that declare it intended: against the decision about a call. */
import t from 'tap'
import type { AgentCard } from '#a2a/card/card.js'
import { parseConfig } from '#config/load.js'
import type { AgentConfig } from '#config/model/model.js'
import { loweredRequirements, loweringModes } from '#policy/card/lowered.js'
import { compileAgentPolicy } from '#policy/compile/agent-policy.js'
import { SchemaCache } from '#policy/compile/schema-source.js'
import { card, declaring, OBJECT_SCHEMAS } from './fixtures.js'

const EXT = 'https://example.com/ext/consent/v1'
const OTHER = 'https://example.com/ext/consent/v2'
const TIMESTAMP = 'https://github.com/a2aproject/a2a-samples/extensions/timestamp/v1'

const REQUIRING = card(declaring({ uri: EXT, required: true }))

/** @param extensions the agent's list, as YAML in flow style @param policy the policy `consent` */
function agentOf (extensions: string | null, policy = '', mode = 'enforce'): AgentConfig {
  const text = [
    'version: 1',
    'agents:',
    `  - {name: a, upstream: {url: "http://127.0.0.1:9"}, mode: "${mode}"${extensions === null ? '' : `, extensions: ${extensions}`}}`,
    ...(policy === '' ? [] : ['extensions:', `  consent: {uri: "${EXT}", ${policy}}`])
  ].join('\n')
  const result = parseConfig(text, { file: 'g.yaml', baseDir: '/', env: {}, checks: [] })
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('; '))
  return result.config.agents[0] as AgentConfig
}

function lowered (agent: AgentConfig, ...cards: readonly AgentCard[]): string[] {
  return loweredRequirements(agent, cards).map(({ message, hint }) => `${message} (${hint})`)
}

/** The modes in which the gateway checks required extensions, by URI: what a call without extensions meets. */
function enforced (agent: AgentConfig, one: AgentCard): string[] {
  const policy = compileAgentPolicy({ agent, maxExtensions: 64, card: one, otherCard: null, cache: new SchemaCache(), secretOf: () => '""' })
  return policy.required.filter(({ mode }) => mode === 'enforce').map(({ uri }) => uri)
}

const BOTH = '[object-schemas, consent]'
const KEPT = 'request: [{id: r, select: {metadata: {key: $uri}}, required: true, verdict: warn}]'

const CASES: readonly (readonly [name: string, agent: AgentConfig, one: AgentCard, found: string | null])[] = [
  ['no configuration', agentOf(null), REQUIRING, null],
  ['a rule with verdict: warn', agentOf(BOTH, KEPT), REQUIRING, null],
  ['mode: observe of the policy', agentOf(BOTH, 'mode: observe'), REQUIRING,
    `the card requires "${EXT}"; because of mode: observe of the policy "consent", the gateway records and forwards requests without it (to keep the requirement, remove this mode and write verdict: warn in the rules; if you intend it, write activation.required: observe in the policy)`],
  ['mode: off of the policy', agentOf(BOTH, 'mode: off'), REQUIRING,
    `the card requires "${EXT}"; because of mode: off of the policy "consent", the gateway forwards requests without it, and records nothing (to keep the requirement, remove this mode; if you intend it, write activation.required: never in the policy)`],
  ['an overlay of the agent', agentOf('[object-schemas, {consent: {mode: observe}}]', KEPT), REQUIRING, 'mode: observe of the policy "consent"'],
  ['always, which only observes', agentOf(BOTH, 'mode: observe, activation: {required: always}'), REQUIRING, 'write activation.required: observe'],
  ['mode: observe of the agent', agentOf(null, '', 'observe'), REQUIRING,
    `the card requires "${EXT}"; because of mode: observe of the agent, the gateway records and forwards requests without it (to keep the requirement, remove this mode; if you intend it, write activation.required: observe in a policy for the extension)`],
  ['mode: off of the agent', agentOf(null, '', 'off'), REQUIRING, 'because of mode: off of the agent, the gateway forwards'],
  ['mode: off of the agent beats a policy', agentOf(BOTH, 'mode: enforce', 'off'), REQUIRING, 'because of mode: off of the agent'],
  ['mode: observe of the agent, with a policy that takes it over', agentOf(BOTH, KEPT, 'observe'), REQUIRING, 'mode: observe of the agent'],
  ['mode: observe of the agent, with a policy that enforces', agentOf(BOTH, 'mode: enforce', 'observe'), REQUIRING, null],
  ['an alias that the card requires', agentOf(BOTH, `mode: observe, aliases: [{uri: "${OTHER}", relation: satisfies}]`),
    card(declaring({ uri: OTHER, required: true })), `the card requires "${OTHER}"`],
  ['another spelling that the card requires', agentOf(BOTH, `mode: observe, aliases: [{uri: "${OTHER}", relation: same}]`),
    card(declaring({ uri: OTHER, required: true })), `the card requires "${OTHER}"`],
  ['an optional extension', agentOf(BOTH, 'mode: observe'), card(declaring(EXT)), null],
  ['a policy of the catalogue, whose own mode is observe', agentOf('[object-schemas, timestamp]'), card(declaring({ uri: TIMESTAMP, required: true })), null],
  ['a mode that the file gives a policy of the catalogue', agentOf('[object-schemas, {timestamp: {mode: observe}}]'),
    card(declaring({ uri: TIMESTAMP, required: true })), 'mode: observe of the policy "timestamp"'],
  ['a list without object-schemas', agentOf('[consent]', KEPT), card(declaring({ uri: EXT, required: true }, OBJECT_SCHEMAS)),
    `the card declares "${OBJECT_SCHEMAS}"; because extensions of the agent leaves out "object-schemas", the gateway does not validate its data (add object-schemas to extensions, which replaces the default list; if you intend it, add {object-schemas: {mode: off, activation: {required: never}}})`],
  ['an empty list', agentOf('[]'), card(declaring(OBJECT_SCHEMAS)), 'leaves out "object-schemas"'],
  ['a list without object-schemas, and a card without schemas', agentOf('[consent]', KEPT), REQUIRING, null]
]

t.test('what lowers a requirement is reported, and nothing else', async t => {
  for (const [name, agent, one, found] of CASES) {
    const findings = lowered(agent, one)
    t.equal(findings.length, found === null ? 0 : 1, `${name}: ${findings.join('\n')}`)
    if (found !== null) t.ok(findings[0]?.includes(found), `${name}: ${findings[0] ?? ''}`)
    const requires = one.extensions.filter(({ required }) => required).map(({ uri }) => uri)
    const isLowered = requires.some(uri => !enforced(agent, one).includes(uri))
    t.equal(isLowered, findings.some(one => one.startsWith('the card requires')), `${name}: the finding agrees with what the gateway enforces`)
    t.ok(found === null || loweringModes(agent).length > 0, `${name}: found without the card`)
  }
})

t.test('a key declares that it is intended', async t => {
  const intended: readonly (readonly [string, AgentConfig, AgentCard])[] = [
    ['observe', agentOf(BOTH, 'mode: observe, activation: {required: observe}'), REQUIRING],
    ['never, observed', agentOf(BOTH, 'mode: observe, activation: {required: never}'), REQUIRING],
    ['never, off', agentOf(BOTH, 'mode: off, activation: {required: never}'), REQUIRING],
    ['observe, with rules that are enforced', agentOf(BOTH, `activation: {required: observe}, ${KEPT}`), REQUIRING],
    ['a policy for all extensions', agentOf('[object-schemas, {timestamp: {activation: {required: observe}}}, consent]', 'activation: {required: observe}', 'observe'),
      card(declaring({ uri: EXT, required: true }, { uri: TIMESTAMP, required: true }))],
    ['object-schemas, off', agentOf('[{object-schemas: {mode: off}}]'), card(declaring(OBJECT_SCHEMAS))]
  ]
  for (const [name, agent, one] of intended) t.same(lowered(agent, one), [], name)
  t.equal(lowered(agentOf(BOTH, 'mode: off, activation: {required: observe}'), REQUIRING).length, 1, 'off does not observe')
})

t.test('activation.required: observe records requests without the extension, also where rules are enforced', async t => {
  const agent = agentOf(BOTH, 'activation: {required: observe}')
  const policy = compileAgentPolicy({ agent, maxExtensions: 64, card: REQUIRING, otherCard: null, cache: new SchemaCache(), secretOf: () => '""' })
  t.match(policy.required, [{ uri: EXT, mode: 'observe' }])
  t.same(policy.policies.map(({ mode }) => mode), [])
})

t.test('each version of the card counts, and a finding appears once', async t => {
  const old = card(declaring(EXT))
  t.equal(lowered(agentOf(BOTH, 'mode: observe'), REQUIRING, old).length, 1)
  t.equal(lowered(agentOf(BOTH, 'mode: observe'), old, REQUIRING, REQUIRING).length, 1)
})
