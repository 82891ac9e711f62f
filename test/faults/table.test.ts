/**
 * Every fault of an agent, in every form of a call, however much the gateway reads of answers: the caller is told in its own shape or cut off so that
 * it shows, the metrics name the kind, and the next call on the same gateway gets its own answer.
 */
import t from 'tap'
import type { Test } from 'tap'
import { gatewayFor } from '../helpers/gateway.js'
import type { TestGateway } from '../helpers/gateway.js'
import { until } from '../helpers/http.js'
import { ask, errors, faultsConfig, FORMS, isOwn, outcome, RESPONSES } from './calls.js'
import type { Ended, Form, Responses } from './calls.js'
import { answer, chunk, faultyAgent, headOf } from './faulty-agent.js'
import type { Asked, Fault, FaultyAgent } from './faulty-agent.js'

/** `own`: the good answer · `refused`: a gateway-made one · `broken`: begun, and broken off · `agent`: what the agent said, bad as it is */
type Ends = 'own' | 'refused' | 'broken' | 'agent'
interface Row {
  readonly fault: Fault
  readonly ends: Ends | ((form: Form, responses: Responses) => Ends)
  /** Of `upstream_errors_total`; null where nothing failed below A2A. */
  readonly kind: string | null
  readonly status?: number
  /** Bytes more in the request. */
  readonly padding?: number
}

const streamed = (form: Form): boolean => form.startsWith('SSE')
/** What is enforced of a whole answer waits for its end, so nothing of it has gone out. */
const unlessHeld = (form: Form, responses: Responses): Ends => responses === 'enforce' && !streamed(form) ? 'refused' : 'broken'

/** The answer as far as the middle of its body, or of its second event. */
function half ({ socket, good, streams }: Asked): void {
  const [first = '', second = ''] = good.pieces
  if (streams) socket.write(`${headOf(good.type)}transfer-encoding: chunked\r\n\r\n${chunk(first)}${chunk(second.slice(0, 20))}`)
  else socket.write(`${headOf(good.type)}content-length: ${first.length}\r\n\r\n${first.slice(0, 20)}`)
}

/** Waits until what was written is on the wire. */
const afterwards = (asked: Asked, act: (asked: Asked) => void): void => { asked.socket.write('', () => { setTimeout(() => { act(asked) }, 20) }) }

/** Larger than what sockets on the way hold. */
const BIG = 16 * 1024 * 1024

const ROWS: Readonly<Record<string, Row>> = {
  hangs: { fault: { act: () => {} }, ends: 'refused', kind: 'headers_timeout', status: 504 },
  'closes before the answer': { fault: { act: ({ socket }) => { socket.end() } }, ends: 'refused', kind: 'reset', status: 502 },
  'resets before the answer': { fault: { act: ({ socket }) => { socket.resetAndDestroy() } }, ends: 'refused', kind: 'reset', status: 502 },
  'resets within the head': { fault: { act: asked => { asked.socket.write('HTTP/1.1 200 OK\r\ncontent-ty'); afterwards(asked, ({ socket }) => { socket.resetAndDestroy() }) } }, ends: 'refused', kind: 'reset', status: 502 },
  'resets within the body': { fault: { act: asked => { half(asked); afterwards(asked, ({ socket }) => { socket.resetAndDestroy() }) } }, ends: unlessHeld, kind: 'reset', status: 502 },
  'closes within the body': { fault: { act: asked => { half(asked); afterwards(asked, ({ socket }) => { socket.end() }) } }, ends: unlessHeld, kind: 'reset', status: 502 },
  'stops within the body': { fault: { act: half }, ends: unlessHeld, kind: 'body_timeout', status: 504 },
  'resets after the answer': { fault: { act: asked => { answer(asked.socket, asked.good); afterwards(asked, ({ socket }) => { socket.resetAndDestroy() }) } }, ends: 'own', kind: null },
  'closes after the answer, unannounced': { fault: { act: asked => { answer(asked.socket, asked.good); asked.socket.end() } }, ends: 'own', kind: null },
  'answers without a length, and closes': { fault: { act: ({ socket, good }) => { socket.end(`${headOf(good.type)}\r\n${good.pieces.join('')}`) } }, ends: 'own', kind: null },
  'answers garbage': { fault: { act: ({ socket }) => { socket.write('\x16\x03\x01 220 nonsense\r\n\r\n') } }, ends: 'refused', kind: 'protocol', status: 502 },
  'answers a page, with an error': { fault: { act: ({ socket }) => { answerPage(socket, '500 Internal Server Error') } }, ends: 'refused', kind: 'protocol', status: 500 },
  'answers a redirect': { fault: { act: ({ socket }) => { socket.write('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n') } }, ends: 'refused', kind: 'redirect', status: 502 },
  'breaks its chunks': { fault: { act: ({ socket, good }) => { socket.write(`${headOf(good.type)}transfer-encoding: chunked\r\n\r\n${chunk(good.pieces[0] ?? '')}zz\r\n`) } }, ends: unlessHeld, kind: 'protocol', status: 502 },
  'sends more than its length': { fault: { act: ({ socket, good }) => { const body = good.pieces.join(''); socket.write(`${headOf(good.type)}content-length: ${body.length}\r\n\r\n${body}HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n"token-evil"`) } }, ends: 'own', kind: null },
  'answers before it has read, and reads no more': { fault: { at: 'head', act: ({ socket }) => { socket.write(`${headOf('application/json', '413 Content Too Large')}content-length: 14\r\n\r\n{"early":true}`) } }, ends: 'agent', kind: null, status: 413, padding: BIG }
}

