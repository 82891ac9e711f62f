/** Builds a commented configuration from a card, for `init`. Pure: text in, text out. */
import type { AgentCard, CardExtension } from '../a2a/card/card.js'
import { readSecurity } from '../a2a/card/security.js'
import { visible } from '../a2a/fields.js'
import type { PolicyConfig } from '../config/model/model.js'
import { CONFIG_VERSION, DEFAULT_POLICIES } from '../config/schema/schema.js'
import { policyFor } from '../policy/card/lint.js'
import { schemaNames } from '../policy/card/schema-names.js'
import { isObject } from '../wire/json/object.js'
import { resolvePointer } from '../wire/json/pointer.js'
import { proposedSources } from './proposed-identity.js'

export interface StarterOptions {
  /** The agent's card. When the cards of the two versions differ, the one with more extensions. */
  readonly card: AgentCard
  /** Source of the card. */
  readonly origin: string
  readonly upstream: string
  /** URL of the card. Null when the gateway finds the card below the upstream URL. */
  readonly cardUrl: string | null
  readonly catalogue: Readonly<Record<string, PolicyConfig>>
}

/** Largest length of a card's text in a comment, in characters. */
const SHOWN = 120
/** Largest number of listed extensions and names. A card may have more. */
const MANY = 64

/**
 * Builds the file.
 * @returns YAML that the loader accepts, whatever the card contains
 */
export function starterFile (options: StarterOptions): string {
  const { card, origin, upstream, cardUrl, catalogue } = options
  const extensions = card.extensions.slice(0, MANY)
  const known = extensions.map(extension => ({ extension, name: policyFor(extension, catalogue)?.[0] ?? null }))
  const names = new Set(Object.keys(catalogue))
  const unknown = known.filter(({ name }) => name === null).map(({ extension }) => ({ extension, name: uniqueName(extension.uri, names) }))
  const inForce = new Map<string, CardExtension[]>(DEFAULT_POLICIES.map(name => [name, []]))
  for (const { extension, name } of known) if (name !== null) inForce.set(name, [...inForce.get(name) ?? [], extension])
  return [
    comment(`Created by "a2a-gateway init" from the card of ${quote(card.name)} at ${origin}.`),
    comment('Next: a2a-gateway check --live --config FILE, then a2a-gateway serve --config FILE. Every key is in docs/configuration.md.'),
    ...card.warnings.map(warning => comment(`The card: ${warning}`)),
    `version: ${CONFIG_VERSION}`,
    '',
    'server:',
    '  listen: ":8080"',
    comment('The address that clients use; the gateway writes it into the served card.', 2),
    comment('publicUrl: https://agents.example.com', 2),
    ...(card.grpc.length === 0 ? [] : GRPC.map(text => comment(text, 2))),
    '',
    'agents:',
    `  - name: ${asName(slug(card.name), 'agent')}`,
    '    upstream:',
    `      url: ${scalar(upstream)}`,
    ...(cardUrl === null ? [] : ['    card:', `      url: ${scalar(cardUrl)}`]),
    comment('enforce rejects violations, observe only records them, off evaluates no rules.', 4),
    '    mode: enforce',
    comment('The same for responses; enforce only acts for policies that enforce too. See docs/responses.md.', 4),
    '    responses: observe',
    ...modes(card).map(text => comment(text, 4)),
    comment(
      extensions.length === 0
        ? 'The card declares no extension.'
        : 'Policies in force. Without a policy, an extension is enforced if the card requires it, but its data is not validated.',
      4
    ),
    '    extensions:',
    ...[...inForce].flatMap(([name, declared]) => [
      ...declared.flatMap(extension => about(extension, card, catalogue[name])).map(text => comment(text, 6)),
      ...(declared.length === 0 ? [comment('Takes effect when the card declares the extension.', 6)] : []),
      ...(catalogue[name]?.mode === 'observe'
        ? [comment(`Only records violations; to reject them, write "-  ${name}: {mode: enforce}" instead.`, 6)]
        : []),
      ...responseRules(catalogue[name]),
      `      - ${name}`
    ]),
    ...unknown.flatMap(({ extension, name }) => [
      ...about(extension, card).map(text => comment(text, 4)),
      comment(`The catalogue has no policy for it. Write one below, then list it here: ${name}`, 4)
    ]),
    ...proposedIdentity(card),
    ...(unknown.length === 0
      ? []
      : [
          '',
          comment('Your own policies; docs/policy-reference.md lists every key. Remove the "# " from "extensions:" to the end.'),
          comment('extensions:')
        ]),
    ...unknown.flatMap(({ extension, name }) => skeleton(extension, name).map(line => comment(line)))
  ]
    .map(line => `${line}\n`)
    .join('')
}

