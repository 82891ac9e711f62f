/**
 * Sequences of frames and bytes that no client sends, on every listener and service. The process lives, other calls have their responses,
 * and no error surprises the gateway.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import t from 'tap'
import type { Sequence } from '../helpers/h2-sequences.js'
import { everyPair, http1Sequence, sequence } from '../helpers/h2-sequences.js'
import { random, runs } from '../helpers/seed.js'
import type { Attacked } from './attacked-gateway.js'
import { attackedGateway, play } from './attacked-gateway.js'

/** Connections at once. */
const AT_ONCE = 8
/** Longest time from the end of a process to the event, in milliseconds. */
const EXIT_MS = 5_000
/** Random sequences for each service. */
const SEQUENCES = 60

/**
 * Node.js 20 ends its process when it frees a session of HTTP/2 whose memory it has counted wrongly. It gets no fix any more, and the later
 * versions have one: there, the same sequences must not end the process.
 */
const FAULT_OF_NODE = process.versions.node.startsWith('20.') ? 'Assertion failed: (current_nghttp2_memory_) == (0)' : null

/** @returns false when the process has ended */
async function playAll (
  t: Test,
  { gateway, honest }: Attacked,
  address: string,
  all: readonly Sequence[],
  isHttp2: boolean
): Promise<boolean> {
  const life = { isOver: false }
  const exited = gateway.exited.then(() => { life.isOver = true }, () => {})
  let played: readonly Sequence[] = []
  for (let at = 0; at < all.length && !life.isOver; at += AT_ONCE) {
    played = all.slice(at, at + AT_ONCE)
    await Promise.all(played.map(async one => { await play(address, one, isHttp2).catch(() => {}) }))
  }
  const outcome = life.isOver
    ? null
    : await honest().then(() => gateway.metric('a2a_gateway_unexpected_errors_total')).catch((error: unknown) => error)
  // The ports of a process close before its exit is known here.
  if (outcome !== 0) await Promise.race([exited, sleep(EXIT_MS)])
  if (life.isOver) {
    const where = `the process ended after ${played.map(({ name }) => name).join('; ')}`
    if (FAULT_OF_NODE === null) t.fail(`${where}\n${gateway.output().slice(-2_000)}`)
    else t.match(gateway.output(), FAULT_OF_NODE, `${where}, by a fault of Node.js ${process.versions.node}`)
    return false
  }
  const errors = (): string => gateway.output().split('\n').filter(line => line.includes('"place"')).join('\n').slice(0, 2_000)
  t.equal(outcome, 0, `after ${all.length} sequences, other calls have their responses and no error is unexpected: ${errors()}`)
  return true
}

t.test('frames of HTTP/2', async t => {
  let attacked = await attackedGateway(t)
  for (const listener of ['grpc', 'mesh'] as const) {
    for (const service of attacked.listeners[listener].services) {
      const numbers = random(`frames ${service.name}`)
      const all = [...everyPair(service, numbers), ...Array.from({ length: runs(SEQUENCES) }, () => sequence(service, numbers))]
      let lives = true
      await t.test(service.name, async t => { lives = await playAll(t, attacked, attacked.listeners[listener].address, all, true) })
      if (!lives) attacked = await attackedGateway(t)
    }
  }
})

t.test('bytes of HTTP/1.1', async t => {
  const attacked = await attackedGateway(t)
  for (const [name, { address }] of Object.entries(attacked.listeners)) {
    const numbers = random(`bytes ${name}`)
    const all = Array.from({ length: runs(SEQUENCES) }, () => http1Sequence(numbers))
    await t.test(name, async t => { await playAll(t, attacked, address, all, false) })
  }
})
