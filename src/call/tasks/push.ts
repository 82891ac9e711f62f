/** Resolves the names in push notification URLs (`push.resolve`), and counts the configurations of a task (`push.perTask`). */
import { randomBytes } from 'node:crypto'
import type { RequestEvaluation } from '../../pipeline/request.js'
import type { CompiledPush } from '../../policy/push/check.js'
import type { PushCount, PushResponse } from '../../policy/push/count.js'
import { entryOf, pushCountOf, readPushResponse, settlePush, tooManyConfigs, uncounted } from '../../policy/push/count.js'
import type { NamedHost } from '../../policy/push/resolve.js'
import { pushUrlDecisions } from '../../policy/push/outcomes.js'
import { checkAddresses, hostsToResolve } from '../../policy/push/resolve.js'
import type { PushChange, PushCounted } from '../../state/store.js'
import { NameResolver } from '../../upstream/name-resolver.js'
import type { Read } from '../dispatch.js'
import type { Exchange } from '../exchange.js'

/** One for the process: look-ups occupy threads of the process. */
const resolver = new NameResolver()

/** Calls `then` with the evaluation and what the check adds to it, unless the client disconnects. */
export function checkPushConfigs (
  exchange: Exchange,
  read: Read,
  evaluation: RequestEvaluation,
  then: (evaluation: RequestEvaluation) => void
): void {
  const { policy: { push }, decision } = evaluation
  if (push === null) return then(evaluation)
  const settle = (evaluation: RequestEvaluation): void => {
    for (const one of pushUrlDecisions(read.call, evaluation.decision)) exchange.services.metrics.pushUrl(exchange.agentName, one)
    then(evaluation)
  }
  if (decision.rejection !== null) return settle(evaluation)
  const hosts = hostsToResolve(push, read.call)
  if (hosts.length === 0) return countConfigs(exchange, read, evaluation, push, settle)
  addressesOf(hosts).then(addresses => {
    // The client may have disconnected.
    if (exchange.response.destroyed) return
    const settled = { ...evaluation, decision: settlePush(decision, checkAddresses(push, hosts, addresses)) }
    if (settled.decision.rejection === null) countConfigs(exchange, read, settled, push, settle)
    else settle(settled)
  }).catch((error: unknown) => { exchange.failed(error) })
}

async function addressesOf (hosts: readonly NamedHost[]): Promise<ReadonlyMap<string, readonly string[] | null>> {
  const names = [...new Set(hosts.map(({ name }) => name))]
  return new Map(await Promise.all(names.map(async name => [name, await resolver.resolve(name)] as const)))
}

function countConfigs (
  exchange: Exchange,
  { arrived: { agent, route }, call }: Read,
  evaluation: RequestEvaluation,
  push: CompiledPush,
  then: (evaluation: RequestEvaluation) => void
): void {
  if (push.perTask === null) return then(evaluation)
  const token = newToken()
  const count = pushCountOf(push, call, route.binding === 'HTTP+JSON' ? route.upstreamPath : null, token)
  if (count === null) return then(evaluation)
  if ('reason' in count) return then({ ...evaluation, decision: settlePush(evaluation.decision, [count]) })
  const { tasks } = exchange.services
  const change = (kind: PushChange['kind'], entries: readonly string[], token: string): PushCounted | Promise<PushCounted> =>
    tasks.pushConfigs({ agent: agent.name, taskId: count.taskId, kind, entries, token, max: push.perTask ?? 0 })
  const counted = change(count.kind === 'delete' ? 'mark' : 'reserve', count.entries, token)
  const proceed = (counted: PushCounted): void => {
    if (typeof counted === 'string') {
      // A delete sets nothing.
      const violation = count.kind === 'delete' ? null : counted === 'full' ? tooManyConfigs(push) : uncounted(push)
      const added = violation === null ? [] : [violation]
      return then({ ...evaluation, decision: settlePush(evaluation.decision, added, counted === 'unavailable') })
    }
    const reservation = new PushReservation(count, counted, token, change)
    // The client may have disconnected.
    if (exchange.response.destroyed) return reservation.unsent()
    exchange.push = reservation
    then(evaluation)
  }
  if (!(counted instanceof Promise)) return proceed(counted)
  counted.then(proceed).catch((error: unknown) => { exchange.failed(error) })
}

function newToken (): string {
  return randomBytes(9).toString('base64url')
}

/** Configurations that a request in flight has counted. The first call of a method that ends the request counts. */
export class PushReservation {
  private readonly count: PushCount
  /** Entries that this request was the first to count. */
  private readonly added: readonly string[]
  private readonly token: string
  private readonly change: (kind: PushChange['kind'], entries: readonly string[], token: string) => PushCounted | Promise<PushCounted>
  private settled = false

  constructor (count: PushCount, added: readonly boolean[], token: string, change: PushReservation['change']) {
    this.count = count
    this.added = count.entries.filter((_, i) => added[i] === true)
    this.token = token
    this.change = change
  }

  /** True when the response tells what became of the configuration. A message may fail after the agent has stored its configuration. */
  get readsResponse (): boolean {
    return this.count.kind !== 'send'
  }

  /** The agent did not get the request. */
  unsent (): void {
    if (this.end() && this.count.kind !== 'delete') this.free()
  }

  /** Nobody knows what the agent did: what it may have stored counts. */
  unknown (): void {
    this.responded({ succeeded: null, id: null })
  }

  /** @param body null: too long to read. @returns a promise, which never rejects, when the store needs time */
  read (rpc: boolean, status: number, body: Buffer | null): Promise<unknown> | null {
    return this.responded(readPushResponse(rpc, status, body))
  }

  private responded ({ succeeded, id }: PushResponse): Promise<unknown> | null {
    if (!this.end()) return null
    const { count: { kind, entries } } = this
    if (kind === 'delete') return succeeded === true ? promiseOf(this.change('free', entries, this.token)) : null
    if (succeeded === false && kind === 'create') return this.free()
    const actual = id === null || entries.length !== 1 ? entries : [entryOf([id])]
    // A new token: a delete that began earlier no longer frees the configuration.
    const kept = promiseOf(this.change('keep', actual, newToken()))
    const freed = actual[0] === entries[0] ? null : this.free()
    return kept === null ? freed : Promise.all([kept, freed])
  }

  private free (): Promise<unknown> | null {
    return this.added.length === 0 ? null : promiseOf(this.change('free', this.added, this.token))
  }

  private end (): boolean {
    const first = !this.settled
    this.settled = true
    return first
  }
}

function promiseOf (done: PushCounted | Promise<PushCounted>): Promise<PushCounted> | null {
  return done instanceof Promise ? done : null
}
