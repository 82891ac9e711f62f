/** A subject of the measurements: a running proxy, reached as its clients reach it. */
import type { ChildProcess } from 'node:child_process'
import type { NodePrograms } from '../nodes.js'
import type { Cores, SpawnOptions } from '../processes.js'
import { family, listening, start, stop } from '../processes.js'

export interface Party {
  readonly name: string
  /** Calls go to `/rpc` below this URL. */
  readonly url: string
  /** The processes of the proxy. Empty when calls go directly to the agent. */
  readonly pids: readonly number[]
  readonly child: ChildProcess | null
  stop (): Promise<void>
}

export interface Place {
  /** URL of the agent, without a path. */
  readonly agent: string
  /** URL of the sink for traces. */
  readonly sink: string
  readonly cores: Cores | null
  /** Programs for the parties that run on Node. */
  readonly nodes: NodePrograms
  /** Folder for configuration files, which is deleted after the run. */
  readonly directory: string
}

/** A kind of party: finds the program and starts it. */
export interface PartyKind {
  readonly name: string
  readonly title: string
  /** `null`: the party is not installed. */
  version (): string | null
  start (place: Place): Promise<Party>
}

/** Starts a party that reports its own address. */
export async function ours (
  name: string,
  place: Place,
  args: readonly string[],
  { node = place.nodes.shipped, ...options }: Omit<SpawnOptions, 'cores'> & { readonly node?: string | undefined } = {}
): Promise<Party & { readonly admin: string }> {
  const child = start(node, args, { cores: place.cores?.proxy, ...options })
  const { url, admin = '' } = await listening(child, name)
  return { ...partyOf(name, url, child), admin }
}

export function partyOf (name: string, url: string, child: ChildProcess): Party {
  return { name, url, child, pids: family(child.pid as number), stop: () => stop(child) }
}
