/**
 * An agent of an official SDK in a process of its own. The agent dies in the middle of a write: at `[die]`, half of the chunk is on the
 * wire. `node mortal-agent.ts <kind>` prints the agent's address.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { startAgent } from './agents.js'
import type { AgentKind, Behaviour } from './agents.js'

const DIE = '[die]'

/** Sends an artifact that never reaches its end. */
export const deadly: Behaviour = turn => {
  turn.task('working')
  turn.artifact('a', [{ text: 'first' }])
  turn.artifact('b', [{ text: `${'x'.repeat(1_000)}${DIE}${'y'.repeat(1_000)}` }])
  turn.status('completed')
}

/** Cuts the response in the middle of that artifact. */
export function cutAtDeath (response: ServerResponse, die: () => void): void {
  const write = response.write.bind(response) as (...given: unknown[]) => boolean
  const end = response.end.bind(response) as (...given: unknown[]) => ServerResponse
  let dying = false
  const cut = (chunk: unknown): boolean => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return dying
    const bytes = Buffer.from(chunk as string)
    const at = bytes.indexOf(DIE)
    if (dying || at < 0) return dying
    dying = true
    // The delay ensures that the first half is on the wire before the process dies.
    write(bytes.subarray(0, at), () => { setTimeout(die, 50) })
    return true
  }
  response.write = (...given: unknown[]) => cut(given[0]) || write(...given)
  response.end = ((...given: unknown[]) => cut(given[0]) ? response : end(...given)) as typeof response.end
}

/** @returns the agent's address, and the signal that ended the agent */
export async function mortalAgent (t: Test, kind: AgentKind): Promise<{ readonly url: string, readonly died: Promise<string> }> {
  const child = fork(fileURLToPath(import.meta.url), [kind], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  t.teardown(() => child.kill('SIGKILL'))
  const died = once(child, 'exit').then(([, signal]) => signal as string)
  const [url] = await once(child, 'message') as [string]
  return { url, died }
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  const agent = await startAgent({
    kind: process.argv[2] as AgentKind,
    behaviour: deadly,
    tamper: response => { cutAtDeath(response, () => { process.kill(process.pid, 'SIGKILL') }) }
  })
  process.send(agent.url)
}
