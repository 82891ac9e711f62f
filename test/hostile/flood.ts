/**
 * `node dist/test/hostile/flood.js [--seconds=30] [--seed=1]`: floods each listener with each kind of hostile traffic, and prints a line
 * for each kind: honest calls and the slowest of them, bytes in the memory budget at most, and the resident memory of the process. Exit
 * code 1 if the process ends, an honest call fails, the budget does not hold, or an unexpected error is counted.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import t from 'tap'
import { grpcMessage } from '../helpers/grpc-raw.js'
import { END_HEADERS, FRAME, H2Socket, frame, headerBlock } from '../helpers/h2-frames.js'
import { everyPair, http1Sequence, sequence } from '../helpers/h2-sequences.js'
import type { Sequence } from '../helpers/h2-sequences.js'
import { random, SEED } from '../helpers/seed.js'
import { attackedGateway, play } from './attacked-gateway.js'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '30' }, seed: { type: 'string', default: String(SEED) } }, strict: false })
const seconds = Number(values.seconds)
const seed = Number(values.seed)
const MIB = 1_048_576
const BUDGET = 16 * MIB
/** Connections of the attacker at once. */
const AT_ONCE = 16

/** A message of 2 MB that never ends, on a connection of its own. */
async function incomplete (address: string, path: string): Promise<void> {
  const h2 = await H2Socket.to(address)
  const head = headerBlock([[':method', 'POST'], [':scheme', 'http'], [':path', path], [':authority', 'a.test'], ['content-type', 'application/grpc']])
  h2.send(frame(FRAME.headers, END_HEADERS, 1, head))
  const bytes = grpcMessage(Buffer.alloc(2_000_000), 0, 4_000_000)
  for (let at = 0; at < bytes.length && !h2.closed; at += 16_384) h2.send(frame(FRAME.data, 0, 1, bytes.subarray(at, at + 16_384)))
  await sleep(300)
  h2.close()
}

// eslint-disable-next-line no-restricted-syntax -- a program of its own process, which lasts as long as its argument says
t.setTimeout(0)
t.test('floods', { timeout: 0 }, async t => {
  const { gateway, listeners, honest } = await attackedGateway(t, ', memory: 16MiB, body: 4MiB')
  const life = { isOver: false }
  gateway.exited.then(() => { life.isOver = true }, () => {})
  const kinds: Array<readonly [name: string, attack: () => Promise<void>]> = []
  const sequences = (name: string, address: string, next: () => Sequence, isHttp2: boolean): void => {
    kinds.push([name, async () => { await play(address, next(), isHttp2) }])
  }
  for (const [listener, { address, services }] of Object.entries(listeners)) {
    for (const service of services) {
      const numbers = random(`flood ${service.name}`, seed)
      let pairs = everyPair(service, numbers)
      sequences(`${listener}, ${service.name}: every frame in every state`, address, () => {
        const { value } = pairs.next()
        if (value !== undefined) return value as Sequence
        pairs = everyPair(service, numbers)
        return sequence(service, numbers)
      }, true)
      sequences(`${listener}, ${service.name}: random sequences`, address, () => sequence(service, numbers), true)
      kinds.push([`${listener}, ${service.name}: messages of 2 MB without an end`, async () => { await incomplete(address, service.path) }])
    }
    const numbers = random(`flood ${listener}`, seed)
    sequences(`${listener}: bytes of HTTP/1.1`, address, () => http1Sequence(numbers), false)
  }
  const rss = (): number => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) / 1_024)
  console.log(`# ${kinds.length} kinds, ${seconds} s each, seed ${seed}; at rest ${rss()} MB`)
  for (const [name, attack] of kinds) {
    const end = performance.now() + seconds * 1_000
    const seen = { attacks: 0, calls: 0, slowest: 0, held: 0, rss: 0 }
    const isDone = (): boolean => life.isOver || performance.now() > end
    const attacker = async (): Promise<void> => {
      while (!isDone()) {
        await attack().catch(() => {})
        seen.attacks++
      }
    }
    const caller = async (): Promise<void> => {
      while (!isDone()) {
        seen.slowest = Math.max(seen.slowest, await honest())
        seen.calls += 5
        seen.held = Math.max(seen.held, await gateway.metric('a2a_gateway_held_bytes'))
        seen.rss = Math.max(seen.rss, rss())
        await sleep(20)
      }
    }
    const all = Promise.all([caller(), ...Array.from({ length: AT_ONCE }, attacker)])
    const failure = await all.then(() => null, (error: Error) => error.message)
    if (life.isOver) return t.fail(`${name}: the process ended\n${gateway.output().slice(-2_000)}`)
    console.log(`# ${name}: ${seen.attacks} attacks, ${seen.calls} honest calls, five took at most ${Math.round(seen.slowest)} ms, held ${(seen.held / MIB).toFixed(1)} MiB, ${seen.rss} MB`)
    t.equal(failure, null, `${name}: honest calls have their responses`)
    t.ok(seen.held <= BUDGET, `${name}: ${seen.held} bytes in the budget`)
  }
  t.equal(await gateway.metric('a2a_gateway_unexpected_errors_total'), 0, 'no unexpected error')
})
