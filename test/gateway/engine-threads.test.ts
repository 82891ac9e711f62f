/** On Linux, V8's threads have a lower priority than the main thread: the first calls do not wait for their own optimization. */
import { readFileSync, readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import t from 'tap'
import { readProc } from '../../bench/processes.js'
import { fakeAgent } from '../helpers/raw.js'
import { serve } from '../helpers/serve.js'

/** A suite may itself run with a low priority, which its gateways inherit. */
const OWN = getPriority()
const BACKGROUND = Math.min(OWN + 10, 19)

/** Nice values of the threads of a process: field 19 of proc_pid_stat(5), the 17th after the name of the program. */
function priorities (pid: number): Map<number, number> {
  return new Map(readdirSync(`/proc/${pid}/task`).flatMap(thread => {
    const stat = readProc(`/proc/${pid}/task/${thread}/stat`)
    return stat === null ? [] : [[Number(thread), Number((stat.split(') ')[1] ?? '').split(' ')[16])]]
  }))
}

const skip = process.platform === 'linux' ? false : 'threads have a priority of their own on Linux only'
for (const workers of [1, 2]) {
  t.test(`${workers} workers`, { skip }, async t => {
    const agent = await fakeAgent(t)
    const gateway = await serve(t, `agents: [{name: a, upstream: {url: "${agent.url}"}}]`, { A2A_GATEWAY_WORKERS: String(workers) })
    const children = readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
    t.equal(children.length, workers === 1 ? 0 : workers)
    const processes = [gateway.pid, ...children]
    for (const pid of processes) {
      const found = priorities(pid)
      t.equal(found.get(pid), OWN, 'the main thread keeps its priority')
      t.ok([...found.values()].filter(one => one === BACKGROUND).length >= 2, 'the threads of V8 have a lower one')
    }
  })
}
