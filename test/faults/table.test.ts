/**
 * Every fault of an agent, in every form of a call, for each setting of `responses`. The caller gets an error in its own format, or a
 * response that is visibly cut off. The metrics name the kind of fault. The next call on the same gateway gets its own response.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { until, untilAtMost } from '../helpers/http.js'
import { ask, errors, faultsConfig, FORMS, isOwn, outcome, RESPONSES } from './calls.js'
import type { Ended, Form, Responses } from './calls.js'
import { FAULTS } from './faults.js'
import type { FaultName } from './faults.js'
import { answer, faultyAgent } from './faulty-agent.js'
import type { FaultyAgent } from './faulty-agent.js'

/** `own`: the good answer · `refused`: a gateway-made one · `broken`: begun, and broken off · `agent`: what the agent said, bad as it is */
type Ends = 'own' | 'refused' | 'broken' | 'agent'
interface Row {
  readonly ends: Ends | ((form: Form, responses: Responses) => Ends)
  /** Of `upstream_errors_total`; null where nothing failed below A2A. */
  readonly kind: string | null
  readonly status?: number
  /** Default: all. */
  readonly forms?: readonly Form[]
  /** Bytes more in the request. */
  readonly padding?: number
}

const streamed = (form: Form): boolean => form.startsWith('SSE')
/** What is enforced of a whole answer waits for its end, so nothing of it has gone out. */
const unlessHeld = (form: Form, responses: Responses): Ends => responses === 'enforce' && !streamed(form) ? 'refused' : 'broken'

/** Larger than what sockets on the way hold. */
const BIG = 16 * 1024 * 1024

const ROWS: Readonly<Record<FaultName, Row>> = {
  hangs: { ends: 'refused', kind: 'headers_timeout', status: 504 },
  'closes before the answer': { ends: 'refused', kind: 'reset', status: 502 },
  'resets before the answer': { ends: 'refused', kind: 'reset', status: 502 },
  'resets within the head': { ends: 'refused', kind: 'reset', status: 502 },
  'resets within the body': { ends: unlessHeld, kind: 'reset', status: 502 },
  'closes within the body': { ends: unlessHeld, kind: 'reset', status: 502 },
  'stops within the body': { ends: unlessHeld, kind: 'body_timeout', status: 504 },
  'resets after the answer': { ends: 'own', kind: null },
  'closes after the answer, unannounced': { ends: 'own', kind: null },
  'answers without a length, and closes': { ends: 'own', kind: null },
  'answers garbage': { ends: 'refused', kind: 'protocol', status: 502 },
  'answers a page, with an error': { ends: 'refused', kind: 'protocol', status: 500 },
  'answers a redirect': { ends: 'refused', kind: 'redirect', status: 502 },
  'breaks its chunks': { ends: unlessHeld, kind: 'protocol', status: 502 },
  'sends more than its length': { ends: 'own', kind: null },
  'answers before it has read, and reads no more': { ends: 'agent', kind: null, status: 413, padding: BIG, forms: ['unary JSON-RPC'] }
}

const REFUSED: Row = { ends: 'refused', kind: 'refused', status: 502 }

