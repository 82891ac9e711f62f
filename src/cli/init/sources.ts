/** Where `init` gets cards from: running agents, files, and recordings. */
import { resolve } from 'node:path'
import type { AgentCard } from '#a2a/card/card.js'
import { readCard } from '#a2a/card/card.js'
import { CARD_PATHS } from '#a2a/card/map.js'
import { defaultConfig, formatDiagnostic, readText } from '#config/load.js'
import type { AgentConfig } from '#config/model/model.js'
import { loadCardsOnce } from '#agents/card/card-once.js'
import type { LoadedCards } from '#a2a/card/loaded-cards.js'
import { readTlsFiles } from '#upstream/tls.js'
import type { Source } from './plan.js'
import type { RecordedCall, RecordedCard } from './traffic.js'
import { parseUrl } from '#wire/url.js'
import type { ErrorCode } from '#operator-errors.js'
import { OperatorError } from '#operator-errors.js'

const CARD = 'A2AGW_ERR_CARD'

/** `init` cannot go on: the message is for the reader. */
export class InitError extends OperatorError {
  /** True when the arguments are at fault. */
  readonly usage: boolean

  constructor (code: ErrorCode, message: string, { usage = false } = {}) {
    super(code, message)
    this.usage = usage
  }
}

/** An agent as the command line names it. */
export interface NamedAgent {
  /** URL of the agent, or of its card. Null: the address is in the card. */
  readonly url: string | null
  /** URL or file of the card. Null: below the agent's URL. */
  readonly card: string | null
}

/** Stands for the agent's address while a card is read that names the address itself. */
const UNKNOWN = 'http://127.0.0.1'
/** Extensions of a card that is made from a recording: a card has at most 64. */
const MAX_EXTENSIONS = 64

/**
 * Loads the card of an agent.
 * @throws {InitError} for an address that is none, and without a usable card
 */
export async function sourceOf ({ url, card }: NamedAgent): Promise<Source> {
  const place = url === null ? { upstream: UNKNOWN, card: null } : placeOf(url)
  const file = card !== null && !/^https?:\/\//i.test(card) ? card : null
  const cardUrl = card !== null && file === null ? card.replace(/#.*$/s, '') : place.card
  const config = defaultConfig({ env: {}, overrides: { upstream: place.upstream, sources: { upstream: 'URL' } } })
  if (!config.ok) {
    throw new InitError(
      'A2AGW_ERR_USAGE', config.problems.map(formatDiagnostic).join('; ').replace('agents[0].upstream.url ', ''), { usage: true }
    )
  }
  if (file !== null) {
    const content = readText(file)
    if ('message' in content && content.unreadable === true) {
      throw new InitError(
        CARD, `--card ${file}: ${content.message}`, { usage: true }
      )
    }
  }
  const { agents: [agent], limits } = config.config
  const { upstream, card: defaults, ...rest } = agent as AgentConfig
  const located = file === null ? { url: cardUrl, file: null } : { url: null, file: resolve(file) }
  const asked = { ...rest, upstream, card: { ...defaults, ...located } }
  const loaded = await loadCardsOnce(asked, limits, readTlsFiles(upstream.tls), {})
  if (!loaded.ok) {
    throw new InitError(
      CARD, `no card there: ${loaded.problem}. If the card of the agent is wrong or absent, write one, and give it with --card FILE`
    )
  }
  const richerCard = richer(loaded.cards)
  return {
    card: richerCard,
    origin: file ?? loaded.cards.origin,
    // The URL of a card says nothing about the agent's own address.
    upstream: url !== null && place.card === null ? upstream.url : addressIn(richerCard, file ?? loaded.cards.origin),
    cardUrl,
    cardFile: located.file
  }
}

function addressIn (card: AgentCard, from: string): string {
  const [first] = card.interfaces
  if (first === undefined) {
    throw new InitError(
      CARD, `the card of ${from} names no HTTP interface; give the URL of the agent with --upstream`
    )
  }
  return new URL(first.url.origin).href
}

/** Returns the agent's base URL. For the URL of a card at an unusual path: the base URL and the card's URL. */
function placeOf (text: string): { readonly upstream: string, readonly card: string | null } {
  const usual = CARD_PATHS.find(path => text.endsWith(path))
  if (usual !== undefined) return { upstream: text.slice(0, -usual.length), card: null }
  if (parseUrl(text)?.pathname.endsWith('.json') !== true) return { upstream: text, card: null }
  return { upstream: text.replace(/[?#].*$/s, ''), card: text.replace(/#.*$/s, '') }
}

/** Returns the richer of the two cards. In some agents, one version of the card lacks part of the content. */
function richer ({ byVersion }: LoadedCards): AgentCard {
  const weight = ({ extensions, raw }: AgentCard): number => extensions.length * 1_000 + Object.keys(raw).length
  const [recent, old] = [byVersion['1.0'].card, byVersion['0.3'].card]
  return weight(old) > weight(recent) ? old : recent
}

/**
 * The agents of a recording: those whose card it has, else one for each host, with a card of the extensions that requests name.
 * @param file name of the recording
 * @throws {InitError} when no host is recorded
 */
export function recordedSources (cards: readonly RecordedCard[], calls: readonly RecordedCall[], file: string): Source[] {
  const recorded = new Map(cards.map(card => [card.upstream, card.card]))
  if (recorded.size > 0) return [...recorded].map(([upstream, card]) => ({ card, upstream, origin: file, cardUrl: null }))
  const origins = [...new Set(calls.flatMap(({ origin }) => origin ?? []))]
  if (origins.length === 0) throw new InitError('A2AGW_ERR_RECORDING', `${file} names no host; give the URL of the agent with --upstream`)
  return origins.map(origin => {
    const uris = new Set(calls.filter(call => call.origin === origin).flatMap(call => call.uris))
    const extensions = [...uris].slice(0, MAX_EXTENSIONS).map(uri => ({ uri }))
    const read = readCard({ name: new URL(origin).hostname, url: origin, capabilities: { extensions } })
    if (!read.ok) throw new InitError('A2AGW_ERR_RECORDING', `${file}: ${read.problem}`)
    return { card: read.card, upstream: origin, origin: file, cardUrl: null, recorded: true }
  })
}
