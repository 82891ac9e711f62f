/** The policy servers in force (`decisionPoints`). A reload keeps the servers that have not changed, with what they remember. */
import { digest } from '#config/digest.js'
import type { Config, DecisionPointConfig } from '#config/model/model.js'
import { readHeaders } from '#config/secrets.js'
import type { Answer, Decided } from '#pipeline/external/answer.js'
import { readAnswer } from '#pipeline/external/answer.js'
import { withContextInResource } from '#pipeline/external/question.js'
import type { Answered, Asking } from '#pipeline/external/settle.js'
import { UNASKABLE } from '#pipeline/external/settle.js'
import { redactAlso } from '#telemetry/redact.js'
import type { Questions, Reply } from '#upstream/decisions/decision-point.js'
import { DecisionPoint } from '#upstream/decisions/decision-point.js'
import { readTlsFiles } from '#upstream/tls.js'
import { errorAt } from '#operator-errors.js'

type FreshReply = Omit<Decided, 'cached'>

interface Entry { readonly config: DecisionPointConfig, readonly fingerprint: string, readonly point: DecisionPoint<FreshReply> }

/** How the servers are asked for one call. */
export interface AskOptions extends Pick<Questions<FreshReply>, 'requestId' | 'signal'> {
  /** Called before each request. @returns a function for its end */
  readonly watch: (use: string, url: URL) => ReturnType<NonNullable<Questions<FreshReply>['watch']>>
}

const NO_ENTRIES: ReadonlyMap<string, Entry> = new Map()

export class DecisionPoints {
  readonly #entries: ReadonlyMap<string, Entry>

  private constructor (entries: ReadonlyMap<string, Entry>) {
    this.#entries = entries
  }

  /**
   * Reads secrets and files. Nothing is dialled before the first question.
   * @returns null for a configuration without policy servers
   * @throws Error in plain words when a secret or a file cannot be read or used
   */
  static prepare (config: Pick<Config, 'decisionPoints'>, earlier: DecisionPoints | null, env: NodeJS.ProcessEnv): DecisionPoints | null {
    const points = Object.entries(config.decisionPoints)
    if (points.length === 0) return null
    const entries = earlier === null ? NO_ENTRIES : earlier.#entries
    return new DecisionPoints(new Map(points.map(([name, point]) => [name, entryOf(name, point, entries.get(name), env)])))
  }

  /** Closes the servers that `later` does not have. */
  close (later: DecisionPoints | null): void {
    const points = new Set([...(later === null ? NO_ENTRIES : later.#entries).values()].map(({ point }) => point))
    for (const { point } of this.#entries.values()) if (!points.has(point)) point.close().catch(() => {})
  }

  /** Names of the servers that are not asked now. */
  get broken (): readonly string[] {
    return [...this.#entries].filter(([, { point }]) => point.broken).map(([name]) => name)
  }

  /** The answers, when all of them are remembered; null when a server must be asked. */
  known (asks: readonly Asking[]): readonly Answered[] | null {
    const answered: Answered[] = []
    for (const asking of asks) {
      const reply = asking.unaskable === null ? this.#entries.get(asking.use)?.point.remembered(this.#bodyOf(asking)) ?? null : null
      if (reply === null) return null
      answered.push({ asking, answer: this.#answerOf(asking, reply) })
    }
    return answered
  }

  /** Asks all servers at once. @returns the answers, in order. Never rejects */
  async ask (asks: readonly Asking[], { requestId, signal, watch }: AskOptions): Promise<readonly Answered[]> {
    const replies = new Map<Asking, Reply<FreshReply>>()
    const uses = new Set(asks.map(({ use }) => use))
    await Promise.all([...uses].map(async use => {
      const own = asks.filter(asking => asking.use === use && asking.unaskable === null)
      const pointReplies = await this.#entries.get(use)?.point.ask({
        bodies: own.map(asking => this.#bodyOf(asking)), read: readAnswer, requestId, signal, watch: url => watch(use, url)
      })
      pointReplies?.forEach((reply, i) => replies.set(own[i] as Asking, reply))
    }))
    return asks.map(asking => ({ asking, answer: this.#answerOf(asking, replies.get(asking) ?? null) }))
  }

  #bodyOf ({ use, body }: Asking): string {
    return this.#entries.get(use)?.config.contextIn === 'resource' ? withContextInResource(body) : body
  }

  #answerOf (asking: Asking, reply: Reply<FreshReply> | null): Answer {
    const forward = this.#entries.get(asking.use)?.config.onError === 'forward'
    if (asking.unaskable !== null) {
      const failure = asking.unaskable
      return { kind: 'failed', failure, problem: UNASKABLE[failure], forward }
    }
    // `check` has found every name.
    if (reply === null) {
      return {
        kind: 'failed', failure: 'unreachable', problem: `no decision point is named ${asking.use}`, forward: false
      }
    }
    return reply.kind === 'answer' ? { ...reply.answer, cached: reply.cached } : { ...reply, forward }
  }
}

function entryOf (name: string, config: DecisionPointConfig, entry: Entry | undefined, env: NodeJS.ProcessEnv): Entry {
  try {
    const headers = readHeaders(config.headers, env, 'headers')
    const tls = readTlsFiles(config.tls)
    const fingerprint = digest([config, headers, tls.fingerprint])
    redactAlso(Object.keys(headers).filter(header => header.includes('-')))
    return entry?.fingerprint === fingerprint ? entry : { config, fingerprint, point: new DecisionPoint<FreshReply>(config, headers, tls) }
  } catch (error) {
    throw errorAt(`decisionPoints.${name}`, error, 'A2AGW_ERR_CONFIG_FILE')
  }
}
