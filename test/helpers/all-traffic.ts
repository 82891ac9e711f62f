/**
 * A gateway in front of the demo's agents and of an agent that misbehaves, with traffic that causes every event that a dashboard can show.
 */
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { FORTUNE_CONSENT, startEightball } from '../../examples/eightball.js'
import { COMPARISON, startFight } from '../../examples/fight.js'
import type { RawRequest } from './raw.js'
import { fakeAgent, plainCard, rawExchange } from './raw.js'
import type { ServedGateway } from './serve.js'
import { serve } from './serve.js'
import { nonceCard, nonceMessage, nonceRules } from './unique.js'
import type { Key } from '../identity/issuer.js'
import { issuerFor, jwtSource, keyOf } from '../identity/issuer.js'
import { policyServer } from '../external/kit.js'
import { tokenEndpoint } from '../identity/token-endpoint.js'
import { grpcMessage, RawGrpc } from './grpc-raw.js'
import { freePort, rpc, until } from './http.js'
import { startRedis } from './redis.js'

const USAGE = 'https://example.com/ext/usage/v1'
const QUIET = 'https://example.com/ext/quiet/v1'
const UNASKED = 'https://example.com/ext/unasked/v1'

/** Gives each process a memory limit, as in a container. Without a limit, the metric of the limit has no sample. */
const CONFINED = ['--import', 'data:text/javascript,process.constrainedMemory=()=>1e9']

export interface Traffic {
  readonly gateway: ServedGateway
  /** A second gateway, which authenticates callers. Its agent is "guarded". */
  readonly guarded: ServedGateway
  /** Sends all traffic once more. */
  round (): Promise<void>
}

