/** The parties of the case `grpc` forward the same bytes, and the gateway checks calls while it is measured. */
import t from 'tap'
import { EVENT, EVENTS, METADATA, REQUEST, RESPONSE, SEND, STREAM } from '../../bench/agent/grpc-calls.js'
import { setUp } from '../../bench/bench.js'
import { wrongWithGrpc } from '../../bench/load/h2load.js'
import { startGrpcAgent, startGrpcGateway, startGrpcJsProxy, startHttp2Proxy } from '../../bench/parties/grpc.js'
import { stop } from '../../bench/processes.js'

const { place, tearDown } = await setUp({ pin: false })
const agent = await startGrpcAgent(place)
t.teardown(async () => {
  await stop(agent.child)
  await tearDown()
})

const events = Buffer.concat(Array.from({ length: EVENTS }, () => EVENT))

for (const start of [startGrpcGateway, startHttp2Proxy, startGrpcJsProxy]) {
  t.test(start.name, async t => {
    const party = await start(place, agent)
    t.teardown(() => party.stop())
    t.equal(await wrongWithGrpc(`${party.url}${SEND}`, METADATA, REQUEST, RESPONSE), null, 'a call')
    t.equal(await wrongWithGrpc(`${party.url}${STREAM}`, METADATA, REQUEST, events), null, 'a stream')
    const { 'a2a-extensions': extensions = '', ...without } = METADATA
    const problem = await wrongWithGrpc(`${party.url}${SEND}`, without, REQUEST, RESPONSE)
    if (start === startGrpcGateway) t.match(problem, extensions, 'rejected without the required extension')
    else t.equal(problem, null)
    const misnamed = Buffer.from(REQUEST.toString('latin1').replace('quantity', 'quantitx'), 'latin1')
    const invalid = await wrongWithGrpc(`${party.url}${SEND}`, METADATA, misnamed, RESPONSE)
    if (start === startGrpcGateway) t.match(invalid, 'quantit', 'rejected with data that breaks the schema')
    else t.equal(invalid, null)
  })
}
