/**
 * `node dist/test/hostile/flood.js [--seconds=30] [--rounds=1] [--seed=1] [--only=TEXT] [--memory=16MiB] [--flags=--max-semi-space-size=1]
 * [--env=MALLOC_ARENA_MAX=2]`
 *
 * Floods each listener with each kind of hostile traffic, and prints a row of a table for each kind: attacks, honest calls and the slowest
 * five of them, bytes in the memory budget at most, and the memory of the process. `--only` selects kinds by a part of their name,
 * `--flags` are flags of Node, and `--env` are variables of the gateway, separated by blanks. After each round, a line says what the
 * resident memory consists of. Exit code 1 if the process ends, an honest call fails, the budget does not hold, a kind
 * that sends messages holds none, or an unexpected error is counted.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import t from 'tap'
import { readSize } from '#config/model/units.js'
import { grpcMessage } from '../helpers/grpc-raw.js'
import { END_HEADERS, FRAME, H2Socket, frame } from '../helpers/h2-frames.js'
import { everyPair, headOf, http1Sequence, sequence } from '../helpers/h2-sequences.js'
import type { Sequence, Service } from '../helpers/h2-sequences.js'
import { random, SEED } from '../helpers/seed.js'
import { attackedGateway, play } from './attacked-gateway.js'
import { residentOf } from './resident.js'

const text = (value: string): { type: 'string', default: string } => ({ type: 'string', default: value })
const options = { seconds: text('30'), seed: text(String(SEED)), only: text(''), memory: text('16MiB'), flags: text(''), env: text(''), rounds: text('1') }
const { values } = parseArgs({ options })
const seconds = Number(values.seconds)
const seed = Number(values.seed)
const MIB = 1_048_576
const budget = readSize(values.memory)
if (!('value' in budget)) throw new Error(`--memory: ${budget.hint}`)
const BUDGET = budget.value
const LARGE = grpcMessage(Buffer.alloc(2_000_000), 0, 4_000_000)
/** Bytes of a frame of DATA, at most (RFC 9113 §4.2). */
const PIECE = 16_384
/** Connections of the attacker at once. */
const AT_ONCE = 16
/** Milliseconds between two looks at the memory budget. Honest calls take longer under attack. */
const LOOK = 50
/** Milliseconds after the last attack, in which V8 and the allocator give memory back. */
const REST = 10_000

/** Services that keep a message until it ends: the others end the call at its head, or take no message of this length. */
const HOLDING = new Set(['SendMessage', 'SendStreamingMessage', 'ext_authz', 'ext_proc'])

interface Kind {
  readonly name: string
  readonly attack: () => Promise<void>
  /** True for messages that the gateway keeps until they end. */
  readonly holds: boolean
}

/** A message of 2 MB that never ends, on a connection of its own. */
async function incomplete (address: string, service: Service): Promise<void> {
  const h2 = await H2Socket.to(address)
  h2.send(frame(FRAME.headers, END_HEADERS, 1, headOf(service)))
  const bytes = LARGE
  await h2.flood(Math.ceil(bytes.length / PIECE), i => frame(FRAME.data, 0, 1, bytes.subarray(i * PIECE, (i + 1) * PIECE)))
  await sleep(300)
  h2.close()
}

// eslint-disable-next-line no-restricted-syntax -- a program of its own process, which lasts as long as its argument says
t.setTimeout(0)
t.test('floods', { timeout: 0 }, async t => {
  const words = (value: string): string[] => value.split(' ').filter(word => word !== '')
  const flags = words(values.flags)
  const env = Object.fromEntries(words(values.env).map(word => word.split('=') as [string, string]))
  const { gateway, listeners, honest } = await attackedGateway(t, `requestTimeout: 10s, idleTimeout: 2s, memory: ${values.memory}, body: 4MiB`, flags, env)
  const life = { isOver: false }
  gateway.exited.then(() => { life.isOver = true }, () => {})
  const kinds: Kind[] = []
  const sequences = (name: string, address: string, next: () => Sequence, isHttp2: boolean): void => {
    kinds.push({ name, attack: async () => { await play(address, next(), isHttp2) }, holds: false })
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
      const attack = async (): Promise<void> => { await incomplete(address, service) }
      kinds.push({ name: `${listener}, ${service.name}: messages of 2 MB without an end`, attack, holds: HOLDING.has(service.name) })
    }
    const numbers = random(`flood ${listener}`, seed)
    sequences(`${listener}: bytes of HTTP/1.1`, address, () => http1Sequence(numbers), false)
  }
  const rss = (): number => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) / 1_024)
  const megabytes = async (metric: string): Promise<number> => Math.round(await gateway.metric(metric) / MIB)
  const memory = async (): Promise<string> => `${rss()} | ${await megabytes('nodejs_heap_size_used_bytes')} | ${await megabytes('nodejs_external_memory_bytes')}`
  console.log(`# ${seconds} s for each kind, seed ${seed}, ${values.rounds} rounds, Node flags ${JSON.stringify(values.flags)}, environment ${JSON.stringify(values.env)}`)
  console.log('# | kind | attacks | honest calls | slowest five, ms | held, MiB, at most | RSS, MB, at most | RSS after it, MB | heap, MB | external, MB |')
  console.log('# |---|---|---|---|---|---|---|---|---|')
  console.log(`# | at rest | | | | | | ${await memory()} |`)
  const chosen = kinds.filter(one => one.name.includes(values.only))
  const flood = async ({ name, attack, holds }: Kind): Promise<void> => {
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
        await sleep(20)
      }
    }
    const watcher = async (): Promise<void> => {
      while (!isDone()) {
        seen.held = Math.max(seen.held, await gateway.metric('a2a_gateway_held_bytes'))
        seen.rss = Math.max(seen.rss, rss())
        await sleep(LOOK)
      }
    }
    // The next kind begins when all attacks of this one are over, also after a failure.
    const all = await Promise.allSettled([caller(), watcher(), ...Array.from({ length: AT_ONCE }, attacker)])
    const failed = all.find(outcome => outcome.status === 'rejected')
    const failure = failed === undefined ? null : (failed.reason as Error).message
    if (life.isOver) {
      t.fail(`${name}: the process ended\n${gateway.output().slice(-2_000)}`)
      return
    }
    console.log(`# | ${name} | ${seen.attacks} | ${seen.calls} | ${Math.round(seen.slowest)} | ${(seen.held / MIB).toFixed(1)} | ${seen.rss} | ${await memory()} |`)
    t.equal(failure, null, `${name}: honest calls have their responses`)
    t.ok(seen.held <= BUDGET, `${name}: ${seen.held} bytes in the budget`)
    if (holds) t.ok(seen.held > MIB, `${name}: ${seen.held} bytes were held, so the kind reaches the budget`)
  }
  for (let round = 1; round <= Number(values.rounds); round++) {
    for (const kind of chosen) if (!life.isOver) await flood(kind)
    if (life.isOver) return
    await sleep(REST)
    const { malloc, mapped, files, total } = residentOf(gateway.pid)
    const heap = await megabytes('nodejs_heap_size_total_bytes')
    console.log(`# round ${round}, ${REST / 1_000} s later: RSS ${total} MiB: ${malloc} allocator, ${files} files, ${mapped} mapped, of which ${heap} heap of V8`)
  }
  console.log(`# | at the end | | | | ${(await gateway.metric('a2a_gateway_held_bytes') / MIB).toFixed(1)} | | ${await memory()} |`)
  t.equal(await gateway.metric('a2a_gateway_unexpected_errors_total'), 0, 'no unexpected error')
})
