import { HEADERS, WORKS, callBody, streamHeaders } from '../agent/calls.js'
import type { Work } from '../agent/calls.js'
import type { Case } from '../bench.js'
import { interleave, subjects } from '../bench.js'
import type { Call } from './closed.js'
import { FEW, MANY, closedSample, warm } from './closed.js'

export const callOf = (work: Work): Call => ({ headers: HEADERS, body: callBody(work), connections: work.bytes > 100_000 ? FEW : MANY })

/** The works that `--quick` leaves out. */
const SLOW = new Set(['4 kB'])

export const THROUGHPUT: Case = {
  name: 'throughput',
  about: 'calls per second and CPU per call, of bodies from 400 B to 1 MB, 8 connections for 1 MB, else 64',
  run: async (bench, parties) => {
    const measured = []
    for (const work of WORKS) {
      if (bench.quick && SLOW.has(work.name)) continue
      const call = callOf(work)
      bench.say(`throughput, ${work.name}: warming up`)
      await warm(bench, parties, call)
      measured.push({
        work: work.name,
        rows: await interleave(bench, `throughput, ${work.name}`, subjects(parties), party => closedSample(bench, party, call))
      })
    }
    return measured
  }
}

/** Events of one stream. */
export const EVENTS = 50

export const STREAM: Case = {
  name: 'stream',
  about: `streams of ${EVENTS} events of 400 B per second, 64 at once`,
  run: async (bench, parties) => {
    const call: Call = {
      headers: streamHeaders(`burst ${EVENTS}`),
      body: callBody({ bytes: 400, shape: 'text' }, 'SendStreamingMessage'),
      connections: MANY
    }
    bench.say('stream: warming up')
    await warm(bench, parties, call)
    return [
      { work: `${EVENTS} events`, rows: await interleave(bench, 'stream', subjects(parties), party => closedSample(bench, party, call)) }
    ]
  }
}