function isRefusal (t: Test, ended: Ended, form: Form, { kind, status }: Row, what: string): void {
  t.equal(ended.status, status, `${what}: status`)
  t.ok(ended.whole, `${what}: whole`)
  t.match(ended.headers['gateway-decision'], /^reject;rule="gateway\/upstream-/, `${what}: says that it is the gateway's`)
  const body = JSON.parse(ended.text) as { id?: string, error: { code: number, message: string } }
  if (!form.includes('REST')) t.equal(body.id, JSON.parse(ended.id), `${what}: the caller's id`)
  t.equal(body.error.code, form.includes('REST') ? status : -32603, `${what}: code`)
  t.match(body.error.message, /agent/i, `${what}: a sentence`)
  t.match(ended.text, `"kind":"${kind as string}"`, `${what}: the kind`)
  t.notMatch(ended.text, /token-|node_modules|127\.0\.0\.1/, `${what}: nothing of the inside`)
}

/** Faults that end a connection some time after a whole answer. */
const LEAVES: ReadonlySet<FaultName> = new Set<FaultName>([
  'resets after the answer',
  'closes after the answer, unannounced',
  'answers without a length, and closes'
])

async function met (
  t: Test,
  gateway: TestGateway,
  agent: FaultyAgent,
  form: Form,
  responses: Responses,
  name: FaultName,
  row: Row
): Promise<void> {
  const what = `${name}, ${form}, ${responses}`
  const ends = typeof row.ends === 'string' ? row.ends : row.ends(form, responses)
  const as = ends === 'own' ? 'forwarded' : ends === 'agent' ? 'agent_error' : 'upstream_error'
  const failures = row.kind === null ? 0 : await errors(gateway, row.kind)
  const before = await outcome(gateway, form, as)
  const calls = agent.calls()
  agent.fault = FAULTS[name]
  const ended = await ask(gateway, form, row.padding)
  agent.fault = null
  if (ends === 'own') isOwn(t, ended, form, what)
  else if (ends === 'refused') isRefusal(t, ended, form, row, what)
  else if (ends === 'agent') t.same([ended.status, ended.text, ended.whole], [row.status, '{"early":true}', true], what)
  else {
    t.notOk(ended.whole, `${what}: broken off`)
    if (streamed(form)) t.notMatch(ended.text, ended.token, `${what}: no more than came before`)
  }
  await until(async () => (await outcome(gateway, form, as)) === before + 1, `${what}: ${as}`)
  if (row.kind !== null) t.equal(await errors(gateway, row.kind), failures + 1, `${what}: ${row.kind}`)
  t.ok(agent.calls() <= calls + 1, `${what}: not tried again`)
  if (LEAVES.has(name)) {
    // A call that meets a connection which is just being closed fails, and is not repeated: nobody promises otherwise.
    await until(() => agent.sockets.size === 0, `${what}: its connection is closed`)
    await sleep(20)
  }
  isOwn(t, await ask(gateway, form), form, `${what}: the next call`)
}

t.jobs = RESPONSES.length
for (const responses of RESPONSES) {
  t.test(`responses: ${responses}`, { buffered: true }, async t => {
    const agent = await faultyAgent(t)
    const gateway = await gatewayFor(t, {
      yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 1h}\nlimits: {body: 64MiB}\n${faultsConfig(agent.url, responses, ', connections: 1, timeouts: {headers: 1s, idle: 1s}')}`
    })
    for (const [name, row] of Object.entries(ROWS) as [FaultName, Row][]) {
      for (const form of row.forms ?? FORMS) await met(t, gateway, agent, form, responses, name, row)
    }
    for (const form of FORMS) {
      await agent.down()
      const failures = await errors(gateway, 'refused')
      isRefusal(t, await ask(gateway, form), form, REFUSED, `refuses connections, ${form}`)
      t.equal(await errors(gateway, 'refused'), failures + 1)
      await agent.up()
      isOwn(t, await ask(gateway, form), form, 'the next call')
    }
    t.equal(await gateway.metric('a2a_gateway_streams_active{agent="agent"}'), 0, 'no stream left')
    await untilAtMost(t, () => agent.sockets.size, 1, 'no connection beyond the pool')
    await gateway.close() // which waits for an hour where a call is left
    await until(() => agent.sockets.size === 0, 'no connection at all')
  })
}

for (const responses of RESPONSES) {
  t.test(`a response with the id of another call, responses: ${responses}`, { buffered: true }, async t => {
    const agent = await faultyAgent(t)
    const gateway = await gatewayFor(t, { yaml: faultsConfig(agent.url, responses) })
    for (const form of ['unary JSON-RPC', 'SSE'] as const) {
      agent.fault = {
        act: ({ socket, good }) => {
          answer(socket, { ...good, pieces: good.pieces.map(piece => piece.replace(/"id":"[^"]+"/, '"id":"of-another"')) })
        }
      }
      const ended = await ask(gateway, form)
      agent.fault = null
      const refused = responses === 'enforce'
      t.equal(ended.text.includes(ended.token), !refused, `${form}: ${refused ? 'nothing of it goes out' : 'as the agent sent it'}`)
      if (refused) t.match(ended.text, /^(?:data: )?\{"jsonrpc":"2\.0","id":"[^o].*"code":-32006,.*is not the id of the request/, form)
      await until(async () => await outcome(gateway, form, refused ? 'rejected' : 'forwarded') === 1, form)
      isOwn(t, await ask(gateway, form), form, 'the next call')
    }
    const counted = await gateway.metric(
      `a2a_gateway_violations_total{agent="agent",extension="gateway",rule="answer-envelope",phase="response",mode="${responses === 'enforce' ? 'enforce' : 'observe'}"}`
    )
    t.ok(responses === 'off' ? counted === 0 : counted >= 2, `${counted} counted`)
  })
}
