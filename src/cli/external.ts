/** `external ask`: asks the policy servers of a configuration about recorded requests, and explains the requests with the answers. */
import type { Config } from '#config/model/model.js'
import { DecisionPoints } from '#agents/decision-points.js'
import { CannotExplain } from '#offline/explain/cannot-explain.js'
import type { Explanation } from '#offline/explain/explanation.js'
import type { Answer } from '#pipeline/external/answer.js'
import type { Asking } from '#pipeline/external/settle.js'
import type { DryRunMemory } from '#pipeline/dry-run-operation.js'
import { errorCode } from '#operator-errors.js'
import { runExplain } from './explain.js'
import type { ExplainArguments } from './explain.js'
import type { Output } from './output.js'
import { reportFailure, usageProblem } from './reports/failure.js'

export interface ExternalArguments extends Pick<ExplainArguments, 'config' | 'agent' | 'caller' | 'headers' | 'request' | 'json' | 'env'> {
  /** `ask`, and the recording. */
  readonly words: readonly string[]
}

/** @returns exit code: 0 all forwarded, 1 a request is rejected, 2 could not be asked */
export async function runExternal ({ words: [action, ...recordings], ...args }: ExternalArguments, io: Output): Promise<number> {
  if (action !== 'ask' || recordings.length !== 1) {
    reportFailure(
      'external', [usageProblem('write "external ask" and one recording of a request, such as "a2a-gateway external ask call.http"')],
      args.json, io
    )
    return 2
  }
  return await runExplain({ ...args, recordings, card: null, upstream: undefined, response: null, external: null, ask: true }, io)
}

/**
 * Sends the questions about one request.
 * @returns the answers
 * @throws CannotExplain when the request has no question, or a secret cannot be read
 */
export async function askServers (
  { external = [], request }: Explanation, config: Config, env: NodeJS.ProcessEnv
): Promise<NonNullable<DryRunMemory['answers']>> {
  if (external.length === 0) {
    throw new CannotExplain(
    `${request.file}, number ${request.number}: no policy server is asked about the request`
    )
  }
  const points = prepared(config, env)
  const asks = external.map(({ rule, use, mode, question }): Asking =>
    ({ rule, policy: null, use, phase: 'request', mode, body: JSON.stringify(question), unaskable: null }))
  const watch = () => () => {}
  const answered = await points.ask(asks, { requestId: 'external-ask', signal: new AbortController().signal, watch })
  points.close(null)
  const answers = new Map<string, Answer>(answered.map(({ asking, answer }) => [`${asking.use} ${asking.body}`, answer]))
  return ({ use, body }) => answers.get(`${use} ${body}`) ?? null
}

function prepared (config: Config, env: NodeJS.ProcessEnv): DecisionPoints {
  try {
    const points = DecisionPoints.prepare(config, null, env)
    if (points !== null) return points
  } catch (error) {
    throw new CannotExplain((error as Error).message, [], errorCode(error) ?? 'A2AGW_ERR_NOT_EXPLAINED')
  }
  throw new CannotExplain('the configuration has no decisionPoints')
}