/** Starts two workers. A call and a stream of the agent "odd" stay in progress until the end of the test. */
export async function startTraffic (t: Test): Promise<Traffic> {
  const [eightball, fight] = [await startEightball({ port: 0 }), await startFight({ port: 0 })]
  t.teardown(() => Promise.all([eightball.close(), fight.close()]))
  const odd = await fakeAgent(t, {
    card: url =>
      plainCard(url, {
        capabilities: { streaming: true, extensions: [{ uri: USAGE, params: { unit: 7 } }, { uri: QUIET }, { uri: UNASKED }] }
      }),
    answer: answerOddly
  })
  const yaml = (limit: number): string =>
    [
      'agents:',
      `  - {name: eightball, path: /agents/eightball, upstream: {url: "${eightball.url}"}}`,
      `  - {name: fight, path: /agents/fight, upstream: {url: "${fight.url}"}, card: {refresh: 1s}}`,
      `  - {name: fight-held, path: /agents/fight-held, upstream: {url: "${fight.url}"}, responses: enforce}`,
      `  - {name: odd, path: /agents/odd, upstream: {url: "${odd.url}"}, responses: observe, card: {refresh: 1s}, extensions: [usage, quiet]}`,
      `  - {name: narrow, path: /agents/narrow, upstream: {url: "${odd.url}"}, concurrency: {requests: 1, streams: 3}}`,
      '  - {name: gone, path: /agents/gone, upstream: {url: "http://127.0.0.1:1"}, card: {onUnavailable: forward}}',
      `limits: {response: ${limit}KiB}`,
      'extensions:',
      '  usage:',
      `    uri: ${USAGE}`,
      '    owns: {metadata: [usage]}',
      '    card: {params: {type: object, properties: {unit: {type: string}}}}',
      '    request:',
      '      - {id: not-when-done, select: {metadata: {key: usage}}, when: {taskState: [completed]}, count: {max: 0}}',
      '    response:',
      '      - {id: number, select: {metadata: {in: [task], key: usage}}, schema: {type: string}, verdict: reject}',
      '    observe:',
      '      metrics:',
      '        - {name: tokens, type: counter, from: {metadata: {in: [task], key: usage}}}',
      '        - {name: last, type: gauge, from: {metadata: {in: [task], key: usage}}}',
      '  quiet:',
      `    uri: ${QUIET}`,
      '    activation: {default: inject}'
    ].join('\n')
  const gateway = await serve(t, yaml(64), { A2A_GATEWAY_WORKERS: '2', A2A_GATEWAY_LOG_LEVEL: 'info' }, { flags: CONFINED })
  const at = (name: string): string => `${gateway.url}/agents/${name}`
  const say = (name: string, text: string, extensions: string[] = [], more: object = {}, method = 'SendMessage'): Promise<unknown> =>
    rpc(
      `${at(name)}${name === 'odd' || name === 'narrow' ? '/rpc' : '/a2a/jsonrpc'}`,
      method,
      { message: { messageId: `m${count++}`, role: 'ROLE_USER', parts: [{ text }], ...more } },
      extensions.length === 0 ? [] : ['a2a-extensions', extensions.join(', ')]
    )
  const data = (name: string, value: object, mediaType: string): Promise<unknown> =>
    say(name, '', [], { parts: [{ data: value, mediaType }] })
  let count = 0
  let rounds = 0

  const { gateway: guarded, round: guardedRound } = await startGuarded(t)

  // These calls end when the agent closes at the end of the test.
  for (let i = 0; i < 4; i++) say('narrow', 'wait').catch(() => {})
  say('odd', 'wait', [], {}, 'SendStreamingMessage').catch(() => {})
  await until(() => odd.received.length >= 2, 'calls that stay under way')

  const round = async (): Promise<void> => {
    await Promise.all([
      say('eightball', 'Will it rain?', [FORTUNE_CONSENT]),
      say('eightball', 'Will it rain?'),
      say('eightball', 'Will it rain?', [FORTUNE_CONSENT], {}, 'SendStreamingMessage'),
      data('fight', { a: 'Lion', b: 7 }, COMPARISON),
      data('fight', { a: 'Lion', b: 'Tiger' }, COMPARISON),
      data('fight', { a: 3, b: 7 }, 'application/json'),
      data('fight-held', { a: 3, b: 7 }, 'application/json'),
      say('fight', 'commentary: Lion vs Tiger', [], {}, 'SendStreamingMessage'),
      say('odd', 'task', [USAGE], { taskId: 't1', metadata: { usage: 1 } }),
      say('odd', 'echo', [USAGE, QUIET]),
      say('odd', 'echo nothing', [USAGE]),
      say('odd', 'echo unasked'),
      say('odd', 'large', [USAGE]),
      say('odd', 'die').catch(() => {}),
      say('odd', 'fault'),
      ...[1, 2, 3, 4].map(() => say('narrow', 'hello')),
      rawExchange(gateway.url, 'no HTTP at all\r\n\r\n', { until: 'close' }),
      guardedRound()
    ])
    rounds++
    const before = await gateway.metric('a2a_gateway_config_reloads_total{outcome="invalid"}')
    gateway.rewrite(yaml(64 + rounds))
    await until(() => gateway.said(/^configuration reloaded/).length >= rounds, 'the new configuration', 30_000)
    gateway.rewrite('agents: 7')
    await until(
      async () => (await gateway.metric('a2a_gateway_config_reloads_total{outcome="invalid"}')) > before,
      'the refusal of a configuration',
      30_000
    )
  }
  return { gateway, guarded, round }
}

/**
 * A gateway with access tokens, a card without a signature, credentials for its agent, owners of tasks, a rule with `unique`, a limit on a
 * server and a budget. A token with an unknown key makes it fetch the keys again. It serves gRPC, which its agent does not offer.
 */
