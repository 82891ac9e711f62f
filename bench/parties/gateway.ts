/** This gateway, as the process that operators run: `main.js serve` with a file. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageVersion } from '#config/paths.js'
import { REQUIRED, extension } from '../agent/card.js'
import { built, until } from '../processes.js'
import type { Party, PartyKind, Place } from './party.js'
import { ours } from './party.js'

export interface GatewayOptions {
  readonly name?: string
  /** Path of the gateway's `main.js`. Default: the file built here. */
  readonly main?: string
  /** True to send traces to the sink. */
  readonly traces?: boolean
  /** The agent's `responses`. */
  readonly responses?: 'enforce' | 'observe' | 'off'
  /** Number of agents. */
  readonly agents?: number
  /** Number of the agent's policies in addition to object-schemas. */
  readonly policies?: number
  /** Total number of rules of the other agents. */
  readonly otherRules?: number
  /** Subschemas of the card's schema. With 0, the card has no schema and does not declare the extension. */
  readonly nodes?: number
  /** True when the parent can request the size of the heap; see memory.ts. */
  readonly watched?: boolean
  /** `host:port`; default: a port that the system chooses. */
  readonly listen?: string
  readonly admin?: string
  readonly workers?: number
  /** The key `identity` of the configuration. */
  readonly identity?: object
  /** A policy server that is asked about each call, as an entry of `decisionPoints`. */
  readonly decisionPoint?: object
  /** `host:port` of `server.mesh`. */
  readonly mesh?: string
  /** Path of the program of Node. Default: the version of the container image. */
  readonly node?: string | undefined
}

const OTHERS_WITH_RULES = 10
const DEFAULT_NODES = 7

export async function startGateway (place: Place, options: GatewayOptions = {}): Promise<Party & { readonly admin: string }> {
  const name = options.name ?? 'gateway'
  const party = await ours(name, place, gatewayCommand(place, options), {
    env: traceEnvironment(place, options),
    ipc: options.watched === true,
    node: options.node
  })
  await until(() => fetch(`${party.admin}/readyz`).then(response => response.ok), `${name} is ready`)
  return party
}

/** @returns arguments for node */
export function gatewayCommand (place: Place, options: GatewayOptions): string[] {
  const file = join(place.directory, `${options.name ?? 'gateway'}.json`)
  writeFileSync(file, JSON.stringify(configuration(place, options)))
  return [...options.watched === true ? watched() : [], options.main ?? built('src/main.js'), 'serve', '--config', file]
}

/** Options that let the parent request the memory figures of a Node process. */
export const watched = (): string[] => ['--expose-gc', '--import', built('bench/parties/memory.js')]

const traceEnvironment = ({ sink }: Place, { traces = false }: GatewayOptions): NodeJS.ProcessEnv =>
  traces ? { OTEL_EXPORTER_OTLP_ENDPOINT: sink } : {}

/**
 * A configuration with defaults for everything except the options. Cards are kept for an hour, so that gateways that are not measured stay
 * idle.
 */
function configuration ({ agent }: Place, options: GatewayOptions): object {
  const {
    agents = 1,
    policies = 0,
    otherRules = 0,
    nodes = DEFAULT_NODES,
    responses,
    traces = false,
    listen = '127.0.0.1:0',
    admin = '127.0.0.1:0',
    workers,
    identity,
    decisionPoint,
    mesh
  } = options
  const card = { refresh: '1h' }
  const own = Array.from({ length: policies }, (_none, i) => policy(`own-${i}`, i, 1))
  const rules = Array.from({ length: otherRules === 0 ? 0 : OTHERS_WITH_RULES }, (_none, i) =>
    policy(`others-${i}`, i, otherRules / OTHERS_WITH_RULES)
  )
  const others = Array.from({ length: Math.max(agents - 1, rules.length) }, (_none, i) => ({
    name: `other-${i}`,
    path: `/other-${i}`,
    upstream: { url: `${agent}/${OTHERS_WITH_RULES}/0` },
    card,
    ...(rules[i] === undefined ? {} : { extensions: [rules[i][0]] })
  }))
  return {
    version: 1,
    server: { listen, admin, ...(workers === undefined ? {} : { workers }), ...(mesh === undefined ? {} : { mesh: { listen: mesh } }) },
    ...(identity === undefined ? {} : { identity }),
    ...(decisionPoint === undefined ? {} : { decisionPoints: { corp: decisionPoint } }),
    telemetry: { traces: { enabled: traces } },
    extensions: Object.fromEntries([...own, ...rules]),
    agents: [...others, {
      name: 'bench',
      upstream: { url: `${agent}/${policies}/${nodes}`, connections: 4_096 },
      card,
      // At least as many as the memory case opens.
      concurrency: { requests: 4_096, streams: 4_096 },
      ...(responses === undefined ? {} : { responses }),
      ...(decisionPoint === undefined ? {} : { external: [{ id: 'calls', use: 'corp' }] }),
      ...(policies === 0 ? {} : { extensions: ['object-schemas', ...own.map(([one]) => one)] })
    }]
  }
}

/** A policy whose rules check the extension's own metadata. */
function policy (name: string, i: number, rules: number): [string, object] {
  const request = Array.from({ length: rules }, (_none, rule) => ({
    id: `rule-${rule}`, select: { metadata: { key: '$uri' } }, schema: { type: 'object', required: [`field${rule}`] }
  }))
  return [name, { uri: extension(i), request }]
}

const kind = (name: string, title: string, options: GatewayOptions): PartyKind => ({
  name, title, version: packageVersion, start: place => startGateway(place, { ...options, name })
})

export const GATEWAY = kind(
  'gateway',
  `this gateway: \`${REQUIRED.split('/').at(-2) ?? ''}\` required, object schemas enforced, responses observed, metrics`,
  {}
)
export const TRACED = kind('gateway-traced', 'the same, and a span for every call sent to a local collector', { traces: true })
