/** A gateway with its console, and the tail of decisions as a page reads it. */
import { once } from 'node:events'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import type { DecisionEntry } from '#console/entry.js'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import { call } from '../helpers/http.js'
import type { Answer, CallOptions } from '../helpers/http.js'
import { fakeAgent, plainCard } from '../helpers/raw.js'
import type { FakeAgent } from '../helpers/raw.js'

export const REQUIRED = 'https://example.com/ext/required/v1'

export const SERVER = 'server: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms, console: {}}'

/** One agent, whose card requires an extension. @param settings of `server.console` */
export async function consoleFor (
  t: Test,
  settings = '{}',
  agentKeys = '',
  card: Record<string, unknown> = { capabilities: { extensions: [{ uri: REQUIRED, required: true }] } }
): Promise<{ agent: FakeAgent; gateway: TestGateway; api(path: string, options?: CallOptions): Promise<Answer> }> {
  const agent = await fakeAgent(t, { card: url => plainCard(url, card) })
  const gateway = await gatewayFor(t, {
    yaml: `${SERVER.replace('console: {}', `console: ${settings}`)}\nagents: [{name: agent, upstream: {url: "${agent.url}"}${agentKeys}}]`
  })
  return { agent, gateway, api: (path, options) => call(`${gateway.adminUrl}/console/${path}`, options) }
}

export interface Tail {
  readonly entries: DecisionEntry[]
  readonly response: IncomingMessage
  missed (): number
  /** All bytes so far. */
  text (): string
}

/** Reads the tail until the test ends. @param query filters of the tail, with `?` */
export async function tail (t: Test, adminUrl: string, query = ''): Promise<Tail> {
  const request = get(`${adminUrl}/console/api/decisions${query}`)
  request.on('error', () => {})
  t.teardown(() => { request.destroy() })
  const [response] = await once(request, 'response') as [IncomingMessage]
  const entries: DecisionEntry[] = []
  let text = ''
  let seen = 0
  let missed = 0
  response.on('error', () => {})
  response.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    for (let end = text.indexOf('\n\n', seen); end >= 0; end = text.indexOf('\n\n', seen)) {
      const event = text.slice(seen, end)
      seen = end + 2
      if (!event.startsWith('data: ')) continue
      const page = JSON.parse(event.slice(6)) as { missed: number, entries: DecisionEntry[] }
      missed += page.missed
      entries.push(...page.entries)
    }
  })
  return { entries, response, missed: () => missed, text: () => text }
}

export const MARKUP = '<img src=x onerror=alert(1)><script>alert(1)</script>'

const OBJECT_SCHEMAS = 'https://raw.githubusercontent.com/facultyai/a2a-extension-object-schemas/refs/heads/main/v1'

/** Markup, scripts for addresses, turned text, endless words and hundreds of extensions. */
export function hostileCard (count = 64): Record<string, unknown> {
  return {
    name: `${MARKUP}\u202Egnihtyna`,
    description: 'd'.repeat(400_000),
    documentationUrl: 'javascript:alert(1)',
    iconUrl: 'javascript:alert(2)',
    provider: { organization: MARKUP, url: 'javascript:alert(3)' },
    capabilities: {
      extensions: Array.from({ length: count }, (_, i) => ({
        uri:
          i === 4
            ? OBJECT_SCHEMAS
            : i === 0
              ? `javascript:alert("${MARKUP.replaceAll(/[ ,]/g, '')}")`
              : `https://example.com/ext/${i}/${'x'.repeat(i === 1 ? 5_000 : 10)}`,
        description: MARKUP.repeat(i === 2 ? 1_000 : 1),
        required: i === 3
      }))
    },
    schemas: {
      [MARKUP]: { title: MARKUP, type: 'object', properties: { [MARKUP]: { type: 'string', description: MARKUP }, self: { $ref: '#' } } }
    },
    skills: [{ id: 's', name: MARKUP, description: MARKUP, tags: [MARKUP], examples: [MARKUP, 'e'.repeat(100_000)] }]
  }
}
