/** Runs cases: each request directly and through the proxy, and the checks on what was seen. */
import { callGrpc } from '../client/grpc-client.js'
import { sendHttp } from '../client/http-client.js'
import { filled } from '../mark.js'
import type { Case, Check, Exchange } from '../model.js'
import { CALL } from '../model.js'
import type { Context } from './context.js'
import { evaluateChecks } from './evaluate.js'
import { interfaceUrl } from './targets.js'
import type { Way } from './card-rules.js'

/**
 * `not claimed`: the proxy declares that it does not do this. `not applicable`: the agent or the options leave the case out. `error`: the
 * case fails without the proxy.
 */
export type Outcome = 'passed' | 'failed' | 'not claimed' | 'not applicable' | 'error'

export interface Result {
  readonly case: Case
  readonly outcome: Outcome
  /** Why, line by line. Without ports, names and times: two runs have the same lines. */
  readonly lines: readonly string[]
}

/** Milliseconds that a proxy gets to reject a request that is invalid or never ends. */
const RAW_TIMEOUT = 2_500
/** Cases that run at once. */
const AT_ONCE = 12
/** Checks that need to know what the agent got. */
const NEED_RECEIPTS: ReadonlySet<string> = new Set<Check['check']>([
  'calls', 'request', 'request-header', 'cancelled', 'timely', 'no-fetch', 'trace'
])

type Progress = (done: number, result: Result) => void

/** Runs all cases. The results have the order of the cases. @param progress called after each case */
export async function runCases (cases: readonly Case[], context: Context, progress: Progress = () => {}): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  let done = 0
  const work = async (): Promise<void> => {
    while (next < cases.length) {
      const at = next++
      const result = await runCase(cases[at] as Case, context)
      results[at] = result
      progress(++done, result)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return results
}

interface Reason { readonly outcome: Outcome, readonly line: string }

/** Why a case does not run, or null. */
function leftOut (testCase: Case, { declaration, scripted, through, required }: Context): Reason | null {
  const notClaimed = (line: string): Reason => ({ outcome: 'not claimed', line })
  if (
    testCase.transport !== 'card' &&
    !declaration.bindings.includes(testCase.transport)
  ) return notClaimed(`the proxy does not forward ${testCase.transport}`)
  if (!declaration.versions.includes(testCase.version)) return notClaimed(`the proxy does not forward ${testCase.version}`)
  const claim = testCase.claims?.find(name => !declaration.claims.has(name))
  if (claim !== undefined) return notClaimed(`the proxy does not claim ${claim}`)
  const notApplicable = (line: string): Reason => ({ outcome: 'not applicable', line })
  if (interfaceUrl(
    through, testCase.transport, testCase.version
  ) === null) return notApplicable(`the agent has no interface for ${testCase.transport} ${testCase.version}`)
  if (
    testCase.group === 'enforcing' &&
    required.length === 0
  ) return notApplicable('the agent requires no extension: start "conform agent --require URI"')
  if (
    testCase.group !== 'enforcing' &&
    required.length > 0
  ) return notApplicable('the agent requires an extension, so that ordinary requests are rejected')
  if (
    !scripted &&
    (testCase.agent !== undefined || testCase.direct === false || portable(testCase).length === 0)
  ) return notApplicable('needs "conform agent"')
  return null
}

const portable = (testCase: Case): readonly Check[] => testCase.expect.filter(({ check }) => !NEED_RECEIPTS.has(check) && check !== 'either')

async function runCase (testCase: Case, context: Context): Promise<Result> {
  const reason = leftOut(testCase, context)
  if (reason !== null) return { case: testCase, outcome: reason.outcome, lines: [reason.line] }
  try {
    const direct = testCase.direct === false ? null : await send(testCase, context, 'direct')
    const isAnswered = direct === null || direct.exchange.status !== 0 || direct.exchange.end === 'left'
    if (!isAnswered && testCase.agent?.begin !== 'reset') {
      return { case: testCase, outcome: 'error', lines: [`directly: ${direct?.exchange.problem ?? 'no response'}`] }
    }
    const through = await send(testCase, context, 'through')
    const observation = { case: testCase, direct, through, context }
    const lines = await evaluateChecks(observation, context.scripted ? testCase.expect : portable(testCase))
    return {
      case: testCase, outcome: lines.length === 0 ? 'passed' : 'failed', lines: lines.map(line => stable(line, [direct, through], context))
    }
  } catch (error) {
    return { case: testCase, outcome: 'error', lines: [stable((error as Error).message, [], context)] }
  }
}

async function send (testCase: Case, context: Context, way: 'direct' | 'through'): Promise<Way> {
  const name = context.name()
  const base = interfaceUrl(context[way], testCase.transport, testCase.version)
  if (base === null) throw new Error(`there is no address for ${testCase.transport} ${testCase.version}`)
  if (testCase.agent !== undefined) await context.control.script(name, testCase.agent)
  const exchange = await exchangeOf(testCase, context, base, name)
  if (testCase.request.leaveAfter !== undefined) await context.control.until(name, ({ left }) => left, 100)
  return { name, exchange, receipts: context.scripted ? await context.control.receipts(name) : [] }
}

async function exchangeOf ({ request, agent }: Case, context: Context, base: string, name: string): Promise<Exchange> {
  const pieces = agent?.pieces ?? []
  const isGated = agent?.gated === true || request.leaveAfter !== undefined
  const release = (piece: number): void => { context.control.release(name, piece).catch(() => {}) }
  if (request.kind === 'grpc') return await callGrpc(request, { base, name, messages: pieces.length, ...isGated ? { release } : {} })
  const gates = { pieces: pieces.map(piece => filled(piece, name)), release }
  const limits = request.raw === undefined ? {} : { timeout: RAW_TIMEOUT }
  return await sendHttp(request, { base, name, agent: new URL(context.direct.base).origin, ...limits, ...isGated ? { gates } : {} })
}

/** Without what differs from run to run. */
function stable (line: string, ways: ReadonlyArray<Way | null>, { direct, through }: Context): string {
  let text = line
  for (const way of ways) if (way !== null) text = text.replaceAll(way.name, CALL)
  const agents = direct.interfaces.map(({ url }) => [url, '{agent}'] as const)
  const proxies = [through.base, ...through.interfaces.map(({ url }) => url)].map(url => [url, '{proxy}'] as const)
  const hosts = [...agents, ...proxies]
  for (const [url, mark] of hosts) text = text.replaceAll(new URL(url).host, mark)
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '{time}').replaceAll(
    /(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [\d:]{8} GMT/g, '{time}'
  )
}
