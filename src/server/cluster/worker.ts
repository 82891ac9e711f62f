/**
 * One worker process: serves the main listener with the configuration and cards from the primary. Ends when the primary sends `drain` or is
 * gone.
 */
import closeWithGrace from 'close-with-grace'
import type { Config, StateStoreConfig } from '#config/model/model.js'
import type { PreparedChange } from '#agents/agent-registry.js'
import type { Serving } from '../start.js'
import { listen } from '../admin/listeners.js'
import { buildServing } from '../start.js'
import { WarmUp } from '../warm-up/warm-up.js'
import { HandedCards } from './cards.js'
import type { AgentDescription, Responses, Handout, ToPrimary, ToWorker } from './messages.js'
import { RemoteLimits } from './limits.js'
import { RemoteTasks } from './tasks.js'

/** Errors that no guard of a call or a connection has caught (src/guard.ts). */
const UNKNOWN = ['uncaughtException', 'unhandledRejection'] as const

/** Milliseconds that a stop may take beyond the drain time. */
const SLACK = 3_000

class WorkerProcess {
  private readonly id: number
  private readonly env: NodeJS.ProcessEnv
  private readonly cards = new HandedCards(
    agent => { this.send({ kind: 'wanted', agent }) },
    agent => { this.send({ kind: 'carded', agent }) }
  )

  private readonly tasks = new RemoteTasks(question => this.send(question))
  private readonly limits = new RemoteLimits(question => this.send(question))
  private serving: Serving | null = null
  private port = 0
  private listening = false
  /** True once all listeners are open. */
  private opened = false
  /** The configuration that is ready to commit. */
  private prepared: {
    readonly change: number
    readonly config: Config
    readonly cards: readonly Handout[]
    readonly how: PreparedChange | null
  } | null = null

  /** The last configuration task. Configuration tasks run one after the other. */
  private last: Promise<void> = Promise.resolve()
  private ending: Promise<void> | null = null

  constructor (id: number, env: NodeJS.ProcessEnv) {
    this.id = id
    this.env = env
  }

  run (): void {
    process.on('message', (message: ToWorker) => {
      this.onMessage(message)
    })
    process.once('disconnect', () => {
      this.tasks.lost()
      this.limits.lost()
      this.serving?.services.log.warn({}, 'the primary process is gone; this worker stops')
      this.end(0)
    })
    this.send({ kind: 'hello' })
  }

  /** Drains, then ends the process. */
  end (code: number): Promise<void> {
    this.ending ??= this.stop().then(
      () => {
        process.exit(code)
      },
      () => {
        process.exit(1)
      }
    )
    return this.ending
  }

  /** Handles an uncaught fault: finishes the exchanges in flight, then ends the process. The primary starts a replacement at once. */
  async fault (error: unknown): Promise<void> {
    const { serving } = this
    if (serving === null || !this.opened) this.send({ kind: 'failed', problem: wordsOf(error) })
    else serving.services.log.fatal({ err: error }, 'an uncaught error: this worker ends')
    this.send({ kind: 'leaving' })
    await this.end(1)
  }

  /** Maximum time that an end takes, ms. */
  get patience (): number {
    return (this.serving?.registry.config.server.drainTimeout ?? 0) + SLACK
  }

  private async stop (): Promise<void> {
    const { serving } = this
    if (serving === null) return
    setTimeout(() => {
      process.exit(1)
    }, this.patience).unref()
    await serving.drain(serving.registry.config.server.drainTimeout)
    if (process.connected) {
      const metrics = await serving.services.metrics.snapshot()
      await new Promise<void>(resolve => {
        process.send?.({ kind: 'finalMetrics', metrics }, undefined, {}, () => {
          resolve()
        })
      })
    }
    await serving.close()
    await serving.logsSent()
  }

  private send (message: ToPrimary): boolean {
    if (!process.connected) return false
    process.send?.(message, undefined, {}, () => {})
    return true
  }

