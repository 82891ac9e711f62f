/** The commented configuration that `init` writes. Pure: a plan in, text out. */
import { relative } from 'node:path'
import type { AgentCard, CardExtension } from '#a2a/card/card.js'
import { readSecurity } from '#a2a/card/security.js'
import { visible } from '#a2a/fields.js'
import type { PolicyConfig } from '#config/model/model.js'
import { CONFIG_VERSION } from '#config/schema/schema.js'
import { schemaNames } from '#policy/card/schema-names.js'
import { isObject } from '#wire/json/object.js'
import { resolvePointer } from '#wire/json/pointer.js'
import type { KnownPolicy, Plan, PlannedAgent } from './plan.js'
import { policyLines } from './proposal.js'
import { proposedSources } from './proposed-identity.js'
import { comment, scalar } from './yaml-text.js'

/** Largest length of a card's text in a comment, in characters. */
const MAX_COMMENT_CHARS = 120
/** Extensions that a comment lists. */
const LISTED = 20

/** Name of the schema beside the configuration, for editors. */
export const SCHEMA_FILE = 'gateway.schema.json'

/** Name of the schema of policy tests beside it. */
export const TESTS_SCHEMA_FILE = 'policy-test.schema.json'

/** The line with which editors find a schema. */
export const schemaLine = (file: string): string => `# yaml-language-server: $schema=${file}`

export interface Place {
  /** Name of the file. Null: the text goes to standard output. */
  readonly file: string | null
  /** Directory of the file. */
  readonly directory: string
}

/** @returns YAML that the loader accepts, whatever the cards contain */
export function starterFile (plan: Plan, { file, directory }: Place = { file: null, directory: '.' }): string {
  const { agents, proposals, undeclared } = plan
  return [
    ...(file === null ? [] : [schemaLine(SCHEMA_FILE)]),
    ...agents.map(({ card, origin, recorded = false }) => comment(recorded
      ? `Created by "a2a-gateway init" from the recorded calls to ${quote(card.name)} in ${origin}, which has no card.`
      : `Created by "a2a-gateway init" from the card of ${quote(card.name)} at ${origin}.`)),
    ...(file === null
      ? [comment(
          'Next: save this text as gateway.yaml, then a2a-gateway check --live gateway.yaml. a2a-gateway help configuration lists every key.'
        ),
        comment('For completion in editors: a2a-gateway schema > gateway.schema.json, and see a2a-gateway help configuration.')]
      : [
          comment(`Next: a2a-gateway check --live ${file}, then a2a-gateway serve ${file}. a2a-gateway help configuration lists every key.`)
        ]),
    ...agents.flatMap(({ card }) => card.warnings.map(warning => comment(`The card: ${warning}`))),
    `version: ${CONFIG_VERSION}`,
    '',
    'server:',
    '  listen: ":8080"',
    comment('The address that clients use; the gateway writes it into the served card.', 2),
    comment('publicUrl: https://agents.example.com', 2),
    ...(agents.every(({ card }) => card.grpc.length === 0) ? [] : GRPC.map(text => comment(text, 2))),
    '',
    'agents:',
    ...agents.flatMap((agent, index) => agentLines(agent, index, directory)),
    ...proposedIdentity(agents),
    ...(undeclared.length === 0
      ? []
      : ['', comment(`Recorded requests name extensions that no card declares: ${undeclared.slice(0, LISTED).map(quote).join(', ')}.`)]),
    ...(proposals.length === 0
      ? []
      : [
          '',
          comment('Proposed policies for extensions that the catalogue does not know. Each comment "guess:" names the source of a guess:'),
          comment('compare it with the specification of the extension. "verdict: warn" only records violations; remove it to reject them.'),
          comment('a2a-gateway help policy lists every key.'),
          'extensions:'
        ]),
    ...proposals.flatMap(policyLines)
  ]
    .map(line => `${line}\n`)
    .join('')
}

const GRPC = [
  'The card offers gRPC. To serve gRPC, name the address that clients use, and remove the "# " of the next line; see a2a-gateway help grpc.',
  'grpc: {listen: ":8082", publicAddress: "agents.example.com:443"}'
]

const CORRECTED = 'set "card: {file: card.json}" with a corrected copy. "a2a-gateway help troubleshooting" shows how.'

/**
 * What the cards of some agents leave out: other methods than that of an address, and 0.3. The agent is not asked, so the card may be
 * right.
 */
function cardAdvice ({ interfaces, grpc }: AgentCard): string[] {
  const ofMethod = interfaces.find(({ binding, url }) => binding === 'JSONRPC' && /\/message:(?:send|stream)\/?$/.test(url.pathname))
  const only10 = [...interfaces, ...grpc].every(({ version }) => version === '1.0')
  return [
    ...ofMethod === undefined
      ? []
      : [`The JSONRPC interface ${quote(ofMethod.text)} has the address of one method. If the agent serves others elsewhere, ${CORRECTED}`],
    ...only10 ? [`The card offers A2A 1.0 only. If clients use 0.3, and the agent serves 0.3 too, ${CORRECTED}`] : []
  ]
}

