/** A new state replaces and releases the state before it, so that a gateway holds only one state after months of reloads. */
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { readCard } from '#a2a/card/card.js'
import type { AgentState } from '#pipeline/agent-snapshot.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { configOf } from '../helpers/gateway.js'
import { plainCard } from '../helpers/raw.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

t.test('of a hundred states in a row, the last one stays', async t => {
  const value = plainCard('http://127.0.0.1:1', {
    capabilities: { extensions: [{ uri: 'urn:x', required: true }] },
    schemas: { s: { type: 'object' } }
  })
  const read = readCard(value)
  if (!read.ok) throw new Error(read.problem)
  const document = { bytes: Buffer.from(JSON.stringify(value)), value, card: read.card }
  const {
    agents: [agent],
    limits
  } = configOf({
    yaml: 'agents: [{name: a, upstream: {url: "http://127.0.0.1:1"}, extensions: [object-schemas, x]}]\nextensions: {x: {uri: "urn:x", request: [{id: r, select: {part: {data: true}}, schema: {type: object}}]}}'
  })
  if (agent === undefined) throw new Error('no agent')
  const earlier: WeakRef<AgentState>[] = []
  let state: AgentState | null = null
  for (let i = 0; i < 100; i++) {
    state = buildAgentState(
      { byVersion: { 0.3: document, '1.0': document }, fetchedAt: i, origin: 'test' },
      { agent, maxExtensions: limits.extensions, previous: state, secretOf: SECRET_HIDDEN }
    )
    earlier.push(new WeakRef(state))
  }
  // A reference that was just made is kept to the end of the turn.
  await turn()
  collect()
  await turn()
  collect()
  t.equal(earlier.filter(one => one.deref() !== undefined).length, 1)
  t.equal(earlier.at(-1)?.deref(), state)
})