  private onMessage (message: ToWorker): void {
    switch (message.kind) {
      case 'card':
        return this.cards.take(message.card)
      case 'task':
        return this.tasks.settled(message.id, message.found)
      case 'limit':
        return this.limits.settled(message.id, message.taken)
      case 'ask':
        return this.response(message)
      case 'drain':
        this.end(0)
        return
      case 'prepare':
        // Cards are taken at once, not in turn: cards that are handed out later are newer.
        for (const card of message.cards) this.cards.take(card)
        return this.inTurn(() => this.prepare(message))
      case 'commit':
        return this.inTurn(() => this.commit(message.change))
      case 'discard':
        return this.inTurn(() => this.discard())
    }
  }

  private inTurn (what: () => Promise<void>): void {
    this.last = this.last.then(what).catch((error: unknown) => this.fault(error))
  }

  private async prepare ({ change, config, cards, port }: ToWorker & { readonly kind: 'prepare' }): Promise<void> {
    this.port = port
    await this.discard()
    try {
      const how = this.serving === null ? null : await this.serving.registry.prepareChange(config)
      if (this.serving === null) await this.start(config)
      this.prepared = { change, config, cards, how }
      this.send({ kind: 'prepared', change, problems: null })
    } catch (error) {
      this.send({ kind: 'prepared', change, problems: wordsOf(error).split('\n') })
    }
  }

  private async start (config: Config): Promise<void> {
    const memory = (_config: StateStoreConfig): RemoteTasks => this.tasks
    const { env, id: worker, cards: { keeper }, limits: limitStore } = this
    const serving = await buildServing(config, { env, worker, keeper, memory, limitStore })
    await serving.registry.start()
    const warmUp = new WarmUp(serving.registry, serving.services.log)
    // Without a card, the worker serves at once.
    if (warmUp.pending) await warmUp.run()
    this.serving = serving
  }

  private async commit (change: number): Promise<void> {
    const { prepared, serving } = this
    if (serving === null || prepared === null || prepared.change !== change) return
    this.prepared = null
    prepared.how?.commit()
    serving.apply(serving.registry.config)
    this.cards.forgetAllBut(prepared.cards)
    if (this.listening) return
    this.listening = true
    const { listen: at, tls } = prepared.config.server
    if (at !== null) await listen(serving.app, { host: at.host, port: this.port }, tls === null ? 'http' : 'https')
    await serving.grpc.listen()
    await serving.mesh?.listen()
    this.opened = true
    this.send({ kind: 'serving' })
  }

  private async discard (): Promise<void> {
    const { prepared } = this
    this.prepared = null
    await prepared?.how?.discard()
  }

  private response ({ id, question, since, filter }: ToWorker & { readonly kind: 'ask' }): void {
    const { serving } = this
    const responses: { readonly [Q in keyof Responses]: (serving: Serving) => Responses[Q] | Promise<Responses[Q]> } = {
      metrics: ({ services }) => services.metrics.snapshot(),
      agents: ({ registry }) => registry.snapshot.agents.all.map(agent => agent.describe() as AgentDescription),
      decisions: ({ console }) => console?.decisions.since(since, filter) ?? null,
      series: ({ console }) => console?.series.page() ?? null,
      requests: ({ console }) => console?.requests?.all() ?? null
    }
    const response = Promise.resolve(
      serving === null ? (question === 'metrics' || question === 'agents' ? [] : null) : responses[question](serving)
    )
    response.then(
      result => {
        this.send({ kind: 'response', id, response: result })
      },
      (error: unknown) => {
        serving?.services.log.error({ err: error }, `${question} could not be sent to the primary`)
      }
    )
  }
}

/**
 * Signals of a terminal or an orchestrator reach the whole process group. The primary decides how to handle them, so workers ignore them.
 */
const NOT_OURS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'] as const

export function runWorker (id: number, env: NodeJS.ProcessEnv): void {
  for (const signal of NOT_OURS) process.on(signal, () => {})
  const worker = new WorkerProcess(id, env)
  const { close } = closeWithGrace({ delay: false, skip: [...NOT_OURS, ...UNKNOWN, 'beforeExit'], logger: false }, async () => {
    await worker.fault(error ?? new Error('the worker had nothing left to do'))
  })
  let error: unknown = null
  // Calls in flight get the drain time to end, whatever else fails meanwhile: close-with-grace would exit at a second error.
  const fail = (first: unknown): void => {
    if (error !== null) return
    error = first ?? new Error('a promise was rejected without a reason')
    close()
  }
  for (const event of UNKNOWN) process.on(event, fail)
  worker.run()
}

function wordsOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
