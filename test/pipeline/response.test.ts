/** The response machine after a rejection: the agent's remaining bytes, end and failure have no effect. */
import t from 'tap'
import type { ResponseDriver, ResponsePlan } from '../../src/pipeline/response/driver.js'
import { ResponseMachine } from '../../src/pipeline/response.js'
import { ExtensionAliases } from '../../src/policy/compile/identity.js'
import type { AgentPolicy } from '../../src/policy/compile/compiled.js'
import { broken, review } from '../helpers/reviewed.js'

const policy = {
  hidden: new Set(),
  echoes: new Map(),
  declared: [],
  labels: new Map(),
  names: new ExtensionAliases()
} as unknown as AgentPolicy

function drive (type: string, evaluate: () => ReturnType<typeof broken>): { readonly machine: ResponseMachine, readonly done: string[] } {
  const done: string[] = []
  const driver: ResponseDriver = {
    begin: () => { done.push('begin') },
    write: () => { done.push('write'); return true },
    finish: () => { done.push('finish') },
    reject: ({ rule }) => { done.push(`reject ${rule}`) },
    unusable: why => { done.push(why) },
    remember: () => null,
    resume: () => {},
    hold: () => true,
    schedule: (_kind, run) => { run() },
    gone: false,
    blocked: false,
    retryAfter: 1,
    echoed: () => {},
    evaluating: () => {},
    before: () => {},
    evaluated: () => {},
    unreadable: () => {},
    fault: error => { throw error },
    abort: error => { throw error }
  }
  const plan: ResponsePlan = {
    echo: { policy, headerName: 'A2A-Extensions', requested: [], outbound: [], injected: [], active: [] },
    card: null,
    evaluation: { evaluator: review({ evaluate }), limits: { response: 1_000, event: 1_000 } },
    anyPage: false
  }
  const machine = new ResponseMachine(plan, driver)
  machine.onHead(200, ['content-type', type])
  return { machine, done }
}

const failing = (): ReturnType<typeof broken> => broken('enforce')

for (const [name, type, first, expected] of [
  ['an event that breaks a rule', 'text/event-stream', 'data: {}\n\n', ['begin', 'reject policy/rule']],
  ['a body above the limit', 'application/json', 'x'.repeat(1_001), ['reject gateway/response-size']],
  ['a type that rules cannot read', 'text/plain', 'hello', ['reject gateway/response-type']]
] as const) {
  t.test(name, async t => {
    const { machine, done } = drive(type, failing)
    machine.onChunk(Buffer.from(first))
    t.same(done, expected)
    t.equal(machine.onChunk(Buffer.from('data: {}\n\n')), true, 'the agent is not paused')
    machine.onEnd()
    machine.onFailure(() => { done.push('reported') })
    t.same(done, expected, 'nothing follows')
  })
}

t.test('a failure before any rejection is reported', async t => {
  const { machine, done } = drive('application/json', failing)
  machine.onChunk(Buffer.from('{'))
  machine.onFailure(() => { done.push('reported') })
  t.same(done, ['reported'])
})
