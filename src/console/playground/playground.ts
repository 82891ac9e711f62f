/** The data of the playground's page. Nothing of it is kept: each request has the whole policy. */
import { packCards } from '#a2a/card/packed-cards.js'
import { originsOf } from '#config/origins.js'
import { loadCatalogue } from '#config/load.js'
import type { ConsoleAgent, ConsoleSource } from '../source.js'
import { documentSchema } from './document-keys.js'
import { PlaygroundThread } from './playground-thread.js'
import type { KeptRequest } from './request-log.js'
import type { SandboxAgent, PlaygroundTask } from './tasks.js'

/** A request of the page that cannot be fulfilled. */
export interface Problem { readonly status: number, readonly error: string }

/** JSON text of a response, or the problem. */
type Result = Promise<string | Problem>

/** Largest policy, characters. */
const POLICY = 256 * 1024
/** Largest request, characters. */
const REQUEST = 512 * 1024
/** Largest number of listed requests. */
const LISTED = 200

export class Playground {
  private readonly source: ConsoleSource
  private readonly thread = new PlaygroundThread()

  constructor (source: ConsoleSource) {
    this.source = source
  }

  /**
   * @param name name below `playground/`
   * @param signal aborts when the page no longer waits
   */
  async get (name: string, query: URLSearchParams, signal: AbortSignal): Result {
    const off = this.off()
    if (off !== null) return off
    const agent = query.get('agent') ?? ''
    switch (name) {
      case 'start':
        return JSON.stringify(this.start())
      case 'schema':
        return JSON.stringify(documentSchema())
      case 'document':
        return await this.withAgent(agent, signal, sandboxAgent => {
          const file = originsOf(this.source.config())?.file ?? null
          return { kind: 'document', agent: sandboxAgent, file }
        })
      case 'samples':
        return await this.withAgent(agent, signal, sandboxAgent => ({ kind: 'samples', agent: sandboxAgent }))
      case 'requests':
        return JSON.stringify((await this.requests(agent)).slice(0, LISTED).map(shownRequest))
      case 'request': {
        const request = (await this.requests(agent)).find(keptRequest => keptRequest.id === query.get('id'))
        if (request === undefined || request.received.body === null) return { status: 404, error: 'the request is no longer kept' }
        return await this.thread.run({ kind: 'request', request }, signal)
      }
      default:
        return NOT_FOUND
    }
  }

  /** @param body parsed JSON of the request */
  async post (name: string, body: unknown, signal: AbortSignal): Result {
    const off = this.off()
    if (off !== null) return off
    const input = typeof body === 'object' && body !== null ? body as Record<string, unknown> : {}
    const { agent, policy, request = '', requestId = null, last = LISTED } = input
    if (typeof agent !== 'string' || typeof policy !== 'string' || typeof request !== 'string') {
      return { status: 400, error: 'agent, policy and request must be strings' }
    }
    if (policy.length > POLICY) return { status: 413, error: `the policy is larger than ${POLICY} characters` }
    if (request.length > REQUEST) return { status: 413, error: `the request is larger than ${REQUEST} characters` }
    if (name === 'explain') {
      const caller = requestId === null ? null : (await this.requests(agent)).find(request => request.id === requestId)?.caller ?? null
      return await this.withAgent(agent, signal, sandboxAgent => ({ kind: 'explain', agent: sandboxAgent, policy, request, caller }))
    }
    if (name !== 'replay') return NOT_FOUND
    if (typeof last !== 'number' || !Number.isInteger(last) || last < 1) {
      return {
        status: 400, error: 'last must be a number of requests, from 1'
      }
    }
    const requests = (await this.requests(agent)).slice(0, last)
    return await this.withAgent(agent, signal, sandboxAgent => ({ kind: 'replay', agent: sandboxAgent, policy, requests }))
  }

  close (): void {
    this.thread.close()
  }

  private off (): Problem | null {
    return this.source.config().server.console.playground
      ? null
      : { status: 403, error: 'there is no playground: server.console.playground is false' }
  }

  private start (): object {
    const { console: { requests } } = this.source.config().server
    const catalogue = Object.entries(loadCatalogue()).map(([name, { about }]) => ({ name, title: about?.title ?? null }))
    return { agents: this.source.agents().map(({ name }) => name), keeps: requests, catalogue }
  }

  /** Newest first. */
  private async requests (agent: string): Promise<KeptRequest[]> {
    const { console: { requests } } = this.source.config().server
    if (requests === 0) return []
    const all = await this.source.requests()
    return all.filter(keptRequest => keptRequest.agent === agent).toSorted((a, b) => b.at - a.at)
  }

  private async withAgent (name: string, signal: AbortSignal, task: (agent: SandboxAgent) => PlaygroundTask): Result {
    const agent = this.source.agents().find(agent => agent.name === name)
    if (agent === undefined) return { status: 404, error: 'no agent has that name' }
    return await this.thread.run(task(sandboxAgent(agent, this.source)), signal)
  }
}

const NOT_FOUND: Problem = { status: 404, error: 'not found' }

function sandboxAgent ({ name, config, state }: ConsoleAgent, source: ConsoleSource): SandboxAgent {
  return { name, config: { ...source.config(), agents: [config] }, cards: state === null ? null : packCards(state.loaded) }
}

/** A kept request in the list of the page: nothing of its data. */
function shownRequest ({ id, at, operation, binding, version, outcome, rule, received }: KeptRequest): object {
  return { id, at, operation, binding, version, outcome, rule, hasBody: received.body !== null }
}
