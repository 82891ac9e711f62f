/** All parties that the benchmark measures side by side. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#config/paths.js'
import { built } from '../processes.js'
import { ENVOY, ENVOY_LUA } from './envoy.js'
import { GATEWAY, TRACED } from './gateway.js'
import type { PartyKind } from './party.js'
import { ours } from './party.js'
import { HAPROXY, NGINX, NGINX_NJS } from './servers.js'

const versionOf = (name: string): string =>
  (JSON.parse(readFileSync(join(packageRoot(), 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version

export const DIRECT: PartyKind = {
  name: 'direct',
  title: 'no proxy: straight to the agent',
  version: () => '',
  start: place => Promise.resolve({ name: 'direct', url: place.agent, pids: [], child: null, stop: () => Promise.resolve() })
}

export const NODE_PROXY: PartyKind = {
  name: 'node-proxy',
  title: 'bare `node:http` and undici, forwarding only',
  version: () => `undici ${versionOf('undici')}`,
  start: place => ours('node-proxy', place, [built('bench/parties/node-proxy.js'), place.agent])
}

export const FASTIFY_PROXY: PartyKind = {
  name: 'fastify-proxy',
  title: 'bare `@fastify/http-proxy`, forwarding only',
  version: () => versionOf('@fastify/http-proxy'),
  start: place => ours('fastify-proxy', place, [built('bench/parties/fastify-proxy.js'), place.agent])
}

/** The first party is the baseline for all others. */
export const KINDS: readonly PartyKind[] = [GATEWAY, TRACED, DIRECT, NODE_PROXY, FASTIFY_PROXY, NGINX_NJS, ENVOY_LUA, NGINX, ENVOY, HAPROXY]
