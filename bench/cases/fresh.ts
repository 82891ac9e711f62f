/** Parties in processes of their own, for cases that must start from nothing. */
import { startGateway, watched } from '../parties/gateway.js'
import type { GatewayOptions } from '../parties/gateway.js'
import type { Party, Place } from '../parties/party.js'
import { ours } from '../parties/party.js'
import { built } from '../processes.js'

export interface Fresh {
  /** True when the case requests the memory figures of the process. */
  readonly memory?: boolean
  /** Path of the program of Node. Default: the version of the container image. */
  readonly node?: string | undefined
}

const nodeParty = (script: string) => (place: Place, name: string, { memory = false, node }: Fresh): Promise<Party> =>
  ours(name, place, [...memory ? watched() : [], built(`bench/parties/${script}.js`), place.agent], { ipc: memory, node })

const STARTS: Readonly<Record<string, (place: Place, name: string, options: Fresh) => Promise<Party>>> = {
  gateway: (place, name, { memory = false, node }) => startGateway(place, { name, watched: memory, node } satisfies GatewayOptions),
  'node-proxy': nodeParty('node-proxy'),
  'fastify-proxy': nodeParty('fastify-proxy')
}

/** Names of the parties that can be started more than once. */
export const RESTARTABLE: ReadonlySet<string> = new Set(Object.keys(STARTS))

/** @param party a name of RESTARTABLE */
export async function startFresh (place: Place, party: string, what: string, options: Fresh = {}): Promise<Party> {
  const begin = STARTS[party]
  if (begin === undefined) throw new Error(`${party} cannot be started again`)
  return await begin(place, `${what}-${party}`, options)
}
