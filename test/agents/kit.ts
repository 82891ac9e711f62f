/** A gateway with sources of agents, wired as `serve` wires it, in this process. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Test } from 'tap'
import type { EntryReport } from '#agents/sources/candidates.js'
import { AgentSources } from '#agents/sources/sources.js'
import { formatDiagnostic } from '#config/load.js'
import type { LoadResult } from '#config/load.js'
import { readConfiguration } from '#offline/configuration.js'
import { FollowedConfiguration } from '#server/followed-configuration.js'
import type { Gateway } from '#server/about.js'
import { startGateway } from '#server/start.js'
import { call } from '../helpers/http.js'
import { plainCard } from '../helpers/raw.js'
import { sampleIn } from '../helpers/samples.js'

export interface Report {
  readonly name: string
  readonly problem: string | null
  readonly restored: boolean
  readonly counts: object
  readonly entries: readonly EntryReport[]
}

/** The reasons of the entries by their identifier. */
export function reasons ({ entries }: Report): Record<string, string | null> {
  return Object.fromEntries(entries.map(({ identifier, reason }) => [identifier, reason]))
}

export interface SourcedGateway extends Gateway {
  readonly file: string
  /** Replaces the configuration file. */
  write (yaml: string): void
  /** Names and public paths of the agents in force. */
  agents (): Promise<string[]>
  report (): Promise<Report>
  metric (selector: string): Promise<number>
  stop (): Promise<void>
}

const HEAD = 'version: 1\nserver: {listen: "127.0.0.1:0", admin: "127.0.0.1:0", drainTimeout: 200ms'

/** @param yaml below `server:`; `server` are more keys of it */
export async function sourcedGateway (t: Test, yaml: string, { server = '', dir = t.testdir({}) }: { server?: string, dir?: string } = {}): Promise<SourcedGateway> {
  const file = join(dir, 'gateway.yaml')
  const text = (below: string): string => `${HEAD}${server}}\ntelemetry: {logs: {level: silent}}\n${below}\n`
  writeFileSync(file, text(yaml))
  const sources: AgentSources = new AgentSources(file, () => { followed.reread() })
  const load = (): LoadResult => readConfiguration({ file, env: {}, overrides: {}, discovered: sources.discovered() })
  const followed: FollowedConfiguration = new FollowedConfiguration(file, load)
  const must = (loaded: LoadResult): LoadResult & { ok: true } => {
    if (!loaded.ok) throw new Error(loaded.problems.map(formatDiagnostic).join('\n'))
    return loaded
  }
  const first = must(followed.first)
  await sources.use(first.config, first.leftOut)
  const loaded = must(load())
  await sources.use(loaded.config, loaded.leftOut)
  const [logs, audit] = [new PassThrough().resume(), new PassThrough().resume()]
  const gateway = await startGateway(loaded.config, { env: {}, sources, logs, audit, processMetrics: false })
  followed.follow(now => {
    if (now.ok) sources.use(now.config, now.leftOut).catch(() => {})
    if (now.ok) gateway.reload(now.config).catch(() => {})
    else gateway.reject(now.problems)
  })
  let stopped: Promise<void> | null = null
  const stop = (): Promise<void> => {
    followed.close()
    sources.close()
    stopped ??= gateway.close()
    return stopped
  }
  t.teardown(stop)
  const listed = async (path: string): Promise<unknown> => JSON.parse((await call(gateway.adminUrl + path)).text) as unknown
  return {
    ...gateway,
    file,
    write: below => { writeFileSync(file, text(below)) },
    agents: async () => (await listed('/agents') as { name: string, url: string }[]).map(({ name, url }) => `${name} ${new URL(url, 'http://x').pathname}`).sort(),
    report: async () => (await listed('/agent-sources') as Report[])[0] as Report,
    metric: async selector => sampleIn((await call(`${gateway.adminUrl}/metrics`)).text, selector),
    stop
  }
}

export interface CatalogServer {
  readonly url: string
  /** The document, or a function that responds. */
  content: object | string | ((request: IncomingMessage, response: ServerResponse) => void)
  /** Requests so far, by path. */
  readonly requests: string[]
}

/** Serves a catalog at `/.well-known/ai-catalog.json`, and a card at `/NAME/.well-known/agent-card.json` for each name. */
export async function catalogServer (t: Test, content: CatalogServer['content'] = { specVersion: '1.0', entries: [] }): Promise<CatalogServer> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requests.push(path)
    const at = `http://${request.headers.host ?? ''}`
    const [, name] = /^\/([^/]+)\/\.well-known\/agent-card\.json$/.exec(path) ?? []
    const send = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(typeof value === 'string' ? value : JSON.stringify(value))
    }
    if (name !== undefined) return send(200, plainCard(`${at}/${name}`, { name }))
    if (path.startsWith('/.well-known/ai-catalog.json')) return typeof catalog.content === 'function' ? catalog.content(request, response) : send(200, catalog.content)
    return send(request.method === 'POST' ? 200 : 404, { jsonrpc: '2.0', id: '1', result: { message: { messageId: 'm2', role: 'ROLE_AGENT', parts: [{ text: path }] } } })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const catalog: CatalogServer = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, content, requests }
  return catalog
}

/** A catalog with an entry for each name, whose card {@link catalogServer} serves. */
export function catalogAt (url: string, names: readonly string[], more: readonly unknown[] = []): object {
  return {
    specVersion: '1.0',
    entries: [
      ...names.map(name => ({ identifier: `urn:air:example.com:agent:${name}`, type: 'application/a2a-agent-card+json', url: `${url}/${name}/.well-known/agent-card.json` })),
      ...more
    ]
  }
}

/** The source of most tests: everything is admitted, and this machine is allowed. */
export function sourceAt (url: string, more = ''): string {
  return `agentSources: [{name: partners, catalog: "${url}/.well-known/ai-catalog.json", refresh: 1s, agent: {path: "/agents/{name}"}, allowPrivate: [127.0.0.0/8], admit: all${more}}]`
}
