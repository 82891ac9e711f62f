/**
 * The guard of listeners: an error that a listener of a stream, a socket, a server or a timer throws ends the call or the connection of the
 * listener. Node would take the error as the end of the process, with all other calls.
 *
 * `front/`, `admin/` and `upstream/` add listeners with {@link listen} and start timers with {@link guarded}; lint rejects other ways.
 */

/** The parts of the gateway that an error is counted for. */
export const PLACES = ['http', 'grpc', 'ext_authz', 'ext_proc', 'mesh', 'admin', 'upstream'] as const
export type Place = (typeof PLACES)[number]

/** A call or a connection. */
export interface Guarded {
  readonly place: Place
  /** Fields for the log. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined
  /** Ends the call or the connection after an error that nothing expected. Other calls go on. */
  endAfter (error: unknown): void
}

/** Counts and logs an error. @param facts fields for the log */
export type Report = (place: Place, error: unknown, facts: Readonly<Record<string, unknown>>) => void

/** Errors belong to the process, so each gateway of the process reports them. */
const reports = new Set<Report>()

/** Calls `report` for each error from now on. @returns a function that ends this */
export function reportErrors (report: Report): () => void {
  reports.add(report)
  return () => { reports.delete(report) }
}

type Listener = (...args: never[]) => void
/** Anything with the method: the types of emitters name their events one by one. */
interface Emits { on (event: never, listener: never): unknown }
interface EmitsOnce { once (event: never, listener: never): unknown }

/** Reports an error, and ends what it belongs to. Never throws. */
export function endOwner (owner: Guarded, error: unknown): void {
  report(owner, error)
  try {
    owner.endAfter(error)
  } catch (second) {
    report(owner, second)
  }
}

/** @param end ends a connection. Default: nothing, for work that belongs to none */
export function ownerOf (place: Place, end: () => void = ignore): Guarded {
  return { place, endAfter: end }
}

function report ({ place, facts = {} }: Guarded, error: unknown): void {
  if (reports.size === 0) process.emitWarning(error instanceof Error ? error : String(error))
  for (const report of reports) {
    try {
      report(place, error, facts)
    } catch {
      // Nothing is left that could report this error.
    }
  }
}

/** Adds a listener. @param owner what an error of the listener ends */
export function listen (owner: Guarded, emitter: Emits, event: string, listener: Listener): void {
  emitter.on(event as never, guarded(owner, listener) as never)
}

/** Adds a listener for the next event. */
export function listenOnce (owner: Guarded, emitter: EmitsOnce, event: string, listener: Listener): void {
  emitter.once(event as never, guarded(owner, listener) as never)
}

/** Adds the listener of `error` of a stream or a socket whose event `close` handles the end. */
export function ignoreErrors (emitter: Emits): void {
  emitter.on('error' as never, ignore as never)
}

/** @returns a function that calls `step`, and ends the owner after an error. For timers and callbacks */
export function guarded<Args extends readonly unknown[]> (owner: Guarded, step: (...args: Args) => void): (...args: Args) => void {
  return (...args) => {
    try {
      step(...args)
    } catch (error) {
      endOwner(owner, error)
    }
  }
}

/** Calls `step` now, and ends the owner after an error. */
export function run (owner: Guarded, step: () => void): void {
  try {
    step()
  } catch (error) {
    endOwner(owner, error)
  }
}

/** Calls all of them, whatever one of them throws. */
export function callAll (owner: Guarded, steps: readonly (() => void)[]): void {
  for (const step of steps) run(owner, step)
}

const SHARED = Symbol('shared')

/** A listener that many streams share: it finds its owner by its stream. */
export type SharedListener<Stream> = ((this: Stream, ...args: never[]) => void) & { readonly [SHARED]: true }

/** @param ownerOf returns what an error of the listener ends; null for nothing that is left */
export function shared<Stream, Args extends readonly unknown[]> (
  ownerOf: (stream: Stream) => Guarded | null,
  listener: (stream: Stream, ...args: Args) => void
): SharedListener<Stream> {
  const called = function (this: Stream, ...args: Args): void {
    const owner = ownerOf(this)
    try {
      listener(this, ...args)
    } catch (error) {
      endOwner(owner ?? GONE, error)
    }
  }
  return Object.assign(called, { [SHARED]: true as const }) as unknown as SharedListener<Stream>
}

/** Adds a listener that many streams share: no closures for each of them. */
export function listenShared<Stream extends Emits> (stream: Stream, event: string, listener: SharedListener<Stream>): void {
  stream.on(event as never, listener as never)
}

/** Work that belongs to no call: cards, keys and names. The next attempt has a timer of its own. */
export const BACKGROUND = ownerOf('upstream')

/** A call that is over. */
const GONE: Guarded = { place: 'upstream', endAfter: ignore }

function ignore (): void {}