function agentLines (agent: PlannedAgent, index: number, directory: string): string[] {
  const { name, path, upstream, cardUrl, cardFile = null, recorded = false, card, known: policies, proposed } = agent
  return [
    `  - name: ${name}`,
    ...(path === null ? [] : [`    path: ${path}`]),
    '    upstream:',
    `      url: ${scalar(upstream)}`,
    ...(cardUrl === null ? [] : ['    card:', `      url: ${scalar(cardUrl)}`]),
    ...(cardFile === null
      ? []
      : [comment("The card on disk. To fetch the agent's own card instead, remove these two lines.", 4), '    card:',
          `      file: ${scalar(relative(directory, cardFile))}`]),
    ...(cardFile !== null || recorded ? [] : cardAdvice(card).map(text => comment(text, 4))),
    ...(index > 0 ? [] : [comment('enforce rejects violations, observe only records them, off evaluates no rules.', 4)]),
    '    mode: enforce',
    ...(index > 0
      ? []
      : [comment('The same for responses; enforce only acts for policies that enforce too. See a2a-gateway help responses.', 4)]),
    '    responses: observe',
    ...modes(card).map(text => comment(text, 4)),
    comment(card.extensions.length === 0
      ? recorded ? 'Recorded requests name no extension.' : 'The card declares no extension.'
      : recorded
        ? 'Policies for the extensions that recorded requests name. They take effect if the card declares the ' +
        'extensions.'
        : 'Policies in force.', 4),
    '    extensions:',
    ...policies.flatMap(knownPolicy => knownLines(knownPolicy, agent)),
    ...proposed.flatMap(({ extension, proposal }) => [
      ...about(extension, card).map(text => comment(text, 6)),
      comment('The catalogue has no policy for it: the proposed policy is below.', 6),
      `      - ${proposal.name}`
    ])
  ]
}

function knownLines ({ name, policy, declared }: KnownPolicy, { card, known: policies }: PlannedAgent): string[] {
  const requiring = policies.find(knownPolicy => knownPolicy.policy?.activation?.requires?.includes(name))
  return [
    ...declared.flatMap(extension => about(extension, card, policy)).map(text => comment(text, 6)),
    ...(declared.length > 0
      ? []
      : [comment(
          requiring === undefined ? 'Takes effect when the card declares the extension.' : `The policy ${requiring.name} requires it.`, 6
        )]),
    ...(policy?.mode === 'observe'
      ? [comment(`Only records violations; to reject them, write "- ${name}: {mode: enforce}" instead.`, 6)]
      : []),
    ...responseRules(policy),
    `      - ${name}`
  ]
}

/** Returns sources of callers for the security schemes of the cards. */
function proposedIdentity (agents: readonly PlannedAgent[]): string[] {
  const sources = proposedSources(agents.map(({ card }) => readSecurity(card.raw)))
  if (sources.length === 0) return []
  const lines = ['identity:', '  sources:', ...sources.map(({ name, yaml }) => `    ${name}: ${yaml}`)]
  return [
    '',
    comment(`The security schemes of the ${agents.length === 1 ? 'card' : 'cards'}, as sources of callers whom the gateway ` +
      'authenticates; see a2a-gateway help identity.'),
    comment(`Compare issuer and audience with a real token, create the key files, and remove the "# " of the next ${lines.length} lines.`),
    ...lines.map(line => comment(line))
  ]
}

/** Describes an extension as the card declares it, one fact per line. */
function about ({ uri, required, pointer, params }: CardExtension, card: AgentCard, policy?: PolicyConfig): string[] {
  const entry = resolvePointer(card.raw, pointer)
  const description = isObject(entry) && typeof entry.description === 'string' ? entry.description : ''
  const schemas = policy === undefined ? [] : schemaNames(policy, card)
  return [
    ...(policy?.uri === undefined || policy.uri === uri
      ? []
      : [`The policy is for ${quote(policy.uri)}; the card declares an alias of it:`]),
    `${quote(uri)}, ${required ? 'required' : 'not required'}${description === '' ? '' : `: ${visible(description, MAX_COMMENT_CHARS)}`}`,
    ...(isObject(params) && Object.keys(params).length > 0 ? [`  its params: ${listed(Object.keys(params))}`] : []),
    ...(schemas.length > 0 ? [`  schemas that the card declares: ${listed(schemas)}`] : [])
  ]
}

function responseRules (policy: PolicyConfig | undefined): string[] {
  const count = policy?.response?.length ?? 0
  return count === 0 ? [] : [comment(`Response rules: ${count}. They only record violations while "responses" above is observe.`, 6)]
}

function modes ({ raw }: AgentCard): string[] {
  return (
    [
      ['takes', 'defaultInputModes', 'default_input_modes'],
      ['gives', 'defaultOutputModes', 'default_output_modes']
    ] as const
  ).flatMap(([verb, camel, snake]) => {
    const list: unknown = raw[camel] ?? raw[snake]
    const texts = Array.isArray(list) ? list.filter(mode => typeof mode === 'string') : []
    return texts.length === 0 ? [] : [`The agent ${verb} ${listed(texts)}.`]
  })
}

function listed (names: readonly string[]): string {
  const more = names.length > 10 ? ` and ${names.length - 10} more` : ''
  return names.slice(0, 10).map(quote).join(', ') + more
}

function quote (text: string): string {
  return `"${visible(text, MAX_COMMENT_CHARS)}"`
}
