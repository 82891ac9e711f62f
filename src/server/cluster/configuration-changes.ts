/** In the primary: puts a configuration in force in all processes. */
import type { Config } from '#config/model/model.js'
import type { Agent } from '#agents/agent.js'
import type { AgentRegistry, PreparedChange } from '#agents/agent-registry.js'
import { OperatorError } from '#operator-errors.js'
import { handoutOf } from './cards.js'
import type { Handout, ToWorker } from './messages.js'
import type { WorkerHandle } from './worker-handle.js'

type Preparation = ToWorker & { readonly kind: 'prepare' }

interface ConfigurationChangesOptions {
  readonly registry: AgentRegistry
  readonly workers: () => Iterable<WorkerHandle>
  /** Port of the main listener of all workers; 0 without one. */
  readonly port: number
  /** Called with the cards of the agents when a change is in force. */
  readonly onCommit: (cards: readonly Handout[]) => void
}

export class ConfigurationChanges {
  /** The number of the configuration in force. */
  private number = 1
  private readonly options: ConfigurationChangesOptions

  constructor (options: ConfigurationChangesOptions) {
    this.options = options
  }

  /** The configuration in force, for a worker that starts. */
  current (): Preparation {
    const { registry } = this.options
    return this.preparation(this.number, registry.config, registry.snapshot.agents.all)
  }

  /** Prepares a change in all processes. No process uses the change before all processes are ready. */
  async prepare (wanted: Config): Promise<PreparedChange> {
    const own = await this.options.registry.prepareChange(wanted)
    const number = this.number + 1
    const message = this.preparation(number, wanted, own.agents)
    const asked = new Set<WorkerHandle>()
    const discard = async (): Promise<void> => {
      for (const worker of asked) worker.send({ kind: 'discard', change: number })
      await own.discard()
    }
    const problems = await this.prepareWorkers(message, asked)
    if (problems.length > 0) {
      await discard()
      throw new OperatorError('A2AGW_ERR_WORKER', [...new Set(problems)].join('\n'))
    }
    const commit = (): ReturnType<PreparedChange['commit']> => {
      const changes = own.commit()
      this.number = number
      for (const worker of asked) worker.send({ kind: 'commit', change: number })
      this.options.onCommit(message.cards)
      return changes
    }
    return { agents: own.agents, commit, discard }
  }

  /**
   * Prepares the change in all workers, or until the first that cannot.
   * @param asked gets the workers that have prepared it
   * @returns the problems of workers
   */
  private async prepareWorkers (message: Preparation, asked: Set<WorkerHandle>): Promise<readonly string[]> {
    for (;;) {
      // New workers may have started in the meantime.
      const others = [...this.options.workers()].filter(worker => worker.admitted && !asked.has(worker))
      if (others.length === 0) return []
      for (const workerHandle of others) asked.add(workerHandle)
      const problems = (await Promise.all(others.map(workerHandle => workerHandle.prepare(message)))).flatMap(list => list ?? [])
      if (problems.length > 0) return problems
    }
  }

  private preparation (change: number, config: Config, agents: readonly Agent[]): Preparation {
    return { kind: 'prepare', change, config, cards: agents.map(handoutOf), port: this.options.port }
  }
}
