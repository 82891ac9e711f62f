/** The official JavaScript SDKs with each other over gRPC, without a gateway: the baseline of grpc-via-gateway. */
import t from 'tap'
import { quietSdk } from '../helpers/agents.js'
import type { AgentKind } from '../helpers/agents.js'
import { startGrpcAgent } from '../helpers/grpc-agents.js'
import type { ClientKind } from '../helpers/sdk-clients.js'
import { grpcSeen, grpcStory } from './grpc-stories.js'
import { clients, outcomes } from './matrix.js'

quietSdk()

const KNOWN = 'https://example.com/ext/known/v1'
/** Rejections that every client and agent agree on. */
const rejected = {
  sendUnknownTask: 'TaskNotFoundError',
  streamUnknownTask: 'TaskNotFoundError',
  getUnknownTask: 'TaskNotFoundError',
  cancelFinished: 'TaskNotCancelableError',
  subscribeFinished: 'UnsupportedOperationError',
  pushGetDeleted: 'TaskNotFoundError'
}
/** SDK 0.3.14 cannot encode a DataPart, and has no listTasks. */
const of03 = { sendData: 'Error', listTasks: 'Error' }
/** SDK 1.3.0 knows no names for the errors of a 0.3.14 agent. */
const errorsOf03 = {
  sendUnknownTask: 'A2AError', streamUnknownTask: 'A2AError', getUnknownTask: 'A2AError', cancelFinished: 'A2AError', pushGetDeleted: 'A2AError'
}
const strangers = { connect: 'Error' }

const expected: Record<AgentKind, Record<ClientKind, Record<string, string>>> = {
  v1: { v1: rejected, 'v1-as-03': strangers, v03: strangers },
  dual: {
    v1: rejected,
    'v1-as-03': { ...rejected, listTasks: 'UnsupportedOperationError' },
    v03: { ...rejected, ...of03, subscribeFinished: 'Error' }
  },
  v03: {
    v1: strangers,
    'v1-as-03': { ...errorsOf03, listTasks: 'UnsupportedOperationError' },
    v03: { ...rejected, ...of03, subscribeFinished: 'ok', pushGetDeleted: 'Error' }
  }
}

for (const kind of ['v1', 'dual', 'v03'] as const) {
  for (const client of clients) {
    t.test(`agent ${kind}, client ${client}`, async t => {
      const agent = await startGrpcAgent({ kind, card: { extensions: [{ uri: KNOWN }] } })
      t.teardown(() => agent.close())
      const run = { client, cardUrl: agent.cardUrl, address: agent.grpcAddress, extensions: [KNOWN] }
      const story = await grpcStory(run)
      const failed = Object.fromEntries(Object.entries(outcomes(story)).filter(([, name]) => name !== 'ok'))
      const { ...wanted } = expected[kind][client]
      t.same(failed, Object.fromEntries(Object.entries(wanted).filter(([, name]) => name !== 'ok')))
      t.equal(grpcSeen(agent).length > 0, failed['connect'] === undefined, 'the calls arrive over gRPC')
      t.same(await grpcStory(run), story, 'told twice, the story is the same')
    })
  }
}
