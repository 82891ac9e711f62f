/** GetExtendedAgentCard over gRPC: the agent's card with the addresses of the gateway, or the card that the gateway serves itself. */
import t from 'tap'
import { VERSIONS } from '#a2a/versions.js'
import { grpcMethodFor } from '#a2a/grpc/methods.js'
import { ACME, keyFiles } from '../identity/kit.js'
import { grpcAgent, grpcGateway, readResponse, reply, requestOf, responseOf } from './grpc-kit.js'

for (const version of VERSIONS) {
  const path = grpcMethodFor('GetExtendedAgentCard', version)?.path as string
  const body = requestOf({}, 'GetExtendedAgentCard', version)
  const headers = { 'a2a-version': version, 'x-api-key': ACME }

  const interfaces = version === '1.0'
    ? { supportedInterfaces: [{ url: 'agent.internal:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' }] }
    : { protocolVersion: '0.3.0', url: 'agent.internal:50051', preferredTransport: 'GRPC' }

  t.test(`A2A ${version}: the agent's card`, async t => {
    const agent = await grpcAgent(t, {
      versions: [version],
      answer: call => { reply(call, [responseOf({ name: 'Extended', version: '2', ...interfaces }, 'GetExtendedAgentCard', version)]) }
    })
    const { client } = await grpcGateway(t, agent)
    const got = await client.call({ path, body, headers })
    t.equal(got.status, 0)
    const card = readResponse(got.messages[0] as Buffer, 'GetExtendedAgentCard', version)
    t.equal(card['name'], 'Extended')
    t.notMatch(JSON.stringify(card), /agent\.internal/)
    t.match(JSON.stringify(card), /agent\.test:443/)
  })

  t.test(`A2A ${version}: an agent without an extended card, and callers with views`, async t => {
    const agent = await grpcAgent(t, { card: { supportedInterfaces: undefined, ...interfaces } })
    const { client } = await grpcGateway(t, agent, {
      agent: ['card: {views: [{id: finance, caller: {groups: [finance]}, skills: [all], extensions: [all]}]}'],
      root: [`identity: {sources: {partners: {apiKey: {header: X-Api-Key, keys: {file: "${keyFiles(t)}/partners.yaml"}}}}}`]
    })
    const got = await client.call({ path, body, headers })
    t.match(got, { status: 0, trailersOnly: false, headers: { 'content-type': 'application/grpc' } }, got.message)
    const card = readResponse(got.messages[0] as Buffer, 'GetExtendedAgentCard', version)
    t.equal(card['name'], 'raw')
    t.match(JSON.stringify(card), /agent\.test:443/)
    t.match(JSON.stringify(card['securitySchemes']), /SecurityScheme/)
    t.equal(agent.calls.length, 0)
    t.equal((await client.call({ path, body, headers: { 'a2a-version': version } })).status, 16, 'callers without credentials are rejected')
  })
}
