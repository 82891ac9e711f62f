/**
 * A hand-made agent that sends the given responses, official clients of this agent with and without a real gateway between, and the
 * gateway's own evaluation of the same bytes.
 */
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import type { ResponseView } from '#a2a/message/result.js'
import { viewResponse } from '#a2a/message/read-result.js'
import { dryRunRequest } from '#pipeline/dry-run.js'
import { dryRunResponse } from '#pipeline/dry-run-response.js'
import { buildAgentState } from '#pipeline/agent-snapshot.js'
import { SECRET_HIDDEN } from '#policy/request/inject.js'
import { parseStrict } from '#wire/json/json.js'
import { SseSplitter } from '#wire/sse/split.js'
import { splitTarget } from '#wire/target.js'
import { configOf, gatewayFor, oneAgent } from '../../helpers/gateway.js'
import type { RawRequest } from '../../helpers/raw.js'
import { fakeAgent, plainCard } from '../../helpers/raw.js'
import type { ClientKind } from '../../helpers/sdk-clients.js'
import type { Form } from '../../security/kit.js'
import { FORMS } from '../../security/kit.js'
import { CALM, loadedCards } from '../bench.js'
import type { ClientReading, ReadingClient, Sent } from './clients.js'
import { readingClient } from './clients.js'
import type { OddAnswer } from './corpus.js'
import { RPC_ID } from './words.js'
import type { ResponseDryRun } from '#pipeline/response/recording-driver.js'

const URI = 'https://e.test/ext'
/** The rule evaluates everything and finds nothing. */
const POLICY = [
  'extensions:',
  '  ext:',
  `    uri: ${URI}`,
  '    response:',
  '      - {id: never, select: {metadata: {in: [task, event], key: never-there}}, count: {max: 0}, verdict: reject}'
]

export interface AnswerSeen {
  readonly client: ClientReading
  readonly direct: ClientReading
  readonly judgement: ResponseDryRun
  /** The gateway's view of the whole response, or of each event with data. */
  readonly views: readonly ResponseView[]
}

export interface AnswerBench {
  readonly clients: readonly ReadingPair[]
  run (pair: ReadingPair, answer: OddAnswer): Promise<AnswerSeen>
}

export interface ReadingPair {
  readonly kind: ClientKind
  readonly form: Form
  readonly direct: ReadingClient
  readonly through: ReadingClient
}

/** A card for clients of both generations. */
function card (url: string): Record<string, unknown> {
  return plainCard(url, {
    url: `${url}/rpc`,
    preferredTransport: 'JSONRPC',
    protocolVersion: '0.3.0',
    additionalInterfaces: [{ url: `${url}/rpc`, transport: 'JSONRPC' }, { url: `${url}/rest`, transport: 'HTTP+JSON' }],
    capabilities: { streaming: true, extensions: [{ uri: URI }] }
  })
}

export async function answerBench (t: Test): Promise<AnswerBench> {
  let staged: OddAnswer | null = null
  const answer = (request: RawRequest, response: ServerResponse): void => {
    if (staged === null) throw new Error('nothing to answer')
    response.writeHead(staged.status, [...staged.headers]).end(bytesOf(staged, request.body.toString()))
  }
  const agent = await fakeAgent(t, { card, answer })
  const options = { yaml: oneAgent(agent.url, ['extensions: [ext]', 'responses: enforce'], [...CALM, ...POLICY]) }
  const gateway = await gatewayFor(t, options)
  const { agents: [config], limits } = configOf(options)
  if (config === undefined) throw new Error('no agent')
  const cardUrl = '/.well-known/agent-card.json'
  const state = buildAgentState(await loadedCards(agent.url + cardUrl), {
    agent: config,
    maxExtensions: limits.extensions,
    previous: null,
    secretOf: SECRET_HIDDEN
  })

  const clients: ReadingPair[] = []
  for (const form of FORMS) {
    for (const kind of form.version === '1.0' ? ['v1'] as const : ['v1-as-03', 'v03'] as const) {
      clients.push({
        kind,
        form,
        direct: await readingClient(kind, form, agent.url + cardUrl, URI),
        through: await readingClient(kind, form, gateway.url + cardUrl, URI)
      })
    }
  }

  function judged (sent: Sent, given: OddAnswer): Pick<AnswerSeen, 'judgement' | 'views'> {
    const { pathname, search, host } = new URL(sent.url)
    const { path, query } = splitTarget(pathname + search)
    const headers = Object.entries({
      Host: host,
      ...sent.headers,
      ...(sent.body === null ? {} : { 'Content-Length': String(Buffer.byteLength(sent.body)) })
    }).flat()
    const request = dryRunRequest(
      { config: config as NonNullable<typeof config>, state },
      { method: sent.method, path, query, rawHeaders: headers, body: sent.body === null ? null : Buffer.from(sent.body) },
      limits
    )
    if (request.rejection !== null || request.call === null) throw new Error(`the request is refused: ${JSON.stringify(request.rejection)}`)
    const body = bytesOf(given, sent.body ?? '')
    const judgement = dryRunResponse(request, { status: given.status, headers: given.headers, body })
    const { operation } = request.call
    const { binding, version } = given.form
    const id = idOf(sent.body ?? '')
    const read = (bytes: Buffer, stream: boolean): ResponseView[] => {
      const parsed = parseStrict(bytes, { depth: limits.jsonDepth, members: limits.jsonMembers })
      return parsed.ok ? [viewResponse(parsed.value, { binding, version, operation, id, stream })] : []
    }
    return { judgement, views: judgement.stream ? eventsOf(body).flatMap(data => read(data, true)) : read(body, false) }
  }

  return {
    clients,
    async run (pair, given) {
      staged = given
      const client = await pair.through.read(given.call)
      const seen = judged(pair.through.sent(), given)
      // A whole response that the gateway rejects has no counterpart to compare with.
      const direct = seen.judgement.rejection !== null && client.results.length === 0 ? client : await pair.direct.read(given.call)
      return { client, direct, ...seen }
    }
  }
}

/** The id of the request; null over HTTP+JSON. */
function idOf (body: string): string | number | null {
  return body.includes('"jsonrpc"') ? (JSON.parse(body) as { id: number }).id : null
}

function bytesOf ({ body, encoding }: OddAnswer, request: string): Buffer {
  return Buffer.from(body.replaceAll(RPC_ID, String(idOf(request))), encoding)
}

/** The data of events that have data. */
function eventsOf (body: Buffer): Buffer[] {
  const splitter = new SseSplitter({ bytes: 1_000_000, lines: 10_000 })
  return [...splitter.feed(body), ...splitter.end()].flatMap(piece => piece.kind === 'event' && piece.data.length > 0 ? [piece.data] : [])
}
