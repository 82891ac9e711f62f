/** This gateway, as the process that operators run: `main.js serve` and a file. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageVersion } from '../../src/config/paths.js'
import { REQUIRED, extension } from '../agent/calls.js'
import { built, until } from '../processes.js'
import type { Party, PartyKind, Place } from './party.js'
import { ours } from './party.js'

export interface GatewayOptions {
  readonly name?: string
  /** Its `main.js`; by default the one built here. */
  readonly main?: string
  /** Whether traces go to the sink. */
  readonly traces?: boolean
  /** The agent's `responses`. */
  readonly responses?: 'enforce' | 'observe' | 'off'
  /** How many agents there are. */
  readonly agents?: number
  /** Policies of the agent, beyond object-schemas. */
  readonly policies?: number
  /** Rules in all that other agents have. */
  readonly otherRules?: number
  /** Subschemas of the card's schema; 0: the card has none, and does not declare the extension. */
  readonly nodes?: number
  /** Whether its heap can be asked for, see memory.ts. */
  readonly watched?: boolean
  /** `host:port`; by default what the system gives. */
  readonly listen?: string
  readonly admin?: string
}

const OTHERS_WITH_RULES = 10
const DEFAULT_NODES = 7

export async function startGateway (place: Place, options: GatewayOptions = {}): Promise<Party & { readonly admin: string }> {
  const name = options.name ?? 'gateway'
  const party = await ours(name, place, gatewayCommand(place, options), { env: traceEnvironment(place, options), ipc: options.watched === true })
  await until(() => fetch(`${party.admin}/readyz`).then(response => response.ok), `${name} is ready`)
  return party
}

/** @returns arguments for node */
export function gatewayCommand (place: Place, options: GatewayOptions): string[] {
  const file = join(place.directory, `${options.name ?? 'gateway'}.json`)
  writeFileSync(file, JSON.stringify(configuration(place, options)))
  return [...options.watched === true ? watched() : [], options.main ?? built('src/main.js'), 'serve', '--config', file]
}

/** Lets the parent ask a Node process for its memory. */
export const watched = (): string[] => ['--expose-gc', '--import', built('bench/parties/memory.js')]

const traceEnvironment = ({ sink }: Place, { traces = false }: GatewayOptions): NodeJS.ProcessEnv => traces ? { OTEL_EXPORTER_OTLP_ENDPOINT: sink } : {}

/** Everything at its default but what the options say; cards are kept for an hour so that gateways that are not measured keep quiet. */
function configuration ({ agent }: Place, options: GatewayOptions): object {
  const { agents = 1, policies = 0, otherRules = 0, nodes = DEFAULT_NODES, responses, traces = false, listen = '127.0.0.1:0', admin = '127.0.0.1:0' } = options
  const card = { refresh: '1h' }
  const own = Array.from({ length: policies }, (_none, i) => policy(`own-${i}`, i, 1))
  const rules = Array.from({ length: otherRules === 0 ? 0 : OTHERS_WITH_RULES }, (_none, i) => policy(`others-${i}`, i, otherRules / OTHERS_WITH_RULES))
  const others = Array.from({ length: Math.max(agents - 1, rules.length) }, (_none, i) => ({
    name: `other-${i}`,
    path: `/other-${i}`,
    upstream: { url: `${agent}/${OTHERS_WITH_RULES}/0` },
    card,
    ...(rules[i] === undefined ? {} : { extensions: [rules[i][0]] })
  }))
  return {
    version: 1,
    server: { listen, admin },
    telemetry: { traces: { enabled: traces } },
    extensions: Object.fromEntries([...own, ...rules]),
    agents: [...others, {
      name: 'bench',
      upstream: { url: `${agent}/${policies}/${nodes}`, connections: 4_096 },
      card,
      // As many as the memory case opens, and more.
      concurrency: { requests: 4_096, streams: 4_096 },
      ...(responses === undefined ? {} : { responses }),
      ...(policies === 0 ? {} : { extensions: ['object-schemas', ...own.map(([one]) => one)] })
    }]
  }
}

/** A policy whose rules look at the extension's own metadata. */
function policy (name: string, i: number, rules: number): [string, object] {
  const request = Array.from({ length: rules }, (_none, rule) => ({
    id: `rule-${rule}`, select: { metadata: { key: '$uri' } }, schema: { type: 'object', required: [`field${rule}`] }
  }))
  return [name, { uri: extension(i), request }]
}

const kind = (name: string, title: string, options: GatewayOptions): PartyKind => ({
  name, title, version: packageVersion, start: place => startGateway(place, { ...options, name })
})

export const GATEWAY = kind('gateway', `this gateway: \`${REQUIRED.split('/').at(-2) ?? ''}\` required, object schemas enforced, answers observed, metrics`, {})
export const TRACED = kind('gateway-traced', 'the same, and a span for every call sent to a local collector', { traces: true })