async function startGuarded (t: Test): Promise<{ readonly gateway: ServedGateway; readonly round: () => Promise<unknown> }> {
  const [known, unknown] = [await keyOf('known'), await keyOf('unknown')]
  const issuer = await issuerFor(t, [known])
  const { port } = await startRedis(t, await freePort())
  const grpcAddress = `127.0.0.1:${await freePort()}`
  const agent = await fakeAgent(t, {
    card: nonceCard,
    answer: (_request, response) => {
      response.setHeader('content-type', 'application/json')
        .end('{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"ok"}],"metadata":{"tokens":5}}}}')
    }
  })
  const endpoint = await tokenEndpoint(t)
  const decisions = await policyServer(t, () => ({ decision: true }))
  const entry = `{clientCredentials: {endpoint: "${endpoint.url}", client: {id: gateway, secret: {env: AGENT_SECRET}}}}`
  const gateway = await serve(t, [
    'agents:',
    '  - name: guarded',
    `    upstream: {url: "${agent.url}", credentials: {send: [${entry}]}}`,
    `    card: {refresh: 1s, verify: {keys: {url: "${issuer.url}/jwks"}, onFailure: warn}}`,
    '    extensions: [nonces]',
    '    access: {allow: [{id: callers, on: [messages, GetTask]}], tasks: {}, delegation: {}}',
    '    push: {resolve: false}',
    '    external: [{id: spend, use: corp}]',
    `decisionPoints: {corp: {url: "${decisions.url}", timeout: 5s}}`,
    `identity: {sources: {${jwtSource('corp', issuer.url)}}}`,
    ...nonceRules('{window: 10m}'),
    '      - id: approval',
    '        select: {part: {data: true, path: /amount}}',
    '        count: {max: 0}',
    '        pause: {state: input-required, text: May I?, evidence: {select: {metadata: {key: approved}}}}',
    '    observe: {metrics: [{name: tokens, type: counter, from: {metadata: {key: tokens}}}]}',
    `state: {store: "redis://127.0.0.1:${port}"}`,
    'rates: [{id: per-caller, by: [caller], rate: 60/1m, burst: 3, scope: shared}]',
    'budgets: [{id: tokens, by: [caller], of: nonces/tokens, limit: 1000000, window: 1h}]'
  ].join('\n'), { AGENT_SECRET: 'secret' }, { server: [`grpc: {listen: "${grpcAddress}", publicAddress: "${grpcAddress}"}`] })
  const send = async (key: Key, nonce: string): Promise<unknown> =>
    await rpc(`${gateway.url}/rpc`, 'SendMessage', { ...nonceMessage(nonce), configuration: PUSHED }, ['authorization', `Bearer ${await issuer.token(key)}`])
  const order = async (): Promise<unknown> => {
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ data: { amount: 1 } }] }
    return await rpc(`${gateway.url}/rpc`, 'SendMessage', { message }, ['authorization', `Bearer ${await issuer.token(known)}`])
  }
  const get = async (id: string): Promise<unknown> =>
    await rpc(`${gateway.url}/rpc`, 'GetTask', { id }, ['authorization', `Bearer ${await issuer.token(known)}`])
  const grpc = await RawGrpc.to(grpcAddress)
  t.teardown(() => { grpc.close() })
  let rounds = 0
  const round = async (): Promise<void> => {
    await send(known, `round ${rounds++}`)
    await order()
    await get('unknown')
    await grpc.call({ body: grpcMessage(Buffer.alloc(0)) })
    await Promise.all([send(known, 'same'), send(unknown, 'same')])
    for (let i = 0; i < 6; i++) await send(known, 'same')
  }
  return { gateway, round }
}

const PUSHED = { taskPushNotificationConfig: { url: 'https://hooks.example.com/a2a' } }

function answerOddly ({ body }: RawRequest, response: ServerResponse): void {
  const text = (JSON.parse(body.toString()) as { params: { message: { parts: { text?: string }[] } } }).params.message.parts[0]?.text ?? ''
  const message = (words: string): object => ({ message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: words }] } })
  const json = (result: object, extensions: readonly string[] = []): void => {
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(extensions.length === 0 ? {} : { 'a2a-extensions': extensions.join(', ') })
    })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
  }
  if (text === 'die') response.socket?.resetAndDestroy()
  else if (text === 'fault') {
    response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"fault"}}')
  } else if (text === 'wait' && body.includes('Streaming')) {
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: message('soon') })}\n\n`)
  } else if (text === 'task') {
    json(
      { task: { id: 't1', contextId: 'c', status: { state: 'TASK_STATE_WORKING' }, metadata: { usage: Math.round(performance.now()) } } },
      [USAGE]
    )
  } else if (text === 'echo') json(message('yes'), [USAGE, QUIET])
  else if (text === 'echo unasked') json(message('yes'), [UNASKED, QUIET])
  else if (text !== 'wait') json(message(text === 'large' ? 'x'.repeat(100_000) : 'no'))
}
