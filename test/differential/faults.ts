/** Describes the faults of one exchange in words. The list is empty when gateway and agent agree. */
import { isDeepStrictEqual } from 'node:util'
import type { Bench, Seen } from './bench.js'
import { compare } from './compare.js'
import { judgedOf } from './evaluated.js'
import { JUSTIFIED } from './justified.js'
import type { OddRequest } from './requests.js'

/** @param used receives the reason of every justified difference that was found */
export function faultsOf (
  { kind }: Pick<Bench, 'kind'>,
  request: OddRequest,
  { judgement, arrived, through, executed, direct }: Seen,
  used: Set<string>
): string[] {
  const found: string[] = []
  const passes = judgement.rejection === null && judgement.kind === 'operation'
  if (arrived !== passes) {
    found.push(`the gateway ${passes ? 'would forward' : 'would refuse'}, and the agent got ${arrived ? 'it' : 'nothing'}`)
  }
  if (through === null) return found

  const judged = judgedOf(judgement)
  if (judged === null) return [...found, 'the agent read what nobody judged']
  for (const mismatch of compare(judged, through)) {
    const reason = JUSTIFIED.find(one => one.path.test(mismatch.path) && one.holds(mismatch, { kind, request }))
    if (reason === undefined) { found.push(`${mismatch.path}: the gateway read ${shown(mismatch.gateway)}, the agent ${shown(mismatch.agent)}`) } else used.add(reason.why)
  }
  const parts = through.message?.parts.length
  if (executed !== null && executed.length !== parts) found.push(`the executor got ${executed.length} parts of ${parts}`)

  if (direct === null) return found
  const { requested, ...rest } = direct
  const { requested: all, ...same } = through
  if (!isDeepStrictEqual(rest, same)) found.push(`without the gateway the agent reads ${shown(rest)}, with it ${shown(same)}`)
  // The gateway accepts both names of the header, and writes the name that the agent knows.
  const more = requested.filter(uri => !all.includes(uri))
  if (more.length > 0) found.push(`without the gateway the agent is asked for ${more.join(', ')} too`)
  return found
}

function shown (value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 300)
}
