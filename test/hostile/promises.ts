/** Compares the results of a scenario with its promises. */
import type { Test } from 'tap'
import { until } from '../helpers/http.js'
import type { GotRequest, HostileAgent } from './agent.js'
import { bytesOf } from './bytes.js'
import type { GotAnswer } from './client.js'
import type { Promised, PromisedAnswer, PromisedRequest } from './scenario.js'

/** A printable form of the text for the name of an assertion. Other bytes would make the report unreadable for its consumers. */
export function shown (text: string): string {
  return text.slice(0, 600).replace(/[^\x20-\x7e\n]/g, '?')
}

export function checkAnswers (t: Test, got: readonly GotAnswer[], promised: readonly PromisedAnswer[]): void {
  t.equal(got.length, promised.length, `${promised.length} answers: ${got.map(({ all }) => shown(all)).join('\n')}`)
  for (const [i, want] of promised.entries()) {
    const answer = got[i]
    if (answer === undefined) continue
    const { status, headers, body, all } = answer
    const text = body.toString('latin1')
    t.ok([want.status].flat().includes(status), `HTTP ${want.status}: ${status} ${shown(text)}`)
    if (want.rule === null) t.equal(headers['gateway-decision'], undefined, 'the agent\'s own answer')
    else if (want.rule !== undefined) t.equal(headers['gateway-decision'], `reject;rule="${want.rule}"`, 'the rule')
    if (want.says !== undefined) t.ok(text.includes(want.says), `it says "${want.says}": ${shown(text)}`)
    if (want.hides !== undefined) t.notOk(all.includes(want.hides), `it does not repeat "${want.hides}"`)
    if (want.body !== undefined) t.ok(body.equals(bytesOf(want.body)), `these very bytes: ${shown(text)}`)
    if (want.code !== undefined) t.equal((JSON.parse(body.toString()) as { error?: { code?: number } }).error?.code, want.code, 'the code')
    for (const [name, value] of Object.entries(want.headers ?? {})) t.equal(headers[name] ?? null, value, name)
  }
}

export async function checkAgent (t: Test, agent: HostileAgent, promise: Promised, clients: number, limit: number): Promise<void> {
  t.same(agent.faults, [], 'the agent could read everything in one way only')
  const promised = promise.agent
  if (promised !== 'any') {
    t.equal(
      agent.requests.length,
      promised.length * clients,
      `the agent got ${promised.length * clients} requests: ${agent.requests.map(({ line }) => shown(line)).join(', ')}`
    )
  }
  for (const [i, request] of agent.requests.entries()) {
    const want = promised === 'any' ? undefined : promised[clients === 1 ? i : 0]
    if (want !== undefined) checkRequest(t, request, want)
  }
  if (promise.cardRequests !== undefined) {
    t.ok(agent.cardRequests() <= promise.cardRequests, `at most ${promise.cardRequests} requests for the card: ${agent.cardRequests()}`)
  }
  if (promise.agentClosed === true) {
    await until(() => agent.requests.every(({ socket }) => socket.destroyed || socket.readableEnded), 'the gateway to hang up', limit)
  }
  if (promise.agentSent !== undefined) {
    t.ok(agent.sent() <= promise.agentSent, `the agent could send ${promise.agentSent} bytes at the most: ${agent.sent()}`)
  }
}

function checkRequest (t: Test, { line, headers, body }: GotRequest, want: PromisedRequest): void {
  if (want.line !== undefined) t.equal(line, want.line, 'the request line')
  if (want.body !== undefined) t.ok(body.equals(bytesOf(want.body)), `the same bytes: ${body.toString('latin1').slice(0, 300)}`)
  for (const [name, value] of Object.entries(want.headers ?? {})) {
    t.same(headers.filter(([one]) => one === name).map(([, one]) => one), value === null ? [] : [value].flat(), name)
  }
}
