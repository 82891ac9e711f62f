/** Describes the faults of one response in words. The list is empty when gateway and client agree. */
import { isDeepStrictEqual } from 'node:util'
import type { ResultView } from '#a2a/message/result.js'
import type { AnswerSeen, ReadingPair } from './bench.js'
import type { ClientReading } from './clients.js'
import type { Mismatch } from './compare.js'
import { compareResults } from './compare.js'
import type { OddAnswer } from './corpus.js'
import { judgedResult } from './evaluated.js'
import { JUSTIFIED } from './justified.js'
import type { ResultReading } from './reading.js'
import { NO_RESULT } from './reading.js'

const LONE_CR = /\r(?!\n)/

/** @param used receives the reason of every justified difference that was found */
export function answerFaults (
  pair: Pick<ReadingPair, 'kind' | 'form'>,
  answer: OddAnswer,
  { client, direct, judgement, views }: AnswerSeen,
  used: Set<string>
): string[] {
  const found: string[] = []
  const { rejection: refusal, results } = judgement
  const through = known(client)
  const without = known(direct)
  if (refusal === null) {
    if (!isDeepStrictEqual(through, without)) found.push(`without the gateway the client reads ${shown(direct)}, with it ${shown(client)}`)
  } else {
    // The events before a rejection in a stream are the agent's.
    const most = results.filter(({ decision: verdict }) => verdict.rejection === null).length
    if (through.length > most) found.push(`the gateway lets ${most} events through, and the client read ${shown(client)}`)
    // The clients do not know CR as a line end. When the agent's last line ends with CR, the clients miss the rejection, and also its
    // effect on their last event.
    if (!LONE_CR.test(answer.body) && !isDeepStrictEqual(through, without.slice(0, through.length))) {
      found.push(`before the refusal the client reads ${shown(client)}, without the gateway ${shown(direct)}`)
    }
  }
  const judged = views.flatMap(view => (answer.call === 'list' || view.results.length < 2 ? view.results : []))
  return [
    ...found,
    ...misread(
      pair,
      judged,
      views.some(({ isError }) => isError),
      through,
      used
    )
  ]
}

/** The results without those whose kind the client does not know. */
function known ({ results }: ClientReading): ResultReading[] {
  return results.filter(({ kind }) => kind !== null)
}

/** The gateway may have evaluated more results than the client read, but in the same order. */
function misread (
  pair: Pick<ReadingPair, 'kind' | 'form'>,
  judged: readonly ResultView[],
  isError: boolean,
  readings: readonly ResultReading[],
  used: Set<string>
): string[] {
  let next = 0
  for (const reading of readings) {
    const first = unjustified(pair, judged[next], isError, reading, new Set())
    let at = next
    while (at < judged.length && unjustified(pair, judged[at], isError, reading, new Set()).length > 0) at++
    if (at === judged.length && unjustified(pair, undefined, isError, reading, new Set()).length > 0) return first
    unjustified(pair, judged[at], isError, reading, used)
    next = at + 1
  }
  return []
}

function unjustified (
  { kind, form }: Pick<ReadingPair, 'kind' | 'form'>,
  judged: ResultView | undefined,
  isError: boolean,
  reading: ResultReading,
  used: Set<string>
): string[] {
  const found: string[] = []
  for (const mismatch of compareResults(judged === undefined ? NO_RESULT : judgedResult(judged), reading)) {
    const reason = JUSTIFIED.find(
      one => one.path.test(mismatch.path) && one.holds(mismatch, { kind, form, judged: judged ?? null, isError })
    )
    if (reason === undefined) found.push(said(mismatch))
    else used.add(reason.why)
  }
  return found
}

function said ({ path, gateway, client }: Mismatch): string {
  return `${path}: the gateway read ${shown(gateway)}, the client ${shown(client)}`
}

function shown (value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 400)
}
