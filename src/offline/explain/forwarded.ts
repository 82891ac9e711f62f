/** Compares the request that goes to the agent with the recorded request, for an explanation. Omits the secrets that the gateway adds. */
import type { Payload } from '#a2a/payload.js'
import { payloadOf } from '#a2a/payload.js'
import { bodyOf } from '#pipeline/request.js'
import { CHAIN_HEADER } from '#identity/chain.js'
import { plainHeaderName, withoutHeaders } from '#wire/header-names.js'
import { decodeSync } from '#pipeline/content-encoding.js'
import { hostPortText } from '#config/listeners/host-port.js'
import type { AgentConfig } from '#config/model/model.js'
import type { ForwardedShown } from './explanation.js'
import { compareHeaders, shownTarget } from '../display.js'
import type { GrpcTarget } from '#a2a/card/map.js'
import type { DryRun, PlainRequest } from '#pipeline/dry-run-operation.js'
import type { RequestEvaluation } from '#pipeline/request-evaluation.js'

const NO_BYTES = Buffer.alloc(0)
const NULL = Buffer.from('null')

/**
 * Describes the forwarded request.
 * @param sent the recorded request, as it was evaluated
 * @param server of the agent for a gRPC call; undefined over HTTP
 * @param chains true when the gateway signs chains of callers (`delegation`)
 */
export function forwardedShown (
  { forwarded, evaluation, call, caller, delegation }: DryRun,
  config: AgentConfig,
  sent: PlainRequest,
  server: GrpcTarget | undefined,
  chains: boolean
): ForwardedShown | null {
  if (forwarded === null) return null
  const upstream = upstreamOf(config, server)
  const body = forwarded.body ?? NO_BYTES
  const bytes =
    evaluation === null || call === null
      ? body.length
      : withoutSecrets(
        evaluation, call.explicit ?? contentOf(sent), body, payloadOf(caller.binding, caller.version, call.operation, 'request')
      ).length
  const secret = bytes !== body.length
  const length = body.length === 0 || server !== undefined ? [] : ['content-length', secret ? '(with the secret)' : String(bytes)]
  return {
    method: forwarded.method,
    url: upstream.origin + shownTarget(forwarded.target),
    ...compareHeaders(sent.rawHeaders, [
      'host',
      upstream.host,
      ...withCredentials(chains ? withChain(withPeer(forwarded.headers), delegation) : withPeer(forwarded.headers), config),
      ...length
    ]),
    removed: evaluation === null ? [] : removedNames(sent.rawHeaders, evaluation.decision.headers ?? sent.rawHeaders),
    body: { bytes, unchanged: (sent.body ?? NO_BYTES).equals(body), secret }
  }
}

/** The agent's address: of its HTTP server, or of its gRPC server. */
function upstreamOf ({ upstream }: AgentConfig, server: GrpcTarget | undefined): { readonly origin: string, readonly host: string } {
  if (server === undefined) return new URL(upstream.url)
  const host = hostPortText(server)
  return { origin: `${server.tls ? 'grpcs' : 'grpc'}://${host}`, host }
}

/**
 * Removes the headers that only the gateway writes, and adds those that it sends with every request. Who the caller would be is not known
 * here. All values are masked.
 */
function withCredentials (headers: readonly string[], { upstream: { credentials: { send, identity } } }: AgentConfig): string[] {
  const names = [...send.map(({ header }) => header), ...identity === null ? [] : [identity.header]]
  const always = new Set(send.filter(entry => entry.for === null).map(({ header }) => header))
  return [...withoutHeaders(headers, new Set(names.map(plainHeaderName))), ...[...always].flatMap(name => [name, ''])]
}

/** Replaces the chain of callers by the one for the agent, whose value is masked. */
function withChain (headers: readonly string[], delegation: DryRun['delegation']): string[] {
  return [...withoutHeaders(headers, new Set([CHAIN_HEADER])), ...(delegation?.next ?? null) === null ? [] : [CHAIN_HEADER, '']]
}

/** The body as rules read it. */
function contentOf ({ rawHeaders, body }: PlainRequest): Buffer {
  const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-encoding')
  const decoded = decodeSync(at === -1 ? undefined : rawHeaders[at + 1], body ?? NO_BYTES, Infinity)
  return 'content' in decoded ? decoded.content : NO_BYTES
}

/** Returns the body with each secret removed. A placeholder of the same length would reveal the length of the secret. */
function withoutSecrets ({ decision, policy }: RequestEvaluation, sent: Buffer, body: Buffer, payload: Payload): Buffer {
  const secrets = new Set(policy.policies.flatMap(({ inject }) => inject).filter(({ secret }) => secret).map(value => value.valueOf(null)))
  if (!decision.edits.some(({ value }) => value !== null && secrets.has(value))) return body
  // Protobuf needs a value of JSON: null takes no more than its tags.
  const none = payload.format === 'JSON' ? NO_BYTES : NULL
  const edits = decision.edits.map(edit => edit.value !== null && secrets.has(edit.value) ? { ...edit, value: none } : edit)
  return bodyOf({ decision: { edits } }, sent, sent, payload)
}

/**
 * Returns the names of headers from which lines were removed.
 * @param remaining the kept lines, in the same order as in `sent`
 */
function removedNames (sent: readonly string[], remaining: readonly string[]): string[] {
  const names = new Set<string>()
  let at = 0
  for (let i = 0; i < sent.length; i += 2) {
    if (at < remaining.length && remaining[at] === sent[i] && remaining[at + 1] === sent[i + 1]) at += 2
    else names.add((sent[i] ?? '').toLowerCase())
  }
  return [...names]
}

/** Adds a placeholder for the client's address, because the address is known only when a request arrives. */
function withPeer (headers: readonly string[]): string[] {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name === 'x-forwarded-proto')
  return at === -1 ? [...headers] : [...headers.slice(0, at), 'x-forwarded-for', '(the client\'s address)', ...headers.slice(at)]
}
