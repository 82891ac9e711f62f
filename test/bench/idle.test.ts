import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { IDLE_LIMITS, notStarted, reasons, waitUntilIdle } from '../../bench/idle.js'
import type { Idleness } from '../../bench/idle.js'
import { lifetimeCpuSeconds } from '../../bench/processes.js'

const QUIET: Idleness = { load: 0.1, inUse: 0.02, unevenness: 1.05 }
const BUSY: Idleness = { load: 1.84, inUse: 0.9, unevenness: 2.5 }

t.test('each figure above its limit is a reason, in words', async t => {
  t.same(reasons(QUIET), [])
  t.same(reasons(IDLE_LIMITS), [], 'a limit itself is idle')
  t.same(reasons(BUSY), [
    'the load average over the last minute is 1.84; at most 0.5',
    'other processes use 0.90 cores; at most 0.25',
    'the same work takes 2.50 times as long as at its fastest; at most 1.3 times'
  ])
  const text = notStarted(reasons(BUSY))
  t.match(text, /does not start, because .* the machine is not idle:\n- the load average/)
  t.match(text, /With --quick, --only or --parties .* only prints/)
})

t.test('a run waits for an idle machine, and gives up with the last reasons', async t => {
  const said: string[] = []
  const found = [BUSY, { ...BUSY, load: 0.2, inUse: 0.3, unevenness: 1 }, QUIET]
  t.equal(await waitUntilIdle(line => said.push(line), { pause: 1, look: async () => found.shift() ?? QUIET }), null)
  t.equal(said.length, 2)
  t.equal(said[1], 'waiting for an idle machine: other processes use 0.30 cores; at most 0.25')
  t.same(await waitUntilIdle(() => {}, { patience: 0, look: async () => BUSY }), reasons(BUSY))
})

t.test('the CPU time of children counts as own, also when they have ended', async t => {
  const spin = 'while (process.cpuUsage().user < 300_000);'
  const before = lifetimeCpuSeconds([process.pid])
  const child = spawn(process.execPath, ['-e', spin], { stdio: 'ignore' })
  await once(child, 'exit')
  const spent = lifetimeCpuSeconds([process.pid]) - before
  t.ok(spent >= 0.28, `${spent} s`)
})
