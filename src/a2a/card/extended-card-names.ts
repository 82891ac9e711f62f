/** Names in extended cards that the gateway has forwarded to callers. It keeps no content of such a card. */
import { readExtensions } from './extensions.js'
import type { JsonObject } from '#wire/json/object.js'
import { isObject } from '#wire/json/object.js'

/** Maximum names of each kind, and maximum characters of one. A card may have any number. */
const MAX_NAMES = 256
const MAX_NAME_CHARS = 300

/** The extensions and schemas that an agent declares to some callers only. Lives as long as the process serves the agent. */
export class ExtendedCardNames {
  private readonly uris = new Set<string>()
  private readonly schemas = new Set<string>()

  /** Learns the names of an extended card. */
  learn (card: JsonObject): void {
    const read = readExtensions(card, isObject(card['capabilities']) ? card['capabilities'] : {}, [])
    const extensions = typeof read === 'string' ? [] : read
    add(this.uris, extensions.map(({ uri }) => uri))
    for (const holder of [card, ...extensions.map(({ params }) => params)]) {
      if (isObject(holder) && isObject(holder['schemas'])) add(this.schemas, Object.keys(holder['schemas']))
    }
  }

  hasExtension (uri: string): boolean {
    return this.uris.has(uri)
  }

  hasSchema (name: string): boolean {
    return this.schemas.has(name)
  }
}

function add (to: Set<string>, names: readonly string[]): void {
  for (const name of names) {
    if (to.size >= MAX_NAMES) return
    if (name.length <= MAX_NAME_CHARS) to.add(name)
  }
}
