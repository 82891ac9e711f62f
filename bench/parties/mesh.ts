/** The parties of the case `mesh`: Envoy with the bootstraps of deploy/envoy, and the gateway that it asks or forwards to. */
import type { Listener } from '../../test/helpers/envoy.js'
import { managerOf, startEnvoy } from '../../test/helpers/envoy.js'
import { freePort } from '../../test/helpers/http.js'
import type { Tree } from '../../test/helpers/kubernetes.js'
import { ENVOY_ALONE, ENVOY_AUTHZ, ENVOY_AND_GATEWAY, ENVOY_PROC, ENVOY_PROC_REQUESTS } from '../names.js'
import { startGateway } from './gateway.js'
import type { Party, Place } from './party.js'

const forwarding: Listener = {
  mode: 'ext-authz',
  listener: listener => {
    const manager = managerOf(listener)
    manager.http_filters = manager.http_filters.filter(({ name }: { name: string }) => name !== 'a2a-gateway')
  }
}
/** Longer than a busy machine takes for a question: the default of the bootstraps is 1 s. */
const PATIENCE = '20s'
const patient = (filter: Tree): void => {
  if (filter.message_timeout === undefined) filter.grpc_service.timeout = PATIENCE
  else filter.message_timeout = PATIENCE
}
const ASKING: Readonly<Record<string, Listener>> = {
  [ENVOY_AUTHZ]: { mode: 'ext-authz', filter: patient },
  [ENVOY_PROC_REQUESTS]: {
    mode: 'ext-proc',
    filter: filter => {
      patient(filter)
      filter.allow_mode_override = false
      Object.assign(filter.processing_mode, { response_header_mode: 'SKIP', response_body_mode: 'NONE' })
    }
  },
  [ENVOY_PROC]: { mode: 'ext-proc', filter: patient }
}

/** Starts all of them. The CPU of a party is that of all its processes. */
export async function startMesh (place: Place): Promise<Party[]> {
  const parties: Party[] = []
  const agent = portOf(place.agent)
  try {
    const alone = await startGateway(place, { name: 'gateway' })
    parties.push(alone, await behindEnvoy(place, ENVOY_ALONE, forwarding, agent, null))
    const hop = await startGateway(place, { name: 'hop' })
    parties.push(await behindEnvoy(place, ENVOY_AND_GATEWAY, forwarding, portOf(hop.url), hop))
    parties.push(...await startAsking(place))
    return parties
  } catch (error) {
    await Promise.all(parties.map(party => party.stop()))
    throw error
  }
}

/** Starts those that ask the gateway. */
export async function startAsking (place: Place): Promise<Party[]> {
  const parties: Party[] = []
  for (const [name, listener] of Object.entries(ASKING)) {
    const mesh = await freePort()
    const asked = await startGateway(place, { name: `asked-${parties.length}`, mesh: `127.0.0.1:${mesh}` })
    parties.push(await behindEnvoy(place, name, listener, portOf(place.agent), asked, mesh))
  }
  return parties
}

const portOf = (url: string): number => Number(new URL(url).port)

/** @param mesh port of the gateway that Envoy asks */
async function behindEnvoy (
  { cores }: Place,
  name: string,
  listener: Listener,
  http: number,
  gateway: Party | null,
  mesh = http
): Promise<Party> {
  const envoy = await startEnvoy({ listeners: [listener], gateways: [mesh], agent: { http }, cores: cores?.proxy })
  return {
    name,
    url: envoy.urls[0] ?? '',
    child: null,
    pids: [envoy.pid, ...gateway?.pids ?? []],
    stop: async () => {
      await Promise.all([envoy.stop(), gateway?.stop()])
    }
  }
}