function answerPage (socket: Asked['socket'], status: string): void {
  const page = '<!DOCTYPE html><pre>Error at /app/node_modules/x.js</pre>'
  socket.write(`${headOf('text/html', status)}content-length: ${page.length}\r\n\r\n${page}`)
}

const REFUSED: Row = { fault: { act: () => {} }, ends: 'refused', kind: 'refused', status: 502 }

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

async function met (t: Test, gateway: TestGateway, agent: FaultyAgent, form: Form, responses: Responses, name: string, row: Row): Promise<void> {
  const what = `${name}, ${form}, ${responses}`
  const ends = typeof row.ends === 'string' ? row.ends : row.ends(form, responses)
  const as = ends === 'own' || ends === 'agent' ? 'forwarded' : 'upstream_error'
  const failures = row.kind === null ? 0 : await errors(gateway, row.kind)
  const before = await outcome(gateway, form, as)
  const calls = agent.calls()
  agent.fault = row.fault
  const ended = await ask(gateway, form, row.padding)
  agent.fault = null
  if (ends === 'own') isOwn(t, ended, form, what)
  else if (ends === 'refused') isRefusal(t, ended, form, row, what)
  else if (ends === 'agent') t.same([ended.status, ended.text, ended.whole], [row.status, '{"early":true}', true], what)
  else {
    t.notOk(ended.whole, `${what}: broken off`)
    if (streamed(form)) t.notMatch(ended.text, ended.token, `${what}: no more than came before`)
  }
  await until(async () => await outcome(gateway, form, as) === before + 1, `${what}: ${as}`)
  if (row.kind !== null) t.equal(await errors(gateway, row.kind), failures + 1, `${what}: ${row.kind}`)
  t.ok(agent.calls() <= calls + 1, `${what}: not tried again`)
  isOwn(t, await ask(gateway, form), form, `${what}: the next call`)
}

t.jobs = RESPONSES.length
for (const responses of RESPONSES) {
  t.test(`responses: ${responses}`, { buffered: true }, async t => {
    const agent = await faultyAgent(t)
    const gateway = await gatewayFor(t, {
      yaml: `server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 1h}\nlimits: {body: 64MiB}\n${faultsConfig(agent.url, responses, ', connections: 1, timeouts: {headers: 1s, idle: 1s}')}`
    })
    for (const [name, row] of Object.entries(ROWS)) {
      for (const form of FORMS) await met(t, gateway, agent, form, responses, name, row)
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
    await until(() => agent.sockets.size <= 1, 'no connection beyond the pool')
    await gateway.close() // which waits for an hour where a call is left
    await until(() => agent.sockets.size === 0, 'no connection at all')
  })
}
