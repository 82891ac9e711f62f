/** A gateway with `identity` in front of an agent that records what reaches it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { keyDigest } from '#identity/api-keys.js'
import type { TestGateway } from '../helpers/gateway.js'
import { gatewayFor } from '../helpers/gateway.js'
import type { FakeAgent } from '../helpers/raw.js'
import { fakeAgent } from '../helpers/raw.js'

/** Keys of callers. */
export const ACME = 'a2agw_acme-key-of-the-test-0123456789'
export const OLD = 'a2agw_old-key-of-the-test-0123456789'
export const GONE = 'a2agw_gone-key-of-the-test-0123456789'
export const USER = 'a2agw_user-key-of-the-test-0123456789'

/** @param keys texts of key files, by name */
export function keyFiles (t: Test, keys: Readonly<Record<string, string>> = {}): string {
  return t.testdir({
    'partners.yaml': [
      `- {id: acme-2027, sha256: ${keyDigest(ACME)}, client: acme, groups: [finance], tenant: north}`,
      `- {id: acme-2026, sha256: ${keyDigest(OLD)}, client: acme, expires: 2999-01-01}`,
      `- {id: gone, sha256: ${keyDigest(GONE)}, expires: 2020-01-01}`
    ].join('\n'),
    'people.yaml': `- {id: ada, sha256: ${keyDigest(USER)}}`,
    ...keys
  })
}

export const PARTNERS = 'partners: {apiKey: {header: X-Api-Key, keys: {file: partners.yaml}}}'
export const PEOPLE = 'people: {basic: {keys: {file: people.yaml}}}'

export interface Guarded {
  readonly agent: FakeAgent
  readonly gateway: TestGateway
  readonly dir: string
}

export interface GuardedOptions {
  /** Sources, as YAML flow mappings. */
  readonly sources?: readonly string[]
  /** Further keys of `upstream`. */
  readonly upstream?: string
  /** Further keys of the agent. */
  readonly extra?: readonly string[]
  /** Further keys of the root. */
  readonly root?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly identity?: string
  /** Further files beside the configuration. */
  readonly files?: Readonly<Record<string, string>>
  /** False: the gateway need not be ready. */
  readonly waitReady?: boolean
  readonly agent?: Parameters<typeof fakeAgent>[1]
}

export async function guarded (t: Test, options: GuardedOptions = {}): Promise<Guarded> {
  const { sources = [PARTNERS, PEOPLE], env } = options
  const agent = await fakeAgent(t, options.agent)
  const dir = keyFiles(t, options.files)
  const yaml = yamlOf(agent.url, { ...options, sources })
  const gateway = await gatewayFor(t, { yaml, baseDir: dir, ...(env === undefined ? {} : { env }) }, options.waitReady)
  return { agent, gateway, dir }
}

export function yamlOf (url: string, { sources = [PARTNERS, PEOPLE], upstream, extra = [], root = [], identity = '' }: GuardedOptions = {}): string {
  return [
    'agents:',
    `  - {name: agent, upstream: {url: "${url}"${upstream === undefined ? '' : `, ${upstream}`}}${extra.map(one => `, ${one}`).join('')}}`,
    `identity: {sources: {${sources.join(', ')}}${identity}}`,
    ...root
  ].join('\n')
}

export function put (dir: string, name: string, text: string): void {
  writeFileSync(join(dir, name), text)
}

export const basicOf = (user: string, key: string): string => `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`
