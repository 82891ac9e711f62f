/**
 * Sends calls and streams through a real Envoy that asks the gateway, by ext_authz and by ext_proc, and looks for responses that Envoy made
 * up: neither the bytes of the agent nor a rejection of the gateway. The script prints a table, and exits with code 1 when there is one.
 *
 *     node dist/bench/soak-envoy.js [--calls=50000] [--streams=1000]
 */
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { parseArgs } from 'node:util'
import { NO_ENVOY } from '../test/helpers/envoy.js'
import { SMALL, SMALL_STREAMING } from './agent/bodies.js'
import { ANSWER, EVENT, HEADERS, streamHeaders } from './agent/calls.js'
import { setUp } from './bench.js'
import { startAsking } from './parties/mesh.js'
import { endWithSignals } from './processes.js'

const { values } = parseArgs({ options: { calls: { type: 'string', default: '50000' }, streams: { type: 'string', default: '1000' } } })
const [calls, streams] = [Number(values.calls), Number(values.streams)]
if (!Number.isInteger(calls) || !Number.isInteger(streams)) {
  console.error('--calls and --streams must be integers')
  process.exit(2)
}
if (NO_ENVOY !== false) {
  console.log(NO_ENVOY)
  process.exit(0)
}
endWithSignals()

const CALLERS = 32
const EVENTS = 20
const { 'a2a-extensions': _required, ...withoutExtension } = HEADERS
const WHOLE = Buffer.concat(Array.from({ length: EVENTS }, () => EVENT))

interface Kind {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly good: (bytes: Buffer) => boolean
}

const FORWARDED: Kind = { name: 'forwarded', headers: HEADERS, body: SMALL, good: bytes => bytes.equals(ANSWER) }
const REJECTED: Kind = { name: 'rejected', headers: withoutExtension, body: SMALL, good: bytes => bytes.includes('-32008') }
const STREAM: Kind = { name: 'streams', headers: streamHeaders(`burst ${EVENTS}`), body: SMALL_STREAMING, good: bytes => bytes.equals(WHOLE) }

interface Counts { readonly good: Record<string, number>, readonly wrong: Map<string, number> }

const { place, tearDown } = await setUp({ pin: false })
const parties = await startAsking(place)
let broken = 0
try {
  for (const party of parties) {
    const counts: Counts = { good: { forwarded: 0, rejected: 0, streams: 0 }, wrong: new Map() }
    const share = (all: number): number => Math.ceil(all / parties.length)
    const left = { calls: share(calls), streams: share(streams) }
    const agent = new Agent({ keepAlive: true, maxSockets: CALLERS })
    const begun = performance.now()
    await Promise.all(Array.from({ length: CALLERS }, async () => {
      for (let i = 0; left.calls > 0 || left.streams > 0; i++) {
        const kind = left.streams > 0 && (i % 20 === 0 || left.calls <= 0) ? STREAM : i % 10 === 0 ? REJECTED : FORWARDED
        left[kind === STREAM ? 'streams' : 'calls']--
        await one(`${party.url}/rpc`, agent, kind, counts)
      }
    }))
    agent.destroy()
    const seconds = Math.round((performance.now() - begun) / 1_000)
    const { forwarded, rejected, streams: streamed } = counts.good
    console.log(`${party.name}: ${forwarded ?? 0} forwarded, ${rejected ?? 0} rejected, ${streamed ?? 0} streams of ${EVENTS} events, ${seconds} s`)
    for (const [what, times] of counts.wrong) {
      broken += times
      console.log(`BROKEN: ${party.name}: ${times} times ${what}`)
    }
  }
} finally {
  await Promise.all(parties.map(party => party.stop()))
  await tearDown()
}
process.exit(broken === 0 ? 0 : 1)

async function one (url: string, agent: Agent, { name, headers, body, good }: Kind, { good: found, wrong }: Counts): Promise<void> {
  const note = (what: string): void => { wrong.set(what, (wrong.get(what) ?? 0) + 1) }
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(url, { method: 'POST', agent, headers: { ...headers, 'content-length': String(body.length) } }, resolve)
      outgoing.once('error', reject)
      outgoing.end(body)
    })
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    if (response.statusCode === 200 && good(bytes)) found[name] = (found[name] ?? 0) + 1
    else note(`${name}: status ${response.statusCode ?? 0}, ${bytes.toString('utf8', 0, 200)}`)
  } catch (error) {
    note(`${name}: ${String(error)}`)
  }
}
