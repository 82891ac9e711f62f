/** `init URL`: writes a starter configuration from a live card. */
import { writeFileSync } from 'node:fs'
import type { AgentCard } from '../a2a/card/card.js'
import { CARD_PATHS } from '../a2a/card/map.js'
import { defaultConfig, formatDiagnostic, loadCatalogue } from '../config/load.js'
import type { AgentConfig } from '../config/model/model.js'
import { loadCardsOnce } from '../upstream/cards/card-once.js'
import type { LoadedCards } from '../upstream/cards/card-source.js'
import { readTlsFiles } from '../upstream/tls.js'
import { LOADING_CARD, withProgress } from './command-line/progress.js'
import type { Output } from './output.js'
import { starterFile } from './starter.js'

export interface InitArguments {
  /** URL of the agent, or of its card. */
  readonly url: string | undefined
  /** File to write, which must not exist. Undefined: stdout. */
  readonly output: string | undefined
}

/**
 * Runs the command.
 * @returns exit code: 0 when the file was written, 1 when there is no card or the file cannot be written, 2 without a URL
 */
export async function runInit ({ url, output }: InitArguments, io: Output): Promise<number> {
  const fail = (problem: string): number => {
    io.err(`a2a-gateway init: ${problem}`)
    return 1
  }
  if (url === undefined) {
    fail('the URL of an agent is required, such as http://127.0.0.1:9999')
    return 2
  }
  const place = placeOf(url)
  const config = defaultConfig({ env: {}, overrides: { upstream: place.upstream, sources: { upstream: 'URL' } } })
  if (!config.ok) return fail(config.problems.map(formatDiagnostic).join('; ').replace('agents[0].upstream.url ', ''))
  const { agents: [agent], limits } = config.config
  const asked: AgentConfig = { ...agent as AgentConfig, card: { ...(agent as AgentConfig).card, url: place.card } }
  const loaded = await withProgress(LOADING_CARD, loadCardsOnce(asked, limits, readTlsFiles(asked.upstream.tls), {}))
  if (!loaded.ok) return fail(`no card there: ${loaded.problem}`)
  const { cards } = loaded
  const card = richer(cards)
  const text = starterFile({
    card,
    origin: cards.origin,
    upstream: place.card === null ? asked.upstream.url : new URL(card.interfaces[0]?.url.origin ?? place.upstream).href,
    cardUrl: place.card,
    catalogue: loadCatalogue()
  })
  if (output === undefined) {
    io.out(text)
    return 0
  }
  try {
    writeFileSync(output, text, { flag: 'wx' })
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    return fail(
      exists
        ? `${output} exists already; name another file with --output, or remove it`
        : `${output} cannot be written: ${(error as Error).message}`
    )
  }
  io.err(`written: ${output}; next: a2a-gateway check --live --config ${output}`)
  return 0
}

/** Returns the agent's base URL. For the URL of a card at an unusual path: the base URL and the card's URL. */
function placeOf (text: string): { readonly upstream: string, readonly card: string | null } {
  const usual = CARD_PATHS.find(path => text.endsWith(path))
  if (usual !== undefined) return { upstream: text.slice(0, -usual.length), card: null }
  if (!URL.canParse(text) || !new URL(text).pathname.endsWith('.json')) return { upstream: text, card: null }
  return { upstream: text.replace(/[?#].*$/s, ''), card: text.replace(/#.*$/s, '') }
}

/** Returns the richer of the two cards. In some agents, one version of the card lacks part of the content. */
function richer ({ byVersion }: LoadedCards): AgentCard {
  const weight = ({ extensions, raw }: AgentCard): number => extensions.length * 1_000 + Object.keys(raw).length
  const [recent, old] = [byVersion['1.0'].card, byVersion['0.3'].card]
  return weight(old) > weight(recent) ? old : recent
}
