/** What `identity` costs: a call whose token is remembered, and calls of honest callers beside a flood of forged tokens. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { SMALL } from '../agent/bodies.js'
import { ANSWER, HEADERS } from '../agent/calls.js'
import type { Bench, Case, Table } from '../bench.js'
import { interleave } from '../bench.js'
import { ANONYMOUS, FLOODED, FORGED, QUIET, REMEMBERED } from '../names.js'
import { startGateway } from '../parties/gateway.js'
import type { Party } from '../parties/party.js'
import { built, listening, start, stop } from '../processes.js'
import type { Sample } from '../results.js'
import { MANY, settledSample, warm } from './closed.js'
import { fixedSample } from './latency.js'

const WORK = '400 B'
const ISSUER = 'https://idp.bench.example'
const AUDIENCE = 'bench'
/** Calls per second of honest callers, and of forged tokens. */
const RATE = 500
const FLOOD = 1_000
/** Different forged tokens. */
const TOKENS = 2_000
/** No other case has warmed these gateways up. In the 4th second, after 9,000 calls, the CPU per call no longer falls (787 to 107 µs). */
const WARM = { calls: 20_000, seconds: 8 }
/** Milliseconds for the start of a flood, which takes CPU of the honest clients. */
const FLOOD_START = 1_000

export const IDENTITY: Case = {
  name: 'identity',
  about: 'calls of 400 B with a token that is remembered, and calls of honest callers beside a flood of forged tokens',
  works: [WORK, FORGED],
  run: async bench => {
    const [key, stranger] = await Promise.all([generateKeyPair('ES256', { extractable: true }), generateKeyPair('ES256')])
    const tokenOf = (privateKey: typeof key.privateKey, subject: string): Promise<string> =>
      new SignJWT({ sub: subject })
        .setProtectedHeader({ alg: 'ES256', kid: 'a', typ: 'at+jwt' })
        .setIssuer(ISSUER).setAudience(AUDIENCE).setIssuedAt().setExpirationTime('2h')
        .sign(privateKey)
    const keys = join(bench.place.directory, 'jwks.json')
    writeFileSync(keys, JSON.stringify({ keys: [{ ...await exportJWK(key.publicKey), kid: 'a', alg: 'ES256' }] }))
    const identity = { sources: { corp: { jwt: { issuer: ISSUER, audience: [AUDIENCE], keys: { file: keys } } } } }
    const headers = { ...HEADERS, authorization: `Bearer ${await tokenOf(key.privateKey, 'ada')}` }
    const parties: Party[] = []
    try {
      bench.say('identity: starting 2 gateways')
      for (const [name, more] of [[ANONYMOUS, {}], [REMEMBERED, { identity }]] as const) {
        parties.push({ ...await startGateway(bench.place, { ...more, name: `identity-${parties.length}` }), name })
      }
      const tables: Table[] = []
      // Both get the header: its bytes cost the same.
      const call = { headers, body: SMALL, connections: MANY }
      await warm(bench, parties, call, WARM.seconds, WARM.calls)
      if (bench.wants('identity', WORK, true)) {
        const subjects = parties.map(party => ({ name: party.name, of: party }))
        tables.push({ work: WORK, rows: await interleave(bench, 'identity', subjects, party => settledSample(bench, party, call)) })
      }
      const [, guarded] = parties
      if (guarded !== undefined && bench.wants('identity', FORGED, true)) {
        const file = join(bench.place.directory, 'forged.json')
        const forged = await Promise.all(Array.from({ length: TOKENS }, (_none, i) => tokenOf(stranger.privateKey, `s${i}`)))
        writeFileSync(file, JSON.stringify(forged))
        const subjects = [QUIET, FLOODED].map(name => ({ name, of: name === FLOODED }))
        const measure = (flooded: boolean): Promise<Sample> => besideFlood(bench, guarded, headers, flooded ? file : null)
        bench.say('identity: warming up for the flood')
        await measure(true)
        tables.push({ work: FORGED, rows: await interleave(bench, 'identity', subjects, measure) })
      }
      return tables
    } finally {
      await Promise.all(parties.map(party => party.stop()))
    }
  }
}

/** @param file forged tokens; null: no flood */
async function besideFlood (bench: Bench, party: Party, headers: Readonly<Record<string, string>>, file: string | null): Promise<Sample> {
  const load = { headers, body: SMALL, rate: RATE, expected: ANSWER.length }
  const measure = (): Promise<Sample> => fixedSample(bench, party, load, bench.seconds * 2, 'whole')
  if (file === null) return await measure()
  const args = [built('bench/load/flood.js'), `${party.url}/rpc`, file, String(FLOOD)]
  const flood = start(process.execPath, args, { cores: bench.place.cores?.load })
  try {
    await listening(flood, 'the flood')
    await sleep(FLOOD_START)
    return await measure()
  } finally {
    await stop(flood)
  }
}