const GRPC = [
  'The card offers gRPC. To serve gRPC, name the address that clients use, and remove the "# " of the next line; see docs/grpc.md.',
  'grpc: {listen: ":8082", publicAddress: "agents.example.com:443"}'
]

/** Returns sources of callers for the security schemes of the card. */
function proposedIdentity ({ raw }: AgentCard): string[] {
  const sources = proposedSources([readSecurity(raw)])
  if (sources.length === 0) return []
  const lines = ['identity:', '  sources:', ...sources.map(({ name, yaml }) => `    ${name}: ${yaml}`)]
  return [
    '',
    comment('The security schemes of the card, as sources of callers whom the gateway authenticates; see docs/identity.md.'),
    comment(`Compare issuer and audience with a real token, create the key files, and remove the "# " of the next ${lines.length} lines.`),
    ...lines.map(line => comment(line))
  ]
}

/**
 * Returns a starter policy for the usual shapes of an extension's data, in the metadata of the message or of the request: one value named
 * by the extension's URI, or members whose names begin with the URI.
 */
function skeleton ({ uri }: CardExtension, name: string): string[] {
  return [
    `  ${name}:`,
    `    uri: ${scalar(uri)}`,
    '    mode: observe',
    '    activation: {signals: [header, evidence]}',
    '    owns: {metadata: ["$uri", "$uri/*"]}',
    '    request:',
    '      - id: data-is-valid',
    '        select: {metadata: {key: "$uri"}}',
    '        required: false    # true: requests without the value break the rule',
    '        schema: {type: object}',
    '      - id: members-are-valid    # for data as in {"<uri>/code": 1}',
    '        select: {metadata: {key: "$uri/*"}}',
    '        required: false',
    '        schema: {type: [string, number, boolean, object, array]}'
  ]
}

/** Describes an extension as the card declares it, one fact per line. */
function about ({ uri, required, pointer, params }: CardExtension, card: AgentCard, policy?: PolicyConfig): string[] {
  const entry = resolvePointer(card.raw, pointer)
  const description = isObject(entry) && typeof entry.description === 'string' ? entry.description : ''
  const schemas = policy === undefined ? [] : schemaNames(policy, card)
  return [
    ...(policy?.uri === undefined || policy.uri === uri ? [] : [`The policy is for ${quote(policy.uri)}; the card declares an alias of it:`]),
    `${quote(uri)}, ${required ? 'required' : 'not required'}${description === '' ? '' : `: ${visible(description, SHOWN)}`}`,
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
    const texts = Array.isArray(list) ? list.filter(one => typeof one === 'string') : []
    return texts.length === 0 ? [] : [`The agent ${verb} ${listed(texts)}.`]
  })
}

function listed (names: readonly string[]): string {
  const more = names.length > 10 ? ` and ${names.length - 10} more` : ''
  return names.slice(0, 10).map(quote).join(', ') + more
}

/** Builds a unique name from the last words of a URI that are not a version: `https://example.com/ext/order/v1` becomes `order`. */
function uniqueName (uri: string, taken: Set<string>): string {
  const words = uri.split(/[/:?#]/).map(slug).filter(word => word !== '' && !/^v?\d[\d-]*$/.test(word))
  const base = asName(words.at(-1) ?? '', 'extension')
  let name = base
  for (let number = 2; taken.has(name); number++) name = `${base.slice(0, 55)}-${number}`
  taken.add(name)
  return name
}

/** Makes a text safe as an unquoted YAML string: avoids words that YAML reads as another type. */
function asName (text: string, kind: string): string {
  if (text === '') return kind
  return /^(?:\d[\d-]*|\d+e-?\d+|0x[\da-f]+|0o\d+|null|true|false)$/.test(text) ? `${kind}-${text}`.slice(0, 63) : text
}

function slug (text: string): string {
  return text.slice(0, 500).normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 63).replace(/^-+|-+$/g, '')
}

/** Quotes a string as YAML: JSON's quotes, escapes for invisible characters, and `$` doubled because the loader substitutes `$`. */
function scalar (text: string): string {
  return JSON.stringify(text.replaceAll('$', '$$$$')).replaceAll(
    /[^\x20-\x7e]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
}

function quote (text: string): string {
  return `"${visible(text, SHOWN)}"`
}

/** Formats one comment line. Invisible characters are made visible. */
function comment (text: string, indent = 0): string {
  return `${' '.repeat(indent)}# ${visible(text, 10_000)}`
}
