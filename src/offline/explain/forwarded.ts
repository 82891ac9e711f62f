/** The request that goes to the agent, as an explanation shows it: beside the recorded one, and without the secrets that the gateway adds. */
import type { DryRun, PlainRequest } from '../../pipeline/dry-run.js'
import type { RequestEvaluation } from '../../pipeline/request.js'
import { bodyOf } from '../../pipeline/request.js'
import type { AgentConfig } from '../../config/model/model.js'
import type { ForwardedShown } from './explanation.js'
import { compareHeaders, shownTarget } from '../shown.js'

const EMPTY = Buffer.alloc(0)

/** @param sent the recorded request, as it was judged */
export function forwardedShown ({ forwarded, evaluation }: DryRun, config: AgentConfig, sent: PlainRequest): ForwardedShown | null {
  if (forwarded === null) return null
  const upstream = new URL(config.upstream.url)
  const body = forwarded.body ?? EMPTY
  const bytes = evaluation === null ? body.length : withoutSecrets(evaluation, sent.body ?? EMPTY, body).length
  const secret = bytes !== body.length
  const length = body.length === 0 ? [] : ['content-length', secret ? '(with the secret)' : String(bytes)]
  return {
    method: forwarded.method,
    url: upstream.origin + shownTarget(forwarded.target),
    ...compareHeaders(sent.rawHeaders, ['host', upstream.host, ...withPeer(forwarded.headers), ...length]),
    removed: evaluation === null ? [] : removedNames(sent.rawHeaders, evaluation.decision.headers ?? sent.rawHeaders),
    body: { bytes, unchanged: (sent.body ?? EMPTY).equals(body), secret }
  }
}

/** Nothing is in the place of each secret: how long it is would tell something of it. */
function withoutSecrets ({ decision, policy }: RequestEvaluation, sent: Buffer, body: Buffer): Buffer {
  const secrets = new Set(policy.policies.flatMap(one => one.inject).filter(one => one.secret).map(one => one.value))
  if (!decision.edits.some(({ value }) => value !== null && secrets.has(value))) return body
  const edits = decision.edits.map(edit => edit.value !== null && secrets.has(edit.value) ? { ...edit, value: EMPTY } : edit)
  return bodyOf({ decision: { edits } }, sent)
}

/** @param kept of the same lines, in their order */
function removedNames (sent: readonly string[], kept: readonly string[]): string[] {
  const names = new Set<string>()
  let at = 0
  for (let i = 0; i < sent.length; i += 2) {
    if (at < kept.length && kept[at] === sent[i] && kept[at + 1] === sent[i + 1]) at += 2
    else names.add((sent[i] ?? '').toLowerCase())
  }
  return [...names]
}

/** Whose address it is shows when the request arrives. */
function withPeer (headers: readonly string[]): string[] {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name === 'x-forwarded-proto')
  return at === -1 ? [...headers] : [...headers.slice(0, at), 'x-forwarded-for', '(the client\'s address)', ...headers.slice(at)]
}
