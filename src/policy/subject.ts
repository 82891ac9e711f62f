/** What the rules of a policy look at: one request, read once. */
import type { Call } from '../a2a/call.js'
import type { JsonObject } from '../a2a/fields.js'
import type { MessageView } from '../a2a/message.js'
import { normalise } from '../a2a/normalise.js'
import { namedByConnection } from '../wire/headers.js'

export class Subject {
  readonly call: Call
  readonly message: MessageView | null
  /** Node's flat list: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  private envelope: JsonObject | null = null

  constructor (call: Call, rawHeaders: readonly string[]) {
    this.call = call
    this.message = call.view?.message ?? null
    this.rawHeaders = rawHeaders
  }

  /** The same shape for both generations and bindings; made when a `match` first asks for it. */
  get normalised (): JsonObject {
    this.envelope ??= normalise(this.call)
    return this.envelope
  }

  /**
   * Positions in `rawHeaders` of a header's lines, each a value: readers differ on whether they take the first, the last or all of them together.
   * A line whose name has `_` for `-` is one too: to a CGI-like agent the two are one. What the header Connection takes away does not count.
   */
  lines (name: string): number[] {
    const found: number[] = []
    for (let i = 0; i < this.rawHeaders.length; i += 2) {
      const sent = this.rawHeaders[i]?.toLowerCase() ?? ''
      if (sent === name || (sent.includes('_') && sent.replaceAll('_', '-') === name)) found.push(i)
    }
    if (found.length === 0) return found
    const named = namedByConnection(this.rawHeaders)
    return named === null ? found : found.filter(line => !named.has(this.rawHeaders[line]?.toLowerCase() ?? ''))
  }
}
