import { readExtensions } from './extensions.js'
import type { CardExtension } from './extensions.js'
import type { GrpcInterface } from '../grpc/card-interface.js'
import { cardVersionText, placeInterfaces, V03_LISTS, V1_LISTS } from './interfaces.js'
import type { CardInterface, PlacedInterface, UncarriedInterface } from './interfaces.js'
import { isObject } from '#wire/json/object.js'

export type { CardExtension } from './extensions.js'
export type { CardInterface, UncarriedInterface } from './interfaces.js'

/**
 * The data that the gateway needs from an AgentCard of any generation. `raw` is the card itself: extensions put keys at its root
 * (`schemas`), and a typed copy would lose them.
 */
export interface AgentCard {
  readonly raw: Readonly<Record<string, unknown>>
  /** Empty when the card has none. */
  readonly name: string
  /** The interfaces that the gateway can carry, in the card's order of preference, without duplicates and without those of gRPC. */
  readonly interfaces: readonly CardInterface[]
  /** The gRPC interfaces, in the same order. */
  readonly grpc: readonly GrpcInterface[]
  readonly uncarried: readonly UncarriedInterface[]
  readonly extensions: readonly CardExtension[]
  /** True when the agent has an extended card, by the flag of either generation. */
  readonly extendedCard: boolean
  /** 0.2: the extended card is at GET `{url}/../agent/authenticatedExtendedCard`. */
  readonly legacyExtendedCard: boolean
  readonly streaming: boolean
  readonly pushNotifications: boolean
  /** One sentence each, suitable for a log line. */
  readonly warnings: readonly string[]
}

export type CardReading = { readonly ok: true, readonly card: AgentCard } | { readonly ok: false, readonly problem: string }

/**
 * Reads a card of any generation: 0.2, 0.3, 1.0 and hybrids, camelCase or ProtoJSON's snake_case. The reader is lenient, except about the
 * two parts that enforcement needs: at least one interface that the gateway can carry, and a bounded list of extensions.
 */
export function readCard (value: unknown): CardReading {
  if (!isObject(value)) return { ok: false, problem: `the card is not a JSON object but ${kindOf(value)}` }
  const warnings: string[] = []
  const interfaces: CardInterface[] = []
  const grpc: GrpcInterface[] = []
  const uncarried: UncarriedInterface[] = []
  const keys = new Set<string>()
  for (const placed of placeInterfaces(value)) {
    if (placed.uncarried !== null) uncarried.push(placed.uncarried)
    if (placed.warning !== null) warnings.push(placed.warning)
    const key = keyOf(placed)
    if (keys.has(key)) continue
    keys.add(key)
    if (placed.read !== null) interfaces.push(placed.read)
    if (placed.grpc !== null) grpc.push(placed.grpc)
  }
  for (const list of [...V1_LISTS, ...V03_LISTS]) {
    const written = value[list]
    if (
      written !== undefined &&
      written !== null &&
      !Array.isArray(written)
    ) warnings.push(`"${list}" is not an array; the gateway ignores it`)
  }
  if (interfaces.length === 0 && grpc.length === 0) return { ok: false, problem: noInterface(uncarried) }

  const capabilities = isObject(value['capabilities']) ? value['capabilities'] : {}
  const extensions = readExtensions(value, capabilities, warnings)
  if (typeof extensions === 'string') return { ok: false, problem: extensions }

  const oldFlag = value['supportsAuthenticatedExtendedCard'] === true || value['supports_authenticated_extended_card'] === true
  const newFlag = capabilities['extendedAgentCard'] === true || capabilities['extended_agent_card'] === true
  const name = value['name']
  return {
    ok: true,
    card: {
      raw: value,
      name: typeof name === 'string' ? name : '',
      interfaces,
      grpc,
      uncarried,
      extensions,
      extendedCard: oldFlag || newFlag,
      legacyExtendedCard: oldFlag && isBefore03(value),
      streaming: capabilities['streaming'] === true,
      pushNotifications: capabilities['pushNotifications'] === true || capabilities['push_notifications'] === true,
      warnings
    }
  }
}

/** Equal for two interfaces with the same binding, version, address and tenant; for all that the gateway cannot carry. */
function keyOf ({ read, grpc }: PlacedInterface): string {
  if (read !== null) return `${read.binding} ${read.unknownMinor ?? read.version} ${read.url.href} ${read.tenant ?? ''}`
  return grpc === null ? '' : `GRPC ${grpc.unknownMinor ?? grpc.version} ${grpc.text} ${grpc.tenant ?? ''}`
}

/**
 * True for cards before 0.3. Cards before 0.2.5 need not name their version, and 0.3 cards must, so a card without a version is old (a2a
 * spec 0.2.6 §7.10).
 */
function isBefore03 (raw: Readonly<Record<string, unknown>>): boolean {
  if (typeof raw['url'] !== 'string') return false
  const version = cardVersionText(raw)
  return version === null || /^\s*0\.2(?:\.|\s*$)/.test(version)
}

function noInterface (uncarried: readonly UncarriedInterface[]): string {
  if (uncarried.length === 0) return 'the card names no interface: it has neither "supportedInterfaces" nor "url"'
  const problems = uncarried.slice(0, 5).map(({ url, binding, version, why }) => {
    const label = `${binding} ${version} ${url}`.replace(/ {2,}/g, ' ').trim()
    return label === '' ? why : `${label} (${why})`
  })
  const more = uncarried.length > 5 ? ` and ${uncarried.length - 5} more` : ''
  return 'the card names no interface that the gateway supports (JSONRPC, HTTP+JSON or GRPC, version 0.3 or 1.0); it names ' +
    `${problems.join(', ')}${more}`
}

function kindOf (value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}
