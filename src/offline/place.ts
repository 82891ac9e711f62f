/** Finds the agent of a recorded request, and converts the request to the form that the agent's card requires. */
import { Agents, hostName } from '#pipeline/agents.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { readRequestedVersion } from '#pipeline/request.js'
import { headOf } from '#pipeline/request-head.js'
import type { AgentConfig } from '#config/model/model.js'
import { joinPath, splitTarget } from '#wire/target.js'
import { CannotExplain } from './explain/cannot-explain.js'
import type { Explanation } from './explain/explanation.js'
import type { RecordedRequest } from './recording/recorded-request.js'
import type { PlainRequest } from '#pipeline/dry-run-operation.js'

export interface Place {
  readonly config: AgentConfig
  readonly foundBy: NonNullable<Explanation['agent']>['foundBy']
  /** Path below the agent's path, undecoded. Null for a bare envelope. */
  readonly path: string | null
}

/**
 * Finds the agent and the path of a recorded request.
 * @param wanted name of the agent. Null: host and path decide, as in the gateway
 * @returns null when no agent is served at the address
 * @throws CannotExplain
 */
export function placeOf (recorded: RecordedRequest, agents: readonly AgentConfig[], wanted: string | null): Place | null {
  const { target } = recorded
  if (wanted !== null) {
    const config = agents.find(agent => agent.name === wanted)
    if (config === undefined) {
      throw new CannotExplain(`there is no agent "${wanted}" (the configuration has ${agents.map(agent => agent.name).join(', ')})`)
    }
    return { config, foundBy: 'flag', path: target === null ? null : below(config.path, splitTarget(target).path) }
  }
  if (target === null) {
    const [config] = agents
    if (config === undefined || agents.length > 1) {
      throw new CannotExplain(
        `a JSON-RPC envelope alone names no address; choose the agent with --agent: ${agents.map(agent => agent.name).join(', ')}`
      )
    }
    return { config, foundBy: 'only', path: null }
  }
  const agentMatch = new Agents(agents.map(config => ({ config }))).find(
    hostName(headOf('', recorded.headers).headers.host),
    splitTarget(target).path
  )
  return agentMatch === null ? null : { config: agentMatch.agent.config, foundBy: 'address', path: agentMatch.rest }
}

/** Removes the gateway's base path. A request recorded at the agent itself does not have this base path. */
function below (base: string, path: string): string {
  return path === base || path.startsWith(`${base}/`) ? path.slice(base.length) : path
}

/**
 * Builds the request at the given path.
 * @param path path of the place; null for a bare envelope
 * @throws CannotExplain for a bare envelope when the card lists no JSON-RPC interface
 */
export function plainRequest (recorded: RecordedRequest, path: string | null, state: AgentState): PlainRequest {
  const { method, target, headers, body } = recorded
  const query = target === null ? '' : splitTarget(target).query
  return {
    method,
    path: path ?? rpcPath(headers, state),
    query,
    rawHeaders: headers,
    body: body.length === 0 ? null : body,
    now: Date.now()
  }
}

function rpcPath (headers: readonly string[], state: AgentState): string {
  const interfaces = state.interfaces.filter(mappedInterface => mappedInterface.binding === 'JSONRPC')
  const { version } = readRequestedVersion(headOf('POST', headers), '')
  const chosen = interfaces.find(mappedInterface => mappedInterface.version === version) ?? interfaces[0]
  if (chosen === undefined) {
    throw new CannotExplain('this is a JSON-RPC envelope alone, and the card lists no JSON-RPC interface; record the whole request')
  }
  return joinPath(chosen.publicPath, '')
}

/**
 * Returns the recorded headers as a client would send them. The headers of `more` replace those of the same name, and the length is that of
 * the actual body.
 * @param more flat list: name, value, name, value
 */
export function sentHeaders ({ headers, body, target }: RecordedRequest, more: readonly string[]): string[] {
  const replaced = new Set(more.filter((_, i) => i % 2 === 0).map(name => name.toLowerCase()))
  const out: string[] = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (!replaced.has(name.toLowerCase())) out.push(name, headers[i + 1] ?? '')
  }
  out.push(...more)
  const names = new Set(out.filter((_, i) => i % 2 === 0).map(name => name.toLowerCase()))
  if (target === null && !names.has('content-type')) out.push('Content-Type', 'application/json')
  if (body.length === 0 || names.has('transfer-encoding')) return out
  const at = out.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-length')
  if (at === -1) out.push('Content-Length', String(body.length))
  else if (names.has('content-length')) out[at + 1] = String(body.length)
  return out
}
